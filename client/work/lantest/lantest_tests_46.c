/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seventeen tests of 4.6: which commands, on which names, in which order. Order, titles, counts
 * and commands are those of netatalk's manual and of what its developers write of it; names,
 * bitmaps and what docs/lantest.md calls inferred are ours, for this version was not seen on the
 * wire. They must not be "improved", or results stop being comparable. Tests 3 to 11 share 2000
 * files.
 */
#include "work/lantest/lantest_priv.h"

#include <stdio.h>

#define FILE_LEN   1024
#define COPIES     1000
#define RANGE_STEP 20 /* the 2000 ranges fill the file of locks */
#define RANGE_LEN  10
#define TREE_TOP   20
#define TREE_INNER 9
#define TREE_LAST  10
#define HITS_DIRS  20
#define HITS_FILES 100
#define MIX_FILES  500
#define WALKS      100

/* File i of those that tests 3 to 11 share. */
static struct lt_name shared_name(unsigned int i)
{
	return lt_name_of("File.0k", i + 1);
}

/* Does one with each of n files. */
static int each_file(struct lantest *t, unsigned int n,
		     int (*one)(struct lantest *t, unsigned int i))
{
	int r = 0;

	for (unsigned int i = 0; !r && i < n; i++)
		r = one(t, i);
	return r;
}

/* Test 4 */

static int write_file(struct lantest *t, const char *name)
{
	int r = lt_open(t, t->base, name, 0x0342, LT_ACCESS_RW_DENY_ALL);

	r = r ? r : lt_write(t, FILE_LEN);
	return r ? r : lt_close(t);
}

static int file_write_one(struct lantest *t, unsigned int i)
{
	return write_file(t, shared_name(i).text);
}

static int files_write(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, file_write_one);
}

/* Test 5 */

static int file_read_one(struct lantest *t, unsigned int i)
{
	int r = lt_open(t, t->base, shared_name(i).text, 0x0342, LT_ACCESS_R_DENY_W);

	r = r ? r : lt_read(t, FILE_LEN);
	return r ? r : lt_close(t);
}

static int files_read(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, file_read_one);
}

/* Tests 6 and 7: copies, which their tear-down removes */

static int copy_one(struct lantest *t, unsigned int i)
{
	struct lt_name to = lt_name_of("File.copy", i);
	int r = file_read_one(t, i);

	r = r ? r : lt_create(t, to.text);
	return r ? r : write_file(t, to.text);
}

static int files_copy(struct lantest *t)
{
	return each_file(t, COPIES, copy_one);
}

static int copy_delete_one(struct lantest *t, unsigned int i)
{
	return lt_delete(t, t->base, lt_name_of("File.copy", i).text);
}

static int copies_delete(struct lantest *t)
{
	return each_file(t, COPIES, copy_delete_one);
}

static int server_copy_one(struct lantest *t, unsigned int i)
{
	return lt_copy(t, shared_name(i).text, lt_name_of("File.copy", i).text);
}

static int files_server_copy(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, server_copy_one);
}

static int server_copies_delete(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, copy_delete_one);
}

/* Test 8 */

static int stat_one(struct lantest *t, unsigned int i)
{
	struct lt_name n = shared_name(i);
	int r = lt_probe(t, t->base, n.text, AFP_ERR_OK);

	return r ? r : lt_params(t, t->base, n.text, 0x073f, 0x133f);
}

static int files_stat(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, stat_one);
}

/* Test 9 */

static int files_list(struct lantest *t)
{
	return many_list(t, true);
}

/* Test 10: all forks are open at once. */

static int fork_open_one(struct lantest *t, unsigned int i)
{
	int r = lt_open(t, t->base, shared_name(i).text, 0x0342, AFP_READ | AFP_WRITE);

	if (r)
		return r;
	t->fork_open = false;
	t->forks[t->n_forks++] = t->fork;
	return 0;
}

static int forks_setup(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, fork_open_one);
}

