/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_PACE_H
#define LOAD_PACE_H

/*
 * When actions are to begin. Closed: each client's next one after its last, and a pause. Open: at a
 * rate that does not depend on how fast the server answers, at equal distances or as a Poisson
 * process. The arrivals are dealt out among the threads, of one process or of several: those of all
 * together have the rate asked for, and no bursts.
 */

#include "load/rate.h"

#include <stdint.h>

enum pace_kind {
	PACE_CLOSED,
	PACE_FIXED,
	PACE_POISSON,
};

struct pace_opts {
	enum pace_kind kind;
	double rate_per_s; /* of all threads together; not of PACE_CLOSED */
	uint64_t seed;
};

/* The arrivals of one thread. */
struct pace {
	enum pace_kind kind;
	double gap_ns; /* fixed: between two of this thread; Poisson: mean */
	double at_ns;  /* of the next one, from start_ns */
	uint64_t start_ns;
	uint64_t n; /* before it */
	double first_ns;
	unsigned short random[3]; /* state of erand48() */
	/* A rate that changes: arrivals of all threads before the next one of this thread. */
	const struct rate *rate; /* NULL: it does not */
	double lead_s, before, share;
};

/* More arrivals of all threads within ns than there will be, whatever the draws. */
double pace_most(const struct pace_opts *o, uint64_t ns);

/* Thread k of n_threads. */
void pace_begin(struct pace *p, const struct pace_opts *o, unsigned int k, unsigned int n_threads,
		uint64_t start_ns);

/*
 * After pace_begin(), the same arguments: not at a constant rate, but at this one, borrowed, whose
 * time 0 is lead_ns after start_ns. Nothing of PACE_CLOSED.
 */
void pace_follow(struct pace *p, const struct rate *rate, uint64_t lead_ns, unsigned int k,
		 unsigned int n_threads);

/* When the next action is to begin, CLOCK_MONOTONIC; UINT64_MAX: never, or PACE_CLOSED. */
uint64_t pace_due_ns(const struct pace *p);

/* That one has come. */
void pace_next(struct pace *p);

/* A draw from the exponential distribution with this mean. */
double pace_exponential(unsigned short random[3], double mean);

/* Seeds the state of a generator: different for each pair. */
void pace_seed(unsigned short random[3], uint64_t seed, uint64_t number);

#endif
