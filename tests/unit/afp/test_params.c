/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters behind bitmaps: what replies carry, byte by byte, and what they must not. */
#include "afp/afp.h"
#include "afp/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

/* clang-format off */
/* Every bit of a file there is: 0xefff. */
static const uint8_t whole_file[] = {
	0x00, 0x21,				/* 0: attributes */
	0x00, 0x00, 0x00, 0x11,			/* 1: parent */
	0x32, 0x00, 0x00, 0x01,			/* 2: created */
	0xff, 0xff, 0xff, 0xfe,			/* 3: modified, before 2000 */
	0x80, 0x00, 0x00, 0x00,			/* 4: backup, never */
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,	/* 5: Finder info */
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
	0x00, 0x68,				/* 6: long name at 104 */
	0x00, 0x00,				/* 7: short name */
	0x00, 0x00, 0x01, 0x02,			/* 8: id */
	0xff, 0xff, 0xff, 0xff,			/* 9: data length, more than fits */
	0x00, 0x00, 0x00, 0x09,			/* 10: resource length */
	0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, /* 11: data length */
	0x00, 0x6c, 0x00, 0x00, 0x00, 0x00,	/* 13: UTF-8 name at 108 */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, /* 14: resource length */
	0, 0, 3, 0xe8, 0, 0, 3, 0xe8, 0, 0, 0x81, 0xa4, 7, 7, 7, 7, /* 15: Unix */
	3, 'L', 'o', 'n',			/* at 104 */
	0x08, 0x00, 0x01, 0x03, 0x00, 0x05, 'S', 'h', 'o', 'r', 't', /* at 108 */
};
#define FILE_BITS 0xefff

