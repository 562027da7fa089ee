/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_CLIENTS_RIG_H
#define UNIT_CLIENTS_RIG_H

/* A watch of ten seconds with invented clients, and the figures of these. */

#include "doctor/figures/clients.h"

#include "bpf/hist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS      1000000ull
#define STAT    34
#define AT      7000 /* ms: when the watch began */
#define WATCHED 10000

/* Ten seconds of nothing. */
static inline struct run *made(void)
{
	struct run *r = calloc(1, sizeof(*r));
	struct run_phase *p;

	assert_non_null(r);
	assert_int_equal(run_init(r, "doctor", "doctor"), 0);
	p = run_phase(r, 0, 1, "recorded");
	assert_non_null(p);
	p->complete = true;
	p->start_ns = AT * MS;
	run_set(p, METRIC_ELAPSED, WATCHED * MS);
	return r;
}

/* A client of a whole watch: n requests of one command, each a pause after the reply before. */
static inline struct run_session *client(struct run *r, uint32_t n, uint64_t pause_ns)
{
	struct run_session *s = run_session(r);
	uint32_t i = afs_hist_index(pause_ns >> AFS_PAUSE_SHIFT, AFS_PAUSE_BITS, AFS_PAUSE_BUCKETS);

	assert_non_null(s);
	s->user = strdup("anna");
	s->address = strdup("192.0.2.1:50000");
	s->requests = n;
	s->bytes_in = 30ull * n;
	s->bytes_out = 70ull * n;
	s->habit.most = STAT;
	s->habit.most_n = n;
	s->habit.pause[i] = n;
	s->tcp = (struct run_session_tcp) { .known = true,
					    .min_rtt_ns = 20000,
					    .segments = n,
					    .acked = 70ull * n,
					    .rate = 1000000000 };
	return s;
}

static inline struct run_figures measured(struct run *r)
{
	struct run_figures f = { 0 };

	doctor_clients(&f, r);
	run_fini(r);
	free(r);
	return f;
}

static inline void is(const struct run_figures *f, enum run_figure which, double value)
{
	assert_true(f->known[which]);
	if (fabs(f->value[which] - value) > 1e-6 * fabs(value) + 1e-12)
		fail_msg("%s is %g, not %g", run_figures[which].key, f->value[which], value);
}

/* So many bytes were acknowledged at a rate, and something was on its way for so long. */
static inline struct run_session *drained(struct run *r, uint64_t bytes, uint64_t rate,
					  uint64_t busy_ns)
{
	struct run_session *s = client(r, 100, 2 * MS);

	s->tcp.acked = bytes;
	s->tcp.rate = rate;
	s->tcp.busy_ns = busy_ns;
	s->tcp.min_rtt_ns = MS;
	return s;
}

#endif