static int fork_lock_one(struct lantest *t, unsigned int i)
{
	int r;

	t->fork = t->forks[i];
	r = lt_lock(t, false, 0, RANGE_LEN);
	return r ? r : lt_lock(t, true, 0, RANGE_LEN);
}

static int forks_lock(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, fork_lock_one);
}

static int fork_close_one(struct lantest *t, unsigned int i)
{
	(void)i;
	t->fork = t->forks[--t->n_forks];
	return lt_close(t);
}

static int forks_teardown(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, fork_close_one);
}

/* Test 12: all ranges are locked at once. */

static int ranges_lock(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < LT_MANY_FILES; i++)
		r = lt_lock(t, false, i * RANGE_STEP, RANGE_LEN);
	for (unsigned int i = 0; !r && i < LT_MANY_FILES; i++)
		r = lt_lock(t, true, i * RANGE_STEP, RANGE_LEN);
	return r;
}

/* Test 13: 20, in each 9, in each of these 10. dir[0..19] are the upper ones, then the inner ones.
 */

static struct lt_name tree_dir_of(unsigned int i)
{
	struct lt_name n;

	snprintf(n.text, sizeof(n.text), "dir%02u", i + 1);
	return n;
}

static int tree_make_inner(struct lantest *t, unsigned int top)
{
	uint32_t *inner = &t->dir[TREE_TOP + top * TREE_INNER], last;
	int r = 0;

	for (unsigned int j = 0; !r && j < TREE_INNER; j++) {
		r = lt_mkdir(t, t->dir[top], tree_dir_of(j).text, &inner[j]);
		for (unsigned int k = 0; !r && k < TREE_LAST; k++)
			r = lt_mkdir(t, inner[j], tree_dir_of(k).text, &last);
	}
	return r;
}

static int tree_make(struct lantest *t)
{
	int r = 0;

	_Static_assert(TREE_TOP + TREE_TOP * TREE_INNER <= LT_DIRS,
		       "ids of all but the last level");
	for (unsigned int i = 0; !r && i < TREE_TOP; i++) {
		r = lt_mkdir(t, t->base, tree_dir_of(i).text, &t->dir[i]);
		r = r ? r : tree_make_inner(t, i);
	}
	return r;
}

static int tree_delete(struct lantest *t)
{
	unsigned int i, inner = TREE_TOP * TREE_INNER;
	int r = 0;

	for (i = 0; !r && i < inner * TREE_LAST; i++)
		r = lt_delete(t, t->dir[TREE_TOP + i / TREE_LAST], tree_dir_of(i % TREE_LAST).text);
	for (i = 0; !r && i < inner; i++)
		r = lt_delete(t, t->dir[i / TREE_INNER], tree_dir_of(i % TREE_INNER).text);
	for (i = 0; !r && i < TREE_TOP; i++)
		r = lt_delete(t, t->base, tree_dir_of(i).text);
	return r;
}

/* Test 14 */

static int hits_setup(struct lantest *t)
{
	return cache_make(t, HITS_DIRS, HITS_FILES);
}

static int hits_timed(struct lantest *t)
{
	int r = 0;

	for (unsigned int d = 0; !r && d < HITS_DIRS; d++) {
		r = lt_probe(t, t->base, lt_name_of("cache_dir_", d).text, AFP_ERR_OK);
		for (unsigned int i = 0; !r && i < HITS_FILES; i++)
			r = lt_params(t, t->dir[d], cache_file(d, i).text, 0x0302, 0);
	}
	return r;
}

static int hits_teardown(struct lantest *t)
{
	return cache_remove(t, HITS_DIRS, HITS_FILES);
}

/* Test 15 */

static int mix_timed(struct lantest *t)
{
	return lt_mixed(t, MIX_FILES);
}

/* Test 16 */

static int walk_timed(struct lantest *t)
{
	int r = 0;

	for (unsigned int k = 0; !r && k < WALKS; k++)
		r = deep_walk(t);
	return r;
}

