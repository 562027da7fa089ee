/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SAMPLE_LOAD_H
#define TESTS_UNIT_SAMPLE_LOAD_H

/* A synthetic run of load: one phase of ten clients and a probe, every number known. */

#include "run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define LOAD_MS 1000000ull

/* n actions of which some failed; the others took 1, 2, ... ms, twice as long from the plan. */
static inline void load_action(struct run_action *a, const char *name, uint64_t n, uint64_t failed)
{
	a->name = name;
	a->n = n;
	a->failed = failed;
	for (uint64_t i = 1; i <= n - failed; i++) {
		hist_add(&a->begun, i * LOAD_MS);
		hist_add(&a->planned, 2 * i * LOAD_MS);
	}
}

static inline struct run_load *load_of_clients(void)
{
	struct run_load *l = run_load_new(10, 3, 20);

	assert_non_null(l);
	l->n_threads = 2;
	l->n_open = 9;
	l->begin_ns = 5000 * LOAD_MS;
	l->measure_ns = 6000 * LOAD_MS;
	l->end_ns = 16000 * LOAD_MS;
	l->done_ns = 16010 * LOAD_MS;
	l->cpu_ns = 3000 * LOAD_MS;
	l->cpu_max_ns = 2202 * LOAD_MS;
	load_action(&l->action[0], "list", 400, 0);
	load_action(&l->action[1], "look", 2000, 30);
	l->action[2].name = "read";
	for (unsigned int i = 0; i < 9; i++)
		l->client[i] = (struct run_client) { .actions = 240 + 60 * (i == 0) - 60 * (i == 1),
						     .bytes = 1000000,
						     .last_ns = 11000 * LOAD_MS,
						     .opened = true };
	for (size_t i = 0; i < 11; i++) {
		l->second[i].n = i == 5 ? 0 : 240;
		l->second[i].failed = i ? 0 : 40;
		l->second[i].sum_ns = l->second[i].n * LOAD_MS;
		l->second[i].max_ns = l->second[i].n ? LOAD_MS : 0;
		l->second[i].bucket[hist_index(LOAD_MS, RUN_SECOND_BITS)] = l->second[i].n -
									    l->second[i].failed;
	}
	return l;
}

static inline struct run_phase *make_load(struct run *r)
{
	struct run_phase *p;

	assert_int_equal(run_init(r, "load", "load-1"), 0);
	strcpy(r->id, "00112233445566ff");
	r->complete = true;
	p = run_phase(r, 1, 1, "browse");
	assert_non_null(p);
	p->complete = true;
	p->start_ns = 5000 * LOAD_MS;
	p->load = load_of_clients();
	p->probe = run_load_new(1, 2, 20);
	p->probe->measure_ns = 5000 * LOAD_MS;
	p->probe->end_ns = 16000 * LOAD_MS;
	load_action(&p->probe->action[0], "stat", 11, 0);
	load_action(&p->probe->action[1], "read 4 KiB", 11, 0);
	run_set(p, METRIC_ELAPSED, 11010 * LOAD_MS);
	run_set(p, METRIC_OPS, 5000);
	run_set(p, METRIC_ERRORS, 30);
	run_set(p, METRIC_BYTES, 9000000);
	return p;
}

#endif
