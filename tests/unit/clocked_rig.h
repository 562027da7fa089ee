/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_CLOCKED_RIG_H
#define TESTS_UNIT_CLOCKED_RIG_H

/* An engine whose threads share the clock of a test, and what such tests ask of it. */

#include "unit/engine_rig.h"
#include "unit/shared_clock.h"

static inline struct rig *rig(unsigned int n, unsigned int n_threads)
{
	struct rig *g = rig_of(n, n_threads);

	g->before_job = shared_clock_job;
	shared_clock.n_threads = n_threads;
	return g;
}

static inline struct engine_job open_loop(enum pace_kind kind, double rate_per_s,
					  uint64_t duration_ns)
{
	struct engine_job job = rig_work(duration_ns);

	job.pace = (struct pace_opts) { kind, rate_per_s, 5 };
	job.queue = 1000;
	return job;
}

/* Latencies of at least ns, to within 2 %. */
static inline uint64_t at_least(const struct hist *h, uint64_t ns)
{
	uint64_t n = 0;

	for (size_t i = hist_index(ns, HIST_BITS); i < HIST_BUCKETS(HIST_BITS); i++)
		n += h->bucket[i];
	return n;
}

static inline bool is_about(uint64_t value, uint64_t expected, uint64_t most)
{
	return value + most >= expected && value <= expected + most;
}

#endif
