/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_CLIENTS_H
#define DRIVE_CLIENTS_H

/*
 * A group of clients that do the same at the same time, and the probe, which is one more with a
 * thread of its own. What one client is, struct clients_type says. Their life:
 *
 *	clients_new     with what they have in common
 *	clients_open    the sessions, some at a time
 *	clients_do      a script of each to its end, such as making the files
 *	clients_start   the load; clients_wait until it is over, clients_join for what it did
 *	clients_close   cleans up, ends the sessions
 *
 * Between these calls the engine's threads keep the sessions alive; all of them are made from one
 * thread.
 */

#include "drive/places.h"
#include "load/engine.h"
#include "report/ticker.h"

enum clients_task { CLIENTS_MAKE, CLIENTS_USE, CLIENTS_VERIFY, CLIENTS_REMOVE };

/* What a script does. */
struct clients_actions {
	unsigned int n;
	const char *(*name)(unsigned int i);
};

/* own: what clients_new was given; i: which client of this process, the probe is the last. */
struct clients_type {
	const char *opens; /* "session": what each of them opens */
	/* One that cannot be opened, or is lost before the load, is a failure of all. */
	bool all_or_none;
	struct clients_actions actions, probe;
	double probe_rate;   /* of the probe's actions, a second */
	bool probe_is_apart; /* its commands are not among those of the phase */
	/* As engine_client.begin, and the client's end of what it has opened: both in its thread.
	 */
	int (*begin)(void *own, unsigned int i, struct store **out, uint8_t *scratch,
		     struct err *e);
	void (*address)(struct store *s, char out[RUN_ADDRESS_LEN]);
	/* In its thread; NULL: it has nothing to do. */
	struct script *(*script)(void *own, unsigned int i, enum clients_task task);
	/* The following may be NULL. Ten times a second while they do something. */
	void (*tick)(void *own);
	/* It is over; what was done is not added up yet. */
	void (*ended)(void *own);
	/* The load is over: what else there is to say of it. 0 or a negative errno. */
	int (*joined)(void *own, struct run_phase *p, struct err *e);
	/* Before the sessions end: removes what is to be removed. 0, or what is left is in e. */
	int (*clean)(void *own, struct err *e);
	void (*free)(void *own);
};

struct clients_opts {
	struct places *places;    /* open; kept alive and, with its watch, ticked; NULL: none */
	unsigned int n, threads;  /* n 0: only the probe; threads at least 1 */
	unsigned int logins;      /* sessions that they may have besides, all together */
	uint64_t data_b;          /* memory for what they write, all together */
	unsigned int opening_max; /* that all processes open at a time, each at least one; of more
				     processes some do it after the others (ranks/ranks.c) */
	bool probe, realtime; /* realtime: the clients, see load/engine.h; the probe always is */
	/* Where several processes share the clients, see engine_opts; step 0: all are here. */
	unsigned int first, step, all;
	const char *share; /* then: see engine_job; borrowed */
};

/* Sessions that a load opens at a time: afpd's queue of new connections has 20 places. */
#define CLIENTS_OPENING_MAX 8

struct clients;

/* own is theirs, and freed also if this fails. 0, or -ENOMEM with a text. */
int clients_new(struct clients **out, const struct clients_type *type, void *own, struct err *e);
void *clients_own(const struct clients *c);

/*
 * 0; -ECONNREFUSED: none could be opened, or not all of those that are all or none; other negative
 * errno. *not_open: how many could not be; the first reason is in e also if this returns 0.
 */
int clients_open(struct clients *c, const struct clients_opts *o, unsigned int *not_open,
		 struct err *e);

/*
 * The scripts of clients from <= i < to (to 0: all; those that there are), or of the probe, to
 * their end. CLIENTS_REMOVE goes on after a signal. 0; LOAD_REFUSED: an action failed; or a
 * negative errno.
 */
int clients_do(struct clients *c, enum clients_task task, unsigned int from, unsigned int to,
	       struct err *e);
int clients_do_probe(struct clients *c, enum clients_task task, struct err *e);

/*
 * Between two loads: the probe's session was lost; opens another, if there is none, and finds its
 * file again. 0, or why that is not possible now: as clients_do().
 */
int clients_reopen_probe(struct clients *c, struct err *e);

/* Whether the last job found client i with a session. */
bool clients_is_open(const struct clients *c, unsigned int i);

/* Sessions that were lost before the load began, and why. */
unsigned int clients_lost(const struct clients *c, const char **why);

/*
 * Begins CLIENTS_USE. Of how count the times, pace, queue (of all threads) and keeps_progress.
 * clients_wait: at most ns; true when it is over. clients_measure: the measured time begins now,
 * and has the length planned. clients_done: actions that have ended until now. clients_end_soon: no
 * action begins any more, and it is over as if that had been planned. clients_probed: what the
 * probe did in second i from the begin; false: that is not over.
 */
int clients_start(struct clients *c, const struct engine_job *how, struct err *e);
bool clients_wait(struct clients *c, uint64_t ns);
void clients_measure(struct clients *c);
uint64_t clients_done(const struct clients *c);
void clients_end_soon(struct clients *c);
bool clients_probed(const struct clients *c, size_t i, struct run_second *out);

/*
 * The next second that is over, after the one that s has (number 0: none yet): what clients and
 * probe did in it, counted from begin_ns and, from measure_ns on (UINT64_MAX: not known yet), in
 * the measured time. false: there is none. clients_show(): shows all of them. clients_show_end():
 * likewise, after the end of all; a program that reads them gets the last one, too.
 */
bool clients_next_second(const struct clients *c, struct ticker_second *s, uint64_t begin_ns,
			 uint64_t measure_ns);
void clients_show(const struct clients *c, struct ticker *t, struct ticker_second *s,
		  uint64_t begin_ns, uint64_t measure_ns);
void clients_show_end(const struct clients *c, struct ticker *t, struct ticker_second *s,
		      uint64_t begin_ns, uint64_t measure_ns);

/* Gives the phase its loads and commands. Actions that failed are no error. */
int clients_join(struct clients *c, struct run_phase *p, struct err *e);

/* Cleans up, ends the sessions, frees. Not 0: something is left, e says what. NULL is allowed. */
int clients_close(struct clients *c, struct err *e);

#endif
