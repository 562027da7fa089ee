/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of metadata work, byte by byte, and their replies: names, dates, attributes, lists.
 */
#include "unit/afp_encoded.h"

#include <stdio.h>

#define P "03 08000103 "

static const struct afp volume_7788 = { .path_type = 3, .volume = 0x7788, .level = 7 };
static const struct afp long_names = { .path_type = 2, .volume = 0x7788, .level = 2 };

static void a_rename_is_one_command_in_a_directory_and_another_between_two(void **state)
{
	const struct afp_copy within = { 0x11, "old", 0x9999, 0x11, "new name" };
	const struct afp_copy across = { 0x11, "old", 0x9999, 0x22, "new name" };
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_rename(op, &volume_7788, &within);
	assert_command(op, 2, "1c 00 7788 00000011 " P "0003 'old' " P "0008 'new name'");
	assert_plain(op);
	op = used_op();
	afp_prep_rename(op, &volume_7788, &across);
	assert_command(
	    op, 2, "17 00 7788 00000011 00000022 " P "0003 'old' " P "0000 " P "0008 'new name'");
	assert_plain(op);
	op = used_op();
	afp_prep_rename(op, &long_names, &within);
	assert_command(op, 2, "1c 00 7788 00000011 02 03 'old' 02 08 'new name'");
	op = used_op();
	afp_prep_rename(op, &long_names, &across);
	assert_command(op, 2, "17 00 7788 00000011 00000022 02 03 'old' 02 00 02 08 'new name'");
}

/* After a path of odd length there is one byte of padding. */
static void a_date_counts_from_2000_and_begins_at_an_even_byte(void **state)
{
	static const struct {
		const char *name;
		uint64_t when_s;
		const char *sent;
	} row[] = {
		{ "x", 946684800, "0001 'x' 00000000" },
		{ "xy", 946684801, "0002 'xy' 00 00000001" },
		{ "xyz", 1000000000, "0003 'xyz' 032d8680" },
		{ "x", 0, "0001 'x' c792bc80" },          /* 1970 */
		{ "x", 3094168447, "0001 'x' 7fffffff" }, /* the last one */
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct afp_op *op = used_op();

		afp_prep_set_modified(op, &volume_7788, 0x11, row[i].name, row[i].when_s);
		snprintf(text, sizeof(text), "23 00 7788 00000011 0008 " P "%s", row[i].sent);
		assert_command(op, 2, text);
		assert_plain(op);
	}
}

static void attributes_are_asked_for_with_room_for_the_head_of_the_reply(void **state)
{
	const struct afp_xattr even = { 0x11, "f", "attr" }, odd = { 0x11, "fg", "attribute" };
	struct afp_op *op = used_op();
	uint8_t buf[106];

	(void)state;
	afp_prep_get_xattr(op, &volume_7788, &even, buf, 100);
	assert_command(op, 2,
		       "45 00 7788 00000011 0000 0000000000000000 ffffffffffffffff 0000006a " P
		       "0001 'f' 0004 'attr'");
	assert_ptr_equal(op->dsi.reply, buf);
	assert_int_equal(op->dsi.reply_cap, 106);
	assert_int_equal(op->dsi.data_len, 0);
	op = used_op();
	afp_prep_get_xattr(op, &volume_7788, &odd, buf, 0);
	assert_command(op, 2,
		       "45 00 7788 00000011 0000 0000000000000000 ffffffffffffffff 00000006 " P
		       "0002 'fg' 00 0009 'attribute'");
	assert_int_equal(op->dsi.reply_cap, 6);
}

