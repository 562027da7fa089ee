/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_ENGINE_H
#define LOAD_ENGINE_H

/*
 * Drives many clients from a few threads. A client is a store and, for each job, a script
 * (load/actor.h). Jobs follow one another: open all sessions, make the files, load, remove, end.
 *
 * In a job nothing is allocated by the engine, no lock is taken but that of the arrivals of an open
 * loop (arrivals.h), and each thread counts for itself: the counts are added when the job has
 * ended. A session that is not made or is lost is counted, and the others go on; one that is lost
 * between two jobs is counted in the second. Between jobs the threads keep the sessions alive.
 */

#include "load/actor.h"
#include "load/draw.h"
#include "load/pace.h"
#include "run/load.h"
#include "run/run.h"

#include <limits.h>
#include <signal.h>

struct engine_client {
	/*
	 * Begins the client's store, in the engine's thread. scratch: STORE_SCRATCH_LEN bytes that
	 * the sessions of this thread share. 0 or a negative errno with a text.
	 */
	int (*begin)(void *user, struct store **out, uint8_t *scratch, struct err *e);
	void *user;
	/* Its session is open; in the same thread, which alone uses the store. May be NULL. */
	void (*opened)(void *user, struct store *s);
};

struct engine_opts {
	unsigned int n_threads;   /* at least 1 */
	unsigned int opening_max; /* sessions of a thread that are opened at a time */
	uint64_t patience_ns;     /* with answers after a stop; 0: 5 s */
	/*
	 * Where several processes share the clients: client i of this one has number first + i *
	 * step of all. step 0: they are all here.
	 */
	unsigned int first, step, all;
	const volatile sig_atomic_t *stop; /* set: jobs end soon; may be NULL */
	/*
	 * Threads run before others (SCHED_RR), where that is allowed. Not where they may need a
	 * whole CPU on which others must run, too. Without it, a thread with many
	 * clients waits behind each process of a server on the same machine, and it is that wait
	 * which is measured.
	 */
	bool realtime;
};

enum engine_what {
	ENGINE_OPEN, /* open the sessions */
	ENGINE_WORK, /* what the scripts say */
	ENGINE_END,  /* end the sessions */
};

#define ENGINE_QUEUE_ALL UINT_MAX

struct engine_job {
	enum engine_what what;
	bool ignores_stop;     /* cleaning up */
	uint64_t begin_ns;     /* CLOCK_MONOTONIC, may be some time ahead; 0: now */
	unsigned int from, to; /* clients from <= i < to; to 0: all */
	/*
	 * ENGINE_WORK: the script of a client; NULL: it has nothing to do, but its session is kept
	 * for duration_ns.
	 */
	struct script *(*script)(void *user);
	unsigned int n_actions;
	const char *(*action_name)(unsigned int i);
	uint64_t duration_ns; /* no action begins later; 0: each script does until it ends */
	uint64_t ramp_ns;     /* closed loop: the clients begin one after the other within it */
	uint64_t settle_ns;   /* after the ramp, before the measured time */
	const struct draw
	    *think;        /* closed loop: the pause between a client's actions; NULL: none */
	uint64_t pause_ns; /* closed loop: of a client after each action, beside think */
	struct pace_opts pace;
	const struct rate *rate; /* open loop: how its rate changes in the measured time; NULL */
	/* Closed loop: how many clients work in the measured time: client i of all begins actions
	 * while it is i + 1 at least. NULL: all. */
	const struct rate *crowd;
	bool keeps_progress; /* the load gets progress (run/progress.h) */
	bool keeps_late;     /* and how late each action began: load/closed.h; it is uneven */
	bool keeps_recent;   /* without duration_ns: engine_second() has the last seconds */
	/*
	 * Open loop: arrivals that may wait for a client, of all threads; more are dropped.
	 * ENGINE_QUEUE_ALL: all may. 0: what finds no free client is left out, and is in no
	 * latency: a user does one thing after the other.
	 */
	unsigned int queue;
	/*
	 * Open loop: a name that only the processes have that share the clients; those of one host
	 * then have one queue, whose free clients are those of all. NULL: this is the only one.
	 */
	const char *share;
};

struct engine;

/* Clients are copied. 0 or a negative errno with a text. */
int engine_new(struct engine **out, const struct engine_opts *o,
	       const struct engine_client *clients, unsigned int n_clients, struct err *e);

/*
 * Begins a job, which ends after duration_ns, or when no client is left that has something to do.
 * Its memory and that of what it points to is borrowed until engine_join().
 */
int engine_start(struct engine *g, const struct engine_job *job, struct err *e);

/* Actions that have ended in the job until now. Any thread. */
uint64_t engine_done(const struct engine *g);

/*
 * What ended in second i of the job under way; false: that second is not over, none are kept, or it
 * was so long ago that it is not kept one by one. Who asks for each second as soon as it is over
 * gets it whole, however long the job is. engine_first_second(): the first one that is still kept.
 */
size_t engine_first_second(const struct engine *g);
bool engine_second(const struct engine *g, size_t i, struct run_second *out);

/*
 * Changes when the job under way measures, before its measured time has begun; measure_ns 0: as it
 * is. Threads follow within 100 ms, so that both must be later than that.
 */
void engine_retime(struct engine *g, uint64_t measure_ns, uint64_t end_ns);

/* Waits at most ns. true: the job has ended. */
bool engine_wait(struct engine *g, uint64_t ns);

/*
 * Waits for the job's end, and gives what it did: *load, the caller's (run_load_free), and, if
 * phase is not NULL, its commands. 0 or -ENOMEM.
 */
int engine_join(struct engine *g, struct run_load **load, struct run_phase *phase, struct err *e);

/* Ends the threads; sessions that are still there are dropped. NULL is allowed. */
void engine_free(struct engine *g);

#endif
