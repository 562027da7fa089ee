/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AFP commands byte by byte, and their replies.
 * Also tests client/afp/proto.c.
 */
#include "afp/afp.h"
#include "fake/peer.h"
#include "unit/afp_encoded.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

static const struct afp volume_7788 = { .path_type = 3, .volume = 0x7788 };

static void commands_on_names_are_encoded_as_specified(void **state)
{
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_create_file(op, &volume_7788, 0x11223344, "a.b");
	assert_command(op, 2, "07 00 7788 11223344 03 08000103 0003 'a.b'");
	assert_plain(op);
	op = used_op();
	afp_prep_create_dir(op, &volume_7788, 2, "dir01");
	assert_command(op, 2, "06 00 7788 00000002 03 08000103 0005 'dir01'");
	assert_plain(op);
	op = used_op();
	afp_prep_delete(op, &volume_7788, 0x99, "");
	assert_command(op, 2, "08 00 7788 00000099 03 08000103 0000");
	assert_plain(op);
	op = used_op();
	afp_prep_get_params(op, &volume_7788, 0x12, "x", 0x0042, 0x133f);
	assert_command(op, 2, "22 00 7788 00000012 0042 133f 03 08000103 0001 'x'");
	assert_plain(op);
	op = used_op();
	afp_prep_open_fork(op, &volume_7788, 0x12, "File", 0x0342, 0x0033);
	assert_command(op, 2, "1a 00 7788 00000012 0342 0033 03 08000103 0004 'File'");
	assert_plain(op);
	op = used_op();
	afp_prep_get_volume(op, &volume_7788, 0x0208);
	assert_command(op, 2, "11 00 7788 0208");
	assert_plain(op);
}

static void a_copy_names_both_places(void **state)
{
	const struct afp_copy copy = { 0x11, "Source", 0x99aa, 0x22, "Destination" };
	const struct afp old = { .path_type = 2, .volume = 0x7788 };
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_copy_file(op, &volume_7788, &copy);
	assert_command(op, 2,
		       "05 00 7788 00000011 99aa 00000022 03 08000103 0006 'Source' "
		       "03 08000103 0000 03 08000103 000b 'Destination'");
	assert_plain(op);
	op = used_op();
	afp_prep_copy_file(op, &old, &copy);
	assert_command(op, 2,
		       "05 00 7788 00000011 99aa 00000022 02 06 'Source' 02 00 "
		       "02 0b 'Destination'");
	op = used_op();
	afp_prep_close_volume(op, 0x99aa);
	assert_command(op, 2, "02 00 99aa");
	assert_plain(op);
}

static void what_a_mac_saves_beside_the_data_is_encoded(void **state)
{
	const struct afp_copy both = { 0x11, "New", 0x7788, 0x22, "Old" };
	static const char finder[AFP_FINDER_LEN] = "TEXTttxt";
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_exchange_files(op, &volume_7788, &both);
	assert_command(
	    op, 2, "2a 00 7788 00000011 00000022 03 08000103 0003 'New' 03 08000103 0003 'Old'");
	assert_plain(op);
	op = used_op();
	afp_prep_open_resource(op, &volume_7788, 0x12, "File", 0x0100, 0x0003);
	assert_command(op, 2, "1a 80 7788 00000012 0100 0003 03 08000103 0004 'File'");
	assert_plain(op);
	op = used_op();
	afp_prep_set_finder(op, &volume_7788, 0x12, "File", finder);
	assert_command(op, 2,
		       "23 00 7788 00000012 0020 03 08000103 0004 'File' 00 'TEXTttxt' "
		       "0000000000000000 0000000000000000 0000000000000000");
	assert_plain(op);
}

/* Paths of type 2: long names, as Pascal strings. */
static void before_afp_3_names_are_long_names(void **state)
{
	const struct afp old = { .path_type = 2, .volume = 0x7788 };
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_create_file(op, &old, 0x11223344, "a.b");
	assert_command(op, 2, "07 00 7788 11223344 02 03 'a.b'");
	afp_prep_delete(op, &old, 0x99, "");
	assert_command(op, 2, "08 00 7788 00000099 02 00");
	afp_prep_open_fork(op, &old, 0x12, "File", 0x0100, 0x0033);
	assert_command(op, 2, "1a 00 7788 00000012 0100 0033 02 04 'File'");
}

