/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of command lines that people are to paste. */
#include "base/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

static void a_word_is_quoted_where_the_shell_would_interpret_it(void **state)
{
	static const struct {
		const char *word, *shown;
	} rows[] = {
		{ "/srv/vol-1", "/srv/vol-1" },
		{ "nfs://10.0.0.1:2049/e", "nfs://10.0.0.1:2049/e" },
		{ "nfs://h/e?version=4&uid=5", "'nfs://h/e?version=4&uid=5'" },
		{ "", "''" },
		{ "My Volume", "'My Volume'" },
		{ "/a b/$(x)'s", "'/a b/$(x)'\\''s'" },
		{ "'", "''\\'''" },
		{ "~", "'~'" },
	};
	char text[100];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(shell_word(text, sizeof(text), rows[i].word), rows[i].shown);
}

static void a_word_that_is_too_long_is_cut(void **state)
{
	char text[9] = "";

	(void)state;
	for (size_t room = 1; room < sizeof(text); room++) {
		memset(text, 'x', sizeof(text));
		shell_word(text, room, "a''''b c");
		assert_non_null(memchr(text, '\0', room));
		assert_int_equal(text[room], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_quoted_where_the_shell_would_interpret_it),
		cmocka_unit_test(a_word_that_is_too_long_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
