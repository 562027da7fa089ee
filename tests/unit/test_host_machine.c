/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/host/machine.c, user/host/cgroup.c (cgroup_throttled, cgroup_unit) on this machine. */
#include "host/cgroup.h"
#include "host/machine.h"
#include "run/figures.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define BURN_MS 300

/* A process that uses a CPU. */
static pid_t burner(void)
{
	pid_t pid = fork();

	while (!pid)
		;
	assert_true(pid > 0);
	return pid;
}

static void sleep_ms(long ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

static void other_programs_are_seen_and_own_ones_are_not(void **state)
{
	struct machine before, after;
	struct run_figures f = { 0 }, own = { 0 };
	pid_t pid = burner();
	char name[32];

	(void)state;
	assert_int_equal(machine_look(&before, getpid()), 0);
	sleep_ms(BURN_MS);
	assert_int_equal(machine_look(&after, getpid()), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	machine_between(&f, &before, &after, NULL, 0, 0);
	assert_true(f.known[RUN_FIGURE_CPUS_USED]);
	assert_true(f.value[RUN_FIGURE_CPUS_USED] > 0 && f.value[RUN_FIGURE_CPUS_USED] <= 1);
	assert_true(f.known[RUN_FIGURE_OTHERS]);
	assert_true(f.value[RUN_FIGURE_OTHERS] > 0);
	assert_true(*f.who[RUN_FIGURE_OTHERS]);
	machine_between(&own, &before, &after, &pid, 1, 0);
	snprintf(name, sizeof(name), "(pid %d)", pid);
	assert_null(strstr(own.who[RUN_FIGURE_OTHERS], name));
	/* All that was used was the server's. */
	machine_between(&own, &before, &after, &pid, 1, UINT64_MAX / 2);
	assert_true(own.value[RUN_FIGURE_OTHERS] == 0);
	machine_fini(&before);
	machine_fini(&after);
}

static void a_device_s_accesses_are_those_between_two_looks(void **state)
{
	struct machine_device then[] = { { "sda", 100, 1000, 500 }, { "sdb", 7, 7, 7 } };
	struct machine_device now[] = { { "sda", 110, 1100, 600 }, { "sdb", 8, 1007, 900 } };
	struct machine before = { .n_devices = 2, .device = then };
	struct machine after = { .t_ns = 1000000000, .n_devices = 2, .device = now };
	struct run_figures f = { 0 };

	(void)state;
	machine_between(&f, &before, &after, NULL, 0, 0);
	assert_string_equal(f.who[RUN_FIGURE_DEVICE_BUSY], "sdb");
	assert_true(f.value[RUN_FIGURE_DEVICE_BUSY] > 0.892 &&
		    f.value[RUN_FIGURE_DEVICE_BUSY] < 0.894);
	assert_true(f.value[RUN_FIGURE_DEVICE_TIME] == 1e9);
	assert_false(f.known[RUN_FIGURE_OTHERS]);
	assert_false(f.known[RUN_FIGURE_THROTTLED]);
}

static void totals_are_shares_of_the_time_between(void **state)
{
	struct machine before = { .known = { [MACHINE_PRESSURE_IO] = true,
					     [MACHINE_THROTTLED] = true,
					     [MACHINE_SEGMENTS] = true,
					     [MACHINE_RETRANS] = true } };
	struct machine after = before;
	struct run_figures f = { 0 };

	(void)state;
	after.t_ns = 2000000000;
	after.total[MACHINE_PRESSURE_IO] = 500000;   /* us */
	after.total[MACHINE_THROTTLED] = 5000000000; /* ns, of several CPUs */
	after.total[MACHINE_SEGMENTS] = 1000;
	after.total[MACHINE_RETRANS] = 20;
	machine_between(&f, &before, &after, NULL, 0, 0);
	assert_true(f.value[RUN_FIGURE_PRESSURE_IO] == 0.25);
	assert_true(f.value[RUN_FIGURE_THROTTLED] == 1);
	assert_true(f.value[RUN_FIGURE_RETRANS] == 0.02);
	assert_false(f.known[RUN_FIGURE_PRESSURE_CPU]);
}

static void throttling_is_read_or_said_to_be_absent(void **state)
{
	uint64_t ns = 0;
	int r = cgroup_throttled(&ns, getpid());

	(void)state;
	assert_true(r == 0 || r == -ENODATA);
	assert_int_equal(cgroup_throttled(&ns, 0x7fffffff), -ENODATA);
}

static void a_unit_is_the_innermost_service_or_scope(void **state)
{
	static const struct {
		const char *text, *unit;
	} cases[] = {
		{ "0::/system.slice/netatalk.service\n", "netatalk.service" },
		{ "12:cpu,cpuacct:/a.service\n1:name=systemd:/system.slice/netatalk@2.service/sub\n0::/\n",
		  "netatalk@2.service" },
		{ "0::/user.slice/user-0.slice/user@0.service/app.slice/x.scope\n", "x.scope" },
		{ "0::/system.slice/docker-0123abcd.scope\n", "docker-0123abcd.scope" },
		{ "9:name=systemd:/\n0::/\n", "" },
		{ "", "" },
	};
	char text[200], unit[100];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		cgroup_unit_in(unit, sizeof(unit), text);
		assert_string_equal(unit, cases[i].unit);
	}
	cgroup_unit(unit, sizeof(unit), 0x7fffffff);
	assert_string_equal(unit, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_programs_are_seen_and_own_ones_are_not),
		cmocka_unit_test(a_device_s_accesses_are_those_between_two_looks),
		cmocka_unit_test(totals_are_shares_of_the_time_between),
		cmocka_unit_test(throttling_is_read_or_said_to_be_absent),
		cmocka_unit_test(a_unit_is_the_innermost_service_or_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
