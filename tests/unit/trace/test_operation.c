/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the bytes of requests and replies to what a record of operations says of them, and back to a
 * request. Tests user/trace/operation.c, path.c, client/afp/again.c.
 */
#include "trace/operation.h"

#include "afp/again.h"
#include "base/buf.h"
#include "trace/path.h"
#include "unit/hex_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VOLUME 0x1122
#define DIR    0x33445566
#define DIR2   0x778899aa

static struct names *names;

static int open_names(void **state)
{
	struct err e = { 0 };

	(void)state;
	return names_open(&names, false, &e);
}

static int close_names(void **state)
{
	(void)state;
	names_close(names);
	return 0;
}

/* As the programs copy it: no more than they do, in a block that is not a byte longer. */
static struct afs_record_operations decode(uint8_t command, const uint8_t *bytes, size_t have,
					   size_t len)
{
	struct afs_record_operations r = { .command = command };
	const size_t most = operation_wants(command, len + 1);
	uint8_t *copy;

	have = have < most ? have : most;
	copy = malloc(have ? have : 1);
	memcpy(copy, bytes, have);
	operation_request(&r, names, copy, have, len + 1);
	free(copy);
	return r;
}

static struct afs_record_operations asked(const char *text)
{
	uint8_t bytes[1024];
	size_t len = hex_bytes(bytes, text);

	return decode(bytes[0], bytes + 1, len - 1, len - 1);
}

static struct afs_record_operations prepared(const struct afp_op *op)
{
	const uint8_t *bytes = op->dsi.wire + DSI_HEADER_LEN;

	return decode(bytes[0], bytes + 1, op->dsi.len - 1, op->dsi.len + op->dsi.data_len - 1);
}

static uint64_t hash(const char *text, size_t len)
{
	return names_hash(names, (const uint8_t *)text, len);
}

#define HASH(text) hash(text, sizeof(text) - 1)

static const struct afp session = { .path_type = 3, .level = 7, .volume = VOLUME };

/* What each command of our own client says. */
static void requests_that_name_something(void **state)
{
	const struct afp_copy to = { DIR, "name.txt", VOLUME, DIR2, "new" };
	const struct afp_copy here = { DIR, "name.txt", VOLUME, DIR, "new" };
	const struct afp_xattr attr = { DIR, "name", "com.apple.x" };
	const struct afp_list list = { .dir = DIR, .start = 70000, .len = 8192 };
	struct afs_record_operations r;
	uint8_t buf[8192];
	struct afp_op op;

	(void)state;
	afp_prep_create_file(&op, &session, DIR, "name.txt");
	r = prepared(&op);
	assert_int_equal(r.command, 7);
	assert_int_equal(r.volume, VOLUME);
	assert_int_equal(r.dir, names_id(names, DIR));
	assert_true(r.dir != DIR && r.name == HASH("name.txt") && !r.parent && r.depth == 1);
	assert_int_equal(r.name_len, 8);
	assert_int_equal(r.name_kind, AFS_NAME_ASCII);
	assert_int_equal(r.ext_len, 3);
	assert_true(!r.marks && !r.name2 && !r.dir2 && !r.volume2 && r.size == AFS_SIZE_UNKNOWN);

	afp_prep_rename(&op, &session, &here);
	r = prepared(&op);
	assert_true(r.command == 28 && r.dir2 == r.dir && r.name2 == HASH("new") && r.depth2 == 1);
	assert_true(r.volume2 == VOLUME && r.name2_len == 3 && !r.marks);
	afp_prep_rename(&op, &session, &to);
	r = prepared(&op);
	assert_true(r.command == 23 && r.dir2 == names_id(names, DIR2) && r.name2 == HASH("new"));
	afp_prep_copy_file(&op, &session, &to);
	r = prepared(&op);
	assert_true(r.command == 5 && r.volume2 == VOLUME && r.dir2 == names_id(names, DIR2));
	assert_true(r.name == HASH("name.txt") && r.name2 == HASH("new") && !r.marks);
	afp_prep_exchange_files(&op, &session, &to);
	r = prepared(&op);
	assert_true(r.command == 42 && r.name2 == HASH("new") && r.dir2 == names_id(names, DIR2));

	afp_prep_open_resource(&op, &session, 2, "name", 0x200, 0x33);
	r = prepared(&op);
	assert_true(r.which == 1 && r.dir == 2 && r.bitmap == 0x200 && r.flags == 0x33);
	afp_prep_get_params(&op, &session, DIR, "", 0x1234, 0x4321);
	r = prepared(&op);
	assert_true(r.bitmap == 0x1234 && r.bitmap2 == 0x4321 && !r.name && !r.depth && !r.marks);
	afp_prep_get_xattr(&op, &session, &attr, buf, 100);
	r = prepared(&op);
	assert_true(r.name == HASH("name") && r.name2 == HASH("com.apple.x") && r.room == 106);
	afp_prep_set_xattr(&op, &session, &attr, buf, 77);
	r = prepared(&op);
	assert_true(r.name2 == HASH("com.apple.x") && r.length == 77 && !r.marks);
	afp_prep_list(&op, &session, &list);
	r = prepared(&op);
	assert_true(r.command == 68 && r.offset == 70000 && r.length == INT16_MAX && !r.marks);
	afp_prep_set_mode(&op, &session, DIR, "name", 0644);
	r = prepared(&op);
	assert_true(r.command == 35 && r.bitmap == 0x8000 && r.name == HASH("name"));
}