/* Every bit of a directory: 0xbfff. */
static const uint8_t whole_dir[] = {
	0x00, 0x04, 0x00, 0x00, 0x00, 0x02, 0x32, 0x00, 0x00, 0x01, 0x32, 0x00, 0x00, 0x02,
	0x80, 0x00, 0x00, 0x00,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 5: Finder info */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x00, 0x5e, /* 6: long name at 94 */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x17,
	0x12, 0x34,		/* 9: offspring, two bytes */
	0x00, 0x00, 0x01, 0xf5, /* 10: owner */
	0x00, 0x00, 0x00, 0x14, /* 11: group, four bytes */
	0x87, 0x07, 0x07, 0x07, /* 12: access */
	0x00, 0x60, 0x00, 0x00, 0x00, 0x00, /* 13: name at 96 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	1,    'D',
	0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 'd', 'd',
};
#define DIR_BITS 0xbfff
/* clang-format on */

static bool parse(struct afp_params *out, const uint8_t *raw, size_t len, uint16_t bitmap, bool dir)
{
	uint8_t *exact = malloc(len ? len : 1); /* so that ASan sees a step beyond */
	struct rbuf b;
	bool ok;

	if (len)
		memcpy(exact, raw, len);
	b = rbuf_of(exact, len);
	ok = afp_params_parse(out, &b, bitmap, dir);
	free(exact);
	return ok;
}

static void every_field_of_a_file_is_found(void **state)
{
	struct afp_params p;

	(void)state;
	assert_true(parse(&p, whole_file, sizeof(whole_file), FILE_BITS, false));
	assert_false(p.is_dir);
	assert_int_equal(p.bitmap, FILE_BITS);
	assert_int_equal(p.attributes, 0x21);
	assert_int_equal(p.parent, 0x11);
	assert_int_equal(p.created, 0x32000001);
	assert_int_equal(p.modified, -2);
	assert_int_equal(p.id, 0x102);
	assert_true(p.data_len == 0x100000002);
	assert_string_equal(p.long_name, "Lon");
	assert_string_equal(p.name, "Short");
}

static void every_field_of_a_directory_is_found(void **state)
{
	struct afp_params p;

	(void)state;
	assert_true(parse(&p, whole_dir, sizeof(whole_dir), DIR_BITS, true));
	assert_true(p.is_dir);
	assert_int_equal(p.parent, 2);
	assert_int_equal(p.id, 0x17);
	assert_int_equal(p.offspring, 0x1234);
	assert_true(p.data_len == 0);
	assert_string_equal(p.long_name, "D");
	assert_string_equal(p.name, "dd");
}

static void a_file_cut_anywhere_is_malformed(void **state)
{
	struct afp_params p;

	(void)state;
	for (size_t len = 0; len < sizeof(whole_file); len++)
		assert_false(parse(&p, whole_file, len, FILE_BITS, false));
}

static void a_directory_cut_anywhere_is_malformed(void **state)
{
	struct afp_params p;

	(void)state;
	for (size_t len = 0; len < sizeof(whole_dir); len++)
		assert_false(parse(&p, whole_dir, len, DIR_BITS, true));
}

/* Where the fields of one bit alone have this many bytes. */
static void single_bits_have_their_widths(void **state)
{
	static const uint8_t file[] = { 2, 4, 4, 4, 4, 32, 0, 2, 4, 4, 4, 8, 0, 0, 8, 16 };
	static const uint8_t dir[] = { 2, 4, 4, 4, 4, 32, 0, 2, 4, 2, 4, 4, 4, 0, 0, 16 };
	const uint8_t zeros[64] = { 0 };
	struct afp_params p;
	struct rbuf b;

	(void)state;
	for (unsigned int bit = 0; bit < 16; bit++) {
		if (bit == 6 || bit == 13)
			continue;
		for (unsigned int is_dir = 0; is_dir < 2; is_dir++) {
			b = rbuf_of(zeros, sizeof(zeros));
			assert_true(afp_params_parse(&p, &b, (uint16_t)(1u << bit), is_dir));
			assert_int_equal(b.at - zeros, is_dir ? dir[bit] : file[bit]);
		}
	}
}

static void an_empty_bitmap_needs_no_bytes(void **state)
{
	struct afp_params p;

	(void)state;
	assert_true(parse(&p, NULL, 0, 0, false));
	assert_true(parse(&p, NULL, 0, 0, true));
}

static void the_short_length_counts_when_it_is_alone(void **state)
{
	static const uint8_t raw[] = { 0x00, 0x00, 0x50, 0x00 };
	struct afp_params p;

	(void)state;
	assert_true(parse(&p, raw, sizeof(raw), AFP_BIT_DATA_LEN, false));
	assert_true(p.data_len == 0x5000);
}

static void long_name_offsets_beyond_the_reply_are_malformed(void **state)
{
	uint8_t raw[8] = { 0, 2, 3, 'a', 'b', 'c', 0, 0 };
	struct afp_params p;

	(void)state;
	assert_true(parse(&p, raw, 6, AFP_BIT_LONG_NAME, false));
	assert_string_equal(p.long_name, "abc");
	for (unsigned int offset = 0; offset < 0x10000; offset++) {
		raw[0] = (uint8_t)(offset >> 8);
		raw[1] = (uint8_t)offset;
		/* the length byte there must not lead beyond the six bytes */
		if (offset < 6 && offset + 1 + raw[offset] <= 6)
			assert_true(parse(&p, raw, 6, AFP_BIT_LONG_NAME, false));
		else
			assert_false(parse(&p, raw, 6, AFP_BIT_LONG_NAME, false));
	}
}

static void name_offsets_beyond_the_reply_are_malformed(void **state)
{
	uint8_t raw[15] = { 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c' };
	struct afp_params p;

	(void)state;
	assert_true(parse(&p, raw, sizeof(raw), AFP_BIT_NAME, false));
	assert_string_equal(p.name, "abc");
	for (unsigned int offset = 7; offset < 0x10000; offset++) {
		raw[0] = (uint8_t)(offset >> 8);
		raw[1] = (uint8_t)offset;
		assert_false(parse(&p, raw, sizeof(raw), AFP_BIT_NAME, false));
	}
}

static void names_longer_than_afp_allows_are_malformed(void **state)
{
	uint8_t raw[400] = { 0, 6 };
	struct afp_params p;

	(void)state;
	memset(raw + 12, 'x', sizeof(raw) - 12);
	raw[11] = 255;
	assert_true(parse(&p, raw, sizeof(raw), AFP_BIT_NAME, false));
	assert_int_equal(strlen(p.name), 255);
	raw[10] = 1;
	raw[11] = 0;
	assert_false(parse(&p, raw, sizeof(raw), AFP_BIT_NAME, false));

	raw[1] = 2;
	raw[2] = 31;
	assert_true(parse(&p, raw, sizeof(raw), AFP_BIT_LONG_NAME, false));
	raw[2] = 32;
	assert_false(parse(&p, raw, sizeof(raw), AFP_BIT_LONG_NAME, false));
}

static void offsets_count_from_the_first_parameter(void **state)
{
	static const uint8_t raw[] = { 9, 9, 9, 0, 2, 1, 'n' };
	struct rbuf b = rbuf_of(raw, sizeof(raw));
	struct afp_params p;

	(void)state;
	rbuf_bytes(&b, 3);
	assert_true(afp_params_parse(&p, &b, AFP_BIT_LONG_NAME, false));
	assert_string_equal(p.long_name, "n");
}

static void no_bitmap_and_no_bytes_do_harm(void **state)
{
	uint8_t raw[96];
	uint32_t random = 7;
	struct afp_params p;

	(void)state;
	for (unsigned int k = 0; k < 200000; k++) {
		for (size_t i = 0; i < sizeof(raw); i++) {
			random = random * 1664525 + 1013904223;
			raw[i] = random >> 30 ? (uint8_t)(random >> 26) & 0x3f : 0;
		}
		parse(&p, raw, random % sizeof(raw), (uint16_t)(random >> 8), k % 2);
		assert_true(strlen(p.name) < sizeof(p.name));
		assert_true(strlen(p.long_name) < sizeof(p.long_name));
	}
}

/* ---- paths ---- */

static void a_utf8_path_has_type_hint_and_length(void **state)
{
	static const uint8_t want[] = { 3, 0x08, 0x00, 0x01, 0x03, 0, 3, 'a', 0xc3, 0xa9 };
	uint8_t raw[64];
	struct wbuf b = wbuf_of(raw, sizeof(raw));

	(void)state;
	afp_path_put(&b, 3, "a\xc3\xa9");
	assert_int_equal(b.at - raw, sizeof(want));
	assert_memory_equal(raw, want, sizeof(want));
}

static void a_long_name_path_has_type_and_length_byte(void **state)
{
	static const uint8_t want[] = { 2, 3, 'a', 'b', 'c' };
	uint8_t raw[64];
	struct wbuf b = wbuf_of(raw, sizeof(raw));

	(void)state;
	afp_path_put(&b, 2, "abc");
	assert_int_equal(b.at - raw, sizeof(want));
	assert_memory_equal(raw, want, sizeof(want));
}

static void a_path_without_room_is_not_written(void **state)
{
	static char huge[70000];
	uint8_t raw[32];

	(void)state;
	for (size_t room = 0; room < 10; room++) {
		struct wbuf b = wbuf_of(raw, room);

		afp_path_put(&b, 3, "abc");
		assert_true(b.bad);
	}
	memset(huge, 'h', sizeof(huge) - 1);
	for (uint8_t type = 2; type < 4; type++) {
		struct wbuf b = wbuf_of(raw, sizeof(raw));

		afp_path_put(&b, type, huge);
		assert_true(b.bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_a_file_is_found),
		cmocka_unit_test(every_field_of_a_directory_is_found),
		cmocka_unit_test(a_file_cut_anywhere_is_malformed),
		cmocka_unit_test(a_directory_cut_anywhere_is_malformed),
		cmocka_unit_test(single_bits_have_their_widths),
		cmocka_unit_test(an_empty_bitmap_needs_no_bytes),
		cmocka_unit_test(the_short_length_counts_when_it_is_alone),
		cmocka_unit_test(long_name_offsets_beyond_the_reply_are_malformed),
		cmocka_unit_test(name_offsets_beyond_the_reply_are_malformed),
		cmocka_unit_test(names_longer_than_afp_allows_are_malformed),
		cmocka_unit_test(offsets_count_from_the_first_parameter),
		cmocka_unit_test(no_bitmap_and_no_bytes_do_harm),
		cmocka_unit_test(a_utf8_path_has_type_hint_and_length),
		cmocka_unit_test(a_long_name_path_has_type_and_length_byte),
		cmocka_unit_test(a_path_without_room_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
