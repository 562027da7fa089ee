/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_CROWD_H
#define DRIVE_CROWD_H

/*
 * The clients of a load, and the probe: opened beside the command's own session, which makes their
 * directory and removes it.
 */

#include "drive/session.h"
#include "drive/users.h"
#include "load/engine.h"
#include "work/mix/mix.h"

struct crowd;

struct crowd_opts {
	const struct mix *mix;
	struct users
	    *users; /* clients are dealt out among them; none: all are the session's user */
	struct session *session;       /* open, with a store */
	unsigned int clients, threads; /* clients 0: only the probe */
	unsigned int directories;      /* of all clients together, see work/mix.h */
	pid_t set_of;    /* the set belongs to this process, which has it removed: made where it is
			    not there, and left. 0: to this run */
	bool remove_set; /* remove it, though it belongs to another process */
	uint64_t seed;
	bool probe, realtime; /* realtime: the clients, see load/engine.h; the probe always is */
	/* Where several processes share the clients, see engine_opts; step 0: all are here. */
	unsigned int first, step, all;
	/*
	 * The name of the directory, which another process makes and removes; the session has only
	 * cfg and server. NULL: this one does.
	 */
	const char *guest;
	/* Called when there is what guests need to make their files; NULL: nobody waits for it. */
	void (*begun)(void *user);
	void *user;
};

struct crowd_load {
	uint64_t begin_ns; /* CLOCK_MONOTONIC, 0: now */
	uint64_t duration_ns, ramp_ns, think_ns;
	uint64_t settle_ns; /* after the ramp, before the measured time; crowd_measure() ends it */
	struct pace_opts pace;
	unsigned int queue; /* of all threads */
};

/*
 * Opens the sessions. *not_open: how many could not be; the first reason is in e also if this
 * returns 0. Negative errno: none could be. crowd_close in every case.
 */
int crowd_open(struct crowd **out, const struct crowd_opts *o, unsigned int *not_open,
	       struct err *e);

/* Makes the directory and all files. 0; LOAD_REFUSED or a negative errno with a text. */
int crowd_make(struct crowd *c, struct err *e);

/* Sessions that were lost before the load began, and why. */
unsigned int crowd_lost(const struct crowd *c, const char **why);

/*
 * Begins to load. crowd_wait: at most ns, keeping the command's own session alive; true when it is
 * over. crowd_measure: the measured time begins now, and has the length planned. crowd_done:
 * actions that have ended until now.
 */
int crowd_start(struct crowd *c, const struct crowd_load *how, struct err *e);
bool crowd_wait(struct crowd *c, uint64_t ns);
void crowd_measure(struct crowd *c);
uint64_t crowd_done(const struct crowd *c);
/* What the probe did in second i from the begin, which is over. false: it is not. */
bool crowd_probed(const struct crowd *c, size_t i, struct run_second *out);

/* Gives the phase its loads and commands. */
int crowd_join(struct crowd *c, struct run_phase *p, struct err *e);

/*
 * Removes the files, ends the sessions, frees. Not 0: something is left, e says what; the session's
 * base says so, too. NULL is allowed.
 */
int crowd_close(struct crowd *c, struct err *e);

#endif
