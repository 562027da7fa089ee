/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations over AFP: which bytes each one sends, and what is made of the answers.
 * Also tests client/store/store.c.
 */
#include "unit/store_rig.h"

/* ---- what is sent ---- */

#define P "03 08000103 "

static void each_verb_on_a_name_is_one_command(void **state)
{
	static const struct {
		struct store_op op;
		const char *sent, *what;
	} row[] = {
		{ { .verb = STORE_PROBE },
		  "22 00 0102 00000002 0042 0042 " P "0001 'n'",
		  "FPGetFileDirParms" },
		{ { .verb = STORE_MKDIR }, "06 00 0102 00000002 " P "0001 'n'", "FPCreateDir" },
		{ { .verb = STORE_CREATE }, "07 00 0102 00000002 " P "0001 'n'", "FPCreateFile" },
		{ { .verb = STORE_DELETE }, "08 00 0102 00000002 " P "0001 'n'", "FPDelete" },
		{ { .verb = STORE_OPEN, .how = STORE_FOR_READ },
		  "1a 00 0102 00000002 0100 0001 " P "0001 'n'",
		  "FPOpenFork" },
		{ { .verb = STORE_OPEN, .how = STORE_FOR_READ | STORE_FOR_WRITE | STORE_ALONE },
		  "1a 00 0102 00000002 0100 0033 " P "0001 'n'",
		  "FPOpenFork" },
		{ { .verb = STORE_COPY, .to_name = "to", .to_dir = { 1, 0x22 } },
		  "05 00 0102 00000002 0103 00000022 " P "0001 'n' " P "0000 " P "0002 'to'",
		  "FPCopyFile" },
		{ { .verb = STORE_ROOM }, "11 00 0102 0201", "FPGetVolParms" },
	};
	struct rig *g = *state;
	unsigned int before;

	open_it(g);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct store_op op = row[i].op;

		op.dir = g->s->root[0];
		op.name = "n";
		before = g->peer->n_working;
		call(g, &op);
		assert_int_equal(g->peer->n_working, before + 1);
		assert_sent(g, row[i].sent);
		assert_string_equal(op.what, row[i].what);
		assert_int_equal(op.command, g->sent[0]);
		assert_true(op.t.begun_ns && op.t.begun_ns <= op.t.last_ns);
	}
}

static void each_verb_on_an_open_file_is_one_command(void **state)
{
	static const struct {
		struct store_op op;
		const char *wide, *narrow;
	} row[] = {
		{ { .verb = STORE_LENGTH }, "0e 00 0001 0800", "0e 00 0001 0200" },
		{ { .verb = STORE_SET_LEN, .len = 0x123456 },
		  "1f 00 0001 0800 0000000000123456",
		  "1f 00 0001 0200 00123456" },
		{ { .verb = STORE_WRITE, .offset = 0x10000, .len = 16 },
		  "3d 00 0001 0000000000010000 0000000000000010",
		  "21 00 0001 00010000 00000010" },
		{ { .verb = STORE_READ, .offset = 0x10000, .len = 16 },
		  "3c 00 0001 0000000000010000 0000000000000010",
		  "1b 00 0001 00010000 00000010 00 00" },
		{ { .verb = STORE_FLUSH }, "0b 00 0001", "0b 00 0001" },
		{ { .verb = STORE_CLOSE }, "04 00 0001", "04 00 0001" },
	};
	struct rig *g = *state;
	uint8_t buf[16];

	open_it(g);
	for (unsigned int legacy = 0; legacy < 2; legacy++) {
		struct store_file f;

		g->how.legacy = legacy;
		open_again(g);
		f = open_file(g, legacy ? "narrow" : "wide");
		for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
			struct store_op op = row[i].op;

			op.file = f;
			op.buf = buf;
			op.data = buf;
			call(g, &op);
			assert_int_equal(op.result, STORE_OK);
			assert_null(op.why);
			assert_sent(g, legacy ? row[i].narrow : row[i].wide);
			if (op.verb == STORE_WRITE || op.verb == STORE_READ)
				assert_int_equal(op.done, 16);
			if (op.verb == STORE_LENGTH)
				assert_int_equal(op.done, 0);
		}
	}
}

static void before_afp_3_there_are_only_32_bits_and_long_names(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_WRITE, .len = 4, .data = "abcd" };

	g->login.version = 2;
	open_it(g);
	op.file = open_file(g, "File");
	assert_sent(g, "1a 00 0102 00000002 0100 0033 02 04 'File'");
	call(g, &op);
	assert_sent(g, "21 00 0001 00000000 00000004");
	assert_int_equal(g->s->chunk_write, 1044480);
}