static void the_longest_name_fits(void **state)
{
	char name[AFP_NAME_MAX + 1] = "";
	struct afp_op *op = used_op();

	(void)state;
	memset(name, 'n', AFP_NAME_MAX);
	afp_prep_open_fork(op, &volume_7788, 2, name, 0, 1);
	assert_int_equal(op->dsi.len, 12 + 7 + 255);
}

static void enumerate_is_encoded_as_specified(void **state)
{
	const struct afp_enumerate what = { 0x00000015, 0x077d, 0x117f, 40, 81, false };
	static uint8_t buf[AFP_ENUMERATE_MAX];
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_enumerate(op, &volume_7788, &what, buf);
	assert_command(op, 2, "09 00 7788 00000015 077d 117f 0028 0051 2000 02 00");
	assert_ptr_equal(op->dsi.reply, buf);
	assert_int_equal(op->dsi.reply_cap, 8192);
	assert_int_equal(op->dsi.data_len, 0);
}

static void commands_on_forks_are_encoded_as_specified(void **state)
{
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_get_fork(op, 0x0102, 0x0242);
	assert_command(op, 2, "0e 00 0102 0242");
	assert_plain(op);
	op = used_op();
	afp_prep_close_fork(op, 0x0102);
	assert_command(op, 2, "04 00 0102");
	assert_plain(op);
	op = used_op();
	afp_prep_flush_fork(op, 0x0102);
	assert_command(op, 2, "0b 00 0102");
	assert_plain(op);
	op = used_op();
	afp_prep_set_fork(op, 0x0102, 0x0200, 0x11223344);
	assert_command(op, 2, "1f 00 0102 0200 11223344");
	assert_plain(op);
	op = used_op();
	afp_prep_set_fork(op, 0x0102, 0x0800, 0x1122334455667788);
	assert_command(op, 2, "1f 00 0102 0800 1122334455667788");
	assert_plain(op);
	op = used_op();
	afp_prep_lock(op, 0x0102, false, 390, 10);
	assert_command(op, 2, "01 00 0102 00000186 0000000a");
	assert_plain(op);
	op = used_op();
	afp_prep_lock(op, 0x0102, true, 390, 10);
	assert_command(op, 2, "01 01 0102 00000186 0000000a");
	assert_plain(op);
}

static void reads_and_writes_are_encoded_as_specified(void **state)
{
	uint8_t data[20] = { 0 };
	struct afp_op *op = used_op();

	(void)state;
	afp_prep_write(op, 0x0102, 0x11223344, data, 20);
	assert_command(op, 6, "21 00 0102 11223344 00000014");
	assert_ptr_equal(op->dsi.data, data);
	assert_int_equal(op->dsi.data_len, 20);
	assert_ptr_equal(op->dsi.reply, op->reply);
	op = used_op();
	afp_prep_write_ext(op, 0x0102, 0x1122334455667788, data, 20);
	assert_command(op, 6, "3d 00 0102 1122334455667788 0000000000000014");
	assert_ptr_equal(op->dsi.data, data);
	assert_int_equal(op->dsi.data_len, 20);
	op = used_op();
	afp_prep_read(op, 0x0102, 0x11223344, data, 20);
	assert_command(op, 2, "1b 00 0102 11223344 00000014 00 00");
	assert_ptr_equal(op->dsi.reply, data);
	assert_int_equal(op->dsi.reply_cap, 20);
	assert_int_equal(op->dsi.data_len, 0);
	op = used_op();
	afp_prep_read_ext(op, 0x0102, 0x1122334455667788, data, 20);
	assert_command(op, 2, "3c 00 0102 1122334455667788 0000000000000014");
	assert_ptr_equal(op->dsi.reply, data);
	assert_int_equal(op->dsi.reply_cap, 20);
}

static void preparing_again_leaves_nothing_of_the_last_command(void **state)
{
	struct afp_op *op = used_op();
	uint8_t data[20] = { 0 };

	(void)state;
	afp_prep_write_ext(op, 1, 0, data, 20);
	afp_prep_close_fork(op, 1);
	assert_command(op, 2, "04 00 0001");
	assert_plain(op);
	afp_prep_read_ext(op, 1, 0, data, 20);
	afp_prep_close_fork(op, 1);
	assert_plain(op);
}

/* ---- replies ---- */

