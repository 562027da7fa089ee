/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs of metadata work in a local directory: what each does on disk, and what it refuses.
 * Tests client/store/file_store.c, dirs.c.
 */
#include "unit/posix_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* A name in the store's directory, for other calls than its own. Good until the next but one. */
static const char *path_of(const struct rig *g, const char *name)
{
	static char path[2][PATH_MAX];
	static unsigned int n;
	char *out = path[n++ % 2];

	snprintf(out, PATH_MAX, "%s/%s", g->path, name);
	return out;
}

static bool is_there(const struct rig *g, const char *name)
{
	struct stat st;

	return !lstat(path_of(g, name), &st);
}

static struct store_op made(struct rig *g, enum store_verb verb, struct store_dir dir,
			    const char *name)
{
	return call(g, (struct store_op) { .verb = verb, .dir = dir, .name = name });
}

static struct store_op renamed(struct rig *g, struct store_dir dir, const char *name,
			       struct store_dir to_dir, const char *to_name)
{
	return call(g, (struct store_op) { .verb = STORE_RENAME,
					   .dir = dir,
					   .name = name,
					   .to_dir = to_dir,
					   .to_name = to_name });
}

static struct store_op listed(struct rig *g, struct store_dir dir, uint64_t offset, uint64_t len)
{
	return call(g, (struct store_op) { .verb = STORE_LIST,
					   .dir = dir,
					   .offset = offset,
					   .buf = g->buf,
					   .len = len,
					   .with_attrs = offset % 2 });
}

static struct store_op attr(struct rig *g, enum store_verb verb, const char *name, const char *attr,
			    uint64_t len)
{
	return call(g, (struct store_op) { .verb = verb,
					   .dir = g->s->root[0],
					   .name = name,
					   .to_name = attr,
					   .buf = g->buf,
					   .data = g->data,
					   .len = len });
}

static unsigned int n_descriptors(void)
{
	unsigned int n = 0;
	DIR *d = opendir("/proc/self/fd");

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- directories ---- */

static void a_lookup_finds_directories_only(void **state)
{
	struct rig *g = *state;
	struct store_dir root;
	struct store_op op;

	open_it(g, false);
	root = g->s->root[0];
	assert_int_equal(mkdir(path_of(g, "d"), 0700), 0); /* not by the store */
	assert_int_equal(named(g, STORE_CREATE, root, "f"), STORE_OK);
	assert_int_equal(symlink("d", path_of(g, "l")), 0);
	op = made(g, STORE_LOOKUP, root, "d");
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(named(g, STORE_CREATE, op.made, "in"), STORE_OK);
	assert_true(is_there(g, "d/in"));
	assert_int_equal(named(g, STORE_DELETE, op.made, "in"), STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, op.made, ""), STORE_OK);
	assert_int_equal(named(g, STORE_LOOKUP, root, "d"), STORE_NONE);
	assert_int_equal(named(g, STORE_LOOKUP, root, "f"), STORE_NONE);
	assert_int_equal(named(g, STORE_LOOKUP, root, "l"), STORE_NONE);
	assert_int_equal(named(g, STORE_DELETE, root, "l"), STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, root, "f"), STORE_OK);
}

/* A client that looks a directory up for each of its actions does so for hours. */
static void a_directory_that_is_found_again_takes_no_other_descriptor(void **state)
{
	struct rig *g = *state;
	struct store_dir root, first;
	unsigned int before;

	open_it(g, false);
	root = g->s->root[0];
	first = made(g, STORE_MKDIR, root, "d").made;
	before = n_descriptors();
	for (unsigned int i = 0; i < 50; i++)
		assert_int_equal(made(g, STORE_LOOKUP, root, "d").made.id, first.id);
	assert_int_equal(n_descriptors(), before);
	/* unless somebody else has put another one in its place */
	assert_int_equal(rename(path_of(g, "d"), path_of(g, "e")), 0);
	assert_int_equal(mkdir(path_of(g, "d"), 0700), 0);
	assert_int_not_equal(made(g, STORE_LOOKUP, root, "d").made.id, first.id);
	assert_int_equal(named(g, STORE_DELETE, first, ""), STORE_NONE); /* which name has it? */
	assert_int_equal(named(g, STORE_DELETE, root, "d"), STORE_OK);
	assert_int_equal(rmdir(path_of(g, "e")), 0);
}

