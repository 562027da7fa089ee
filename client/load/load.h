/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

/*
 * The engine under the workloads: phases, latencies, counts. It alone reads the clock, apart from
 * the times that DSI and the stores set. A workload makes every request by one of load_call(),
 * load_submit() and load_reap(), or their twins for a store; inside a timed region each is counted
 * and timed, outside nothing is. Inside nothing is allocated, and there are no system calls but
 * those of the requests.
 *
 * Return values of a workload: 0; LOAD_REFUSED, the server's answer was not the one that the work
 * needs (text in err); negative errno, the connection is lost or the program failed.
 */

#include "afp/afp.h"
#include "base/err.h"
#include "run/run.h"
#include "store/store.h"

#define LOAD_REFUSED 1

/* One request of a timed region, for printing each. */
struct load_trace {
	const char *what; /* static: "FPWriteExt" */
	uint64_t offset, len;
	int32_t code; /* the server's result */
	uint64_t begun_ns, last_ns;
};

/* Callbacks of the command; all may be NULL. */
struct load_hooks {
	void *user;
	/* The workload's directory was made, nothing timed yet: to find the server's processes. */
	void (*ready)(void *user);
	/* Before and after a timed region that is measured, the server idle: read the counters. */
	void (*region_begin)(void *user, struct run_phase *p);
	void (*region_end)(void *user, struct run_phase *p);
	/* After region_end, only for transfers, also warm-ups: for progress messages. */
	void (*sample_done)(void *user, const struct run_phase *p, const struct run_sample *s);
	/* The whole phase is done. */
	void (*phase_done)(void *user, const struct run_phase *p);
	/* In a transfer's warm-ups twice a second, and in the middle of the first: never where time
	 * is measured. */
	void (*tick)(void *user, struct run_phase *p);
};

struct load {
	struct afp *afp;     /* of load_call, load_submit, load_reap */
	struct store *store; /* of load_store_* */
	struct run *run;
	const struct load_hooks *hooks;
	struct run_phase *phase;          /* NULL outside measured regions */
	struct run_phase *transfer;       /* the open phase of a transfer */
	struct run_sample sample;         /* its region in progress */
	struct run_phase region;          /* the commands of that */
	uint64_t start_ns, last_ns;       /* of the region; of its last answer */
	uint64_t ticked_ns;               /* the last tick, 0: none yet in this phase */
	uint64_t cpu_ns;                  /* of this thread when the region began */
	struct run_command *command[256]; /* of the phase, by code; a cache */
	uint64_t ops, errors, bytes;      /* of the region */
	unsigned int depth;               /* its round trips until now (run/load.h) */
	uint8_t refused; /* code of the AFP command that a workload gave up on; 0: none */
	const volatile sig_atomic_t *stop; /* set when the run is to end; NULL: never */
	/* Requests of the region, at most trace_room; NULL: not wanted. */
	struct load_trace *trace;
	size_t n_trace, trace_room, trace_lost;
};

/* A phase of one timed region. */
int load_phase_begin(struct load *l, unsigned int test, unsigned int iteration, const char *title,
		     struct err *e);
/* complete: false if the phase broke off. Does nothing when no phase is open. */
void load_phase_end(struct load *l, bool complete);

/*
 * A phase of many timed regions, an iteration each: load_transfer_begin, then regions, then
 * load_transfer_end. A warm-up, or a region that broke off, becomes a sample, and is in no metric,
 * ledger or histogram.
 */
int load_transfer_begin(struct load *l, unsigned int test, const char *work, uint64_t size,
			struct err *e);
void load_region_begin(struct load *l, unsigned int iteration, bool warmup);
/* 0 or -ENOMEM. Does nothing when no region is open. */
int load_region_end(struct load *l, bool complete, struct err *e);
/* The phase is complete when it has a measured region that is. */
void load_transfer_end(struct load *l);

/* Submits and waits for one op. 0 or negative errno; the answer is in op. */
int load_call(struct load *l, struct afp_op *op, struct err *e);

/* The pipelined pair: counts what is reaped. -EAGAIN from submit: reap first. */
int load_submit(struct load *l, struct afp_op *op, struct err *e);
int load_reap(struct load *l, struct afp_op **out, struct err *e);

/* The same through the store. */
int load_store_call(struct load *l, struct store_op *op, struct err *e);
int load_store_submit(struct load *l, struct store_op *op, struct err *e);
int load_store_reap(struct load *l, struct store_op **out, struct err *e);

/*
 * The store's answer to an op on "name" is not what the work needs: sets l->refused and the text.
 * Returns LOAD_REFUSED.
 */
int load_refuse(struct load *l, const struct store_op *op, const char *name, struct err *e);
/* The text alone. Returns LOAD_REFUSED. */
int load_explain(const struct store_op *op, const char *name, struct err *e);

/* A workload calls it once, when its directory is there and before it times anything. */
void load_ready(struct load *l);

/* Whether to end. A workload asks between requests: not every store does. */
bool load_stopped(const struct load *l);

/* Half of the work of a region is done: in a warm-up, makes the phase's first tick, unless there
 * was one. */
void load_half(struct load *l);

/* For timing outside phases: ns, CLOCK_MONOTONIC. */
uint64_t load_clock_ns(void);

/* Counts what only the workload knows: file data moved, answers it did not expect. */
void load_add_bytes(struct load *l, uint64_t n);
void load_add_error(struct load *l);

#endif