/* An op that was answered with these bytes, in memory of exactly their length. */
static struct afp_op *answered(uint8_t code, const char *text, size_t len)
{
	static struct afp_op op;
	static uint8_t *exact;
	uint8_t raw[512];
	size_t n = hex_bytes(raw, text);

	memset(&op, 0, sizeof(op));
	free(exact);
	n = len < n ? len : n;
	exact = malloc(n ? n : 1);
	memcpy(exact, raw, n);
	op.code = code;
	op.dsi.reply = exact;
	op.dsi.reply_len = n;
	return &op;
}

#define CREATED "01020304"
#define OPENED  "0342 0007 00000011 0010 00000022 00005000 'xx' 03 'abc'"
#define FORK    "0202 00000011 00005000"
#define FILE_P  "0042 1342 00 00 00000011 0006 01 'f'"
#define DIR_P   "0042 0142 80 00 00000011 000a 00000022 01 'd'"

static bool created(size_t len)
{
	uint32_t dir;

	return afp_get_created_dir(answered(6, CREATED, len), &dir);
}

static bool opened(size_t len)
{
	struct afp_params p;
	uint16_t fork;

	return afp_get_opened_fork(answered(26, OPENED, len), &fork, &p);
}

static bool fork_answer(size_t len)
{
	struct afp_params p;

	return afp_get_fork_params(answered(14, FORK, len), &p);
}

static bool file_answer(size_t len)
{
	struct afp_params p;

	return afp_get_file_params(answered(34, FILE_P, len), &p);
}

static bool dir_answer(size_t len)
{
	struct afp_params p;

	return afp_get_file_params(answered(34, DIR_P, len), &p);
}

static bool written32(size_t len)
{
	uint64_t end;

	return afp_get_written(answered(33, "00005000", len), &end);
}

static bool written64(size_t len)
{
	uint64_t end;

	return afp_get_written(answered(61, "0000000100000002", len), &end);
}

static void whole_replies_are_decoded(void **state)
{
	struct afp_params p;
	uint64_t end;
	uint32_t dir;
	uint16_t fork;

	(void)state;
	assert_true(afp_get_created_dir(answered(6, CREATED, SIZE_MAX), &dir));
	assert_int_equal(dir, 0x01020304);
	assert_true(afp_get_opened_fork(answered(26, OPENED, SIZE_MAX), &fork, &p));
	assert_int_equal(fork, 7);
	assert_int_equal(p.parent, 0x11);
	assert_int_equal(p.id, 0x22);
	assert_int_equal(p.data_len, 0x5000);
	assert_string_equal(p.long_name, "abc");
	assert_true(afp_get_fork_params(answered(14, FORK, SIZE_MAX), &p));
	assert_int_equal(p.data_len, 0x5000);
	assert_true(afp_get_file_params(answered(34, FILE_P, SIZE_MAX), &p));
	assert_false(p.is_dir);
	assert_string_equal(p.long_name, "f");
	assert_true(afp_get_file_params(answered(34, DIR_P, SIZE_MAX), &p));
	assert_true(p.is_dir);
	assert_int_equal(p.id, 0x22);
	assert_string_equal(p.long_name, "d");
	assert_true(afp_get_written(answered(33, "80000000", SIZE_MAX), &end));
	assert_true(end == 0x80000000);
	assert_true(afp_get_written(answered(61, "0000000100000002", SIZE_MAX), &end));
	assert_true(end == 0x100000002);
}

static void replies_cut_anywhere_are_malformed(void **state)
{
	static const struct {
		bool (*decode)(size_t len);
		size_t len;
	} row[] = { { created, 4 },     { opened, 24 },   { fork_answer, 10 }, { file_answer, 14 },
		    { dir_answer, 18 }, { written32, 4 }, { written64, 8 } };

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_true(row[i].decode(row[i].len));
		for (size_t len = 0; len < row[i].len; len++)
			assert_false(row[i].decode(len));
	}
}

static void a_file_asked_for_with_no_bitmap_answers_with_the_head_alone(void **state)
{
	struct afp_params p;

	(void)state;
	assert_true(afp_get_file_params(answered(34, "0000 0100 00 00", SIZE_MAX), &p));
	assert_false(p.is_dir);
}

/* Entries of a file (bitmap 0x0140) and a directory (0x0140), padded to even lengths. */
#define ENTRIES                                                                                    \
	"0140 0140 0003"                                                                           \
	"0c 00 0006 00000011 03 'abc'"                                                             \
	"0c 80 0006 00000012 02 'dd' 00"                                                           \
	"0a 00 0006 00000013 01 'x'"

