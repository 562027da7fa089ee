/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_WORKER_H
#define LOAD_WORKER_H

/* One thread of the engine and its clients. Only for client/load; others use engine.h. */

#include "load/arrivals.h"
#include "load/chain.h"
#include "load/engine.h"
#include "load/pulse.h"
#include "load/timers.h"

#include <stdatomic.h>

/* When a job measures; it may be changed while its threads run. */
struct engine_times {
	_Atomic uint64_t measure_ns, end_ns;
	_Atomic uint64_t first_ns; /* when the first client had nothing more to do; 0: none yet */
};

enum actor_state {
	ACTOR_AWAY, /* no store */
	ACTOR_OPENING,
	ACTOR_RESTING, /* between actions */
	ACTOR_ACTING,
	ACTOR_ENDING,
};

struct actor {
	struct timer timer; /* when it is to be looked at, at the latest */
	struct engine_client client;
	struct run_client *out; /* of the job */
	unsigned int number;    /* of the engine's clients */
	unsigned int of_all;    /* of those of all processes */
	enum actor_state state;
	struct store *store;
	struct script *script;
	bool in_job, done;   /* the job is for it; its script has ended */
	unsigned int action; /* class of the one under way */
	uint64_t planned_ns, begun_ns;
	uint64_t bytes_before;     /* of its script, before this action */
	uint64_t bytes_counted;    /* of this action, in the measured time */
	uint64_t contended_before; /* likewise of its script */
	/* aside_ns of its script: at the begin of the job, of this action as planned and as it
	 * began, and when its last answer came. */
	uint64_t aside_job_ns, aside_planned_ns, aside_begun_ns, aside_ns;
	uint64_t n_answered; /* of its requests */
	bool over_network;   /* its store counts round trips */
	struct chain chain;  /* of the action under way, if they do */
	uint64_t next_ns;    /* when its next action is to begin; UINT64_MAX: not by itself */
	/* Of a script that says when: when that is due, and since when it could have begun. */
	uint64_t due_ns, free_ns;
	uint64_t asked_ns; /* when it was asked first whether it may begin; 0: not yet */
	/* Open loop: that arrival, and whether it waited because no client was free. */
	struct arrival arrival;
	bool queued, idle; /* idle: counted in n_idle */
	bool at_once;      /* it began when the last one had ended: with its first request */
	bool handed_late;  /* one of its requests began later than it was given to the store */
	unsigned short random[3];
	int fd; /* registered with epoll; -1: none */
	short events;
	struct actor *next; /* idle, see worker.idle */
};

/* The last seconds one by one, for who looks on: those of the load may be put together. */
#define RECENT_SECONDS 16
struct recent_second {
	uint64_t number; /* seconds until its end; 0: nothing yet */
	struct run_second s;
};

struct worker {
	unsigned int number, n_workers; /* of all processes, see engine_opts.first */
	unsigned int n_clients;         /* of all threads and processes */
	const volatile sig_atomic_t *stop;
	unsigned int opening_max;
	uint64_t patience_ns;
	atomic_uint *n_busy; /* of all: threads with a client that has something to do */
	int epoll;
	bool realtime;
	int wake;        /* an eventfd: there is a job, or it is to end */
	int shared_wake; /* a socket to which other processes send: -1: none */
	uint8_t *scratch;
	size_t n;
	struct actor *actor; /* n */
	bool blocks;         /* the stores of those that were opened */
	struct timers timers;

	/* The job */
	const struct engine_job *job;
	const struct pulse *pulse;             /* the engine's */
	struct engine_times *times;            /* of all threads */
	uint64_t begin_ns, measure_ns, end_ns; /* as this thread has seen them last */
	_Atomic uint64_t n_done;               /* actions; only this thread writes it */
	uint64_t give_up_ns;                   /* after a stop; 0: none */
	uint64_t alive_ns; /* until then it ran, or waited for what it had asked for */
	/* The last time that it did not run: within these, at least so long. */
	uint64_t pause_from_ns, pause_to_ns, pause_ns;
	unsigned int n_opening, n_acting, n_left; /* left: to be opened, to end, in the load */
	bool busy;                                /* counted in n_busy */
	size_t next_open;                         /* the next actor to open */
	struct pace pace;
	struct arrivals *arrivals;       /* open loop: those that wait, of all threads */
	struct actor *idle, **idle_tail; /* clients without work, longest first */
	bool later;                      /* there was no memory for an arrival */
	unsigned int n_catch_up;         /* turns after the end */
	/* When it was last looked how long it had run or waited for a CPU; 0: not yet; and that. */
	uint64_t busy_at_ns, busy_ns;
	struct run_load *result; /* what it did; the engine's memory */
	struct run_load *load;   /* the same while the job is under way, else NULL */
	bool keeps_recent;       /* the last seconds, for who looks on */
	struct recent_second recent[RECENT_SECONDS]; /* by number */
	pthread_mutex_t looked_on; /* guards recent, and the seconds of load, if keeps_recent */
	struct run_phase region;   /* commands */
	struct run_command *command[256];

	/* Between jobs */
	unsigned int n_lost; /* sessions */
	struct err lost_why; /* of the first */
};

/* With room for n actors, whose client and number the caller sets. 0 or a negative errno. */
int worker_init(struct worker *w, size_t n, struct err *e);
void worker_fini(struct worker *w);

/* What a job needs, before its time runs. 0 or -ENOMEM. */
int worker_prepare(struct worker *w, const struct engine_job *job, struct err *e);

/* One job from its begin to its end; prepared, and load and times are set. Allocates nothing. */
void worker_run(struct worker *w);

/* Between jobs: keeps the sessions alive, until something comes or 100 ms are over. */
void worker_keep(struct worker *w);

/* Ends a worker_keep() that waits. Any thread. */
void worker_wake(struct worker *w);

#endif