/* Test 17 */

static int fresh_setup(struct lantest *t)
{
	return valid_make(t, LT_MANY_FILES);
}

static int fresh_look_one(struct lantest *t, unsigned int i)
{
	return lt_params(t, t->base, lt_name_of("valid_file_", i).text, 0x0102, 0);
}

static int fresh_timed(struct lantest *t)
{
	return each_file(t, LT_MANY_FILES, fresh_look_one);
}

static int fresh_teardown(struct lantest *t)
{
	return valid_remove(t, LT_MANY_FILES);
}

#define MADE    LANTEST_BIT(3)
#define WRITTEN (LANTEST_BIT(3) | LANTEST_BIT(4))

/* clang-format off */
static const struct lantest_test tests_46[] = {
	{ "Writing one large file [103 AFP ops]",
	  0, 0, bulk_write_setup, bulk_write, NULL, false },
	{ "Reading one large file [102 AFP ops]",
	  LANTEST_BIT(1), 0, bulk_read_setup, bulk_read, NULL, false },
	{ "Creating 2000 files [4,000 AFP ops]",
	  0, 0, NULL, many_create, NULL, false },
	{ "Open, write 1024 bytes, close 2000 files [6,000 AFP ops]",
	  MADE, LT_MANY_FILES * FILE_LEN, NULL, files_write, NULL, true },
	{ "Open, read 1024 bytes, close 2000 files [6,000 AFP ops]",
	  WRITTEN, 0, NULL, files_read, NULL, true },
	{ "Copying 1000 files client-side [7,000 AFP ops]",
	  WRITTEN, COPIES * FILE_LEN, NULL, files_copy, copies_delete, true },
	{ "Copying 2000 files server-side [2,000 AFP ops]",
	  WRITTEN, LT_MANY_FILES * FILE_LEN, NULL, files_server_copy, server_copies_delete, true },
	{ "Stat (lookup + getparams) 2000 files [4,000 AFP ops]",
	  MADE, 0, NULL, files_stat, NULL, true },
	{ "Enumerate dir with 2000 files [~51 AFP ops]",
	  MADE, 0, NULL, files_list, many_list_check, true },
	{ "Lock then unlock 2000 open forks [4,000 AFP ops]",
	  MADE, 0, forks_setup, forks_lock, forks_teardown, true },
	{ "Deleting 2000 files [2,000 AFP ops]",
	  MADE, 0, NULL, many_delete, NULL, true },
	{ "Byte-range lock/unlock 2000 ranges in one fork [4,000 AFP ops]",
	  0, LT_MANY_FILES * RANGE_STEP, lock_setup, ranges_lock, lock_teardown, false },
	{ "Create 2000 dirs tree [2,000 AFP ops]",
	  0, 0, NULL, tree_make, tree_delete, false },
	{ "Directory cache hits (20 dirs x 100 files) [2,020 AFP ops]",
	  0, 0, hits_setup, hits_timed, hits_teardown, false },
	{ "Mixed cache operations (create/stat/enum/delete) on 500 files [2,050 AFP ops]",
	  0, 0, NULL, mix_timed, NULL, false },
	{ "Deep path traversal (20 levels x 100 walks) [2,000 AFP ops]",
	  0, 0, deep_make, walk_timed, deep_remove, false },
	{ "Cache validation (2000 files x 1 lookup) [2,000 AFP ops]",
	  0, 0, fresh_setup, fresh_timed, fresh_teardown, false },
};
/* clang-format on */

const struct lantest_set lantest_4_6 = {
	.name = "lantest-4.6",
	.n_tests = sizeof(tests_46) / sizeof(tests_46[0]),
	.cache = LANTEST_BIT(14) | LANTEST_BIT(15) | LANTEST_BIT(16) | LANTEST_BIT(17),
	.write_test = 1,
	.read_test = 2,
	.fills_quantum = true,
	.test = tests_46,
};
