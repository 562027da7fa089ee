/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of metadata work over AFP: what is sent, what is made of answers, what is refused. */
#include "afp/again.h"
#include "unit/store_rig.h"

#define P "03 08000103 "

/* From now on the server answers this command with these bytes. */
static void answer_with(struct rig *g, uint8_t code, int32_t result, const char *reply)
{
	static uint8_t raw[DSI_COMMAND_MAX];

	g->code = code;
	g->result = result;
	g->len = hex_bytes(raw, reply);
	g->payload = raw;
}

static struct store_op on(struct rig *g, enum store_verb verb, const char *name)
{
	return (struct store_op) { .verb = verb, .dir = g->s->root[0], .name = name };
}

static struct store_op list(struct rig *g, void *buf, uint64_t len)
{
	return (
	    struct store_op) { .verb = STORE_LIST, .dir = g->s->root[0], .buf = buf, .len = len };
}

static uint8_t buf[8192];
static const struct {
	struct store_op op;
	uint8_t code;
	const char *sent, *what, *reply;
} verbs[] = {
	{ { .verb = STORE_LOOKUP, .name = "n" },
	  AFP_GetFileDirParms,
	  "22 00 0102 00000002 0102 0102 " P "0001 'n'",
	  "FPGetFileDirParms",
	  "0102 0102 80 00 00000002 00000011" },
	{ { .verb = STORE_LIST, .buf = buf, .len = 8192, .offset = 7 },
	  AFP_EnumerateExt2,
	  "44 00 0102 00000002 2000 2000 7fff 00000008 00002000 " P "0000",
	  "FPEnumerateExt2",
	  "2000 2000 0001 0012 00 00 0006 00000000 00000000 0002 'ff'" },
	{ { .verb = STORE_LIST, .buf = buf, .len = 8192, .with_attrs = true },
	  AFP_EnumerateExt2,
	  "44 00 0102 00000002 e92d b32d 7fff 00000001 00002000 " P "0000",
	  "FPEnumerateExt2",
	  "2000 2000 0001 0012 00 00 0006 00000000 00000000 0002 'ff'" },
	{ { .verb = STORE_RENAME, .name = "n", .to_dir = { 0, 2 }, .to_name = "to" },
	  AFP_Rename,
	  "1c 00 0102 00000002 " P "0001 'n' " P "0002 'to'",
	  "FPRename",
	  "" },
	{ { .verb = STORE_RENAME, .name = "n", .to_dir = { 0, 9 }, .to_name = "to" },
	  AFP_MoveAndRename,
	  "17 00 0102 00000002 00000009 " P "0001 'n' " P "0000 " P "0002 'to'",
	  "FPMoveAndRename",
	  "" },
	{ { .verb = STORE_SET_TIME, .name = "n", .offset = 946684801 },
	  AFP_SetFileDirParms,
	  "23 00 0102 00000002 0008 " P "0001 'n' 00000001",
	  "FPSetFileDirParms",
	  "" },
	{ { .verb = STORE_SET_MODE, .name = "n", .how = 0751 },
	  AFP_SetFileDirParms,
	  "23 00 0102 00000002 8000 " P "0001 'n' ffffffff ffffffff 000001e9 00000000",
	  "FPSetFileDirParms",
	  "" },
	{ { .verb = STORE_GET_XATTR, .name = "n", .to_name = "at", .buf = buf, .len = 9 },
	  AFP_GetExtAttr,
	  "45 00 0102 00000002 0000 0000000000000000 ffffffffffffffff 0000000f " P
	  "0001 'n' 0002 'at'",
	  "FPGetExtAttr",
	  "0000 00000002 'xy'" },
	{ { .verb = STORE_SET_XATTR, .name = "n", .to_name = "at", .data = "xyz", .len = 3 },
	  AFP_SetExtAttr,
	  "46 00 0102 00000002 0000 0000000000000000 " P "0001 'n' 0002 'at' 00000003 'xyz'",
	  "FPSetExtAttr",
	  "" },
	{ { .verb = STORE_LOCK, .file = { 5 }, .offset = 1ull << 40, .len = 16 },
	  AFP_ByteRangeLockExt,
	  "3b 00 0005 0000010000000000 0000000000000010",
	  "FPByteRangeLockExt",
	  "0000010000000000" },
	{ { .verb = STORE_UNLOCK, .file = { 5 }, .offset = 1ull << 40, .len = 16 },
	  AFP_ByteRangeLockExt,
	  "3b 01 0005 0000010000000000 0000000000000010",
	  "FPByteRangeLockExt",
	  "0000010000000000" },
};