static void requests_about_open_files(void **state)
{
	struct afs_record_operations r;
	uint8_t buf[64];
	struct afp_op op;

	(void)state;
	afp_prep_read_ext(&op, 7, 0x123456789a, buf, 50);
	r = prepared(&op);
	assert_true(r.fork == 7 && r.offset == 0x123456789a && r.length == 50 && !r.marks);
	afp_prep_write_ext(&op, 7, 0x123456789a, buf, 50);
	r = prepared(&op);
	assert_true(r.fork == 7 && r.offset == 0x123456789a && r.length == 50 && !r.marks);
	afp_prep_read(&op, 7, 0x89abcdef, buf, 50);
	r = prepared(&op);
	assert_true(r.fork == 7 && r.offset == 0x89abcdef && r.length == 50 && !r.marks);
	afp_prep_write(&op, 7, 0x89abcdef, buf, 50);
	r = prepared(&op);
	assert_true(r.offset == 0x89abcdef && !r.flags);
	r = asked("21 80 0007 fffffff0 00000008");
	assert_true(r.flags == 0x80 && r.offset == (uint64_t)-16 && r.length == 8);
	afp_prep_lock(&op, 7, true, 5, 6);
	r = prepared(&op);
	assert_true(r.flags == 1 && r.offset == 5 && r.length == 6);
	afp_prep_lock_ext(&op, 7, false, 5, UINT64_MAX);
	r = prepared(&op);
	assert_true(!r.flags && r.offset == 5 && r.length == UINT64_MAX);
	afp_prep_set_fork(&op, 7, AFP_BIT_DATA_LEN, 99);
	r = prepared(&op);
	assert_true(r.bitmap == 0x200 && r.length == 99 && !r.marks);
	afp_prep_set_fork(&op, 7, AFP_BIT_DATA_EXT, 1ull << 40);
	r = prepared(&op);
	assert_true(r.bitmap == 0x800 && r.length == 1ull << 40 && !r.marks);
	afp_prep_close_fork(&op, 7);
	assert_int_equal(prepared(&op).fork, 7);
	afp_prep_flush_fork(&op, 7);
	assert_int_equal(prepared(&op).fork, 7);
	afp_prep_get_fork(&op, 7, 0x400);
	r = prepared(&op);
	assert_true(r.fork == 7 && r.bitmap == 0x400 && r.size == AFS_SIZE_UNKNOWN);
}