static void what_is_made_and_opened_can_be_used(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_MKDIR, .name = "dir" };
	struct store_dir made;

	open_it(g);
	op.dir = g->s->root[1];
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.made.volume, 1);
	made = op.made;
	op = (struct store_op) { .verb = STORE_CREATE, .dir = made, .name = "f" };
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(g->sent[3], 3); /* the second volume's id is 0103 */
	op.verb = STORE_DELETE;
	call(g, &op);
	op.name = "";
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	peer_stop(g->peer);
	assert_int_equal(g->peer->volume.n_nodes, 0);
}

/* ---- what comes back ---- */

static void results_are_put_in_common_words(void **state)
{
	static const struct {
		int32_t code;
		enum store_result result;
	} row[] = {
		{ -5018, STORE_NONE },    { -5029, STORE_NONE },    { -5012, STORE_NONE },
		{ -5017, STORE_EXISTS },  { -5000, STORE_DENIED },  { -5006, STORE_DENIED },
		{ -5031, STORE_DENIED },  { -5032, STORE_DENIED },  { -5008, STORE_FULL },
		{ -5019, STORE_INVALID }, { -5024, STORE_UNKNOWN }, { -5007, STORE_NOT_EMPTY },
		{ -5047, STORE_QUOTA },   { -5046, STORE_FAILED },  { -4711, STORE_FAILED },
	};
	struct rig *g = *state;

	open_it(g);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct store_op op = { .verb = STORE_CREATE, .dir = g->s->root[0], .name = "n" };

		g->code = AFP_CreateFile;
		g->result = row[i].code;
		call(g, &op);
		assert_int_equal(op.result, row[i].result);
		assert_int_equal(op.code, row[i].code);
		assert_string_equal(op.why, afp_result_text(row[i].code));
	}
}

static void a_read_past_the_end_is_short(void **state)
{
	struct rig *g = *state;
	uint8_t buf[200];
	struct store_op op = { .verb = STORE_SET_LEN, .len = 100 };

	open_it(g);
	op.file = open_file(g, "f");
	call(g, &op);
	op.verb = STORE_READ;
	op.buf = buf;
	op.len = 200;
	call(g, &op);
	assert_int_equal(op.result, STORE_SHORT);
	assert_int_equal(op.code, -5009);
	assert_int_equal(op.done, 100);
	assert_string_equal(op.why, "end of file");
	op.offset = 100;
	call(g, &op);
	assert_int_equal(op.result, STORE_SHORT);
	assert_int_equal(op.done, 0);
	op.offset = 0;
	op.len = 100;
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 100);
}

static void a_read_that_is_short_without_saying_so_is_short(void **state)
{
	struct rig *g = *state;
	uint8_t buf[200];
	struct store_op op = { .verb = STORE_READ, .len = 200, .buf = buf };

	open_it(g);
	op.file = open_file(g, "f");
	g->code = AFP_ReadExt;
	g->len = 150;
	call(g, &op);
	assert_int_equal(op.result, STORE_SHORT);
	assert_int_equal(op.code, 0);
	assert_int_equal(op.done, 150);
	assert_non_null(op.why);
	g->result = -5000; /* an error is one whatever it carries */
	call(g, &op);
	assert_int_equal(op.result, STORE_DENIED);
	assert_int_equal(op.done, 0);
}

static void the_end_of_a_write_is_checked(void **state)
{
	static const struct {
		const char *end;
		size_t len;
		enum store_result result;
		int32_t code;
		uint64_t done;
	} row[] = {
		{ "\0\0\0\0\0\0\0\x70", 8, STORE_OK, 0, 16 },
		{ "\0\0\0\0\0\0\0\x6f", 8, STORE_SHORT, 0, 15 },
		{ "\0\0\0\0\0\0\0\x60", 8, STORE_SHORT, 0, 0 },
		{ "\0\0\0\0\0\0\0\x71", 8, STORE_FAILED, AFP_ERR_BAD_REPLY, 0 },
		{ "\0\0\0\0\0\0\0\x5f", 8, STORE_FAILED, AFP_ERR_BAD_REPLY, 0 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff", 8, STORE_FAILED, AFP_ERR_BAD_REPLY, 0 },
		{ "\0\0\0\0\0\0\0", 7, STORE_FAILED, AFP_ERR_BAD_REPLY, 0 },
	};
	struct rig *g = *state;
	uint8_t data[16] = { 0 };
	struct store_op op = { .verb = STORE_WRITE, .offset = 0x60, .len = 16, .data = data };

	open_it(g);
	op.file = open_file(g, "f");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		g->code = AFP_WriteExt;
		g->payload = row[i].end;
		g->len = row[i].len;
		call(g, &op);
		assert_int_equal(op.result, row[i].result);
		assert_int_equal(op.code, row[i].code);
		assert_int_equal(op.done, row[i].done);
	}
}