static void each_verb_is_one_command(void **state)
{
	struct rig *g = *state;

	open_it(g);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct store_op op = verbs[i].op;
		unsigned int before = g->peer->n_working;

		op.dir = g->s->root[0];
		answer_with(g, verbs[i].code, 0, verbs[i].reply);
		call(g, &op);
		assert_int_equal(g->peer->n_working, before + 1);
		assert_sent(g, verbs[i].sent);
		assert_string_equal(op.what, verbs[i].what);
		assert_int_equal(op.command, verbs[i].code);
		assert_int_equal(op.result, STORE_OK);
		assert_null(op.why);
		assert_true(op.t.begun_ns && op.t.begun_ns <= op.t.last_ns);
	}
}

/* In AFP's own terms: any bitmap, and of the reply what its begin says. */
static void what_another_client_sent_is_sent_again(void **state)
{
	struct rig *g = *state;
	struct afp_again w = { .command = AFP_GetFileDirParms,
			       .layout = ".vdbBp",
			       .dir = 9,
			       .bitmap = 0x0020,
			       .dir_bitmap = 0x0100,
			       .path = "a/b" };
	struct store_op op = { .verb = STORE_PROBE, .again = &w };

	open_it(g);
	answer_with(g, AFP_GetFileDirParms, 0, "0020 0100 80 00 00000011");
	call(g, &op);
	assert_sent(g, "22 00 0102 00000009 0020 0100 " P "0003 'a' 00 'b'");
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.made.id, 0x11);
	assert_string_equal(op.what, "FPGetFileDirParms");
	w = (struct afp_again) { .command = AFP_ListExtAttrs,
				 .layout = ".vdanSMp",
				 .dir = 9,
				 .path = "",
				 .room = 4096 };
	op = (struct store_op) {
		.verb = STORE_LIST_XATTRS, .again = &w, .buf = buf, .len = sizeof(buf)
	};
	answer_with(g, AFP_ListExtAttrs, 0, "0000 00000005 'abcd' 00");
	call(g, &op);
	assert_sent(g, "48 00 0102 00000009 0000 0000 00000000 00001000 " P "0000");
	assert_int_equal(op.done, 5);
	w = (struct afp_again) { .command = AFP_SyncDir, .layout = ".vd", .dir = 9 };
	op = (struct store_op) { .verb = STORE_OTHER, .again = &w };
	answer_with(g, AFP_SyncDir, AFP_ERR_NO_OBJECT, "");
	call(g, &op);
	assert_sent(g, "4e 00 0102 00000009");
	assert_int_equal(op.result, STORE_NONE);
}

static void before_afp_3_locks_have_32_bits_and_lists_long_names(void **state)
{
	struct rig *g = *state;
	uint8_t buf[8192];
	struct store_op op = { .verb = STORE_LOCK, .file = { 5 }, .offset = 0x10, .len = 16 };

	g->login.version = 2;
	open_it(g);
	answer_with(g, AFP_ByteRangeLock, 0, "00000010");
	call(g, &op);
	assert_sent(g, "01 00 0005 00000010 00000010");
	op.verb = STORE_UNLOCK;
	call(g, &op);
	assert_sent(g, "01 01 0005 00000010 00000010");
	op = list(g, buf, sizeof(buf));
	answer_with(g, AFP_Enumerate, 0, "0040 0040 0001 06 00 0002 01 'f'");
	call(g, &op);
	assert_sent(g, "09 00 0102 00000002 0040 0040 7fff 0001 2000 02 00");
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 1);
}

