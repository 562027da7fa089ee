/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File operations in a local directory, with and without the page cache. */
#include "unit/posix_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static void close_file(struct rig *g, struct store_file f, const char *name)
{
	assert_int_equal(call(g, (struct store_op) { .verb = STORE_CLOSE, .file = f }).result,
			 STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], name), STORE_OK);
}

static struct store_op write_at(struct rig *g, struct store_file f, uint64_t offset, size_t len)
{
	return call(
	    g, (struct store_op) {
		   .verb = STORE_WRITE, .file = f, .offset = offset, .len = len, .data = g->data });
}

static struct store_op read_at(struct rig *g, struct store_file f, uint64_t offset, size_t len)
{
	memset(g->buf, 0, BUF_LEN);
	return call(
	    g, (struct store_op) {
		   .verb = STORE_READ, .file = f, .offset = offset, .len = len, .buf = g->buf });
}

static uint64_t length_of(struct rig *g, struct store_file f)
{
	struct store_op op = call(g, (struct store_op) { .verb = STORE_LENGTH, .file = f });

	assert_int_equal(op.result, STORE_OK);
	return op.done;
}

static void names_come_and_go(void **state)
{
	struct rig *g = *state;
	struct store_dir root, made;
	struct store_op op;
	struct stat st;
	char path[128];

	open_it(g, false);
	root = g->s->root[0];
	assert_int_equal(named(g, STORE_PROBE, root, "d"), STORE_NONE);
	op = call(g, (struct store_op) { .verb = STORE_MKDIR, .dir = root, .name = "d" });
	assert_int_equal(op.result, STORE_OK);
	made = op.made;
	snprintf(path, sizeof(path), "%s/d", g->path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777 & ~0750, 0);
	assert_int_equal(named(g, STORE_PROBE, root, "d"), STORE_OK);
	assert_int_equal(named(g, STORE_MKDIR, root, "d"), STORE_EXISTS);
	assert_int_equal(named(g, STORE_CREATE, made, "f"), STORE_OK);
	assert_int_equal(named(g, STORE_CREATE, made, "f"), STORE_EXISTS);
	assert_int_equal(named(g, STORE_DELETE, made, ""), STORE_NOT_EMPTY);
	assert_int_equal(named(g, STORE_DELETE, made, "f"), STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, made, "f"), STORE_NONE);
	assert_int_equal(named(g, STORE_DELETE, made, ""), STORE_OK);
	assert_int_equal(named(g, STORE_PROBE, root, "d"), STORE_NONE);
	assert_int_equal(named(g, STORE_DELETE, root, ""), STORE_DENIED);
}

static void a_directory_can_be_deleted_by_name(void **state)
{
	struct rig *g = *state;
	char path[128];

	open_it(g, false);
	assert_int_equal(named(g, STORE_MKDIR, g->s->root[0], "d"), STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], "d"), STORE_OK);
	snprintf(path, sizeof(path), "%s/e", g->path);
	assert_int_equal(mkdir(path, 0700), 0); /* one that the store did not make */
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], "e"), STORE_OK);
}

static void a_store_that_closes_gives_back_its_descriptors(void **state)
{
	struct rig *g = *state;
	int before = dup(0), after;
	char path[128];

	close(before);
	open_it(g, true);
	assert_int_equal(named(g, STORE_MKDIR, g->s->root[0], "d"), STORE_OK);
	store_close(g->s);
	g->s = NULL;
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
	snprintf(path, sizeof(path), "%s/d", g->path);
	assert_int_equal(rmdir(path), 0);
}

