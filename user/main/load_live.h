/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_LOAD_LIVE_H
#define MAIN_LOAD_LIVE_H

/*
 * A load while it works: what each second brought, and whether a limit is broken already.
 *
 * Beyond doubt it is where it would be broken even if all that is still to come went well: in an
 * open loop all that is planned, in a closed one in each second ten times as many actions as in the
 * best one so far; and if no thread of this process is short of time, which could be the reason.
 * Limits of one kind of action, and of a rate, are only judged at the end.
 */

#include "main/load.h"
#include "report/ticker.h"

/* Of the seconds of the measured time that are over: the clients', or the probe's. Of an open loop
 * what was due before that time is in n and best only. */
struct load_live_sum {
	uint64_t n, failed, dropped;
	uint64_t over[SLO_MAX]; /* longer than that limit */
	double sum_ns, best;    /* best: actions in a second */
};

#define LOAD_LIVE_THREADS 512

/* How long each thread of this process has run, or waited for a CPU, since it began. */
struct load_live_threads {
	uint64_t at_ns;
	unsigned int n;
	long tid[LOAD_LIVE_THREADS];
	uint64_t ns[LOAD_LIVE_THREADS];
};

struct load_live {
	const struct load_cfg *cfg;
	struct load_live_threads begin;
	struct ticker live;
	struct ticker_second second; /* the last one */
	unsigned int measured;
	struct load_live_sum clients, probe;
};

void load_live_begin(struct load_live *l, const struct load_cfg *cfg, FILE *out);

/*
 * Shows what is over, of clients that began at begin_ns and are measured from measure_ns on
 * (UINT64_MAX: not known yet). With --abort-on-slo, the first limit that is
 * broken beyond doubt; NULL: none.
 */
const struct slo *load_live_tick(struct load_live *l, const struct clients *c, uint64_t begin_ns,
				 uint64_t measure_ns);

/* The next second: tick does this. Whether a thread is short of time is not asked. For tests. */
void load_live_take(struct load_live *l, const struct ticker_second *s);
const struct slo *load_live_broken(const struct load_live *l);

/* After the end of all: what is left to show. */
void load_live_end(struct load_live *l, const struct clients *c, uint64_t begin_ns,
		   uint64_t measure_ns);

#endif
