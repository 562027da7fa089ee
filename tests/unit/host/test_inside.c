/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of another process's root folder, run there. Tests user/host/inside.c. */
#include "host/inside.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int run(char **out, const char *command, int ms, struct err *e)
{
	static char shell[] = "/bin/sh", option[] = "-c";
	char *text = strdup(command), *argv[] = { shell, option, text, NULL };
	int r = inside_run(out, getpid(), argv, ms, e);

	free(text);
	return r;
}

static void its_output_is_what_comes_back(void **state)
{
	struct err e = { 0 };
	char *out;

	(void)state;
	assert_int_equal(run(&out, "echo a; echo b >&2; read x; echo \"$x$HOME.\"", 5000, &e), 0);
	assert_string_equal(out, "a\n.\n");
	free(out);
	assert_int_equal(run(&out, "true", 5000, &e), 0);
	assert_string_equal(out, "");
	free(out);
}

static void it_has_no_rights_of_its_own(void **state)
{
	struct err e = { 0 };
	char *out;

	(void)state;
	assert_int_equal(
	    run(&out, "grep -h -e CapEff -e CapPrm -e NoNewPrivs /proc/self/status", 5000, &e), 0);
	assert_string_equal(out, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
				 "NoNewPrivs:\t1\n");
	free(out);
}

static void what_fails_is_said(void **state)
{
	char none[] = "/no/such/program", *argv[] = { none, NULL }, *out;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(run(&out, "echo x; exit 3", 5000, &e), -EIO);
	assert_null(out);
	assert_non_null(strstr(e.text, "/bin/sh of process"));
	assert_non_null(strstr(e.text, "failed"));
	assert_int_equal(inside_run(&out, getpid(), argv, 5000, &e), -ENOENT);
	assert_non_null(strstr(e.text, "is not there"));
	assert_int_equal(run(&out, "kill -9 $$", 5000, &e), -EIO);
}

/* Whatever it has started ends with it. */
static void who_does_not_answer_is_ended(void **state)
{
	struct err e = { 0 };
	char *out;

	(void)state;
	assert_int_equal(run(&out, "sleep 60 & sleep 60", 200, &e), -ETIMEDOUT);
	assert_null(out);
	assert_non_null(strstr(e.text, "does not answer"));
}

static void too_much_is_refused(void **state)
{
	struct err e = { 0 };
	char *out;

	(void)state;
	assert_int_equal(run(&out, "exec cat /dev/zero", 20000, &e), -EFBIG);
	assert_null(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_output_is_what_comes_back),
		cmocka_unit_test(it_has_no_rights_of_its_own),
		cmocka_unit_test(what_fails_is_said),
		cmocka_unit_test(who_does_not_answer_is_ended),
		cmocka_unit_test(too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
