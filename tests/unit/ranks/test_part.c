/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rank's figures as bytes, there and back, and all of them together. Tests user/run/rank.c. */
#include "ranks/part.h"
#include "run/rank.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define ACTIONS 3
#define SECONDS 4
#define RANKS   3
#define ALL     8

static const char *command_of(void *user, uint8_t code)
{
	(void)user;
	return code == 200 ? NULL : "FPRead";
}

static void fill_visits(struct part *p, unsigned int rank)
{
	char address[32];

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(address, sizeof(address), "10.0.%u.9:%u", rank, i);
		others_add(&p->visits, address, 0, true);
	}
	p->visits.partial = rank == 1;
	p->greeted = 2 + rank;
}

static void fill_seconds(struct run_load *l, unsigned int rank)
{
	for (unsigned int s = 0; s < SECONDS; s++) {
		l->second[s].n = 2;
		l->second[s].failed = 1;
		l->second[s].sum_ns = l->second[s].max_ns = 5000 + rank;
		l->second[s].bucket[hist_index(5000 + rank, RUN_SECOND_BITS)] = 1;
	}
}

static void fill_actions(struct run_load *l, unsigned int rank)
{
	for (unsigned int a = 0; a < ACTIONS; a++) {
		l->action[a].name = "act";
		l->action[a].trips = (struct run_trips) { .n = 100,
							  .requests = 300,
							  .sum = 200,
							  .most = 3 + rank,
							  .bytes = 7,
							  .n_least = 99,
							  .least = 98,
							  .least_of = 97 };
		for (uint8_t k = 0; k < a; k++)
			run_trips_note(&l->action[a].trips, 60 + k, command_of(NULL, 0), k + 1);
		for (uint64_t i = 0; i < 100; i++) {
			l->action[a].n++;
			hist_add(&l->action[a].planned, (i + 1) * (rank + 1) * 1000);
			hist_add(&l->action[a].begun, (i + 1) * 10 + a);
		}
	}
}

/* The clients of one rank, each number of its own. */
static void fill(struct part *p, unsigned int rank)
{
	unsigned int n = (ALL - rank + RANKS - 1) / RANKS;
	struct run_load *l = run_load_new(n, ACTIONS, SECONDS);
	struct run_command *c;

	memset(p, 0, sizeof(*p));
	assert_non_null(l);
	p->load = l;
	p->late_ns = rank;
	l->n_threads = rank + 1;
	l->n_realtime = rank;
	l->n_open = n;
	l->begin_ns = 1000000 * (rank + 1); /* another clock */
	l->measure_ns = l->begin_ns + 100;
	l->end_ns = l->begin_ns + 1000;
	l->done_ns = l->begin_ns + 1500 + rank;
	l->n_arrivals = 10 + rank;
	l->cpu_ns = 50 + rank;
	l->cpu_max_ns = 20 + rank;
	l->late_max_ns = 7 * rank;
	l->n_outlasting = 3 + rank;
	l->outlasting_max_ns = 11 * rank;
	snprintf(l->why, sizeof(l->why), "%s", rank == 1 ? "gone" : "");
	fill_actions(l, rank);
	fill_seconds(l, rank);
	for (unsigned int i = 0; i < n; i++) {
		l->client[i].actions = 100 * rank + i;
		l->client[i].bytes = 1;
		l->client[i].sum_ns = 1000 + i;
		l->client[i].max_ns = 900 + i;
		l->client[i].outlasting_ns = 700 + i;
		l->client[i].begun_p50_ns = 300 + i;
		l->client[i].begun_p99_ns = 800 + i;
		l->client[i].opened = true;
		snprintf(l->client[i].address, RUN_ADDRESS_LEN, "10.0.0.%u:%u", rank, i);
	}
	assert_int_equal(run_load_keep_progress(l), 0);
	l->common_ns = l->begin_ns + 500 * (rank + 1);
	l->common_n = 501;
	l->common_bytes = 5010;
	for (uint64_t i = 0; i < 2000; i++)
		run_progress_add(l->progress, i, 10 + rank);
	fill_visits(p, rank);
	c = run_command(&p->commands, 60, "FPRead");
	assert_non_null(c);
	c->errors = rank;
	for (uint64_t i = 0; i < 10; i++)
		hist_add(&c->latency, i * 100 + rank);
}

static struct part_like like(const struct run_load *of, unsigned int n)
{
	return (struct part_like) { .load = of, .n_clients = n, .command = command_of };
}