/* Of nothing else is a byte looked at: neither names nor passwords are known. */
static void other_requests_stay_unknown(void **state)
{
	static const uint8_t rubbish[300] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	const struct afs_record_operations none = { .size = AFS_SIZE_UNKNOWN };
	struct afs_record_operations r;

	(void)state;
	for (unsigned int command = 0; command < 512; command++) {
		if (operation_wants((uint16_t)command, 1000))
			continue;
		r = (struct afs_record_operations) { .command = (uint16_t)command };
		operation_request(&r, names, rubbish, sizeof(rubbish), sizeof(rubbish));
		r.command = 0;
		assert_memory_equal(&r, &none, sizeof(r));
	}
	assert_int_equal(operation_wants(18, 1000), 0);  /* FPLogin */
	assert_int_equal(operation_wants(36, 1000), 0);  /* FPChangePassword */
	assert_int_equal(operation_wants(24, 1000), 3);  /* FPOpenVol: before its password */
	assert_int_equal(operation_wants(61, 1000), 19); /* FPWriteExt: before its data */
	assert_int_equal(operation_wants(26, 1), 0);
	assert_int_equal(operation_wants(26, 0), 0);
}

/* Every command that has a name for the stream of names has one here. */
static void each_command_with_a_path_tells_it(void **state)
{
	static const struct {
		uint8_t number, path;
	} rows[] = {
#define X(number, path) { number, path },
		AFS_PATHS(X)
#undef X
	};
	uint8_t bytes[128];
	struct afs_record_operations r;
	struct wbuf b;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int type = 1; type <= 3; type++) {
			memset(bytes, 0, sizeof(bytes));
			b = wbuf_of(bytes + rows[i].path - 1, sizeof(bytes) - rows[i].path);
			wbuf_u8(&b, (uint8_t)type);
			wbuf_zero(&b, type == 3 ? 5 : 0);
			wbuf_u8(&b, 4);
			wbuf_bytes(&b, "name", 4);
			r = decode(rows[i].number, bytes, sizeof(bytes), sizeof(bytes));
			assert_int_equal(r.name, HASH("name"));
			assert_int_equal(r.name_len, 4);
		}
}

/* ---- the same command again ---- */

static const char *layout_said;

static bool says(char field)
{
	return strchr(layout_said, field);
}

/* What the layout has is as it was said. */
static void assert_says(const struct afs_record_operations *r, const struct afp_again *w)
{
	const bool attributes = says('u') || (says('e') && w->bitmap & AFP_BIT_ATTRIBUTES);
	const bool finder = says('u') || (says('e') && w->bitmap & AFP_BIT_FINDER);

	assert_true(!r->marks);
	assert_int_equal(r->volume, says('v') ? VOLUME : 0);
	assert_true(r->dir == (says('d') ? names_id(names, w->dir) : 0));
	assert_true(r->id == (says('i') ? names_id(names, w->id) : 0));
	assert_int_equal(r->bitmap, says('b') ? w->bitmap : 0);
	assert_int_equal(r->bitmap2, says('B') ? w->dir_bitmap : 0);
	assert_int_equal(r->fork, says('k') ? w->fork : 0);
	assert_int_equal(r->room, says('m') || says('M') ? w->room : 0);
	assert_int_equal(r->flags, attributes || says('F') || says('a') ? w->flags : 0);
	assert_int_equal(r->which, finder || says('w'));
	assert_true(r->name == (says('p') ? HASH("of\0this") : 0));
	if (says('o') || says('O') || says('s') || says('S') || says('y'))
		assert_int_equal(r->offset, w->offset);
	if (says('l') || says('L') || says('n') || says('N') || says('z') || says('h') ||
	    (says('e') && w->bitmap & AFP_BIT_UNIX))
		assert_int_equal(r->length, w->length);
	if (says('x'))
		assert_true(r->name2 == HASH("in/that"));
	else if (says('q') || says('P'))
		assert_true(r->name2 == HASH("in\0that") && r->dir2 == names_id(names, w->to_dir));
	else if (says('r'))
		assert_true(r->name2 == HASH("of\0that"));
}

