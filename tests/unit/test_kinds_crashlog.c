/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/crashlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define LINE(text) "Nov 27 12:08:10.441325 afpd[71] {fault.c:124} (severe:Default): " text "\n"

static const char *said(const char *log)
{
	static struct run_figures f;

	f = (struct run_figures) { 0 };
	crashlog_read(&f, log);
	return f.who[RUN_FIGURE_CRASHED_SHARE];
}

/* As netatalk 4.5.1 wrote it when a session got SIGSEGV. */
static void the_last_crash_is_told_with_the_function_it_was_in(void **state)
{
	(void)state;
	assert_string_equal(
	    said(LINE("INTERNAL ERROR: Signal 6 in pid 70 (4.5.1)")
		     LINE(" #0 /usr/sbin/afpd(afp_read+0x8)") LINE("AFP logout")
			 LINE("INTERNAL ERROR: Signal 11 in pid 71 (4.5.1)")
			     LINE("BACKTRACE: 12 stack frames:")
				 LINE(" #0 /lib/libatalk.so.20(netatalk_panic+0x32) [0x7fc]")
				     LINE(" #7 /usr/sbin/afpd(afp_over_dsi+0x48a) [0x562]")
					 LINE(" #8 /usr/sbin/afpd(main+0xe94) [0x562]")),
	    "INTERNAL ERROR: Signal 11 in pid 71 (4.5.1), in afp_over_dsi");
}

static void a_log_that_is_cut_says_what_it_has(void **state)
{
	(void)state;
	assert_string_equal(said(LINE("INTERNAL ERROR: Signal 11 in pid 71 (4.5.1)")),
			    "INTERNAL ERROR: Signal 11 in pid 71 (4.5.1)");
	assert_string_equal(said("INTERNAL ERROR: Signal 11 in p"),
			    "INTERNAL ERROR: Signal 11 in p");
	assert_string_equal(said(LINE("AFP logout by bench1")), "");
	assert_string_equal(said(""), "");
	assert_string_equal(said("INTERNAL ERROR: Signal 1\x1b[2J\n/afpd("),
			    "INTERNAL ERROR: Signal 1?[2J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_crash_is_told_with_the_function_it_was_in),
		cmocka_unit_test(a_log_that_is_cut_says_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
