/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOP_LIVE_H
#define TOP_LIVE_H

/*
 * What a running server does, step by step: how many requests, how long they took and what their
 * time went into, by command, user, client, volume, session and file. A step is the time between
 * two readings; what is counted is in exactly one step. One thread.
 *
 * Of a watch that was opened with the sink of live_sink(). On a rung without requests there are no
 * rows. By file only if it was asked for: then each request makes a record.
 */

#include "run/run.h"
#include "top/live_table.h"
#include "watch/watch.h"

/* X(NAME, key, heading) */
#define LIVE_BYS(X)                                                                                \
	X(COMMAND, "command", "COMMAND")                                                           \
	X(USER, "user", "USER")                                                                    \
	X(CLIENT, "client", "CLIENT")                                                              \
	X(VOLUME, "volume", "VOLUME")                                                              \
	X(SESSION, "session", "SESSION")                                                           \
	X(FILE, "file", "FILE")

enum live_by {
#define X(NAME, key, heading) LIVE_##NAME,
	LIVE_BYS(X)
#undef X
	    LIVE_N
};

/* The server in a step. */
struct live_step {
	uint64_t begun_ns, ended_ns;    /* CLOCK_MONOTONIC */
	bool has_requests;              /* false: nothing below is known but the CPU time */
	struct live_sum all;            /* of all requests, by the ledger */
	uint64_t sessions;              /* at its end, and active ones that ended in it */
	uint64_t active;                /* of these, with a request in service in it */
	uint64_t in_service, oldest_ns; /* requests at its end, and the age of the oldest */
	uint64_t logins;                /* answered, whatever the answer */
	uint64_t server_cpu_ns, backend_cpu_ns;
	uint64_t lost; /* of all kinds, since the watch began */
};

struct live;

struct live_opts {
	const struct account_names *names; /* of the server's kind; NULL: AFP's */
	bool files;                        /* by file, too */
	bool texts;                        /* files by name; else by keyed hash */
};

/* live_new before the watch is opened with live_sink(), then live_begin. NULL: no memory. */
struct live *live_new(const struct live_opts *opts, struct err *e);
struct watch_sink live_sink(struct live *l);
/* Begins the first step. w must live as long as l is used. 0 or a negative errno. */
int live_begin(struct live *l, struct watch *w);
void live_free(struct live *l); /* NULL is allowed */

/* Waits for records, or for at most timeout_ms. 0 or a negative errno. */
int live_wait(struct live *l, int timeout_ms);

/* Ends a step and begins the next. 0 or a negative errno. */
int live_step(struct live *l);

/*
 * Adds to the step that has ended a request that only /proc shows: one from before the watch, of a
 * session of which nothing was read yet. All its time in that step counts as what it waits for now.
 */
void live_older(struct live *l, const struct run_service *is);

/* The step that has ended. Valid until the next one ends. */
const struct live_step *live_last(const struct live *l);
const struct live_table *live_rows(const struct live *l, enum live_by by);

/*
 * What a diagnosis needs to know since the last call, or since the watch began, as a phase of r and
 * its sessions; r has been made by run_init. 0 or -ENOMEM.
 */
int live_note(struct live *l, struct run *r);

#endif
