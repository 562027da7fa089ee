/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places of a target's processes. Tests user/kinds/target.c. */
#include "kinds/target.h"

#include "unit/working_child.h"

#define MANY (2 * TARGET_BACKENDS_MAX)

static void backends_that_come_and_go_take_each_others_places(void **state)
{
	static struct target t;
	struct child c = child_start();
	const pid_t own = getpid();

	(void)state;
	target_processes(&t, &own, 1);
	target_add(&t, own, AFS_ROLE_BACKEND);
	for (int i = 0; i < MANY; i++) {
		target_add(&t, c.pid, AFS_ROLE_BACKEND);
		assert_int_equal(target_count(&t, AFS_ROLE_BACKEND), 2);
		assert_int_equal(t.process[2].pid, c.pid);
		assert_false(t.process[2].ended);
		t.process[2].ended = true;
	}
	assert_int_equal(t.process[1].pid, own);
	assert_false(t.crowded);
	child_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backends_that_come_and_go_take_each_others_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
