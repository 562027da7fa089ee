/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries that are loaded when they are needed: which one is taken, and what is said if none is.
 */
#include "base/library.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

struct functions {
	double (*cos)(double);
	double (*none)(double);
};

static const struct library_row row[] = {
	{ "cos", NULL, offsetof(struct functions, cos) },
	{ "no_such_function", NULL, offsetof(struct functions, none) },
};

static void the_first_that_is_there_is_taken(void **state)
{
	static const char *const files[] = { "libnone.so.1", "libm.so.6", "libnone.so.2", NULL };
	struct library_failure failure;
	struct functions f;

	(void)state;
	assert_int_equal(library_load(&f, files, row, 1, &failure), 0);
	assert_true(f.cos(0) == 1);
	assert_string_equal(failure.file, "libm.so.6");
}

static void what_is_missing_is_said(void **state)
{
	static const char *const none[] = { "libnone.so.1", "libnone.so.2", NULL };
	static const char *const old[] = { "libm.so.6", NULL };
	struct library_failure failure;
	struct functions f;

	(void)state;
	assert_int_equal(library_load(&f, none, row, 1, &failure), -ENOENT);
	assert_null(failure.lacks);
	assert_non_null(strstr(failure.why, "libnone.so.1"));
	assert_int_equal(library_load(&f, old, row, 2, &failure), -ENOENT);
	assert_ptr_equal(failure.lacks, &row[1]);
	assert_string_equal(failure.file, "libm.so.6");
}

static void a_version_that_is_not_there_is_missing(void **state)
{
	static const struct library_row newer = { "cos", "GLIBC_999", 0 };
	static const char *const files[] = { "libm.so.6", NULL };
	struct library_failure failure;
	struct functions f;

	(void)state;
	assert_int_equal(library_load(&f, files, &newer, 1, &failure), -ENOENT);
	assert_ptr_equal(failure.lacks, &newer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_is_there_is_taken),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(a_version_that_is_not_there_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
