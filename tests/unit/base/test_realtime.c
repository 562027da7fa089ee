/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who goes before others, and who inherits it. */
#include "base/realtime.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The policy of a child of one that has begun so. */
static int policy_of_child(bool inherited)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (realtime_begin(inherited) ||
		    (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_RR)
			_exit(100);
		pid = fork();
		if (!pid)
			_exit(sched_getscheduler(0));
		waitpid(pid, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void only_inherited_is_passed_on(void **state)
{
	int before = sched_getscheduler(0);

	(void)state;
	assert_int_equal(policy_of_child(true), SCHED_RR);
	assert_int_equal(policy_of_child(false), SCHED_OTHER);
	assert_int_equal(sched_getscheduler(0), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(only_inherited_is_passed_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
