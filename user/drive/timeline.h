/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_TIMELINE_H
#define DRIVE_TIMELINE_H

/*
 * A load in time: reads what the server did at every interval, and starts commands at given moments
 * (--at), which are marked. In the thread that waits for the load's end.
 */

#include "app/child.h"
#include "drive/session.h"

#define TIMELINE_CHANGES 16

/* --at: a shell command and when it is started, seconds after the load began. */
struct timeline_change {
	double at_s;
	const char *command; /* borrowed, from argv */
	struct child child;
	bool begun, ended;
};

struct timeline_changes {
	unsigned int n;
	struct timeline_change change[TIMELINE_CHANGES];
};

/* An option's value, "SECONDS COMMAND"; to: struct timeline_changes. OPT_CALL. */
int timeline_take_change(void *to, const char *arg, struct err *e);

/*
 * "--at 30 COMMAND" in argv becomes "--at '30 COMMAND'", so that both may be typed; *argc is
 * changed. 0 or -ENOMEM. What is joined is never freed: the options point into it.
 */
int timeline_join_arguments(int *argc, char **argv);

/* Forks what will execute the commands, while this program still has all rights. */
int timeline_prepare(struct timeline_changes *c, struct err *e);
/* Ends those that still run. */
void timeline_end_changes(struct timeline_changes *c);

struct timeline {
	struct session *session;
	struct timeline_changes *changes;
	uint64_t begin_ns, interval_ns, next_ns; /* interval_ns 0: no intervals */
	struct ledger before;
	bool has_before;
	struct run_timeline *kept; /* becomes the phase's */
	bool no_memory;
};

/* At the load's begin. 0 or -ENOMEM. */
int timeline_begin(struct timeline *t, struct session *s, struct timeline_changes *changes,
		   uint64_t interval_ns);

/* At least ten times a second. */
void timeline_tick(struct timeline *t, uint64_t now_ns);

/* The last interval; gives the phase what was kept. */
void timeline_end(struct timeline *t, struct run_phase *p);

#endif