static void what_is_read_is_what_was_written(void **state)
{
	struct part p, back;
	struct part_like how;
	struct err e = { 0 };
	uint8_t *data;
	size_t len;

	(void)state;
	fill(&p, 1);
	p.end = PART_ORPHANED;
	data = part_pack(&p, &len);
	assert_non_null(data);
	how = like(p.load, p.load->n_clients);
	assert_int_equal(part_unpack(&back, data, len, &how, &e), 0);
	assert_int_equal(back.end, PART_ORPHANED);
	assert_int_equal(back.late_ns, 1);
	assert_memory_equal(back.load->action, p.load->action, ACTIONS * sizeof(*p.load->action));
	assert_memory_equal(back.load->second, p.load->second, SECONDS * sizeof(*p.load->second));
	assert_memory_equal(back.load->client, p.load->client,
			    p.load->n_clients * sizeof(*p.load->client));
	assert_string_equal(back.load->why, "gone");
	assert_int_equal(back.load->common_ns, p.load->common_ns);
	assert_int_equal(back.load->common_n, p.load->common_n);
	assert_int_equal(back.load->common_bytes, p.load->common_bytes);
	assert_memory_equal(back.load->progress, p.load->progress, sizeof(*p.load->progress));
	assert_int_equal(back.load->cpu_max_ns, 21);
	assert_int_equal(back.load->n_arrivals, 11);
	assert_int_equal(back.load->n_realtime, 1);
	assert_int_equal(back.load->n_outlasting, 4);
	assert_int_equal(back.load->outlasting_max_ns, 11);
	assert_int_equal(back.commands.n_commands, 1);
	assert_memory_equal(&back.commands.command[0]->latency, &p.commands.command[0]->latency,
			    sizeof(struct hist));
	assert_int_equal(back.greeted, 3);
	assert_int_equal(back.visits.n, 3);
	assert_true(back.visits.partial && !back.visits.failed && back.visits.client[2].ours);
	assert_string_equal(back.visits.client[2].address, "10.0.1.9:2");
	part_fini(&back);
	part_fini(&p);
	free(data);
}

static void bytes_that_are_cut_or_too_many_are_refused(void **state)
{
	struct part p, back;
	struct part_like how;
	uint8_t *data, *cut;
	size_t len;

	(void)state;
	fill(&p, 0);
	data = part_pack(&p, &len);
	assert_non_null(data);
	how = like(p.load, p.load->n_clients);
	for (size_t n = 0; n < len; n += 1 + n / 64) {
		cut = malloc(n + 1); /* so that sanitizers see a read beyond it */
		assert_non_null(cut);
		memcpy(cut, data, n);
		assert_int_equal(part_unpack(&back, cut, n, &how, NULL), -EPROTO);
		part_fini(&back);
		free(cut);
	}
	data = realloc(data, len + 1);
	data[len] = 0;
	assert_int_equal(part_unpack(&back, data, len + 1, &how, NULL), -EPROTO);
	part_fini(&back);
	part_fini(&p);
	free(data);
}

static void another_shape_is_refused(void **state)
{
	struct part p, back;
	struct part_like how;
	struct run_load *other = run_load_new(1, ACTIONS + 1, SECONDS);
	uint8_t *data;
	size_t len;

	(void)state;
	fill(&p, 0);
	data = part_pack(&p, &len);
	how = like(p.load, p.load->n_clients + 1);
	assert_int_equal(part_unpack(&back, data, len, &how, NULL), -EPROTO);
	part_fini(&back);
	how = like(other, p.load->n_clients);
	assert_int_equal(part_unpack(&back, data, len, &how, NULL), -EPROTO);
	part_fini(&back);
	how = like(p.load, p.load->n_clients);
	data[1]++; /* version */
	assert_int_equal(part_unpack(&back, data, len, &how, NULL), -EPROTO);
	part_fini(&back);
	run_load_free(other);
	part_fini(&p);
	free(data);
}

/* Any bytes: nothing is read or written outside, whatever they claim. */
static void changed_bytes_do_no_harm(void **state)
{
	struct part p, back;
	struct part_like how;
	uint8_t *data, *changed;
	uint64_t seed = 7;
	size_t len;

	(void)state;
	fill(&p, 2);
	data = part_pack(&p, &len);
	changed = malloc(len);
	assert_true(data && changed);
	how = like(p.load, p.load->n_clients);
	for (unsigned int i = 0; i < 2000; i++) {
		memcpy(changed, data, len);
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		changed[(seed >> 20) % len] = (uint8_t)(seed >> 56);
		part_unpack(&back, changed, len, &how, NULL);
		part_fini(&back);
	}
	free(changed);
	part_fini(&p);
	free(data);
}

static void a_bucket_that_is_not_counted_is_refused(void **state)
{
	struct part p, back;
	struct part_like how;
	uint8_t *data;
	size_t len;

	(void)state;
	fill(&p, 0);
	p.load->action[1].planned.n++;
	data = part_pack(&p, &len);
	how = like(p.load, p.load->n_clients);
	assert_int_equal(part_unpack(&back, data, len, &how, NULL), -EPROTO);
	part_fini(&back);
	part_fini(&p);
	free(data);
}

