/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

/*
 * The engine under the workloads: phases, latencies, counts. The only reader of the clock
 * beside the stamps that DSI sets. A workload calls load_call() for every command; inside a
 * phase each is counted and timed, outside nothing is.
 *
 * Return values of a workload: 0; LOAD_REFUSED, the server's answer was not the one that the work
 * needs (text in err); negative errno, the connection is gone or the program failed.
 */

#include "afp/afp.h"
#include "base/err.h"
#include "base/run.h"

#define LOAD_REFUSED 1

/* What the command line hangs in between; all may be NULL. */
struct load_hooks {
	void *user;
	/* Before and after a phase, the server idle: read the counters. */
	void (*phase_begin)(void *user);
	void (*phase_end)(void *user, struct run_phase *p);
	/* After phase_end: tell people. */
	void (*phase_done)(void *user, const struct run_phase *p);
};

struct load {
	struct afp *afp;
	struct run *run;
	const struct load_hooks *hooks;
	struct run_phase *phase;          /* NULL outside phases */
	uint64_t cpu_ns;                  /* of this program when the phase began */
	struct run_command *command[256]; /* of the phase, by code; a cache */
	uint64_t ops, errors, bytes;
	uint8_t refused; /* code of the AFP command that a workload gave up on; 0: none */
};

int load_phase_begin(struct load *l, unsigned int test, unsigned int iteration, const char *title,
		     struct err *e);
/* complete: false when the phase broke off. Does nothing when no phase is open. */
void load_phase_end(struct load *l, bool complete);

/* Submits and waits for one op. 0 or negative errno; the answer is in op. */
int load_call(struct load *l, struct afp_op *op, struct err *e);

/* The pipelined pair: counts what is reaped. -EAGAIN from submit: reap first. */
int load_submit(struct load *l, struct afp_op *op, struct err *e);
int load_reap(struct load *l, struct afp_op **out, struct err *e);

/* Counts what only the workload knows: file data moved, answers it did not expect. */
void load_add_bytes(struct load *l, uint64_t n);
void load_add_error(struct load *l);

#endif