static void replies_that_lack_something_are_failures(void **state)
{
	static const struct {
		enum store_verb verb;
		uint8_t code;
		size_t enough;
	} row[] = {
		{ STORE_MKDIR, AFP_CreateDir, 4 },
		{ STORE_OPEN, AFP_OpenFork, 8 },
		{ STORE_LENGTH, AFP_GetForkParms, 10 },
		{ STORE_PROBE, AFP_GetFileDirParms, 6 + 4 + 2 + 1 },
		{ STORE_ROOM, AFP_GetVolParms, 12 },
	};
	/* each is read as its verb wants it: bitmaps, then what they promise */
	static const uint8_t payload[5][16] = {
		{ 0, 0, 0, 17 },
		{ 1, 0, 0, 5, 0, 0, 0, 9 },
		{ 8, 0, 0, 0, 0, 1, 0, 0, 0, 2 },
		{ 0, 0x42, 0, 0x42, 0, 0, 0, 0, 0, 2, 0, 6, 0 },
		{ 2, 1, 0x10, 0, 0, 0, 0, 9, 0, 0, 0, 1 },
	};
	struct rig *g = *state;

	open_it(g);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (size_t len = 0; len <= row[i].enough; len++) {
			struct store_op op = { .verb = row[i].verb,
					       .dir = g->s->root[0],
					       .name = "n" };

			g->code = row[i].code;
			g->payload = payload[i];
			g->len = len;
			call(g, &op);
			if (len == row[i].enough) {
				assert_int_equal(op.result, STORE_OK);
				continue;
			}
			assert_int_equal(op.result, STORE_FAILED);
			assert_int_equal(op.code, AFP_ERR_BAD_REPLY);
		}
	}
}

static void what_is_free_is_told_in_64_bits(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_ROOM };

	open_it(g);
	g->peer->room = 5ull << 40 | 1;
	op.dir = g->s->root[0];
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_true(op.done == (5ull << 40 | 1));
}

static void a_length_may_be_beyond_32_bits(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_SET_LEN, .len = 5ull << 30 };
	uint8_t buf[16];

	open_it(g);
	op.file = open_file(g, "f");
	call(g, &op);
	op.verb = STORE_LENGTH;
	call(g, &op);
	assert_true(op.done == 5ull << 30);
	op = (struct store_op) {
		.verb = STORE_READ, .file = op.file, .offset = 4ull << 30, .len = 16, .buf = buf
	};
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
}

/* ---- what is not sent ---- */

static void assert_kept_back(struct rig *g, struct store_op *op)
{
	unsigned int before = g->peer->n_requests;

	call(g, op);
	assert_int_equal(op->result, STORE_INVALID);
	assert_non_null(op->why);
	assert_non_null(op->what);
	assert_int_equal(op->done, 0);
	assert_int_equal(g->peer->n_requests, before);
}

static void the_32_bit_commands_are_not_sent_beyond_2_gib(void **state)
{
	static const struct {
		uint64_t offset, len;
		bool fits;
	} row[] = {
		{ 0x7ffffff0, 15, true },  { 0x7ffffff0, 16, false }, { 0x80000000, 1, false },
		{ 0x100000000, 1, false }, { UINT64_MAX, 2, false },  { 0x7fffffff, 0, true },
	};
	static const enum store_verb verbs[] = { STORE_READ, STORE_WRITE };
	struct rig *g = *state;
	struct store_file f;
	uint8_t buf[16] = { 0 };

	g->how.legacy = true;
	open_it(g);
	f = open_file(g, "f");
	for (size_t i = 0; i < 2 * sizeof(row) / sizeof(row[0]); i++) {
		struct store_op op = { .verb = verbs[i % 2],
				       .file = f,
				       .offset = row[i / 2].offset,
				       .len = row[i / 2].len,
				       .buf = buf,
				       .data = buf };

		if (!row[i / 2].fits) {
			assert_kept_back(g, &op);
			assert_non_null(strstr(op.why, "2 GiB"));
			continue;
		}
		call(g, &op);
		assert_true(op.result == STORE_OK || op.result == STORE_SHORT);
	}
	assert_kept_back(
	    g, &(struct store_op) { .verb = STORE_SET_LEN, .file = f, .len = 0x80000000 });
}