static void a_lookup_finds_directories_only(void **state)
{
	struct rig *g = *state;
	struct store_op op;

	open_it(g);
	op = on(g, STORE_LOOKUP, "n");
	op.dir.volume = 1;
	answer_with(g, AFP_GetFileDirParms, 0, "0102 0102 80 00 00000002 00000011");
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.made.id, 0x11);
	assert_int_equal(op.made.volume, 1);
	op = on(g, STORE_LOOKUP, "n");
	answer_with(g, AFP_GetFileDirParms, 0, "0102 0102 00 00 00000002 00000011");
	call(g, &op);
	assert_int_equal(op.result, STORE_NONE);
	assert_int_equal(op.code, AFP_ERR_WRONG_TYPE);
	assert_string_equal(op.why, "a file, not a directory");
	assert_int_equal(op.made.id, 0);
}

static void a_list_counts_its_entries_and_ends(void **state)
{
	struct rig *g = *state;
	uint8_t buf[8192];
	struct store_op op;

	open_it(g);
	op = list(g, buf, sizeof(buf));
	answer_with(g, AFP_EnumerateExt2, 0,
		    "2000 2000 0002 0012 00 00 0006 00000000 00000000 0002 'ff'"
		    "0012 80 00 0006 00000000 00000000 0002 'dd'");
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 2);
	answer_with(g, AFP_EnumerateExt2, AFP_ERR_NO_OBJECT, "");
	call(g, &op);
	assert_int_equal(op.result, STORE_NONE);
	assert_int_equal(op.done, 0);
}

static void a_value_is_moved_to_the_begin_of_the_buffer(void **state)
{
	struct rig *g = *state;
	uint8_t buf[8 + STORE_XATTR_HEAD];
	struct store_op op;

	open_it(g);
	op = on(g, STORE_GET_XATTR, "n");
	op.to_name = "at";
	op.buf = buf;
	op.len = 8;
	answer_with(g, AFP_GetExtAttr, 0, "0000 00000008 'abcdefgh'");
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 8);
	assert_memory_equal(buf, "abcdefgh", 8);
	answer_with(g, AFP_GetExtAttr, 0, "0000 00000000");
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 0);
}

/* afpd says "server error" before AFP 3.4, and "item not found" since. */
static void an_attribute_that_is_not_there_is_none_in_every_version(void **state)
{
	static const struct {
		unsigned int version;
		int32_t code;
		enum store_result result;
	} row[] = {
		{ 5, AFP_ERR_MISC, STORE_NONE },
		{ 6, AFP_ERR_MISC, STORE_NONE },
		{ 7, AFP_ERR_ITEM_NOT_FOUND, STORE_NONE },
		{ 7, AFP_ERR_MISC, STORE_FAILED },
		{ 5, AFP_ERR_ACCESS_DENIED, STORE_DENIED },
		{ 3, AFP_ERR_NOT_SUPPORTED, STORE_UNKNOWN },
	};
	struct rig *g = *state;
	uint8_t buf[8 + STORE_XATTR_HEAD];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct store_op op;

		peer_free(g->peer);
		new_peer(g);
		g->login.version = row[i].version;
		open_it(g);
		op = on(g, STORE_GET_XATTR, "n");
		op.to_name = "at";
		op.buf = buf;
		op.len = 8;
		answer_with(g, AFP_GetExtAttr, row[i].code, "");
		call(g, &op);
		assert_int_equal(op.result, row[i].result);
		assert_int_equal(op.code, row[i].code);
		assert_non_null(op.why);
		op.verb = STORE_SET_XATTR;
		op.data = "x";
		op.len = 1;
		answer_with(g, AFP_SetExtAttr, AFP_ERR_MISC, "");
		call(g, &op);
		assert_int_equal(op.result, STORE_FAILED); /* of no other verb */
		store_close(g->s);
		g->s = NULL;
		afp_close(&g->a);
	}
}