static unsigned int walk(struct afp_entries *it, const struct afp_op *op, struct afp_params out[8])
{
	unsigned int n = 0;

	if (!afp_entries_begin(it, op))
		return 0;
	while (n < 8 && afp_entries_next(it, &out[n]))
		n++;
	return n;
}

static void entries_are_walked_with_their_padding(void **state)
{
	struct afp_params p[8];
	struct afp_entries it;

	(void)state;
	assert_int_equal(walk(&it, answered(9, ENTRIES, SIZE_MAX), p), 3);
	assert_false(it.at.bad);
	assert_string_equal(p[0].long_name, "abc");
	assert_int_equal(p[0].id, 0x11);
	assert_false(p[0].is_dir);
	assert_string_equal(p[1].long_name, "dd");
	assert_true(p[1].is_dir);
	assert_string_equal(p[2].long_name, "x");
	assert_int_equal(p[2].id, 0x13);
}

static void entries_cut_anywhere_are_malformed(void **state)
{
	struct afp_params p[8];
	struct afp_entries it;

	(void)state;
	for (size_t len = 0; len < 6 + 12 + 12 + 10; len++) {
		walk(&it, answered(9, ENTRIES, len), p);
		assert_true(it.at.bad);
	}
}

static void malformed_entries_end_the_walk(void **state)
{
	static const char *const text[] = {
		"0140 0140 0001 00 00 0006 00000011 03 'abc'", /* length 0 */
		"0140 0140 0001 01 00 0006 00000011 03 'abc'", /* length 1 */
		"0140 0140 0001 02 00 0006 00000011 03 'abc'", /* too short for its bitmap */
		"0140 0140 0001 0b 00 0006 00000011 03 'abc'", /* name longer than the entry */
		"0140 0140 0001 ff 00 0006 00000011 03 'abc'", /* entry longer than the reply */
		"0140 0140 0001 0c 00 ffff 00000011 03 'abc'", /* offset far outside */
		"0140 0140 0001 0c 00 000b 00000011 03 'abc'", /* offset just outside */
		"0140 0140 ffff",                              /* a count, no entries */
	};
	struct afp_params p[8];
	struct afp_entries it;

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		assert_int_equal(walk(&it, answered(9, text[i], SIZE_MAX), p), 0);
		assert_true(it.at.bad);
		assert_false(afp_entries_next(&it, p));
	}
}

/* ---- names of numbers ---- */

static void commands_and_results_have_names(void **state)
{
	struct afp_op op = { .code = 99 };

	(void)state;
	assert_string_equal(afp_command_name(26), "FPOpenFork");
	assert_string_equal(afp_command_name(34), "FPGetFileDirParms");
	assert_null(afp_command_name(99));
	assert_string_equal(afp_op_name(&op), "AFP command");
	op.code = 61;
	assert_string_equal(afp_op_name(&op), "FPWriteExt");
	assert_string_equal(afp_result_text(-5008), "disk full");
	assert_string_equal(afp_result_text(0), "success");
	assert_string_equal(afp_result_text(-4711), "unknown result");
	assert_string_equal(afp_result_text(AFP_ERR_BAD_REPLY),
			    "the reply does not fit the request");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_on_names_are_encoded_as_specified),
		cmocka_unit_test(a_copy_names_both_places),
		cmocka_unit_test(what_a_mac_saves_beside_the_data_is_encoded),
		cmocka_unit_test(before_afp_3_names_are_long_names),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(enumerate_is_encoded_as_specified),
		cmocka_unit_test(commands_on_forks_are_encoded_as_specified),
		cmocka_unit_test(reads_and_writes_are_encoded_as_specified),
		cmocka_unit_test(preparing_again_leaves_nothing_of_the_last_command),
		cmocka_unit_test(whole_replies_are_decoded),
		cmocka_unit_test(replies_cut_anywhere_are_malformed),
		cmocka_unit_test(a_file_asked_for_with_no_bitmap_answers_with_the_head_alone),
		cmocka_unit_test(entries_are_walked_with_their_padding),
		cmocka_unit_test(entries_cut_anywhere_are_malformed),
		cmocka_unit_test(malformed_entries_end_the_walk),
		cmocka_unit_test(commands_and_results_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