/* The value is the end of the command: not DSIWrite, whose offset would say where it begins. */
static void an_attribute_is_set_by_one_command_with_its_value(void **state)
{
	const struct afp_xattr even = { 0x11, "f", "attr" }, odd = { 0x11, "fg", "attribute" };
	struct afp_op *op = used_op();
	const char value[] = "hello";

	(void)state;
	afp_prep_set_xattr(op, &volume_7788, &even, value, 5);
	assert_command(
	    op, 2, "46 00 7788 00000011 0000 0000000000000000 " P "0001 'f' 0004 'attr' 00000005");
	assert_ptr_equal(op->dsi.data, value);
	assert_int_equal(op->dsi.data_len, 5);
	assert_ptr_equal(op->dsi.reply, op->reply);
	op = used_op();
	afp_prep_set_xattr(op, &volume_7788, &odd, value, 0);
	assert_command(op, 2,
		       "46 00 7788 00000011 0000 0000000000000000 " P
		       "0002 'fg' 00 0009 'attribute' 00000000");
	assert_int_equal(op->dsi.data_len, 0);
}

static void a_lock_has_64_bits(void **state)
{
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_lock_ext(op, 0x0102, false, 0x1122334455667788, 0x10);
	assert_command(op, 2, "3b 00 0102 1122334455667788 0000000000000010");
	assert_plain(op);
	op = used_op();
	afp_prep_lock_ext(op, 0x0102, true, 0x1122334455667788, 0x10);
	assert_command(op, 2, "3b 01 0102 1122334455667788 0000000000000010");
	assert_plain(op);
}

/* FPEnumerate, then FPEnumerateExt of AFP 3.0, then FPEnumerateExt2 of 3.1. */
static void a_list_is_the_newest_command_of_the_version(void **state)
{
	static const struct {
		uint8_t path_type, level;
		const char *names, *all;
		uint32_t max;
	} row[] = {
		{ 2, 1, "09 00 7788 00000011 0040 0040 7fff 0029 2000 02 00",
		  "09 00 7788 00000011 076d 136d 7fff 0029 2000 02 00", UINT16_MAX },
		{ 2, 2, "09 00 7788 00000011 0040 0040 7fff 0029 2000 02 00",
		  "09 00 7788 00000011 076d 136d 7fff 0029 2000 02 00", UINT16_MAX },
		{ 3, 3, "42 00 7788 00000011 2000 2000 7fff 0029 2000 " P "0000",
		  "42 00 7788 00000011 e92d b32d 7fff 0029 2000 " P "0000", UINT16_MAX },
		{ 3, 4, "44 00 7788 00000011 2000 2000 7fff 00000029 00002000 " P "0000",
		  "44 00 7788 00000011 e92d b32d 7fff 00000029 00002000 " P "0000", INT32_MAX },
		{ 3, 7, "44 00 7788 00000011 2000 2000 7fff 00000029 00002000 " P "0000",
		  "44 00 7788 00000011 e92d b32d 7fff 00000029 00002000 " P "0000", INT32_MAX },
	};
	static uint8_t buf[8192];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct afp a = { .path_type = row[i].path_type,
				       .level = row[i].level,
				       .volume = 0x7788 };
		struct afp_op *op = used_op();

		afp_prep_list(op, &a, &(struct afp_list) { 0x11, 41, false, buf, sizeof(buf) });
		assert_command(op, 2, row[i].names);
		assert_ptr_equal(op->dsi.reply, buf);
		assert_int_equal(op->dsi.reply_cap, sizeof(buf));
		op = used_op();
		afp_prep_list(op, &a, &(struct afp_list) { 0x11, 41, true, buf, sizeof(buf) });
		assert_command(op, 2, row[i].all);
		assert_true(afp_list_max(&a) == row[i].max);
	}
}

/* A room of 65,536 bytes is not one of 0. */
static void a_list_asks_for_no_more_than_its_command_can_say(void **state)
{
	const struct afp old = { .path_type = 3, .level = 3, .volume = 0x7788 };
	static uint8_t buf[65536];
	const struct afp_list what = { 0x11, 1, false, buf, sizeof(buf) };
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_list(op, &old, &what);
	assert_command(op, 2, "42 00 7788 00000011 2000 2000 7fff 0001 7fff " P "0000");
	assert_int_equal(op->dsi.reply_cap, 0x7fff);
	op = used_op();
	afp_prep_list(op, &volume_7788, &what);
	assert_command(op, 2, "44 00 7788 00000011 2000 2000 7fff 00000001 00010000 " P "0000");
	assert_int_equal(op->dsi.reply_cap, 0x10000);
}