static void data_comes_back(struct rig *g, bool direct)
{
	static const size_t lens[] = { 1, 511, 512, 4095, 4096, 4097, 4194, 8192, 60001 };
	struct store_file f;

	open_it(g, direct);
	f = open_file(g, "f");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i];

		assert_int_equal(
		    call(g, (struct store_op) { .verb = STORE_SET_LEN, .file = f }).result,
		    STORE_OK);
		assert_int_equal(write_at(g, f, 0, len).done, len);
		assert_int_equal(length_of(g, f), len); /* and not one byte more */
		assert_int_equal(
		    call(g, (struct store_op) { .verb = STORE_FLUSH, .file = f }).result, STORE_OK);
		assert_int_equal(read_at(g, f, 0, len).done, len);
		assert_memory_equal(g->buf, g->data, len);
	}
	close_file(g, f, "f");
}

static uint64_t free_bytes(const char *path)
{
	struct statvfs fs;

	assert_int_equal(statvfs(path, &fs), 0);
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Between two looks of others between which nothing changed. */
static void what_is_free_is_what_statvfs_says(void **state)
{
	struct rig *g = *state;
	struct store_op op;
	uint64_t before;
	int tries = 1000;

	open_it(g, false);
	do {
		before = free_bytes(g->path);
		op = call(g, (struct store_op) { .verb = STORE_ROOM, .dir = g->s->root[0] });
		assert_int_equal(op.result, STORE_OK);
	} while (before != free_bytes(g->path) && --tries);
	assert_true(tries && op.done == before);
}

static void what_is_written_comes_back(void **state)
{
	data_comes_back(*state, false);
}

static void what_is_written_past_the_page_cache_comes_back(void **state)
{
	data_comes_back(*state, true);
}

static void reads_end_with_the_file(void **state)
{
	struct rig *g = *state;

	for (unsigned int direct = 0; direct < 2; direct++) {
		struct store_file f;
		struct store_op op;

		open_it(g, direct);
		f = open_file(g, "f");
		assert_int_equal(write_at(g, f, 0, 5000).result, STORE_OK);
		op = read_at(g, f, 4096, 4096);
		assert_int_equal(op.result, STORE_SHORT);
		assert_int_equal(op.done, 904);
		assert_memory_equal(g->buf, g->data + 4096, 904);
		op = read_at(g, f, 8192, 4096);
		assert_int_equal(op.result, STORE_SHORT);
		assert_int_equal(op.done, 0);
		op = read_at(g, f, 0, 100); /* less than there is, less than a block */
		assert_int_equal(op.result, STORE_OK);
		assert_int_equal(op.done, 100);
		close_file(g, f, "f");
		store_close(g->s);
		g->s = NULL;
	}
}

static void files_are_longer_than_32_bits(void **state)
{
	struct rig *g = *state;
	struct store_file f;

	open_it(g, true);
	f = open_file(g, "f");
	call(g, (struct store_op) { .verb = STORE_SET_LEN, .file = f, .len = 5ull << 30 });
	assert_true(length_of(g, f) == 5ull << 30);
	assert_int_equal(write_at(g, f, 4ull << 30, 4096).result, STORE_OK);
	assert_int_equal(read_at(g, f, 4ull << 30, 4096).done, 4096);
	assert_memory_equal(g->buf, g->data, 4096);
	close_file(g, f, "f");
}

/* The descriptor goes back to O_DIRECT after a tail. */
static void a_tail_leaves_the_file_direct(void **state)
{
	struct rig *g = *state;
	struct store_file f;
	size_t align;

	open_it(g, true);
	align = g->s->align;
	assert_true(align > 1 && !(align & (align - 1)));
	f = open_file(g, "f");
	assert_true(fcntl((int)f.id, F_GETFL) & O_DIRECT);
	assert_int_equal(write_at(g, f, 0, 4194).result, STORE_OK);
	assert_true(fcntl((int)f.id, F_GETFL) & O_DIRECT);
	assert_int_equal(write_at(g, f, 1, 4096).result, STORE_INVALID);
	assert_int_equal(read_at(g, f, 1, 4096).result, STORE_INVALID);
	close_file(g, f, "f");
}

static void errors_are_put_in_common_words(void **state)
{
	struct rig *g = *state;
	struct rlimit old, small;
	struct store_file f;
	struct store_op op;

	open_it(g, false);
	f = open_file(g, "f");
	op = call(g, (struct store_op) { .verb = STORE_COPY,
					 .dir = g->s->root[0],
					 .name = "f",
					 .to_dir = g->s->root[0],
					 .to_name = "g" });
	assert_int_equal(op.result, STORE_UNKNOWN);
	assert_non_null(strstr(op.why, "no server"));
	op = call(g, (struct store_op) { .verb = STORE_OPEN, .dir = g->s->root[0], .name = "g" });
	assert_int_equal(op.result, STORE_NONE);
	assert_int_equal(op.code, ENOENT);
	assert_string_equal(op.why, "No such file or directory");
	assert_int_equal(write_at(g, f, UINT64_MAX - 4095, 4096).result, STORE_INVALID);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit) { 4096, old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	op = write_at(g, f, 0, 8192); /* goes on after a short write, and meets the limit */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(op.result, STORE_INVALID);
	assert_int_equal(op.code, EFBIG);
	assert_int_equal(op.done, 4096);
	close_file(g, f, "f");
}

static void a_full_device_is_full(void **state)
{
	struct rig *g = *state;
	struct store_op op;

	assert_int_equal(store_open_posix(&g->s, "/dev", false, &g->e), 0);
	op = call(g, (struct store_op) { .verb = STORE_OPEN,
					 .dir = g->s->root[0],
					 .name = "full",
					 .how = STORE_FOR_WRITE });
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(write_at(g, op.opened, 0, 4096).result, STORE_FULL);
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = op.opened });
}

