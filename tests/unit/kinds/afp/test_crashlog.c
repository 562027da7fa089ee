/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/afp/looks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LINE(text) "Nov 27 12:08:10.441325 afpd[71] {fault.c:124} (severe:Default): " text "\n"

static const char *said(const char *log, pid_t pid)
{
	static struct run_figures f;

	f = (struct run_figures) { 0 };
	crashlog_read(&f, log, pid);
	return f.who[RUN_FIGURE_CRASHED_SHARE];
}

#define CRASH(signal, pid) LINE("INTERNAL ERROR: Signal " signal " in pid " pid " (4.5.1)")

/* As netatalk 4.5.1 wrote it when a session got SIGSEGV. */
static const char two[] = CRASH("6", "70") LINE(" #0 /usr/sbin/afpd(afp_read+0x8)")
    LINE("AFP logout") CRASH("11", "71") LINE("BACKTRACE: 12 stack frames:")
	LINE(" #0 /lib/libatalk.so.20(netatalk_panic+0x32) [0x7fc]")
	    LINE(" #7 /usr/sbin/afpd(afp_over_dsi+0x48a) [0x562]")
		LINE(" #8 /usr/sbin/afpd(main+0xe94) [0x562]");

static void a_crash_is_told_with_the_function_it_was_in(void **state)
{
	(void)state;
	assert_string_equal(said(two, 71),
			    "INTERNAL ERROR: Signal 11 in pid 71 (4.5.1), in afp_over_dsi");
	assert_string_equal(said(two, 70),
			    "INTERNAL ERROR: Signal 6 in pid 70 (4.5.1), in afp_read");
}

/* The log may be of last week, and what crashed now may have left no line. */
static void a_crash_of_another_session_is_not_told(void **state)
{
	(void)state;
	assert_string_equal(said(two, 7), "");
	assert_string_equal(said(two, 710), "");
}

static void a_log_that_is_cut_says_what_it_has(void **state)
{
	(void)state;
	assert_string_equal(said(CRASH("11", "71"), 71),
			    "INTERNAL ERROR: Signal 11 in pid 71 (4.5.1)");
	assert_string_equal(said("INTERNAL ERROR: Signal 11 in p", 71), "");
	assert_string_equal(said(LINE("AFP logout by bench1"), 71), "");
	assert_string_equal(said("", 71), "");
	assert_string_equal(said("INTERNAL ERROR: Signal 1 in pid 71\x1b[2J\n", 71),
			    "INTERNAL ERROR: Signal 1 in pid 71?[2J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crash_is_told_with_the_function_it_was_in),
		cmocka_unit_test(a_crash_of_another_session_is_not_told),
		cmocka_unit_test(a_log_that_is_cut_says_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