/* Also of 47 bytes, which is a '/' where its length stands. */
static void a_name_of_any_length_is_sent_whole(void **state)
{
	char path[AFP_NAME_MAX + 1] = "";
	struct afp_again w = { .command = 8, .layout = layout_said = ".vdp", .path = path };
	struct afp_op op;

	(void)state;
	for (size_t len = 1; len <= AFP_NAME_MAX; len++) {
		memset(path, 'n', len);
		path[len] = '\0';
		assert_true(afp_prep_again(&op, &session, &w, NULL, 0));
		assert_int_equal(prepared(&op).name_len, len);
		if (len < 3)
			continue;
		path[1] = '/';
		assert_true(afp_prep_again(&op, &session, &w, NULL, 0));
		assert_int_equal(prepared(&op).name_len, len - 2);
	}
}

/* All that a record keeps of a command of each layout comes back from what is made of it. */
static void a_command_that_is_sent_again_says_the_same(void **state)
{
	static const struct {
		uint8_t number;
		const char *layout;
	} rows[] = {
#define X(number, request, reply, layout, reply_layout) { number, layout },
		AFS_OPERATIONS(X)
#undef X
	};
	static const uint16_t bitmaps[] = { 0x0001, 0x0020, 0x8000, 0x803d, 0x0800 };
	static const uint8_t place[AFP_PLACE_LEN] = { [15] = 1 };
	struct afs_record_operations r;
	struct afp_again w = { .fork = 0x1357,
			       .dir_bitmap = 0x2468,
			       .flags = AFP_BIT_LONG_NAME,
			       .which = 1,
			       .dir = DIR,
			       .to_dir = DIR2,
			       .id = 99,
			       .room = 4321,
			       .path = "of/this",
			       .to_path = "in/that",
			       .offset = 1,
			       .length = 7,
			       .place = place,
			       .data = "1234567" };
	struct afp_op op;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t k = 0; k < sizeof(bitmaps) / sizeof(bitmaps[0]); k++) {
			w.command = rows[i].number;
			w.layout = layout_said = rows[i].layout;
			w.bitmap = bitmaps[k];
			assert_true(afp_prep_again(&op, &session, &w, NULL, 0));
			r = prepared(&op);
			assert_int_equal(r.command, rows[i].number);
			assert_says(&r, &w);
		}
}

static void what_makes_no_command_is_said(void **state)
{
	static const uint8_t place[AFP_PLACE_LEN];
	char path[1200];
	struct afp_again w = { .command = 43, .layout = ".vN_ybBu", .place = place };
	struct afp_op op;

	(void)state;
	w.flags = AFP_BIT_CREATED; /* what is searched for is not known */
	assert_false(afp_prep_again(&op, &session, &w, NULL, 0));
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	w = (struct afp_again) { .command = 8, .layout = ".vdp", .path = path };
	assert_false(afp_prep_again(&op, &session, &w, NULL, 0));
	path[1050] = '\0';
	assert_true(afp_prep_again(&op, &session, &w, NULL, 0));
}

/* Cut at each byte it is marked, and what was cut is not known; a longer one does no harm. */
static void what_is_cut_is_marked(void **state)
{
	const struct afp_copy to = { DIR, "name.txt", VOLUME, DIR2, "new" };
	struct afs_record_operations r;
	const uint8_t *bytes;
	struct afp_op op;
	uint8_t longer[900] = { 0 };

	(void)state;
	afp_prep_copy_file(&op, &session, &to);
	bytes = op.dsi.wire + DSI_HEADER_LEN + 1;
	for (size_t have = 0; have < op.dsi.len - 1; have++) {
		r = decode(5, bytes, have, op.dsi.len - 1);
		assert_int_equal(r.marks, AFS_MARK_ARGUMENTS);
		assert_true(!r.name2 && r.volume == (have >= 3 ? VOLUME : 0));
		assert_true(!r.name || r.name == HASH("name.txt"));
	}
	r = decode(5, bytes, op.dsi.len - 1, op.dsi.len - 1);
	assert_true(!r.marks && r.name2);
	/* A path that says it is longer than what is copied of any. */
	memcpy(longer, bytes, 15);
	longer[13] = 3;
	longer[18] = longer[19] = 0xff;
	r = decode(5, longer, sizeof(longer), 70000);
	assert_int_equal(r.marks, AFS_MARK_ARGUMENTS | AFS_MARK_CUT);
}