static void the_longest_names_fit_into_every_command(void **state)
{
	char name[AFP_NAME_MAX + 1] = "";
	const struct afp_copy across = { 1, name, 0, 2, name };
	const struct afp_xattr attr = { 1, name, name };
	struct afp_op *op = used_op();
	uint8_t buf[8];

	(void)state;
	memset(name, 'n', AFP_NAME_MAX);
	afp_prep_rename(op, &volume_7788, &across);
	assert_int_equal(op->dsi.len, 12 + 262 + 7 + 262);
	afp_prep_set_modified(op, &volume_7788, 1, name, 0);
	assert_int_equal(op->dsi.len, 10 + 262 + 4);
	afp_prep_get_xattr(op, &volume_7788, &attr, buf, 2);
	assert_int_equal(op->dsi.len, 30 + 262 + 2 + 255);
	afp_prep_set_xattr(op, &volume_7788, &attr, buf, 2);
	assert_int_equal(op->dsi.len, 18 + 262 + 2 + 255 + 4);
}

/* ---- replies ---- */

static void the_length_of_a_value_is_within_its_reply(void **state)
{
	static const struct {
		const char *reply;
		bool good;
		uint32_t len;
	} row[] = {
		{ "0000 00000005 'hello'", true, 5 },
		{ "0000 00000000", true, 0 },
		{ "0000 00000004 'hello'", true, 4 },
		{ "0000 00000006 'hello'", false, 0 },
		{ "0000 ffffffff 'hello'", false, 0 },
		{ "0000 000000", false, 0 },
		{ "", false, 0 },
	};
	struct afp_op op = { .code = AFP_GetExtAttr };
	uint8_t raw[32];
	uint32_t len;

	(void)state;
	op.dsi.reply = raw;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		op.dsi.reply_len = hex_bytes(raw, row[i].reply);
		assert_int_equal(afp_get_xattr(&op, &len), row[i].good);
		if (row[i].good)
			assert_int_equal(len, row[i].len);
	}
}

/* Of FPEnumerateExt and FPEnumerateExt2: two bytes of length, one of padding behind the kind. */
static void wide_entries_are_walked_and_cut_ones_are_malformed(void **state)
{
	static const char text[] = "2000 2000 0002 "
				   "0014 00 00 0006 00000000 00000000 0003 'abc' 00"
				   "0012 80 00 0006 00000000 00000000 0002 'dd'";
	static const uint8_t codes[] = { AFP_EnumerateExt, AFP_EnumerateExt2 };
	struct afp_params p[3];
	struct afp_entries it;
	uint8_t raw[64];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct afp_op op = { .code = codes[i] };
		size_t whole = hex_bytes(raw, text);

		op.dsi.reply = raw;
		for (size_t len = 0; len <= whole; len++) {
			unsigned int n = 0;

			op.dsi.reply_len = len;
			if (afp_entries_begin(&it, &op))
				while (n < 3 && afp_entries_next(&it, &p[n]))
					n++;
			assert_int_equal(it.at.bad, len < whole);
			if (len < whole)
				continue;
			assert_int_equal(n, 2);
			assert_string_equal(p[0].name, "abc");
			assert_false(p[0].is_dir);
			assert_string_equal(p[1].name, "dd");
			assert_true(p[1].is_dir);
		}
	}
}