/* Of what nothing is to be done in, however many there are. */
static void unused_directories_take_no_descriptor(void **state)
{
	enum { MANY = 3000 };
	struct rig *g = *state;
	unsigned int before;
	struct store_op op;
	char name[16];

	open_it(g, false);
	before = n_descriptors();
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		op = (struct store_op) {
			.verb = STORE_MKDIR, .dir = g->s->root[0], .name = name, .how = STORE_UNUSED
		};
		assert_int_equal(store_call(g->s, &op, &g->e), 0);
		assert_int_equal(op.result, STORE_OK);
	}
	assert_int_equal(n_descriptors(), before);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		assert_int_equal(named(g, STORE_DELETE, g->s->root[0], name), STORE_OK);
	}
}

/* Names that are known are found at once, whatever is known besides. */
static void many_directories_are_known(void **state)
{
	enum { MANY = 300 };
	struct rig *g = *state;
	struct store_dir dir[MANY], root;
	char name[16];

	open_it(g, false);
	root = g->s->root[0];
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		dir[i] = made(g, STORE_MKDIR, i % 3 ? dir[i - 1] : root, name).made;
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		assert_int_equal(made(g, STORE_LOOKUP, i % 3 ? dir[i - 1] : root, name).made.id,
				 dir[i].id);
		assert_int_equal(named(g, STORE_LOOKUP, i % 3 ? root : dir[i], name), STORE_NONE);
	}
	for (int i = MANY - 1; i >= 0; i--) {
		assert_int_equal(named(g, STORE_DELETE, dir[i], ""), STORE_OK);
		assert_int_equal(named(g, STORE_CREATE, dir[i], "f"), STORE_FAILED);
	}
}

static void a_directory_that_was_renamed_is_deleted_under_its_new_name(void **state)
{
	struct rig *g = *state;
	struct store_dir root, d, other;

	open_it(g, false);
	root = g->s->root[0];
	d = made(g, STORE_MKDIR, root, "d").made;
	other = made(g, STORE_MKDIR, root, "other").made;
	assert_int_equal(renamed(g, root, "d", other, "moved").result, STORE_OK);
	assert_int_equal(mkdir(path_of(g, "d"), 0700), 0); /* another, which has to stay */
	assert_int_equal(named(g, STORE_DELETE, d, ""), STORE_OK);
	assert_false(is_there(g, "other/moved"));
	assert_true(is_there(g, "d"));
	assert_int_equal(rmdir(path_of(g, "d")), 0);
	assert_int_equal(named(g, STORE_DELETE, other, ""), STORE_OK);
}

/* ---- lists ---- */

static void fill(struct rig *g, unsigned int n, bool remove)
{
	char name[64];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "file %u", i);
		assert_int_equal(
		    named(g, remove ? STORE_DELETE : STORE_CREATE, g->s->root[0], name), STORE_OK);
	}
}

static void lists_have_every_entry_once(void **state)
{
	struct rig *g = *state;
	struct store_op op;
	uint64_t n = 0;
	unsigned int lists = 0;

	open_it(g, false);
	fill(g, 1000, false);
	while ((op = listed(g, g->s->root[0], n, STORE_LIST_LEN)).result == STORE_OK) {
		assert_true(op.done > 0);
		n += op.done;
		lists++;
	}
	assert_int_equal(op.result, STORE_NONE);
	assert_int_equal(op.done, 0);
	assert_int_equal(n, 1000);
	assert_true(lists > 1);
	assert_int_equal(listed(g, g->s->root[0], 990, BUF_LEN).done, 10); /* not where it ended */
	assert_int_equal(listed(g, g->s->root[0], 0, 1ull << 20).done, 1000);
	assert_int_equal(listed(g, g->s->root[0], 1001, BUF_LEN).result, STORE_NONE);
	fill(g, 1000, true);
	assert_int_equal(listed(g, g->s->root[0], 0, BUF_LEN).result, STORE_NONE);
}

static void a_list_needs_room_for_an_entry(void **state)
{
	struct rig *g = *state;

	open_it(g, false);
	fill(g, 1, false);
	assert_int_equal(listed(g, g->s->root[0], 0, STORE_LIST_LEN - 1).result, STORE_INVALID);
	assert_int_equal(listed(g, g->s->root[0], 0, 0).result, STORE_INVALID);
	fill(g, 1, true);
}

