/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much longer it takes: said on a terminal only. */
#include "main/estimate.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_terminal_is_told_how_many_are_to_go(void **state)
{
	int other = posix_openpt(O_RDWR | O_NOCTTY);
	char said[128] = "";
	struct estimate e;
	FILE *terminal;

	(void)state;
	assert_true(other >= 0 && !grantpt(other) && !unlockpt(other));
	terminal = fopen(ptsname(other), "w");
	assert_non_null(terminal);
	estimate_init(&e, terminal, 0x7, 2);
	e.last_ns -= 10000000000;
	estimate_show(&e, 1, 1);
	assert_true(read(other, said, sizeof(said) - 1) > 0);
	assert_string_equal(said, "5 to go, about 50 s ");
	fclose(terminal);
	close(other);
}

static void a_file_is_told_nothing(void **state)
{
	FILE *file = tmpfile();
	struct estimate e;

	(void)state;
	estimate_init(&e, file, 0x7, 2);
	estimate_show(&e, 1, 1);
	estimate_hide(&e);
	assert_int_equal(ftell(file), 0);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_is_told_how_many_are_to_go),
		cmocka_unit_test(a_file_is_told_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
