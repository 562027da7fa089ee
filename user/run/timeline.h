/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_TIMELINE_H
#define RUN_TIMELINE_H

/*
 * A phase in time: what the server did in each interval, and what was changed meanwhile. Times are
 * ns from the begin of the phase's load (run/load.h).
 */

#include "run/account.h"

/* The requests of one AFP command. */
struct run_moment_command {
	unsigned int account;
	uint64_t n, ns; /* answered in the interval; their time in the server */
};

struct run_interval {
	uint64_t end_ns;
	bool known; /* false: a total went backwards, and nothing else here is set */
	uint64_t answered;
	uint64_t time_ns[ACCOUNT_N_COLUMNS]; /* of all requests */
	uint64_t unread_ns; /* the server waited for a CPU before it read a request */
	size_t n_commands;
	struct run_moment_command *command; /* owned */
};

/* Something that was done to the server while it was loaded. */
struct run_mark {
	uint64_t at_ns;
	char *text; /* owned */
};

struct run_timeline {
	size_t n_intervals, n_marks;
	struct run_interval *interval; /* owned, in order of time */
	struct run_mark *mark;         /* owned, in order of time */
};

/* NULL is allowed. */
void run_timeline_free(struct run_timeline *t);

/* done: the difference of two readings; NULL: it is not known. 0 or -ENOMEM. */
int run_timeline_interval(struct run_timeline *t, uint64_t end_ns, const struct ledger *done);

/* 0 or -ENOMEM. */
int run_timeline_mark(struct run_timeline *t, uint64_t at_ns, const char *text);

#endif
