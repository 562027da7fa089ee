/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_ARRIVALS_H
#define LOAD_ARRIVALS_H

/*
 * The queue of an open loop: what is to begin and has no client yet, of all threads of an engine,
 * so that a client of any thread takes what has waited longest. Each thread looks at the arrivals
 * of its own pace; what finds no free client there goes to a thread that has one, or waits. The
 * lock is held for a few instructions, twice an action. Only for client/load; others use engine.h.
 *
 * Where several processes share the clients (engine_job.share), those of one host have one queue in
 * shared memory (arrivals_shared.c): it makes no difference which of them has the free client.
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
	ARRIVAL_BEGINS,  /* a free client of this thread is to begin it */
	ARRIVAL_GOES,    /* a client of another thread is free for it */
	ARRIVAL_WAITS,   /* none is free */
	ARRIVAL_DROPPED, /* as many wait as may */
	ARRIVAL_LATER,   /* there is no memory for it now: look again */
};

/* A thread with clients. */
struct arrivals_thread {
	uint32_t n_idle; /* clients without work */
	bool held;       /* it has not caught up since it did not run */
};
#define ARRIVALS_THREADS_MAX 4096

/* What all threads share: nothing in it depends on where it is in memory. */
struct arrivals_queue {
	_Atomic uint64_t len; /* bytes, once it is made, if it is shared */
	pthread_mutex_t lock; /* guards what follows */
	uint32_t n_threads, n_processes;
	uint32_t n_idle;      /* of all threads */
	uint32_t n_held;      /* threads that are held */
	uint64_t room, at, n; /* of wait */
	uint64_t most;        /* that may wait; UINT64_MAX: all */
	struct arrivals_thread thread[ARRIVALS_THREADS_MAX];
	struct arrival wait[]; /* a ring */
};

struct arrivals {
	struct worker *worker;
	unsigned int n_workers;
	uint32_t first;           /* its threads among those of the queue */
	struct arrivals_queue *q; /* NULL: not prepared */
	size_t len;               /* bytes of it, in shared memory; 0: of this process alone */
	char name[96];            /* of it, until it has begun; "": it has none */
	char address[96];         /* of threads of other processes, without their number */
	int out;                  /* sends to them */
};

/* Before the threads are there, and when they have gone. */
void arrivals_init(struct arrivals *q, struct worker *worker, unsigned int n_workers);
void arrivals_fini(struct arrivals *q);

/* Memory for a job, and none waits. 0 or -ENOMEM with a text. */
int arrivals_prepare(struct arrivals *q, const struct engine_job *job, struct err *e);

/*
 * The queue that processes of this host have in common, with room for so many arrivals: as the
 * first of them it makes it. share: a name that only they have. w->shared_wake of each worker then
 * becomes readable if another process wakes it. false: it cannot be had; q has none.
 */
bool arrivals_share(struct arrivals *q, const char *share, size_t room, unsigned int most);

/* The load has begun: who comes now gets another one. The end of it, for this process. */
void arrivals_unlist(struct arrivals *q);
void arrivals_unshare(struct arrivals *q);

/* A new queue, whose memory is 0; and the threads of a process become some of it. */
void arrivals_queue_init(struct arrivals_queue *q, size_t room, bool shared);
void arrivals_join(struct arrivals *q, unsigned int most);
void arrivals_lock(struct arrivals_queue *q); /* also if who had it has died */

/* Wakes a thread of another process. false: that has gone. */
bool arrivals_wake(const struct arrivals *q, uint32_t thread);

/* Processes that have the queue. */
unsigned int arrivals_processes(struct arrivals *q);

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

bool arrivals_is_held(const struct arrivals *q, const struct worker *w);

/* Takes what is left at the end; false: nothing. */
bool arrivals_left(struct arrivals *q, struct arrival *out);

#endif
