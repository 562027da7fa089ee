/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests user/watch/bpf/books.c: a thread that changes while its account is read, and calls that a
 * table lacks.
 */
#include "host/proc/procfs.h"
#include "watch/bpf/rung.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define BEFORE 1000 /* calls before the watch */
#define SINCE  30   /* calls that are counted */

static struct afs_thread thread;

int __wrap_procfs_io(struct afs_compat *out, pid_t pid, pid_t tid);

/* /proc's total. As it is read, the thread makes its next call and is not counted any more. */
int __wrap_procfs_io(struct afs_compat *out, pid_t pid, pid_t tid)
{
	assert_int_equal(pid, 77);
	assert_int_equal(tid, 78);
	*out = (struct afs_compat) { .syscr = BEFORE + SINCE };
	thread.io.syscr = SINCE;
	__atomic_store_n(&thread.stopped, 1, __ATOMIC_RELEASE);
	return 0;
}

static void a_thread_that_stops_while_it_is_read_agrees(void **state)
{
	struct afs_process process = { .tgid = 77, .role = AFS_ROLE_SERVER };
	struct afs_shared shared = { .n_threads = 1, .n_processes = 1 };
	const struct bpf_view v = { .n_cpus = 1,
				    .shared = &shared,
				    .thread = &thread,
				    .process = &process,
				    .stripe = calloc(1, sizeof(*v.stripe)) };
	const struct books none = { 0 };
	struct run r;

	(void)state;
	assert_non_null(v.stripe);
	assert_int_equal(run_init(&r, "record", "record"), 0);
	thread = (struct afs_thread) { .tid = 78,
				       .io = { .syscr = BEFORE },
				       .counted = { .syscr = SINCE } };
	assert_int_equal(books_close(&none, &v, &r), 0);
	assert_string_equal(r.book[0].name, "afpd 77 syscr");
	assert_int_equal(r.book[0].ours, SINCE);
	assert_int_equal(r.book[0].theirs, SINCE);
	assert_true(run_books_closed(&r));
	run_fini(&r);
	free(v.stripe);
}

static bool calls_agree(uint64_t part, uint64_t of_thread)
{
	struct afs_shared shared = { .n_threads = 1, .n_processes = 1 };
	struct afs_process process = { 0 }; /* a slot not in use */
	const struct bpf_view v = { .n_cpus = 1,
				    .shared = &shared,
				    .thread = &thread,
				    .process = &process,
				    .stripe = calloc(1, sizeof(*v.stripe)) };
	const struct books none = { 0 };
	struct run r;
	bool agree;

	assert_non_null(v.stripe);
	assert_int_equal(run_init(&r, "record", "record"), 0);
	thread = (struct afs_thread) { .calls = of_thread, .ended = 1 };
	v.stripe[0].part[0].calls = part;
	assert_int_equal(books_close(&none, &v, &r), 0);
	assert_int_equal(r.n_books, 1);
	agree = run_books_closed(&r);
	run_fini(&r);
	free(v.stripe);
	return agree;
}

static void a_call_that_the_table_or_its_thread_lacks_is_found(void **state)
{
	(void)state;
	assert_true(calls_agree(5, 5));
	assert_false(calls_agree(4, 5));
	assert_false(calls_agree(5, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_stops_while_it_is_read_agrees),
		cmocka_unit_test(a_call_that_the_table_or_its_thread_lacks_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
