/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the bytes of a command to the record of what it names. */
#include "trace/names.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct names *open_names(bool texts)
{
	struct names *n;
	struct err e = { 0 };

	assert_int_equal(names_open(&n, texts, &e), 0);
	return n;
}

/* The command with its path at an offset, as the programs hand it over. */
static struct afs_named command(uint8_t number, size_t path, uint8_t type, const char *name,
				size_t len)
{
	struct afs_named c = { .timestamp = 7, .session = 99, .dsi_id = 5, .command = number };
	struct wbuf b = wbuf_of(c.bytes, sizeof(c.bytes));

	wbuf_u8(&b, 0);
	wbuf_u16(&b, 0x1122);
	wbuf_u32(&b, 0x33445566);
	while (b.at < c.bytes + path - 1)
		wbuf_u8(&b, 0xee);
	wbuf_u8(&b, type);
	if (type == 3) {
		wbuf_u32(&b, 0x08000103);
		wbuf_u16(&b, (uint16_t)len);
	} else {
		wbuf_u8(&b, (uint8_t)len);
	}
	wbuf_bytes(&b, name, len);
	assert_false(b.bad);
	c.len = (uint16_t)(b.at - c.bytes);
	return c;
}

static struct afs_record_names record(struct names *n, const struct afs_named *c)
{
	struct afs_record_names r;

	names_record(n, c, &r);
	assert_int_equal(r.timestamp, 7);
	assert_int_equal(r.session, 99);
	assert_int_equal(r.dsi_id, 5);
	assert_int_equal(r.command, c->command);
	return r;
}

static void every_command_tells_its_name(void **state)
{
	static const struct {
		uint8_t number, path;
	} rows[] = {
#define X(number, path) { number, path },
		AFS_PATHS(X)
#undef X
	};
	struct names *n = open_names(true);
	struct afs_record_texts text;
	struct afs_record_names r;
	struct afs_named c;
	uint64_t first = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint8_t type = 1; type <= 3; type++) {
			c = command(rows[i].number, rows[i].path, type, "a name", 6);
			r = record(n, &c);
			assert_int_equal(r.volume, 0x1122);
			assert_int_equal(r.dir, 0x33445566);
			assert_int_equal(r.len, 6);
			assert_true(r.name && (!first || r.name == first));
			assert_int_equal(names_text(n, &c, &r, &text), !first);
			first = r.name;
			assert_string_equal(text.text, "a name");
		}
	names_close(n);
}

static void a_name_that_is_cut_is_none(void **state)
{
	struct names *n = open_names(true);
	struct afs_named c = command(26, 12, 3, "File", 4);
	struct afs_record_texts text;
	struct afs_record_names r;
	uint16_t whole = c.len;

	(void)state;
	for (c.len = 0; c.len < whole; c.len++) {
		r = record(n, &c);
		assert_int_equal(r.name, 0);
		assert_int_equal(r.len, 0);
		assert_int_equal(r.volume, c.len >= 3 ? 0x1122 : 0);
		assert_false(names_text(n, &c, &r, &text));
	}
	r = record(n, &c);
	assert_true(r.name && names_text(n, &c, &r, &text));
	c.command = 27; /* names nothing */
	assert_int_equal(record(n, &c).name, 0);
	c = command(26, 12, 3, "x", 1);
	c.len = UINT16_MAX;
	assert_int_equal(record(n, &c).name, 0);
	names_close(n);
}

static void equal_names_are_equal_in_one_trace_only(void **state)
{
	struct names *n = open_names(false), *other = open_names(false);
	struct afs_named c = command(7, 8, 3, "File", 4), d = command(8, 8, 3, "Files", 5);
	struct afs_record_names r = record(n, &c);
	struct afs_record_texts text;

	(void)state;
	assert_int_equal(record(n, &c).name, r.name);
	assert_int_not_equal(record(n, &d).name, r.name);
	assert_int_not_equal(record(other, &c).name, r.name);
	assert_false(names_text(n, &c, &r, &text)); /* nobody wants words */
	names_close(n);
	names_close(other);
}

static void words_fit_whatever_the_name_is(void **state)
{
	struct names *n = open_names(true);
	struct afs_record_texts text;
	struct afs_record_names r;
	struct afs_named c;
	char longest[255];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	c = command(75, 30, 3, longest, sizeof(longest));
	r = record(n, &c);
	assert_int_equal(r.len, 255);
	assert_true(names_text(n, &c, &r, &text));
	assert_int_equal(strlen(text.text), 255);
	c = command(8, 8, 2, "d\0f\x8a", 4); /* a path; a letter of MacRoman */
	r = record(n, &c);
	assert_true(names_text(n, &c, &r, &text));
	assert_string_equal(text.text, "d/f?");
	c = command(8, 8, 2, "", 0);
	r = record(n, &c);
	assert_true(r.name && !r.len && names_text(n, &c, &r, &text));
	assert_string_equal(text.text, "");
	names_close(n);
}

/* More names than are remembered: some are told twice, none never. */
static void many_names_are_each_told(void **state)
{
	struct names *n = open_names(true);
	struct afs_record_texts text;
	struct afs_record_names r;
	struct afs_named c;
	char name[16];

	(void)state;
	for (int i = 0; i < 120000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		c = command(8, 8, 3, name, strlen(name));
		r = record(n, &c);
		assert_true(names_text(n, &c, &r, &text));
		assert_string_equal(text.text, name);
		assert_false(names_text(n, &c, &r, &text));
	}
	names_close(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_tells_its_name),
		cmocka_unit_test(a_name_that_is_cut_is_none),
		cmocka_unit_test(equal_names_are_equal_in_one_trace_only),
		cmocka_unit_test(words_fit_whatever_the_name_is),
		cmocka_unit_test(many_names_are_each_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
