/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing that a terminal or a page would obey gets through, and all that can be read does. */
#include "base/text.h"
#include "report/cell.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *from, *shown;
} cases[] = {
	{ "", "" },
	{ "– ファ äöü 😀 \xe2\x80\x8d", "– ファ äöü 😀 \xe2\x80\x8d" },
	{ "\x1b[2J\x1b]0;x\x07", "?[2J?]0;x?" },
	{ "a\rb\tc\x7f", "a?b?c?" },
	{ "\xc2\x9b"
	  "31m",
	  "?31m" }, /* CSI of C1 */
	{ "\x9b"
	  "31m",
	  "?31m" }, /* and as a byte */
	{ "\xe2\x80\xae"
	  "gpj.x",
	  "?gpj.x" }, /* right to left */
	{ "\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c", "???" },
	{ "a\xe2\x80\xa8"
	  "b",
	  "a?b" }, /* line separator */
	{ "\xef\xbb\xbfx", "?x" },
	{ "\xf3\xa0\x81\x81", "?" },         /* a tag */
	{ "\xc0\xaf\xe0\x80\xaf", "?????" }, /* longer than need be */
	{ "\xed\xa0\x80", "???" },           /* half of a pair */
	{ "\xf4\x90\x80\x80", "????" },      /* beyond the last */
	{ "caf\xc3", "caf?" },
	{ "\xe2\x82", "??" },
	{ "\xff\xfe", "??" },
};

static void check_put(const char *from, size_t len, const char *shown)
{
	char *text = NULL;
	size_t text_len;
	FILE *out = open_memstream(&text, &text_len);

	assert_non_null(out);
	text_put(out, from, len);
	fclose(out);
	assert_string_equal(text, shown);
	free(text);
}

static void what_is_obeyed_or_no_text_is_replaced(void **state)
{
	char copy[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_put(cases[i].from, strlen(cases[i].from), cases[i].shown);
		strcpy(copy, cases[i].from);
		text_clean(copy);
		assert_string_equal(copy, cases[i].shown);
		assert_string_equal(cell_text(cases[i].from, 40).text, cases[i].shown);
	}
}

static void a_text_ends_at_its_length_and_its_end(void **state)
{
	char lines[] = "one\n\x1btwo\n";

	(void)state;
	check_put("abc\0def", 7, "abc");
	check_put("abcdef", 3, "abc");
	check_put("ab\xc3\xa4", 3, "ab?");
	text_clean(lines);
	assert_string_equal(lines, "one\n?two\n");
}

static void a_word_of_a_list_is_whole(void **state)
{
	(void)state;
	assert_true(text_has_word("cpu,cpuacct", ',', "cpu"));
	assert_true(text_has_word("cpuset,cpu", ',', "cpu"));
	assert_false(text_has_word("cpuset,ncpu", ',', "cpu"));
	assert_false(text_has_word("", ' ', "cpu"));
	assert_false(text_has_word("cpu,,cpuset", ',', ""));
}

static void a_decimal_number_is_what_people_type(void **state)
{
	static const char *const none[] = { "",    " 1",  "+1",   "-",    ".", "-.",
					    "nan", "inf", "0x10", "-0x1", "x" };
	static const struct {
		const char *text, *rest;
		double is;
	} some[] = {
		{ "0.5", "", 0.5 },        { "-3", "", -3 }, { ".5s", "s", 0.5 },
		{ "1e3,", ",", 1000 },     { "5.", "", 5 },  { "12:7", ":7", 12 },
		{ "1e999", "", INFINITY },
	};
	const char *end;
	double is;

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		if (text_decimal(none[i], &end, &is))
			fail_msg("'%s' is a number", none[i]);
		assert_ptr_equal(end, none[i]);
	}
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		assert_true(text_decimal(some[i].text, &end, &is));
		assert_true(is == some[i].is);
		assert_string_equal(end, some[i].rest);
	}
}

static void blanks_are_stripped_on_either_side(void **state)
{
	static const struct {
		const char *from, *left;
	} some[] = { { "", "" },         { " \t\r\n ", "" }, { "a", "a" }, { "  a b\t\n", "a b" },
		     { "\na\v\f", "a" }, { "a ", "a" } };
	char text[16];

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		strcpy(text, some[i].from);
		assert_string_equal(text_strip(text), some[i].left);
	}
}

static void a_path_is_below_whole_folders(void **state)
{
	static const struct {
		const char *path, *folder, *below;
	} some[] = {
		{ "/a/b", "/a", "/b" }, { "/a/b", "/a/", "/b" }, { "/a", "/a", "" },
		{ "/a/", "/a", "" },    { "/a", "/a/", "" },     { "/a//", "/a", "" },
		{ "/a", "/", "/a" },    { "/", "/", "" },        { "/ab", "/a", NULL },
		{ "/a", "/a/b", NULL }, { "/b", "/a", NULL },    { "/a/b/c", "/a/b", "/c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		const char *below = text_below(some[i].path, some[i].folder);

		if (some[i].below)
			assert_string_equal(below, some[i].below);
		else
			assert_null(below);
	}
}

static void utf16_becomes_utf8(void **state)
{
	static const struct {
		size_t n;
		uint8_t units[12];
		const char *text;
	} some[] = {
		{ 0, "", "" },
		{ 3, "a\0\xe4\0z", "aäz" },
		{ 2, "\xc7\x8c\x99\x65", "資料" },
		{ 3, "\x3d\xd8\xda\xdc!", "📚!" },
		/* Halves of pairs, and a 0. */
		{ 2, "\x3d\xd8!", "?!" },
		{ 2, "\xda\xdc\x3d\xd8", "??" },
		{ 3, "a\0\0\0b", "a?b" },
	};
	char out[TEXT_UTF16_ROOM(6)];

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		memset(out, 'x', sizeof(out));
		text_utf16(out, some[i].units, some[i].n);
		assert_string_equal(out, some[i].text);
	}
}

static void a_url_begins_with_its_scheme(void **state)
{
	static const struct {
		const char *word, *rest;
	} some[] = {
		{ "afp://h/v", "h/v" },
		{ "AFP://u:p@h", "u:p@h" },
		{ "a+b-c.9://", "" },
		{ "", NULL },
		{ "://h", NULL },
		{ "9p://h", NULL },
		{ "afp:/h", NULL },
		{ "afp", NULL },
		/* Of a path. */
		{ "/a://b", NULL },
		{ "./a://b", NULL },
		{ "a/b://c", NULL },
		{ "a b://c", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		const char *rest = text_url(some[i].word);

		assert_true(!rest == !some[i].rest);
		if (rest)
			assert_string_equal(rest, some[i].rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_obeyed_or_no_text_is_replaced),
		cmocka_unit_test(a_text_ends_at_its_length_and_its_end),
		cmocka_unit_test(a_word_of_a_list_is_whole),
		cmocka_unit_test(a_decimal_number_is_what_people_type),
		cmocka_unit_test(blanks_are_stripped_on_either_side),
		cmocka_unit_test(a_path_is_below_whole_folders),
		cmocka_unit_test(utf16_becomes_utf8),
		cmocka_unit_test(a_url_begins_with_its_scheme),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
