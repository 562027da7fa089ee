/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of threads that come and go. */
#include "host/proc/tasks.h"
#include "unit/memory_in_use.h"
#include "unit/working_child.h"

#include <errno.h>
#include <sys/resource.h>

#define MANY 400

static void the_total_keeps_what_an_ended_thread_had(void **state)
{
	struct child c = child_start();
	struct tasks t = { 0 };
	uint64_t cpu_ns;

	(void)state;
	assert_int_equal(tasks_look(&t, c.pid), 0);
	child_do(&c, 't');
	do {
		tasks_look(&t, c.pid);
		cpu_ns = tasks_sum(&t).cpu_ns;
	} while (cpu_ns < 5000000);
	assert_int_equal(t.n, 2);
	child_do(&c, 'j');
	assert_int_equal(tasks_look(&t, c.pid), 0);
	assert_true(tasks_sum(&t).cpu_ns >= cpu_ns);
	assert_int_equal(t.n, 1);
	cpu_ns = tasks_sum(&t).cpu_ns;
	child_end(&c);
	assert_int_equal(tasks_look(&t, c.pid), -ENOENT);
	assert_int_equal(tasks_sum(&t).cpu_ns, cpu_ns);
	assert_int_equal(t.n, 0);
	assert_int_equal(t.n_gone, 2);
	tasks_fini(&t);
}

static void what_a_thread_did_before_the_first_look_is_not_counted(void **state)
{
	struct child c = child_start();
	struct tasks t = { .switches = true };

	(void)state;
	child_do(&c, 'b');
	wait_asleep(c.pid);
	assert_int_equal(tasks_look(&t, c.pid), 0);
	assert_int_equal(tasks_sum(&t).cpu_ns, 0);
	assert_int_equal(tasks_sum(&t).voluntary, 0);
	child_do(&c, 'b');
	assert_int_equal(tasks_look(&t, c.pid), 0);
	assert_true(tasks_sum(&t).cpu_ns > 5000000);
	assert_true(tasks_sum(&t).voluntary);
	tasks_fini(&t);
	child_end(&c);
}

static void threads_that_have_ended_need_no_memory(void **state)
{
	struct child c = child_start();
	struct tasks t = { 0 };
	uint64_t before, now;
	size_t used;

	(void)state;
	tasks_look(&t, c.pid);
	used = memory_in_use();
	assert_int_equal(write(c.tell, "m", 1), 1);
	for (before = 0; t.n_gone < MANY; before = now) {
		tasks_look(&t, c.pid);
		now = tasks_sum(&t).cpu_ns;
		assert_true(now >= before);
		assert_true(t.n <= 16);
	}
	assert_true(memory_in_use() < used + 8192);
	tasks_fini(&t);
	child_end(&c);
}

static void without_files_a_look_changes_nothing(void **state)
{
	struct child c = child_start();
	struct rlimit old, none;
	struct tasks t = { 0 };

	(void)state;
	assert_int_equal(tasks_look(&t, c.pid), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	assert_int_equal(tasks_look(&t, c.pid), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.n_gone, 0);
	tasks_fini(&t);
	child_end(&c);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_total_keeps_what_an_ended_thread_had),
		cmocka_unit_test(what_a_thread_did_before_the_first_look_is_not_counted),
		cmocka_unit_test(threads_that_have_ended_need_no_memory),
		cmocka_unit_test(without_files_a_look_changes_nothing),
	};

	(void)argc;
	count_memory_exactly(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