/* Whatever the bytes, of whatever command: under sanitizers. */
static void rubbish_does_no_harm(void **state)
{
	struct afs_record_operations r;
	uint8_t bytes[AFS_COMMAND_LEN];
	uint64_t x = 1;

	(void)state;
	for (unsigned int i = 0; i < 60000; i++) {
		for (size_t k = 0; k < sizeof(bytes); k += 8) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			memcpy(bytes + k, &x, 8);
			if (i % 4)
				memset(bytes + k, (int)(x >> 40) % 4, 7);
		}
		r = decode((uint8_t)i, bytes, x >> 33 & 1023, x >> 33 & 1023);
		operation_reply(&r, names, bytes, x >> 50 & 31);
	}
}

static void check_path(const char *path, size_t len, const char *want, size_t want_len,
		       unsigned int depth)
{
	struct path p = { 0 };

	path_add(&p, (const uint8_t *)path, len, true);
	assert_int_equal(p.bad, !want);
	if (!want)
		return;
	assert_int_equal(p.len, want_len);
	assert_memory_equal(p.bytes, want, want_len);
	assert_int_equal(p.depth, depth);
}

#define PATH(path, want, depth) check_path(path, sizeof(path) - 1, want, sizeof(want) - 1, depth)

static void paths_go_down_and_up(void **state)
{
	struct afs_record_operations r;

	(void)state;
	PATH("", "", 0);
	PATH("a", "a", 1);
	PATH("\0a", "a", 1);
	PATH("a\0", "a", 1);
	PATH("a\0b", "a\0b", 2);
	PATH("a\0bc\0\0d", "a\0d", 2);
	PATH("a\0\0", "", 0);
	PATH("a\0\0b", "b", 1);
	PATH("a\0b\0c\0\0\0d", "a\0d", 2);
	check_path("\0\0a", 3, NULL, 0, 0);
	check_path("a\0\0\0", 4, NULL, 0, 0);
	/* FPRename in a folder below; FPMoveAndRename without a new name */
	r = asked("1c 00 1122 33445566 02 04 'd' 00 'of' 02 03 'new'");
	assert_true(r.name == HASH("d\0of") && r.parent == HASH("d") && r.depth == 2);
	assert_true(r.name2 == HASH("d\0new") && r.parent2 == r.parent && r.depth2 == 2);
	r = asked("17 00 1122 33445566 778899aa 02 04 'd' 00 'of' 02 01 'e' 02 00");
	assert_true(r.name2 == HASH("e\0of") && r.parent2 == HASH("e") && r.name2_len == 2);
	r = asked("08 00 1122 33445566 02 03 0000 'x'");
	assert_true(!r.name && r.marks == AFS_MARK_ARGUMENTS);
}

static void check_kind(const char *name, bool utf8, enum afs_name_kind kind, unsigned int ext)
{
	struct afs_record_operations r = { 0 };
	const struct path_fields to = { &r.name,  &r.parent,    &r.name_len,
					&r.depth, &r.name_kind, &r.ext_len };
	struct path p = { 0 };

	path_add(&p, (const uint8_t *)name, strlen(name), utf8);
	path_tell(&p, names, &to);
	assert_int_equal(r.name_kind, kind);
	assert_int_equal(r.ext_len, ext);
	assert_int_equal(r.name_len, strlen(name));
}

static void kinds_of_names(void **state)
{
	(void)state;
	check_kind("a b.tar.gz", true, AFS_NAME_ASCII, 2);
	check_kind(".hidden", true, AFS_NAME_ASCII, 0);
	check_kind("end.", true, AFS_NAME_ASCII, 0);
	check_kind("ASCII.c", false, AFS_NAME_ASCII, 1);
	check_kind("K\xc3\xa4se", true, AFS_NAME_COMPOSED, 0);
	check_kind("Ka\xcc\x88se", true, AFS_NAME_DECOMPOSED, 0);
	check_kind("\xe3\x81\x8b\xe3\x82\x99", true, AFS_NAME_DECOMPOSED, 0);
	check_kind("\xe6\x97\xa5.\xe6\x9c\xac", true, AFS_NAME_WIDE, 3);
	check_kind("\xf0\x9f\x98\x80.x", true, AFS_NAME_BEYOND, 1);
	check_kind("K\x8ase", false, AFS_NAME_LEGACY, 0);
	check_kind("K\xc3\xa4se", false, AFS_NAME_LEGACY, 0);
	check_kind("cut \xf0\x9f\x98", true, AFS_NAME_LEGACY, 0);
	check_kind("\xff", true, AFS_NAME_LEGACY, 0);
}

