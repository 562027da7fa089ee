/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures and texts as cells of a table. */
#include "report/cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_from_elsewhere_is_cut_between_characters(void **state)
{
	char longest[200] = "";

	(void)state;
	assert_string_equal(cell_text("", 5).text, "");
	assert_string_equal(cell_text("abcde", 5).text, "abcde");
	assert_string_equal(cell_text("abcdef", 5).text, "abcd…");
	assert_string_equal(cell_text("共有フォルダ", 6).text, "共有フォルダ");
	assert_string_equal(cell_text("共有フォルダ", 5).text, "共有フォ…");
	assert_string_equal(cell_text("a\tb\x7f", 5).text, "a?b?");
	for (size_t i = 0; i < 20; i++)
		strcat(longest, "語");
	assert_int_equal(text_columns(cell_text(longest, 16).text), 13);
	/* No character begins anywhere. */
	memset(longest, 0xa4, sizeof(longest) - 1);
	assert_int_equal(strspn(cell_text(longest, 39).text, "\xa4"), 0);
	memset(longest, 'x', sizeof(longest) - 1);
	assert_int_equal(text_columns(cell_text(longest, 39).text), 37);
}

static void cells_keep_their_digits_at_every_size(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} times[] = { { 0, "0ns" },         { 999.4, "999ns" },    { 999.6, "1.00µs" },
		      { 8304, "8.30µs" },   { 9996, "10.0µs" },    { 99960, "100µs" },
		      { 999600, "1.00ms" }, { 1234567, "1.23ms" }, { 2.5e9, "2.50s" },
		      { 3.6e12, "3600s" } };

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(cell_time(times[i].ns).text, times[i].text);
	assert_string_equal(cell_count(0).text, "0");
	assert_string_equal(cell_count(999).text, "999");
	assert_string_equal(cell_count(1000).text, "1,000");
	assert_string_equal(cell_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(cell_short(9.5).text, "9.50");
	assert_string_equal(cell_short(99.997).text, "100.0");
	assert_string_equal(cell_short(1234.5).text, "1234");
	assert_string_equal(cell_short(1234567).text, "1.23M");
	assert_string_equal(cell_short(2e9).text, "2.00G");
}

static void no_quantile_is_shown_beyond_the_longest(void **state)
{
	(void)state;
	assert_string_equal(cell_about(305123456, 306000000).text, "306ms");
	assert_string_equal(cell_about(305123456, 310000000).text, "310ms");
	assert_string_equal(cell_about(305123456, 0).text, "310ms");
	assert_string_equal(cell_about(7470, 7480).text, "7.48µs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_from_elsewhere_is_cut_between_characters),
		cmocka_unit_test(cells_keep_their_digits_at_every_size),
		cmocka_unit_test(no_quantile_is_shown_beyond_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
