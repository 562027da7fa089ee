/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/machine.h"

#include "unit/invented_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void interrupts_and_stolen_time_are_apart_and_busy(void **state)
{
	struct cpus *c = malloc(sizeof(*c));

	(void)state;
	/* user nice system idle iowait irq softirq steal guest guest_nice; cpu1 is off. */
	invented_file("/proc/stat", "cpu  30 6 9 1300 20 12 30 60 0 0\n"
				    "cpu0 10 2 3 400 5 4 10 20 7 1\n"
				    "cpu2 20 4 6 900 15 8 20 40 0 0\n"
				    "intr 5 0 1\n");
	cpus_read(c, invented_root);
	assert_int_equal(c->sum.all, 1467);
	assert_int_equal(c->sum.busy, 147);
	assert_true(c->known[0] && !c->known[1] && c->known[2]);
	assert_int_equal(c->cpu[0].all, 454);
	assert_int_equal(c->cpu[0].busy, 49);
	assert_int_equal(c->cpu[0].interrupts, 14);
	assert_int_equal(c->cpu[0].stolen, 20);
	assert_int_equal(c->cpu[2].interrupts, 28);
	free(c);
}

static void without_the_file_nothing_is_known(void **state)
{
	struct cpus *c = malloc(sizeof(*c));

	(void)state;
	cpus_read(c, "/nowhere");
	assert_int_equal(c->sum.all, 0);
	assert_false(c->known[0]);
	free(c);
}

static void a_list_names_cpus_and_ranges_of_them(void **state)
{
	bool cpu[CPUS_MAX] = { 0 };

	(void)state;
	cpus_list(cpu, "1,4-6,9");
	for (size_t i = 0; i < CPUS_MAX; i++)
		assert_int_equal(cpu[i], i == 1 || (i >= 4 && i <= 6) || i == 9);
	cpus_list(cpu, "1020-5000"); /* more than there is room for */
	assert_true(cpu[CPUS_MAX - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_and_stolen_time_are_apart_and_busy),
		cmocka_unit_test(without_the_file_nothing_is_known),
		cmocka_unit_test(a_list_names_cpus_and_ranges_of_them),
	};

	return cmocka_run_group_tests(tests, invented_tree, invented_gone);
}
