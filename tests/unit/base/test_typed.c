/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands in texts, as they are to be typed. How this program is called:
 * tests/integration/cli/test_typed.py. */
#include "base/typed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

/* This program is not called afpscope: what sudo adds shows which ones are taken for commands. */
static int as_of_sudo(void **state)
{
	(void)state;
	return setenv("SUDO_UID", "1000", 1);
}

static void expect_typed(const char *text, const char *typed)
{
	char *found = typed_text(text);

	assert_non_null(found);
	assert_string_equal(found, typed);
	free(found);
}

static void a_command_is_said_as_it_is_to_be_typed(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	expect_typed("afpscope report last -o x", "sudo afpscope report last -o x");
	expect_typed("-v, afpscope\x1freport\x1flast", "-v, sudo afpscope\x1freport\x1flast");
	expect_typed("more (afpscope ab --pairs 3); `afpscope clean` too",
		     "more (sudo afpscope ab --pairs 3); `sudo afpscope clean` too");
	expect_typed("there is none: afpscope --help lists them",
		     "there is none: sudo afpscope --help lists them");
	expect_typed("journalctl -n 50; afpscope doctor -p 548",
		     "journalctl -n 50; sudo afpscope doctor -p 548");
}

static void a_sentence_about_the_program_stays(void **state)
{
	static const char *const texts[] = {
		"",
		"run afpscope on the server's host",
		"by this afpscope and what it has started",
		"outside: run afpscope outside of it (nsenter -t 1 -T)",
		"afpscope 1.0.0",
		"on the server: afpscope doctor --kind rx -d 30",
		"/usr/bin/afpscope report",
		"xafpscope report",
		"afpscope-report last",
		"afpscope",
		"afpscope ",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		expect_typed(texts[i], texts[i]);
}

static void a_line_is_printed_with_it(void **state)
{
	char *out = NULL;
	size_t len;
	FILE *to = open_memstream(&out, &len);

	(void)state;
	assert_non_null(to);
	typed_print(to, "  and %d more: %s\n", 3, "afpscope-x");
	fclose(to);
	assert_string_equal(out, "  and 3 more: afpscope-x\n");
	free(out);
}

static void a_name_is_cut_to_fit(void **state)
{
	char text[6] = "12345";

	(void)state;
	assert_ptr_equal(typed_program(text, 4), text);
	assert_int_equal(strlen(text), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_said_as_it_is_to_be_typed),
		cmocka_unit_test(a_sentence_about_the_program_stays),
		cmocka_unit_test(a_line_is_printed_with_it),
		cmocka_unit_test(a_name_is_cut_to_fit),
	};

	return cmocka_run_group_tests(tests, as_of_sudo, NULL);
}
