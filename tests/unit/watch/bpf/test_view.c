/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of counters that change meanwhile, by a thread that does what the programs do. */
#include "watch/bpf/view.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define READINGS 200

static struct {
	struct afs_shared shared;
	struct afs_thread thread;
	struct afs_process process;
	struct afs_stripe *stripe;
	uint32_t over;
} counted;

#define COUNT_NS 300000
#define QUIET_NS 1000000

/* Loses its CPU, as a virtual processor may at any moment. */
static void lose_cpu(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

/* Again and again a call returns: first it is in one ledger, later in both. */
static void *count(void *arg)
{
	struct afs_thread *t = &counted.thread;

	(void)arg;
	while (!__atomic_load_n(&counted.over, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&t->counting, 1, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&counted.stripe->account[0].answered, 1, __ATOMIC_SEQ_CST);
		lose_cpu(COUNT_NS);
		__atomic_add_fetch(&counted.stripe->part[0].calls, 1, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&t->seq, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&t->counting, 0, __ATOMIC_SEQ_CST);
		lose_cpu(QUIET_NS);
	}
	return NULL;
}

/* false: something moved meanwhile. */
static bool read_once(const struct bpf_view *v, uint64_t *row, uint64_t *part)
{
	uint64_t before = bpf_view_moves(v, AFS_N_PROCESSES, true);

	*row = __atomic_load_n(&v->stripe->account[0].answered, __ATOMIC_ACQUIRE);
	lose_cpu(10000);
	*part = __atomic_load_n(&v->stripe->part[0].calls, __ATOMIC_ACQUIRE);
	return bpf_view_moves(v, AFS_N_PROCESSES, true) == before;
}

static void a_reading_that_meets_a_call_being_counted_is_known(void **state)
{
	const struct bpf_view v = { .n_cpus = 1,
				    .shared = &counted.shared,
				    .thread = &counted.thread,
				    .process = &counted.process,
				    .stripe = counted.stripe = calloc(1, sizeof(*counted.stripe)) };
	uint64_t row, part;
	unsigned int torn = 0, n = 0;
	pthread_t counter;

	(void)state;
	assert_non_null(counted.stripe);
	counted.shared.n_threads = 1;
	assert_int_equal(pthread_create(&counter, NULL, count, NULL), 0);
	while (n < READINGS || !torn) {
		if (read_once(&v, &row, &part)) {
			assert_int_equal(row, part);
			n++;
		} else {
			torn += row != part;
		}
	}
	__atomic_store_n(&counted.over, 1, __ATOMIC_RELEASE);
	pthread_join(counter, NULL);
	free(counted.stripe);
}

static void *end_count(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct afs_thread *t = arg;

	nanosleep(&pause, NULL);
	__atomic_add_fetch(&t->seq, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->counting, 0, __ATOMIC_SEQ_CST);
	return NULL;
}

/* However long its thread has no CPU: 8 readings take less. */
static void a_call_being_counted_is_waited_for(void **state)
{
	struct afs_shared shared = { .n_threads = 2 };
	struct afs_thread thread[2] = { { .seq = 5 }, { .seq = 6, .counting = 1 } };
	const struct bpf_view v = { .n_cpus = 1, .shared = &shared, .thread = thread };
	pthread_t other;

	(void)state;
	bpf_view_wait_for_counts(&v, 1000000);
	assert_int_equal(thread[1].counting, 1);
	assert_int_equal(pthread_create(&other, NULL, end_count, &thread[1]), 0);
	bpf_view_wait_for_counts(&v, 60 * 1000000000ull);
	assert_int_equal(__atomic_load_n(&thread[1].counting, __ATOMIC_ACQUIRE), 0);
	pthread_join(other, NULL);
}

/* A busy server switches threads all the time: what is not counted any more is not read again. */
static void switches_of_a_stopped_thread_are_no_move(void **state)
{
	struct afs_thread *t = &counted.thread;
	const struct bpf_view v = { .shared = &counted.shared,
				    .thread = t,
				    .process = &counted.process };
	uint64_t before;

	(void)state;
	memset(t, 0, sizeof(*t));
	counted.shared.n_threads = 1;
	t->tid = 1;
	before = bpf_view_moves(&v, AFS_N_PROCESSES, true);
	t->since_ns++;
	assert_int_not_equal(bpf_view_moves(&v, AFS_N_PROCESSES, true), before);
	t->stopped = 1;
	before = bpf_view_moves(&v, AFS_N_PROCESSES, true);
	t->since_ns++;
	t->woken_ns++;
	t->seq++;
	assert_int_equal(bpf_view_moves(&v, AFS_N_PROCESSES, true), before);
	t->ended = 1;
	assert_int_not_equal(bpf_view_moves(&v, AFS_N_PROCESSES, true), before);
	memset(t, 0, sizeof(*t));
}

/* A request can be read and answered on one CPU, and sleep and wake on another. */
static void what_one_cpu_did_for_a_request_counts_whatever_it_was(void **state)
{
	const size_t n = sizeof(struct afs_account) / sizeof(uint64_t);
	static const struct afs_setup setup;
	struct bpf_view v = { .n_cpus = 2, .shared = &counted.shared, .setup = &setup };
	struct ledger l = {};
	uint64_t *other;

	(void)state;
	v.stripe = calloc(v.n_cpus, sizeof(*v.stripe));
	assert_non_null(v.stripe);
	v.stripe[0].account[7].begun = v.stripe[0].account[7].answered = 1;
	other = (uint64_t *)&v.stripe[1].account[7];
	for (size_t i = 0; i < n; i++) {
		other[i] = 1000;
		assert_int_equal(bpf_view_read_requests(&v, &l), 0);
		assert_int_equal(l.n_accounts, 1);
		if (((uint64_t *)&l.account[0].sum)[i] < 1000)
			fail_msg("field %zu of what the other CPU counted is missing", i);
		ledger_fini(&l);
		other[i] = 0;
	}
	free(v.stripe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_that_meets_a_call_being_counted_is_known),
		cmocka_unit_test(a_call_being_counted_is_waited_for),
		cmocka_unit_test(switches_of_a_stopped_thread_are_no_move),
		cmocka_unit_test(what_one_cpu_did_for_a_request_counts_whatever_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
