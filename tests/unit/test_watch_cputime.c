/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time of a process whose threads come and go. */
#include "unit/working_child.h"
#include "watch/cputime.h"

static void the_total_keeps_what_an_ended_thread_had(void **state)
{
	struct child c = child_start();
	struct cputime times;
	uint64_t cpu_ns;

	(void)state;
	assert_int_equal(cputime_open(&times, c.pid), 0);
	child_do(&c, 't');
	do
		cpu_ns = cputime_read(&times).cpu_ns;
	while (cpu_ns < 5000000);
	child_do(&c, 'j');
	assert_true(cputime_read(&times).cpu_ns >= cpu_ns);
	assert_int_equal(times.n, 1);
	child_end(&c);
	assert_true(cputime_read(&times).cpu_ns >= cpu_ns);
	cputime_close(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_total_keeps_what_an_ended_thread_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