/* Both bounds of the name have one form, and begin at even bytes. */
static void a_search_says_what_a_name_has(void **state)
{
	static const uint8_t place[AFP_PLACE_LEN] = { 0, 0, 0, 0x17, [15] = 0x99 };
	const struct afp old = { .path_type = 2, .volume = 0x7788 };
	static uint8_t buf[8192];
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_search(op, &volume_7788, &(struct afp_search) { "File", place, buf, 8192 });
	assert_command(op, 2,
		       "43 00 7788 0000001d 00000000 00000017 00000000 00000000 00000099 "
		       "2002 2002 80002000 000c 0002 08000103 0004 'File' 0008 0002 08000103 0000");
	assert_ptr_equal(op->dsi.reply, buf);
	assert_int_equal(op->dsi.reply_cap, 8192);
	op = used_op();
	afp_prep_search(op, &volume_7788, &(struct afp_search) { "Odd", place, buf, 512 });
	assert_command(op, 2,
		       "43 00 7788 00000001 00000000 00000017 00000000 00000000 00000099 "
		       "2002 2002 80002000 000c 0002 08000103 0003 'Odd' 00 "
		       "0008 0002 08000103 0000");
	op = used_op();
	afp_prep_search(op, &old, &(struct afp_search) { "File", place, buf, 8192 });
	assert_command(op, 2,
		       "2b 00 7788 0000001d 00000000 00000017 00000000 00000000 00000099 "
		       "0042 0042 80000040 08 00 0002 04 'File' 00 04 00 0002 00 00");
}

/* Their lengths are without themselves and the kind. */
static void results_of_a_search_are_walked_and_cut_ones_are_malformed(void **state)
{
	static const struct {
		uint8_t code;
		const char *text;
	} row[] = {
		{ AFP_CatSearchExt, "00000017 00000000 00000000 00000099 2002 2002 00000002 "
				    "0014 00 00 00000011 000a 00000000 08000103 0003 'abc' 00"
				    "0012 80 00 00000011 000a 00000000 08000103 0002 'dd'" },
		{ AFP_CatSearch, "00000017 00000000 00000000 00000099 0042 0042 00000002 "
				 "0a 00 00000011 0006 03 'abc'"
				 "0a 80 00000011 0006 02 'dd' 00" },
	};
	struct afp_params p[3];
	struct afp_entries it;
	uint8_t raw[96], place[AFP_PLACE_LEN];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct afp_op op = { .code = row[i].code };
		size_t whole = hex_bytes(raw, row[i].text);

		op.dsi.reply = raw;
		for (size_t len = 0; len <= whole; len++) {
			unsigned int n = 0;

			op.dsi.reply_len = len;
			if (afp_found_begin(&it, &op, place))
				while (n < 3 && afp_entries_next(&it, &p[n]))
					n++;
			assert_int_equal(it.at.bad, len < whole);
		}
		for (size_t k = 0; k < 2; k++) {
			assert_string_equal(i ? p[k].long_name : p[k].name, k ? "dd" : "abc");
			assert_int_equal(p[k].is_dir, k);
			assert_int_equal(p[k].parent, 0x11);
		}
		assert_memory_equal(place, raw, AFP_PLACE_LEN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rename_is_one_command_in_a_directory_and_another_between_two),
		cmocka_unit_test(a_date_counts_from_2000_and_begins_at_an_even_byte),
		cmocka_unit_test(attributes_are_asked_for_with_room_for_the_head_of_the_reply),
		cmocka_unit_test(an_attribute_is_set_by_one_command_with_its_value),
		cmocka_unit_test(a_lock_has_64_bits),
		cmocka_unit_test(a_list_is_the_newest_command_of_the_version),
		cmocka_unit_test(a_list_asks_for_no_more_than_its_command_can_say),
		cmocka_unit_test(the_longest_names_fit_into_every_command),
		cmocka_unit_test(the_length_of_a_value_is_within_its_reply),
		cmocka_unit_test(wide_entries_are_walked_and_cut_ones_are_malformed),
		cmocka_unit_test(a_search_says_what_a_name_has),
		cmocka_unit_test(results_of_a_search_are_walked_and_cut_ones_are_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