static void ranks_together_are_their_sum(void **state)
{
	struct run_load *all = run_load_new(ALL, ACTIONS, SECONDS);
	struct part p[RANKS];
	uint64_t n = 0, sum = 0;

	(void)state;
	assert_non_null(all);
	all->begin_ns = 1000000;
	all->end_ns = all->begin_ns + 400; /* rank 0 has lost its clients by then */
	for (unsigned int r = 0; r < RANKS; r++) {
		fill(&p[r], r);
		if (!r)
			p[r].load->end_ns = p[r].load->begin_ns + 400;
		run_load_join(all, p[r].load, r, RANKS);
		n += p[r].load->action[2].planned.n;
		sum += p[r].load->action[2].planned.sum;
	}
	assert_int_equal(all->action[2].planned.n, n);
	assert_int_equal(all->action[2].planned.sum, sum);
	for (size_t b = 0; b < HIST_BUCKETS(HIST_BITS); b++)
		assert_int_equal(all->action[2].planned.bucket[b],
				 p[0].load->action[2].planned.bucket[b] +
				     p[1].load->action[2].planned.bucket[b] +
				     p[2].load->action[2].planned.bucket[b]);
	assert_int_equal(all->second[1].n, 2 * RANKS);
	assert_int_equal(all->n_threads, 1 + 2 + 3);
	assert_int_equal(all->n_realtime, 0 + 1 + 2);
	assert_int_equal(all->cpu_ns, 50 + 51 + 52);
	assert_int_equal(all->cpu_max_ns, 22);
	assert_int_equal(all->n_arrivals, 10 + 11 + 12);
	assert_int_equal(all->end_ns, all->begin_ns + 1000);
	/* the end of the last action, each from its own begin */
	assert_int_equal(all->done_ns, 1000000 + 1502);
	for (unsigned int i = 0; i < ALL; i++)
		assert_int_equal(all->client[i].actions, 100 * (i % RANKS) + i / RANKS);
	for (unsigned int r = 0; r < RANKS; r++) {
		run_load_trim(p[r].load);
		assert_int_equal(p[r].load->n_open, r < 2 ? 3 : 2);
		part_fini(&p[r]);
	}
	run_load_free(all);
}

/* The first of all clients was done 500 ns after the begin. */
static void what_is_common_to_all_ranks_ends_with_the_first_of_them(void **state)
{
	struct run_load *all = run_load_new(ALL, ACTIONS, SECONDS);
	struct part p[RANKS];

	(void)state;
	assert_non_null(all);
	assert_int_equal(run_load_ranks(all, RANKS), 0);
	all->begin_ns = 1000000;
	for (unsigned int r = 0; r < RANKS; r++) {
		fill(&p[r], r);
		run_load_join(all, p[r].load, r, RANKS);
		if (r != 1) /* it is lost */
			all->rank[r].part = p[r].load;
	}
	run_load_join_common(all);
	assert_int_equal(all->common_ns, 1000000 + 500);
	/* exact of the first, by its progress of the other */
	assert_int_equal(all->common_n, 501 + 500);
	assert_int_equal(all->common_bytes, 5010 + 500 * 12);
	p[0].load->common_ns = p[2].load->common_ns = 0;
	run_load_join_common(all);
	assert_int_equal(all->common_ns, 0);
	for (unsigned int r = 0; r < RANKS; r++) {
		all->rank[r].part = NULL;
		part_fini(&p[r]);
	}
	run_load_free(all);
}

static void progress_over_any_time_is_known_to_a_thousandth(void **state)
{
	struct run_progress *p = calloc(1, sizeof(*p)), *fine = calloc(1, sizeof(*fine));
	const uint64_t steps = 100000, step_ns = 36000000; /* an hour */
	uint64_t n, bytes;

	(void)state;
	assert_true(p && fine);
	run_progress_add(fine, 5, 7);
	for (uint64_t i = 0; i < steps; i++)
		run_progress_add(p, i * step_ns, 4096);
	run_progress_merge(fine, p);
	for (uint64_t at = steps / 10; at <= steps; at += steps / 10) {
		run_progress_until(fine, at * step_ns, &n, &bytes);
		assert_in_range(n, at + 1 - steps / 1000, at + 1 + steps / 1000);
		assert_in_range(bytes, (n - 2) * 4096, (n + 1) * 4096);
	}
	run_progress_until(fine, UINT64_MAX, &n, &bytes);
	assert_int_equal(n, steps + 1);
	assert_int_equal(bytes, steps * 4096 + 7);
	free(p);
	free(fine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_what_was_written),
		cmocka_unit_test(bytes_that_are_cut_or_too_many_are_refused),
		cmocka_unit_test(another_shape_is_refused),
		cmocka_unit_test(changed_bytes_do_no_harm),
		cmocka_unit_test(a_bucket_that_is_not_counted_is_refused),
		cmocka_unit_test(ranks_together_are_their_sum),
		cmocka_unit_test(what_is_common_to_all_ranks_ends_with_the_first_of_them),
		cmocka_unit_test(progress_over_any_time_is_known_to_a_thousandth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
