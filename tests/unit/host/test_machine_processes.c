/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/machine.h"

#include "host/proc/procfs.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void this_process_and_its_child_are_seen(void **state)
{
	struct process_table t;
	const struct processes_entry *e;
	pid_t child = fork(), self = getpid();

	(void)state;
	while (!child)
		pause();
	assert_int_equal(processes_read(&t), 0);
	e = processes_find(&t, child);
	assert_non_null(e);
	assert_int_equal(e->st.ppid, self);
	assert_false(e->st.is_kernel);
	assert_true(e->st.started && e->has_io);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.entry[i].pid > t.entry[i - 1].pid);
	assert_true(processes_descends(&t, child, &self, 1));
	assert_true(processes_descends(&t, self, &self, 1));
	assert_false(processes_descends(&t, self, &child, 1));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	processes_fini(&t);
	assert_null(processes_find(&t, self));
}

static void kernel_threads_are_told_apart(void **state)
{
	const struct processes_entry *e;
	struct process_table t;

	(void)state;
	if (!procfs_first_pid_namespace())
		skip();
	assert_int_equal(processes_read(&t), 0);
	e = processes_find(&t, 2);
	assert_non_null(e);
	assert_string_equal(e->st.comm, "kthreadd");
	assert_true(e->st.is_kernel && !e->has_io);
	processes_fini(&t);
}

static void descent_is_of_any_depth(void **state)
{
	struct processes_entry entry[] = { { .pid = 1 },
					   { .pid = 5, .st.ppid = 1 },
					   { .pid = 6, .st.ppid = 5 },
					   { .pid = 7, .st.ppid = 6 },
					   { .pid = 8, .st.ppid = 99 } };
	const struct process_table t = { .n = 5, .entry = entry };
	const pid_t from[] = { 3, 5 };

	(void)state;
	assert_true(processes_descends(&t, 7, from, 2));
	assert_false(processes_descends(&t, 1, from, 2));
	assert_false(processes_descends(&t, 8, from, 2)); /* its parent has ended */
	assert_false(processes_descends(&t, 7, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process_and_its_child_are_seen),
		cmocka_unit_test(kernel_threads_are_told_apart),
		cmocka_unit_test(descent_is_of_any_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