static void what_the_connection_would_not_survive_is_not_sent(void **state)
{
	struct rig *g = *state;
	char name[AFP_NAME_MAX + 2] = "";
	struct store_op op = { .verb = STORE_CREATE, .name = name };
	uint8_t *buf = calloc(1, 2 << 20);

	open_it(g);
	memset(name, 'n', AFP_NAME_MAX + 1);
	op.dir = g->s->root[0];
	assert_kept_back(g, &op);
	op.verb = STORE_COPY;
	op.to_name = name;
	op.name = "n";
	assert_kept_back(g, &op);
	op = (struct store_op) { .verb = STORE_WRITE, .data = buf };
	op.file = open_file(g, "f");
	op.len = g->s->chunk_write + 1;
	assert_kept_back(g, &op);
	op.verb = STORE_READ;
	op.buf = buf;
	op.len = g->s->chunk_read + 1;
	assert_kept_back(g, &op);
	op.len = 1;
	op.offset = INT64_MAX;
	assert_kept_back(g, &op);
	free(buf);
}

static void chunks_follow_from_the_quantum_and_the_server(void **state)
{
	static const struct {
		const char *machine;
		bool legacy;
		uint32_t quantum;
		size_t read, write;
	} row[] = {
		{ "Netatalk4.5.1", false, 1 << 20, 1 << 20, (1 << 20) - 4096 },
		{ "Netatalk4.5.1", true, 1 << 20, 1048548, 1048548 },
		{ "Netatalk4.2.3", false, 1 << 20, 1 << 20, 1 << 20 },
		{ "Netatalk4.2.3", true, 1 << 20, 1048548, 1048548 },
		{ "Netatalk3.1.18", false, 1 << 20, 1 << 20, 1 << 20 },
		{ "Netatalk4.4.0", false, 1 << 20, 1 << 20, 1 << 20 },
		{ "Netatalk4.5.0", false, 1 << 20, 1 << 20, (1 << 20) - 4096 },
		{ "Netatalk4.5.2", false, 1 << 20, 1 << 20, 1 << 20 },
		{ "Netatalk10.1", false, 1 << 20, 1 << 20, 1 << 20 },
		{ "TimeCapsule8,119", false, 1 << 20, 1 << 20, (1 << 20) - 4096 },
		{ NULL, false, 1 << 20, 1 << 20, (1 << 20) - 4096 },
		{ NULL, false, 32000, 28672, 28672 },
		{ NULL, false, 4096 + 20, 4096, 4096 },
		{ NULL, false, 4096, 4096, 4076 },
		{ NULL, false, 2000, 2000, 1980 },
	};
	struct rig *g = *state;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		peer_free(g->peer);
		new_peer(g);
		g->peer->quantum = row[i].quantum;
		g->how.machine = row[i].machine;
		g->how.legacy = row[i].legacy;
		open_it(g);
		assert_int_equal(g->s->chunk_read, row[i].read);
		assert_int_equal(g->s->chunk_write, row[i].write);
		store_close(g->s);
		g->s = NULL;
		afp_close(&g->a);
	}
}

static void verbs_have_names(void **state)
{
	(void)state;
	assert_string_equal(store_verb_name(STORE_PROBE), "stat");
	assert_string_equal(store_verb_name(STORE_COPY), "copy");
	store_close(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_verb_on_a_name_is_one_command),
		TEST(each_verb_on_an_open_file_is_one_command),
		TEST(before_afp_3_there_are_only_32_bits_and_long_names),
		TEST(what_is_made_and_opened_can_be_used),
		TEST(results_are_put_in_common_words),
		TEST(a_read_past_the_end_is_short),
		TEST(a_read_that_is_short_without_saying_so_is_short),
		TEST(the_end_of_a_write_is_checked),
		TEST(replies_that_lack_something_are_failures),
		TEST(what_is_free_is_told_in_64_bits),
		TEST(a_length_may_be_beyond_32_bits),
		TEST(the_32_bit_commands_are_not_sent_beyond_2_gib),
		TEST(what_the_connection_would_not_survive_is_not_sent),
		TEST(chunks_follow_from_the_quantum_and_the_server),
		cmocka_unit_test(verbs_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