static struct afs_record_operations answered(uint8_t command, const char *text)
{
	struct afs_record_operations r = { .command = command, .size = AFS_SIZE_UNKNOWN };
	uint8_t bytes[256], *copy;
	size_t len = hex_bytes(bytes, text);

	assert_true(operation_expects(command));
	len = len < AFS_REPLY_LEN ? len : AFS_REPLY_LEN;
	copy = malloc(len);
	memcpy(copy, bytes, len);
	operation_reply(&r, names, copy, len);
	free(copy);
	return r;
}

static void replies_say_what_came_of_it(void **state)
{
	struct afs_record_operations r;

	(void)state;
	assert_int_equal(answered(6, "33445566").id, names_id(names, DIR));
	assert_int_equal(answered(25, "33445566").id, names_id(names, DIR));
	r = answered(26, "0300 0009 33445566 00001000");
	assert_true(r.fork == 9 && r.id == names_id(names, DIR) && r.size == 4096);
	r = answered(26, "0800 0009 0000010000000000");
	assert_true(r.size == 1ull << 40 && !r.id);
	/* all that a Mac asks of a file, up to the length of its data */
	r = answered(34, "0fff 0129 00 00 0000 00000001 00000001 00000001 00000001"
			 "00000000000000000000000000000000 00000000000000000000000000000000"
			 "0000 0000 33445566 00000001 00000002 0000000000000003 0004");
	assert_true(r.id == names_id(names, DIR) && r.size == 3);
	r = answered(34, "0300 0300 80 00 33445566 0003");
	assert_true(r.id == names_id(names, DIR) && r.size == AFS_SIZE_UNKNOWN);
	r = answered(34, "0300 0300 00 00 33445566 00000003");
	assert_true(r.id == names_id(names, DIR) && r.size == 3);
	assert_int_equal(answered(14, "0200 00000005").size, 5);
	assert_int_equal(answered(24, "0021 0000 1122").volume, VOLUME);
	assert_int_equal(answered(24, "0003 0000 1122").volume, 0);
	assert_int_equal(answered(9, "0100 0100 0011 ffff").actual, 17);
	assert_int_equal(answered(68, "0100 0100 0011").actual, 17);
	assert_int_equal(answered(67, "00000000000000000000000000000000 0100 0100 00000007").actual,
			 7);
	assert_int_equal(answered(33, "00001000").actual, 4096);
	assert_int_equal(answered(61, "0000010000000000").actual, 1ull << 40);
	assert_int_equal(answered(59, "0000010000000000").actual, 1ull << 40);
	assert_int_equal(answered(69, "0000 00000010").actual, 16);
	assert_false(operation_expects(27) || operation_expects(18) || operation_expects(256 + 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_name_something),
		cmocka_unit_test(requests_about_open_files),
		cmocka_unit_test(other_requests_stay_unknown),
		cmocka_unit_test(each_command_with_a_path_tells_it),
		cmocka_unit_test(a_command_that_is_sent_again_says_the_same),
		cmocka_unit_test(a_name_of_any_length_is_sent_whole),
		cmocka_unit_test(what_makes_no_command_is_said),
		cmocka_unit_test(what_is_cut_is_marked),
		cmocka_unit_test(rubbish_does_no_harm),
		cmocka_unit_test(paths_go_down_and_up),
		cmocka_unit_test(kinds_of_names),
		cmocka_unit_test(replies_say_what_came_of_it),
	};

	return cmocka_run_group_tests(tests, open_names, close_names);
}
