/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_PULSE_H
#define LOAD_PULSE_H

/*
 * A thread that wakes up again and again: what it slept too long is a time in which this process
 * did not run. By that who waited in a call that blocks can tell a slow call from a pause.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PULSE_NS 50000000u
#define PULSE_GAPS                                                                                 \
	8 /* so many are remembered: on a busy machine shorter ones follow a long one              \
	   */

struct pulse {
	pthread_t thread;
	int leave; /* an eventfd */
	bool runs;
	unsigned int n;           /* gaps so far; only its thread's */
	_Atomic uint64_t beat_ns; /* it ran at that time */
	_Atomic uint64_t from_ns[PULSE_GAPS], to_ns[PULSE_GAPS]; /* it did not run; 0: none */
};

/* Begins if it does not run yet. 0 or a negative errno. */
int pulse_begin(struct pulse *p);

/* Also of one that was never begun. */
void pulse_end(struct pulse *p);

/* The longest time that the process did not run and that ended after since_ns, or goes on: from
 * when to when. false: it is not known. Any thread. */
bool pulse_missed(const struct pulse *p, uint64_t since_ns, uint64_t now_ns, uint64_t *from_ns,
		  uint64_t *to_ns);

#endif
