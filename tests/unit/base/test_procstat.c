/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/PID/stat says: a whole text, a cut one, and one of something else. */
#include "base/procstat.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Of Linux 6.1, with numbers that tell the fields apart. */
#define STAT_REST                                                                                  \
	" S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 18446744073709551615 26 "     \
	"27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52\n"
#define STAT "4711 (afpd)" STAT_REST

/* Each field but the first three has its number in proc(5) as its value. */
static void every_field_of_stat_is_the_one_of_its_number(void **state)
{
	struct procstat st;

	(void)state;
	assert_int_equal(procstat_parse(&st, STAT), 0);
	assert_string_equal(st.comm, "afpd");
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.ppid, 4);
	assert_int_equal(st.minflt, 10);
	assert_int_equal(st.majflt, 12);
	assert_int_equal(st.cpu_ticks, 14 + 15);
	assert_int_equal(st.child_ticks, 16 + 17);
	assert_int_equal(st.n_threads, 20);
	assert_int_equal(st.started, 22);
	assert_int_equal(st.cpu, 39);
	assert_int_equal(st.blkio_ticks, 42);
}

static void a_thread_of_the_kernel_is_told_by_its_flags(void **state)
{
	struct procstat st;

	(void)state;
	assert_int_equal(procstat_parse(&st, STAT), 0);
	assert_false(st.is_kernel);
	assert_int_equal(procstat_parse(&st,
					"9 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 175 0 "
					"0 20 0 1 0 3 0 0 18446744073709551615 0 0 0 0 0 0 0 "
					"2147483647 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"),
			 0);
	assert_true(st.is_kernel);
}

static void a_process_that_ends_is_told_by_its_flags(void **state)
{
	struct procstat st;
	siginfo_t ended;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(procstat_read(&st, pid), 0);
	assert_true(st.is_ending);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(procstat_read(&st, getpid()), 0);
	assert_false(st.is_ending);
}

static void a_name_may_hold_anything(void **state)
{
	struct procstat st;

	(void)state;
	assert_int_equal(procstat_parse(&st, "1 (a) R 7 (b)" STAT_REST), 0);
	assert_string_equal(st.comm, "a) R 7 (b");
	assert_int_equal(st.ppid, 4);
	assert_int_equal(procstat_parse(&st, "1 ()" STAT_REST), 0);
	assert_string_equal(st.comm, "");
	/* Of a kernel thread's worker: longer than a process may call itself. */
	assert_int_equal(procstat_parse(&st, "1 (kworker/u8:2-events_power_efficient)" STAT_REST),
			 0);
	assert_string_equal(st.comm, "kworker/u8:2-events_power_effic");
}

/* Up to the last field that is used. */
static void a_stat_that_is_cut_is_refused(void **state)
{
	const size_t whole = (size_t)(strstr(STAT, " 42 ") - STAT) + strlen(" 4");
	struct procstat st;
	char text[sizeof(STAT)];

	(void)state;
	for (size_t len = 0; len < whole; len++) {
		snprintf(text, sizeof(text), "%.*s", (int)len, STAT);
		if (procstat_parse(&st, text) != -EPROTO)
			fail_msg("%zu bytes were enough: %s", len, text);
	}
}

static void what_is_no_stat_is_refused(void **state)
{
	static const char *const no[] = { "",
					  "\n",
					  "4711",
					  "4711 )(",
					  ")",
					  "(",
					  "4711 (afpd) S x",
					  "4711 (afpd) S 4 5 6 7 8 9 many 11 12",
					  "rchar: 1\nwchar: 2\n" };
	struct procstat st;

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_int_equal(procstat_parse(&st, no[i]), -EPROTO);
}

static void a_process_is_read(void **state)
{
	struct procstat st;

	(void)state;
	assert_int_equal(procstat_read(&st, getpid()), 0);
	assert_int_equal(st.ppid, getppid());
	assert_int_equal(st.state, 'R');
	assert_true(st.started);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_stat_is_the_one_of_its_number),
		cmocka_unit_test(a_thread_of_the_kernel_is_told_by_its_flags),
		cmocka_unit_test(a_process_that_ends_is_told_by_its_flags),
		cmocka_unit_test(a_name_may_hold_anything),
		cmocka_unit_test(a_stat_that_is_cut_is_refused),
		cmocka_unit_test(what_is_no_stat_is_refused),
		cmocka_unit_test(a_process_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