/* The next directory gets the descriptor of the one that is gone: it is no part of its list. */
static void a_list_of_a_directory_that_is_gone_does_not_go_on(void **state)
{
	struct rig *g = *state;
	struct store_dir root, first, second;
	char name[16];

	open_it(g, false);
	root = g->s->root[0];
	first = made(g, STORE_MKDIR, root, "a").made;
	assert_int_equal(named(g, STORE_CREATE, first, "f"), STORE_OK);
	assert_int_equal(listed(g, first, 0, BUF_LEN).done, 1);
	assert_int_equal(named(g, STORE_DELETE, first, "f"), STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, first, ""), STORE_OK);
	second = made(g, STORE_MKDIR, root, "b").made;
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(named(g, STORE_CREATE, second, name), STORE_OK);
	}
	assert_int_equal(listed(g, second, 1, BUF_LEN).done, 2);
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(named(g, STORE_DELETE, second, name), STORE_OK);
	}
	assert_int_equal(named(g, STORE_DELETE, second, ""), STORE_OK);
}

/* ---- names, dates ---- */

static void a_rename_moves_and_never_replaces(void **state)
{
	struct rig *g = *state;
	struct store_dir root, d;
	struct store_op op;

	open_it(g, false);
	root = g->s->root[0];
	d = made(g, STORE_MKDIR, root, "d").made;
	fill(g, 2, false);
	assert_int_equal(renamed(g, root, "file 0", root, "file 1").result, STORE_EXISTS);
	op = renamed(g, root, "file 0", root, "new");
	assert_int_equal(op.result, STORE_OK);
	assert_string_equal(op.what, "renameat2");
	assert_true(is_there(g, "new") && !is_there(g, "file 0"));
	assert_int_equal(renamed(g, root, "new", d, "new").result, STORE_OK);
	assert_true(is_there(g, "d/new") && !is_there(g, "new"));
	assert_int_equal(renamed(g, root, "new", d, "other").result, STORE_NONE);
	assert_int_equal(renamed(g, root, "d", d, "itself").result, STORE_INVALID);
	assert_int_equal(renamed(g, d, "new", root, "file 0").result, STORE_OK);
	fill(g, 2, true);
	assert_int_equal(named(g, STORE_DELETE, d, ""), STORE_OK);
}

static void a_link_is_another_name(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_LINK, .name = "file 0", .to_name = "link" };
	struct stat st;

	open_it(g, false);
	fill(g, 1, false);
	op.dir = op.to_dir = g->s->root[0];
	assert_int_equal(call(g, op).result, STORE_OK);
	assert_int_equal(stat(path_of(g, "link"), &st), 0);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(call(g, op).result, STORE_EXISTS);
	op.name = "nothing";
	op.to_name = "other";
	assert_int_equal(call(g, op).result, STORE_NONE);
	assert_int_equal(named(g, STORE_DELETE, op.dir, "link"), STORE_OK);
	fill(g, 1, true);
}

static void a_symbolic_link_is_a_name_of_its_own(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_SYMLINK, .name = "link", .to_name = "file 0" };
	char text[16] = "";
	struct stat st;

	open_it(g, false);
	fill(g, 1, false);
	op.dir = g->s->root[0];
	assert_int_equal(call(g, op).result, STORE_OK);
	assert_int_equal(readlink(path_of(g, "link"), text, sizeof(text) - 1), 6);
	assert_string_equal(text, "file 0");
	assert_int_equal(call(g, op).result, STORE_EXISTS);
	assert_int_equal(named(g, STORE_DELETE, op.dir, "link"), STORE_OK);
	assert_int_equal(stat(path_of(g, "file 0"), &st), 0);
	fill(g, 1, true);
}

