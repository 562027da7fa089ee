/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of tables that change meanwhile, by a thread that does what the programs do. */
#include "watch/bpf/view.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define READINGS 200
#define N_CPUS   2
#define N_NEW    (AFS_N_PARTS - AFS_N_FIXED_PARTS)

static struct {
	struct afs_shared shared;
	struct afs_thread thread;
	struct afs_stripe *stripe; /* N_CPUS */
	struct afs_times *times;   /* N_CPUS */
	uint32_t over;
} counted;

static struct bpf_view view(void)
{
	return (struct bpf_view) { .n_cpus = N_CPUS,
				   .n_lanes = N_CPUS,
				   .shared = &counted.shared,
				   .thread = &counted.thread,
				   .stripe = counted.stripe,
				   .times = counted.times };
}

/* Again and again calls of one class and object return; each eighth is the first of its account. */
static void *count(void *arg)
{
	const uint32_t role = AFS_ROLE_SERVER, state = AFS_STATE(AFS_CLASS_READ, AFS_OBJECT_PIPE);
	const struct timespec pause = { .tv_nsec = 1000 };
	struct afs_shared *sh = &counted.shared;
	uint32_t part = role * AFS_N_STATES + state;

	(void)arg;
	for (unsigned int i = 0; !__atomic_load_n(&counted.over, __ATOMIC_ACQUIRE); i++) {
		if (i % 8 == 0 && sh->n_parts < N_NEW && sh->n_parts < AFS_N_ACCOUNTS) {
			part = AFS_N_FIXED_PARTS + sh->n_parts;
			sh->part_key[part] = (role * AFS_N_ACCOUNTS + sh->n_parts) * AFS_N_STATES +
					     state;
			__atomic_add_fetch(&sh->n_parts, 1, __ATOMIC_RELEASE);
		}
		__atomic_add_fetch(&counted.stripe[i % N_CPUS].part[part].calls, 1,
				   __ATOMIC_SEQ_CST);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void calls_counted_during_a_reading_are_in_both_tables(void **state)
{
	const struct bpf_view v = view();
	uint64_t rows, parts, before = 0, moved = 0;
	pthread_t counter;
	struct ledger l;

	(void)state;
	assert_int_equal(pthread_create(&counter, NULL, count, NULL), 0);
	for (unsigned int n = 0; n < READINGS || moved < READINGS / 2; n++) {
		l = (struct ledger) {};
		assert_int_equal(tables_read(&v, true, &l), 0);
		rows = ledger_sum(&l, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS).calls;
		parts = 0;
		for (size_t i = 0; i < l.n_parts; i++)
			parts += l.part[i].part.calls;
		ledger_fini(&l);
		assert_int_equal(rows, parts);
		assert_true(rows >= before);
		moved += rows > before;
		before = rows;
	}
	__atomic_store_n(&counted.over, 1, __ATOMIC_RELEASE);
	pthread_join(counter, NULL);
}

/* Of all accounts and CPUs; its time is in its parts, its histogram by lane. */
static void a_row_is_the_sum_of_its_parts(void **state)
{
	const uint32_t own = AFS_ROLE_BACKEND * AFS_N_STATES,
		       write = own + AFS_STATE(AFS_CLASS_WRITE, AFS_OBJECT_DATA);
	const struct bpf_view v = view();
	struct ledger l = {};
	struct afs_cell c;

	(void)state;
	for (unsigned int cpu = 0; cpu < N_CPUS; cpu++) {
		counted.stripe[cpu].part[write] = (struct afs_part) {
			.calls = 1,
			.bytes = 7,
			.cpu_ns = 1,
			.blocked_ns = 10,
			.runq_ns = 100,
			.stopped_ns = 1000,
		};
		counted.stripe[cpu].part[own + AFS_STATE_USER].cpu_ns = 5;
		counted.times[cpu]
		    .call[AFS_CELL(AFS_ROLE_BACKEND, AFS_CLASS_WRITE, AFS_OBJECT_DATA)][13] = 1;
	}
	assert_int_equal(tables_read(&v, true, &l), 0);
	c = ledger_sum(&l, AFS_ROLE_BACKEND, AFS_N_CLASSES, AFS_N_OBJECTS);
	assert_int_equal(c.calls, N_CPUS);
	assert_int_equal(c.bytes, 7 * N_CPUS);
	assert_int_equal(c.ns, 1111 * N_CPUS);
	for (size_t i = 0; i < l.n_rows; i++)
		if (l.row[i].role == AFS_ROLE_BACKEND)
			assert_int_equal(l.row[i].cell.hist[13], N_CPUS);
	ledger_fini(&l);
}

/* Without requests there is one table. */
static void rows_alone_have_no_parts(void **state)
{
	const struct bpf_view v = view();
	struct ledger l = {};

	(void)state;
	assert_int_equal(tables_read(&v, false, &l), 0);
	assert_true(l.has_calls);
	assert_int_equal(l.n_rows, 2);
	assert_int_equal(l.n_parts, 0);
	ledger_fini(&l);
}

static int set_up(void **state)
{
	(void)state;
	counted.stripe = calloc(N_CPUS, sizeof(*counted.stripe));
	counted.times = calloc(N_CPUS, sizeof(*counted.times));
	counted.shared.n_threads = 1;
	counted.thread.ended = 1; /* no time of a call in progress */
	return counted.stripe && counted.times ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(counted.stripe);
	free(counted.times);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_counted_during_a_reading_are_in_both_tables),
		cmocka_unit_test(a_row_is_the_sum_of_its_parts),
		cmocka_unit_test(rows_alone_have_no_parts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
