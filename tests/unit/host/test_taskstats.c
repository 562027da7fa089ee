/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel tells about a process by netlink, and whom.
 * Also tests user/host/rights.c.
 */
#include "host/taskstats.h"

#include "host/proc/tasks.h"
#include "host/rights.h"
#include "unit/working_child.h"

#include <errno.h>

static void taskstats_know_the_process(void **state)
{
	struct child c = child_start();
	struct taskstats_delays d = {};
	struct tasks times = { .begun = true };
	struct taskstats_link l;
	int r = taskstats_open(&l);

	(void)state;
	if (r) {
		child_end(&c);
		assert_true(r == -EPERM || r == -ENOENT || r == -EINVAL || r == -EOPNOTSUPP);
		skip();
	}
	child_do(&c, 'b');
	assert_int_equal(taskstats_read(&l, c.pid, &d), 0);
	assert_int_equal(tasks_look(&times, c.pid), 0);
	assert_true(d.cpu_ns > 0);
	assert_int_equal(d.cpu_ns, tasks_sum(&times).cpu_ns);
	tasks_fini(&times);
	child_end(&c);
	assert_int_equal(taskstats_read(&l, c.pid, &d), -ESRCH);
	taskstats_close(&l);
}

static int read_without_rights(pid_t pid, bool keep)
{
	struct taskstats_delays d;
	struct taskstats_link l;

	if (rights_drop(keep ? RIGHTS_TASKSTATS : 0) || taskstats_open(&l))
		return 100;
	return -taskstats_read(&l, pid, &d);
}

static void taskstats_can_be_read_by_who_kept_the_right(void **state)
{
	struct child c = child_start();
	struct taskstats_link l;
	int r = taskstats_open(&l), status;
	pid_t pid;

	(void)state;
	if (r) {
		child_end(&c);
		skip();
	}
	taskstats_close(&l);
	for (int keep = 0; keep < 2; keep++) {
		pid = fork();
		if (!pid)
			_exit(read_without_rights(c.pid, keep));
		waitpid(pid, &status, 0);
		assert_true(WIFEXITED(status));
		if (keep)
			assert_int_equal(WEXITSTATUS(status), 0);
		else
			assert_int_not_equal(WEXITSTATUS(status), 0);
	}
	child_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taskstats_know_the_process),
		cmocka_unit_test(taskstats_can_be_read_by_who_kept_the_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