static void a_date_is_that_of_the_last_change(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_SET_TIME, .name = "file 0", .offset = 1000000000 };
	struct stat before, after;

	open_it(g, false);
	fill(g, 1, false);
	op.dir = g->s->root[0];
	assert_int_equal(stat(path_of(g, "file 0"), &before), 0);
	assert_int_equal(call(g, op).result, STORE_OK);
	assert_int_equal(stat(path_of(g, "file 0"), &after), 0);
	assert_int_equal(after.st_mtim.tv_sec, 1000000000);
	assert_int_equal(after.st_mtim.tv_nsec, 0);
	assert_int_equal(after.st_atim.tv_sec, before.st_atim.tv_sec);
	op.name = "nothing";
	assert_int_equal(call(g, op).result, STORE_NONE);
	fill(g, 1, true);
}

static void permission_bits_are_those_given(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_SET_MODE, .name = "file 0", .how = 0751 };
	struct stat after;

	open_it(g, false);
	fill(g, 1, false);
	op.dir = g->s->root[0];
	assert_int_equal(call(g, op).result, STORE_OK);
	assert_int_equal(stat(path_of(g, "file 0"), &after), 0);
	assert_int_equal(after.st_mode & 07777, 0751);
	op.name = "nothing";
	assert_int_equal(call(g, op).result, STORE_NONE);
	fill(g, 1, true);
}

static void names_that_are_too_long_are_invalid(void **state)
{
	static const enum store_verb verbs[] = { STORE_LOOKUP, STORE_RENAME, STORE_SET_TIME,
						 STORE_GET_XATTR, STORE_LINK };
	struct rig *g = *state;
	char name[257] = "";

	open_it(g, false);
	memset(name, 'n', 256);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		assert_int_equal(call(g, (struct store_op) { .verb = verbs[i],
							     .dir = g->s->root[0],
							     .to_dir = g->s->root[0],
							     .name = name,
							     .to_name = "n" })
				     .result,
				 STORE_INVALID);
}

/* ---- attributes ---- */

static void attributes_are_set_and_come_back(void **state)
{
	struct rig *g = *state;
	struct store_op op;
	char value[16];

	open_it(g, false);
	fill(g, 1, false);
	assert_int_equal(attr(g, STORE_GET_XATTR, "file 0", "a", 10).result, STORE_NONE);
	op = attr(g, STORE_SET_XATTR, "file 0", "a", 10);
	if (op.result == STORE_UNKNOWN) {
		fill(g, 1, true);
		skip(); /* a file system without attributes */
	}
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(getxattr(path_of(g, "file 0"), "user.a", value, sizeof(value)), 10);
	assert_memory_equal(value, g->data, 10);
	op = attr(g, STORE_GET_XATTR, "file 0", "a", 100);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 10);
	assert_memory_equal(g->buf, g->data, 10);
	/* one that is longer than the room for it, also when there is none */
	for (unsigned int len = 0; len < 10; len += 9) {
		op = attr(g, STORE_GET_XATTR, "file 0", "a", len);
		assert_int_equal(op.result, STORE_INVALID);
		assert_int_equal(op.done, 0);
	}
	assert_int_equal(attr(g, STORE_SET_XATTR, "file 0", "a", 0).result, STORE_OK);
	op = attr(g, STORE_GET_XATTR, "file 0", "a", 0);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(op.done, 0);
	assert_int_equal(attr(g, STORE_SET_XATTR, "nothing", "a", 1).result, STORE_NONE);
	assert_int_equal(attr(g, STORE_GET_XATTR, "nothing", "a", 1).result, STORE_NONE);
	fill(g, 1, true);
}

static void an_attribute_has_its_limits(void **state)
{
	struct rig *g = *state;
	struct store_op op = { .verb = STORE_SET_XATTR, .name = "file 0", .to_name = "a" };
	char name[256] = "";
	uint8_t *data = calloc(1, 65537);

	open_it(g, false);
	fill(g, 1, false);
	op.dir = g->s->root[0];
	op.data = data;
	op.len = 65537; /* more than Linux keeps of any file system */
	assert_int_equal(call(g, op).result, STORE_INVALID);
	memset(name, 'n', 255);
	op.to_name = name;
	op.len = 1;
	assert_int_equal(call(g, op).result, STORE_INVALID);
	fill(g, 1, true);
	free(data);
}

/* Whoever opens a fifo waits for the other end: not for its attributes. */
static void an_attribute_of_a_fifo_does_not_wait(void **state)
{
	struct rig *g = *state;

	open_it(g, false);
	assert_int_equal(mkfifo(path_of(g, "fifo"), 0600), 0);
	assert_int_not_equal(attr(g, STORE_GET_XATTR, "fifo", "a", 10).result, STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], "fifo"), STORE_OK);
}

