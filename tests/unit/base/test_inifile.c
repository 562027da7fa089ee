/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INI texts: what a line may be, that each value survives being written, and the messages. */
#include "base/inifile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct inifile_heard {
	char text[2000];
	char last[2000]; /* value */
};

/* "3:section.key=value;" */
static int inifile_hear(void *user, const struct inifile_key *k, struct err *e)
{
	struct inifile_heard *h = user;
	size_t n = strlen(h->text);

	if (!strcmp(k->key, "once") && inifile_once(k, e))
		return -EINVAL;
	if (!strcmp(k->value, "bad"))
		return err_set(e, -EDOM, "this is bad");
	snprintf(h->text + n, sizeof(h->text) - n, "%u:%s.%s=%s;", k->line, k->section, k->key,
		 k->value);
	snprintf(h->last, sizeof(h->last), "%s", k->value);
	return 0;
}

static int inifile_hear_all(struct inifile_heard *h, const char *text, struct err *e)
{
	char *copy = strdup(text);
	int r;

	*h = (struct inifile_heard) { 0 };
	*e = (struct err) { 0 };
	r = inifile_read(copy, "x.ini", inifile_hear, h, e);
	free(copy);
	return r;
}

static void each_key_comes_with_section_and_line(void **state)
{
	static const struct {
		const char *text, *heard;
	} cases[] = {
		{ "", "" },
		{ "\n\n# x = 1\n; y\n", "" },
		{ "a=1", "1:.a=1;" },
		{ "\xef\xbb\xbf[s]\na = 1\r\n\r\nb: 2", "2:s.a=1;4:s.b=2;" },
		{ "[s] ; it\n\ta\t=\t1 2 ; three\n[ t ]\nb = x;y\nc =\nd = ;\n",
		  "2:s.a=1 2;4:t.b=x;y;5:t.c=;6:t.d=;" },
		{ "a = b = c\nurl = afp://u@h:1/v\n", "1:.a=b = c;2:.url=afp://u@h:1/v;" },
		{ "a = \"  x ; y \\\"z\\\" \\\\ \" ; said\n", "1:.a=  x ; y \"z\" \\ ;" },
		{ "a = \"\"\nb = say \"x\"\n", "1:.a=;2:.b=say \"x\";" },
		{ "a = \"1\\n2\\r\\t\"\n", "1:.a=1\n2\r\t;" },
		{ "a = 1\na = 2\n", "1:.a=1;2:.a=2;" },
		{ "[s]\nonce = 1\n[t]\nonce = 2\n", "2:s.once=1;4:t.once=2;" },
	};
	struct inifile_heard h;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (inifile_hear_all(&h, cases[i].text, &e))
			fail_msg("%s: %s", cases[i].text, e.text);
		assert_string_equal(h.text, cases[i].heard);
	}
}

static void each_mistake_has_file_and_line(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *message;
	} cases[] = {
		{ "[s]\nx\n", -EINVAL, "x.ini, line 2: neither [section] nor key = value" },
		{ "[s\n", -EINVAL, "x.ini, line 1: neither [section] nor key = value" },
		{ "[s] more\n", -EINVAL, "x.ini, line 1: neither [section] nor key = value" },
		{ "\n= 1\n", -EINVAL, "x.ini, line 2: neither [section] nor key = value" },
		{ "a = bad\nx\n", -EDOM, "x.ini, line 1: this is bad" },
		{ "a = \"x\n", -EINVAL,
		  "x.ini, line 1: a value that begins with \" must end with it" },
		{ "a = \"x\\\n", -EINVAL,
		  "x.ini, line 1: \\ in a quoted value must be followed by one of \" \\ n r t" },
		{ "a = \"x\\y\"\n", -EINVAL,
		  "x.ini, line 1: \\ in a quoted value must be followed by one of \" \\ n r t" },
		{ "a = \"x\" y\n", -EINVAL,
		  "x.ini, line 1: there is text after the end of a quoted value" },
		{ "[s]\nonce = 1\n[t]\n[s]\nonce = 1\n", -EINVAL,
		  "x.ini, line 5: once is there twice: line 2 has it already" },
	};
	struct inifile_heard h;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(inifile_hear_all(&h, cases[i].text, &e), cases[i].code);
		assert_string_equal(e.text, cases[i].message);
	}
}

static int inifile_hear_none(void *user, const struct inifile_key *k, struct err *e)
{
	(void)user, (void)k, (void)e;
	return 0;
}

static void there_is_a_limit_of_keys(void **state)
{
	static char text[4 * (INIFILE_KEYS_MAX + 1) + 1];
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i <= INIFILE_KEYS_MAX; i++)
		memcpy(text + 4 * i, "a=1\n", 5);
	assert_int_equal(inifile_read(text, "x.ini", inifile_hear_none, NULL, &e), -EINVAL);
	assert_string_equal(e.text, "x.ini, line 1001: more than 1000 keys");
}

/* Random values of the characters that mean something. */
static void each_value_is_read_as_it_was_written(void **state)
{
	static const char letters[] = "ab ;#\"\\\n\r\t=:[]%\x01\xc3\xa4";
	struct inifile_heard h;
	char value[200], *text;
	struct err e;
	size_t len;
	FILE *out;

	(void)state;
	srandom(1);
	for (unsigned int i = 0; i < 5000; i++) {
		size_t n = (size_t)random() % (i % 10 ? 8 : sizeof(value) - 1);

		for (size_t k = 0; k < n; k++)
			value[k] = letters[(size_t)random() % (sizeof(letters) - 1)];
		value[n] = '\0';
		out = open_memstream(&text, &len);
		fputs("[s]\n", out);
		inifile_put(out, "k", value);
		fclose(out);
		if (strcmp(value, "bad") == 0 || inifile_hear_all(&h, text, &e))
			fail_msg("%s: %s", text, e.text);
		assert_string_equal(h.last, value);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_comes_with_section_and_line),
		cmocka_unit_test(each_mistake_has_file_and_line),
		cmocka_unit_test(there_is_a_limit_of_keys),
		cmocka_unit_test(each_value_is_read_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