static void a_file_system_in_memory_cannot_be_direct(void **state)
{
	struct rig *g = *state;

	assert_int_equal(store_open_posix(&g->s, "/dev/shm", true, &g->e), -EINVAL);
	assert_null(g->s);
	assert_non_null(strstr(g->e.text, "/dev/shm"));
	assert_non_null(strstr(g->e.text, "O_DIRECT"));
	assert_non_null(strstr(g->e.text, "use -D"));
	assert_int_equal(store_open_posix(&g->s, "/dev/shm", false, &g->e), 0);
	assert_int_equal(g->s->align, 1);
}

static void what_is_no_directory_is_told(void **state)
{
	struct rig *g = *state;

	assert_int_equal(store_open_posix(&g->s, "/dev/null", false, &g->e), -ENOTDIR);
	assert_non_null(strstr(g->e.text, "/dev/null"));
	assert_int_equal(store_open_posix(&g->s, "/nowhere", true, &g->e), -ENOENT);
}

static void operations_come_back_in_order(void **state)
{
	struct rig *g = *state;
	struct store_op op[40] = { 0 }, *back;

	open_it(g, false);
	for (unsigned int i = 0; i < 40; i++) {
		op[i] = (struct store_op) { .verb = STORE_PROBE,
					    .dir = g->s->root[0],
					    .name = "n" };
		assert_int_equal(store_submit(g->s, &op[i], &g->e), 0);
	}
	assert_int_equal(g->s->in_flight, 40);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(store_reap(g->s, &back, &g->e), 0);
		assert_ptr_equal(back, &op[i]);
	}
	store_drain(g->s);
	assert_int_equal(store_reap(g->s, &back, &g->e), -ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_come_and_go),
		TEST(a_directory_can_be_deleted_by_name),
		TEST(a_store_that_closes_gives_back_its_descriptors),
		TEST(what_is_free_is_what_statvfs_says),
		TEST(what_is_written_comes_back),
		TEST(what_is_written_past_the_page_cache_comes_back),
		TEST(reads_end_with_the_file),
		TEST(files_are_longer_than_32_bits),
		TEST(a_tail_leaves_the_file_direct),
		TEST(errors_are_put_in_common_words),
		TEST(a_full_device_is_full),
		TEST(a_file_system_in_memory_cannot_be_direct),
		TEST(what_is_no_directory_is_told),
		TEST(operations_come_back_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