/* ---- locks ---- */

static enum store_result lock(struct rig *g, struct store_file f, uint64_t offset, uint64_t len)
{
	return call(g,
		    (struct store_op) {
			.verb = STORE_LOCK, .file = f, .offset = offset, .len = len })
	    .result;
}

static void a_lock_is_of_one_opening_and_does_not_wait(void **state)
{
	struct rig *g = *state;
	struct store_op unlock = { .verb = STORE_UNLOCK, .offset = 10, .len = 10 };
	struct store_file f, other;

	open_it(g, false);
	f = open_file(g, "f");
	other = call(g, (struct store_op) { .verb = STORE_OPEN,
					    .dir = g->s->root[0],
					    .name = "f",
					    .how = STORE_FOR_READ | STORE_FOR_WRITE })
		    .opened;
	assert_int_equal(lock(g, f, 10, 10), STORE_OK);
	assert_int_equal(lock(g, other, 19, 1), STORE_LOCKED);
	assert_int_equal(lock(g, other, 20, 1), STORE_OK);
	assert_int_equal(lock(g, other, 0, 10), STORE_OK);
	unlock.file = f;
	assert_int_equal(call(g, unlock).result, STORE_OK);
	assert_int_equal(lock(g, other, 10, 10), STORE_OK);
	assert_int_equal(lock(g, f, 30, 10), STORE_OK);
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = f });
	assert_int_equal(lock(g, other, 30, 10), STORE_OK); /* and not longer */
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = other });
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], "f"), STORE_OK);
}

/* To the kernel no length is all the rest, and one below 0 is what stands before. */
static void a_lock_has_a_length(void **state)
{
	static const struct {
		uint64_t offset, len;
	} row[] = { { 10, 0 }, { 10, (uint64_t)-5 }, { INT64_MAX, 1 }, { UINT64_MAX, 1 } };
	struct rig *g = *state;
	struct store_file f;

	open_it(g, false);
	f = open_file(g, "f");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(lock(g, f, row[i].offset, row[i].len), STORE_INVALID);
	assert_int_equal(lock(g, f, INT64_MAX - 1, 1), STORE_OK);
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = f });
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], "f"), STORE_OK);
}

static void a_file_that_is_direct_stays_so(void **state)
{
	struct rig *g = *state;
	struct store_dir root;
	struct store_file f;

	open_it(g, true);
	root = g->s->root[0];
	f = open_file(g, "f");
	assert_int_equal(lock(g, f, 1, 3), STORE_OK);
	attr(g, STORE_SET_XATTR, "f", "a", 3);
	attr(g, STORE_GET_XATTR, "f", "a", 3);
	assert_int_equal(renamed(g, root, "f", root, "new").result, STORE_OK);
	assert_int_equal(listed(g, root, 0, BUF_LEN).done, 1);
	assert_true(fcntl((int)f.id, F_GETFL) & O_DIRECT);
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = f });
	assert_int_equal(named(g, STORE_DELETE, root, "new"), STORE_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lookup_finds_directories_only),
		TEST(a_directory_that_is_found_again_takes_no_other_descriptor),
		TEST(unused_directories_take_no_descriptor),
		TEST(many_directories_are_known),
		TEST(a_directory_that_was_renamed_is_deleted_under_its_new_name),
		TEST(lists_have_every_entry_once),
		TEST(a_list_needs_room_for_an_entry),
		TEST(a_list_of_a_directory_that_is_gone_does_not_go_on),
		TEST(a_rename_moves_and_never_replaces),
		TEST(a_link_is_another_name),
		TEST(a_symbolic_link_is_a_name_of_its_own),
		TEST(a_date_is_that_of_the_last_change),
		TEST(permission_bits_are_those_given),
		TEST(names_that_are_too_long_are_invalid),
		TEST(attributes_are_set_and_come_back),
		TEST(an_attribute_has_its_limits),
		TEST(an_attribute_of_a_fifo_does_not_wait),
		TEST(a_lock_is_of_one_opening_and_does_not_wait),
		TEST(a_lock_has_a_length),
		TEST(a_file_that_is_direct_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