static void what_a_lock_meets_is_put_in_common_words(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_LOCK, .file = { 5 }, .len = 1 };

	open_it(g);
	answer_with(g, AFP_ByteRangeLockExt, AFP_ERR_LOCK_CONFLICT, "");
	call(g, &op);
	assert_int_equal(op.result, STORE_LOCKED);
	answer_with(g, AFP_ByteRangeLockExt, AFP_ERR_ACCESS_DENIED, "");
	call(g, &op);
	assert_int_equal(op.result, STORE_DENIED);
	answer_with(g, AFP_ByteRangeLockExt, AFP_ERR_NO_MORE_LOCKS, "");
	call(g, &op);
	assert_int_equal(op.result, STORE_FAILED);
	assert_string_equal(op.why, "no more locks");
}

/* Each of these replies, cut anywhere, is a failure and nothing else. */
static void replies_that_lack_something_are_failures(void **state)
{
	static const struct {
		enum store_verb verb;
		uint8_t code;
		const char *reply;
	} row[] = {
		{ STORE_LOOKUP, AFP_GetFileDirParms, "0102 0102 80 00 00000002 00000011" },
		{ STORE_LIST, AFP_EnumerateExt2,
		  "2000 2000 0001 0012 00 00 0006 00000000 00000000 0002 'ff'" },
		{ STORE_GET_XATTR, AFP_GetExtAttr, "0000 00000005 'hello'" },
	};
	struct rig *g = *state;
	uint8_t buf[8192 + STORE_XATTR_HEAD];

	open_it(g);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t whole;

		answer_with(g, row[i].code, 0, row[i].reply);
		whole = g->len;
		for (g->len = 0; g->len <= whole; g->len++) {
			struct store_op op = list(g, buf, 8192);

			op.verb = row[i].verb;
			op.name = op.to_name = "n";
			call(g, &op);
			assert_int_equal(op.result, g->len < whole ? STORE_FAILED : STORE_OK);
			assert_int_equal(op.code, g->len < whole ? AFP_ERR_BAD_REPLY : 0);
		}
	}
}

static void replies_that_contradict_themselves_are_failures(void **state)
{
	static const struct {
		enum store_verb verb;
		uint8_t code;
		const char *reply;
	} row[] = {
		/* a directory without its number */
		{ STORE_LOOKUP, AFP_GetFileDirParms, "0002 0002 80 00 00000002" },
		/* success, and no entry */
		{ STORE_LIST, AFP_EnumerateExt2, "2000 2000 0000" },
		/* two entries, and one is there */
		{ STORE_LIST, AFP_EnumerateExt2,
		  "2000 2000 0002 0012 00 00 0006 00000000 00000000 0002 'ff'" },
		/* an entry of no length */
		{ STORE_LIST, AFP_EnumerateExt2, "2000 2000 0001 0000 00 00" },
		/* more than there is */
		{ STORE_GET_XATTR, AFP_GetExtAttr, "0000 00000006 'hello'" },
	};
	struct rig *g = *state;
	uint8_t buf[8192 + STORE_XATTR_HEAD];

	open_it(g);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct store_op op = list(g, buf, 8192);

		op.verb = row[i].verb;
		op.name = op.to_name = "n";
		answer_with(g, row[i].code, 0, row[i].reply);
		call(g, &op);
		assert_int_equal(op.result, STORE_FAILED);
		assert_int_equal(op.code, AFP_ERR_BAD_REPLY);
	}
}

/* ---- what is not sent ---- */

static void assert_refused(struct rig *g, struct store_op op, enum store_result result,
			   const char *why)
{
	unsigned int before = g->peer->n_requests;

	call(g, &op);
	assert_int_equal(op.result, result);
	assert_non_null(strstr(op.why, why));
	assert_string_equal(op.what, store_verb_name(op.verb));
	assert_true(op.t.begun_ns && op.t.begun_ns <= op.t.last_ns);
	assert_int_equal(op.done, 0);
	assert_int_equal(g->peer->n_requests, before);
}

