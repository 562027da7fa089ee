/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_ARRIVALS_H
#define LOAD_ARRIVALS_H

/*
 * The queue of an open loop: what is to begin and has no client yet, of all threads of an engine,
 * so that a client of any thread takes what has waited longest. Each thread looks at the arrivals
 * of its own pace; what finds no free client there goes to a thread that has one, or waits. The
 * lock is held for a few instructions, twice an action. Only for client/load; others use engine.h.
 */

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arrivals for which there is memory, 8 bytes each, which is used when they wait. */
#define ARRIVALS_MAX ((size_t)1 << 22)

struct engine_job;
struct worker;

struct arrival {
	uint64_t due_ns : 61; /* CLOCK_MONOTONIC */
	uint64_t measured : 1;
	uint64_t late : 1; /* its thread was late to look at it, and has counted that */
	uint64_t held : 1; /* it came while the thread did not run, or waits behind such */
};

enum arrival_way {
	ARRIVAL_BEGINS, /* a free client of this thread is to begin it */
	ARRIVAL_WAITS,
	ARRIVAL_DROPPED, /* as many wait as may */
	ARRIVAL_LATER,   /* there is no memory for it now: look again */
};

struct arrivals {
	pthread_mutex_t lock; /* guards what follows, and n_idle of the workers */
	struct worker *worker;
	unsigned int n_workers;
	struct arrival *wait; /* a ring */
	size_t room, at, n;
	size_t most;         /* that may wait; SIZE_MAX: all */
	unsigned int n_idle; /* clients without work, of all threads */
	unsigned int n_held; /* threads that have not caught up since they did not run */
};

/* Before the threads are there, and when they have gone. */
void arrivals_init(struct arrivals *q, struct worker *worker, unsigned int n_workers);
void arrivals_fini(struct arrivals *q);

/* Memory for a job, and none waits. 0 or -ENOMEM with a text. */
int arrivals_prepare(struct arrivals *q, const struct engine_job *job, struct err *e);

/*
 * The next arrival of w's pace has come. Where it waits, x->held says whether that is because of a
 * thread that did not run. Wakes a thread that has a free client, if w has none.
 */
enum arrival_way arrivals_come(struct arrivals *q, struct worker *w, struct arrival *x);

/* What has waited longest, for a client of w that has been free; false: none waits or is free. */
bool arrivals_take(struct arrivals *q, struct worker *w, struct arrival *out);

/* The same for one that becomes free now; false: it is without work from now on. */
bool arrivals_next(struct arrivals *q, struct worker *w, struct arrival *out);

/* A client of w is without work from now on; is lost, and was without work. */
void arrivals_rest(struct arrivals *q, struct worker *w);
void arrivals_leave(struct arrivals *q, struct worker *w);

/* w did not run for a while: what waits may wait because of that. false: it has caught up. */
void arrivals_hold(struct arrivals *q, struct worker *w, bool held);

/* Takes what is left at the end; false: nothing. */
bool arrivals_left(struct arrivals *q, struct arrival *out);

#endif
