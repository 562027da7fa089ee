/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of tables that change meanwhile, by a thread that does what the programs do. */
#include "watch/bpf/tables.h"

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
	uint32_t over;
	long pause_ns;
} counted;

/* Loses its CPU, as a virtual processor may at any moment. */
static void lose_cpu(void)
{
	const struct timespec pause = { .tv_nsec = counted.pause_ns };

	nanosleep(&pause, NULL);
}

/* A call returns: first it is in one table, later in both. */
static void count_one(unsigned int cpu, uint32_t cell, uint32_t part)
{
	struct afs_thread *t = &counted.thread;

	__atomic_store_n(&t->counting, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&counted.stripe[cpu].cell[cell].calls, 1, __ATOMIC_SEQ_CST);
	if (counted.pause_ns)
		lose_cpu();
	__atomic_add_fetch(&counted.stripe[cpu].part[part].calls, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&t->seq, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&t->counting, 0, __ATOMIC_SEQ_CST);
	lose_cpu();
}

/* Again and again calls of one class and object return; each eighth is the first of its account. */
static void *count(void *arg)
{
	const uint32_t role = AFS_ROLE_SERVER, class = AFS_CLASS_READ, object = AFS_OBJECT_PIPE,
		       cell = AFS_CELL(role, class, object), state = AFS_STATE(class, object);
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
		count_one(i % N_CPUS, cell, part);
	}
	return NULL;
}

static void read_while_counted(long pause_ns)
{
	const struct bpf_view v = { .n_cpus = N_CPUS,
				    .shared = &counted.shared,
				    .thread = &counted.thread,
				    .stripe = counted.stripe };
	uint64_t rows, parts, before = 0, moved = 0;
	pthread_t counter;
	struct ledger l;

	counted.pause_ns = pause_ns;
	counted.over = 0;
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
		moved += rows > before;
		before = rows;
	}
	__atomic_store_n(&counted.over, 1, __ATOMIC_RELEASE);
	pthread_join(counter, NULL);
}

/* Calls return all the time. */
static void calls_counted_during_a_reading_are_in_both_tables(void **state)
{
	(void)state;
	read_while_counted(0);
}

static void a_call_whose_thread_has_no_cpu_is_waited_for(void **state)
{
	(void)state;
	read_while_counted(200000);
}

/* Without requests there is one table. */
static void rows_alone_have_no_parts(void **state)
{
	const struct bpf_view v = { .n_cpus = N_CPUS,
				    .shared = &counted.shared,
				    .thread = &counted.thread,
				    .stripe = counted.stripe };
	struct ledger l = {};

	(void)state;
	assert_int_equal(tables_read(&v, false, &l), 0);
	assert_true(l.has_calls);
	assert_int_equal(l.n_rows, 1);
	assert_int_equal(l.n_parts, 0);
	ledger_fini(&l);
}

static int set_up(void **state)
{
	(void)state;
	counted.stripe = calloc(N_CPUS, sizeof(*counted.stripe));
	counted.shared.n_threads = 1;
	counted.thread.ended = 1; /* no time of a call in progress */
	return counted.stripe ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(counted.stripe);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_counted_during_a_reading_are_in_both_tables),
		cmocka_unit_test(a_call_whose_thread_has_no_cpu_is_waited_for),
		cmocka_unit_test(rows_alone_have_no_parts),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