static void what_an_afp_store_lacks_is_not_sent(void **state)
{
	static const struct {
		enum store_verb verb;
		const char *why;
	} row[] = {
		{ STORE_LINK, "AFP has no hard links" },
		{ STORE_SYMLINK, "AFP has no symbolic links" },
		{ STORE_DEL_XATTR, "only as another client has sent it" },
		{ STORE_LIST_XATTRS, "only as another client has sent it" },
		{ STORE_OTHER, "only as another client has sent it" },
		{ STORE_LOGIN, "one session only" },
		{ STORE_LOGOUT, "one session only" },
		{ STORE_EXCHANGE, "no calls" },
	};
	struct rig *g = *state;

	open_it(g);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct store_op op = on(g, row[i].verb, "n");

		op.to_name = "to";
		assert_refused(g, op, STORE_UNKNOWN, row[i].why);
	}
}

static void names_that_do_not_fit_are_not_sent(void **state)
{
	static const enum store_verb verbs[] = { STORE_LOOKUP,    STORE_RENAME,    STORE_SET_TIME,
						 STORE_GET_XATTR, STORE_SET_XATTR, STORE_LINK,
						 STORE_SYMLINK };
	struct rig *g = *state;
	char name[AFP_NAME_MAX + 2] = "";

	open_it(g);
	memset(name, 'n', AFP_NAME_MAX + 1);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct store_op op = on(g, verbs[i], name);

		op.to_name = "n";
		assert_refused(g, op, STORE_INVALID, "longer than AFP allows");
		op.name = "n";
		op.to_name = name;
		assert_refused(g, op, STORE_INVALID, "longer than AFP allows");
	}
}

static void numbers_that_do_not_fit_are_not_sent(void **state)
{
	struct rig *g = *state;
	static uint8_t buf[8192];
	struct store_op op;

	g->login.version = 3;
	open_it(g);
	op = list(g, buf, 8191);
	assert_refused(g, op, STORE_INVALID, "less room");
	op = list(g, buf, 8192);
	op.offset = 65535; /* the 65,536th entry: 0 to a field of 16 bits */
	assert_refused(g, op, STORE_INVALID, "this version of AFP");
	op.offset = UINT64_MAX;
	assert_refused(g, op, STORE_INVALID, "this version of AFP");
	op = on(g, STORE_SET_TIME, "n");
	op.offset = 3094168448; /* a second after the last one, which would be in 1931 */
	assert_refused(g, op, STORE_INVALID, "the last date");
	op = on(g, STORE_RENAME, "n");
	op.to_dir = g->s->root[1];
	op.to_name = "n";
	assert_refused(g, op, STORE_INVALID, "another volume");
	op = (struct store_op) { .verb = STORE_LOCK, .offset = INT64_MAX, .len = 1 };
	assert_refused(g, op, STORE_INVALID, "largest length");
}

/* A command longer than the quantum is the end of the connection. */
static void values_longer_than_the_quantum_are_not_sent(void **state)
{
	struct rig *g = *state;
	uint8_t data[900] = { 0 };
	struct store_op op;

	g->peer->quantum = DSI_COMMAND_MAX + sizeof(data);
	open_it(g);
	op = on(g, STORE_SET_XATTR, "n");
	op.to_name = "at";
	op.data = data;
	op.len = sizeof(data) + 1;
	assert_refused(g, op, STORE_INVALID, "request quantum");
	op.len = UINT64_MAX;
	assert_refused(g, op, STORE_INVALID, "request quantum");
	op.len = sizeof(data);
	answer_with(g, AFP_SetExtAttr, 0, "");
	call(g, &op);
	assert_int_equal(op.result, STORE_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_verb_is_one_command),
		TEST(what_another_client_sent_is_sent_again),
		TEST(before_afp_3_locks_have_32_bits_and_lists_long_names),
		TEST(a_lookup_finds_directories_only),
		TEST(a_list_counts_its_entries_and_ends),
		TEST(a_value_is_moved_to_the_begin_of_the_buffer),
		TEST(an_attribute_that_is_not_there_is_none_in_every_version),
		TEST(what_a_lock_meets_is_put_in_common_words),
		TEST(replies_that_lack_something_are_failures),
		TEST(replies_that_contradict_themselves_are_failures),
		TEST(what_an_afp_store_lacks_is_not_sent),
		TEST(names_that_do_not_fit_are_not_sent),
		TEST(numbers_that_do_not_fit_are_not_sent),
		TEST(values_longer_than_the_quantum_are_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
