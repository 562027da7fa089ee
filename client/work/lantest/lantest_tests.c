/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The twelve tests of 4.5: which commands, on which names, in which order. Numbers, names and
 * bitmaps are those of netatalk 4.5's afp_lantest, seen on the wire; they must not be "improved",
 * or results stop being comparable. Tests 2 and 3 move bulk data: lantest_bulk.c.
 */
#include "work/lantest/lantest_priv.h"

#include <stdio.h>

#define SMALL_FILES  1000
#define SMALL_LEN    20480
#define LOCK_FILE    "File.lock"
#define LOCK_LEN     40000
#define LOCK_ROUNDS  250
#define LOCK_RANGES  40
#define LIST_COUNT   40
#define TREE_WIDTH   10
#define CACHE_DIRS   10
#define CACHE_FILES  10
#define CACHE_ROUNDS 100
#define MIXED_FILES  200
#define DEEP_FILES   50
#define DEEP_ROUNDS  50
#define VALID_FILES  100
#define VALID_ROUNDS 100

struct lt_name lt_name_of(const char *prefix, unsigned int i)
{
	struct lt_name n;

	snprintf(n.text, sizeof(n.text), "%s%u", prefix, i);
	return n;
}

/* Test 1 */

static int small_make_one(struct lantest *t, const char *name)
{
	int r = lt_probe(t, t->base, name, AFP_ERR_NO_OBJECT);

	r = r ? r : lt_params(t, t->base, "", 0, 0x0100);
	r = r ? r : lt_create(t, name);
	r = r ? r : lt_probe(t, t->base, name, AFP_ERR_OK);
	r = r ? r : lt_params(t, t->base, name, 0x072e, 0);
	r = r ? r : lt_params(t, t->base, name, 0x073f, 0);
	r = r ? r : lt_open(t, t->base, name, 0x0342, LT_ACCESS_RW_DENY_ALL);
	r = r ? r : lt_fork_params(t, 0x0242);
	r = r ? r : lt_write(t, SMALL_LEN);
	return r ? r : lt_close(t);
}

static int small_setup(struct lantest *t)
{
	const struct afp_enumerate what = { t->base, 0x077d, 0x117f, 1024, 1, false };
	int r = 0;

	for (unsigned int i = 0; !r && i < SMALL_FILES; i++)
		r = small_make_one(t, lt_name_of("File.small", i).text);
	return r ? r : lt_enumerate(t, 0, &what);
}

static int small_use_one(struct lantest *t, const char *name)
{
	int r = lt_probe(t, t->base, name, AFP_ERR_OK);

	r = r ? r : lt_params(t, t->base, name, 0x072d, 0);
	r = r ? r : lt_params(t, t->base, name, 0x073f, 0x133f);
	r = r ? r : lt_open(t, t->base, name, 0x0342, LT_ACCESS_R_DENY_W);
	r = r ? r : lt_fork_params(t, 0x0200);
	r = r ? r : lt_fork_params(t, 0x0242);
	r = r ? r : lt_read(t, LT_SMALL_READ);
	return r ? r : lt_close(t);
}

static int small_timed(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < SMALL_FILES; i++)
		r = small_use_one(t, lt_name_of("File.small", i).text);
	return r;
}

static int small_teardown(struct lantest *t)
{
	struct lt_name n;
	int r = 0;

	for (unsigned int i = 0; !r && i < SMALL_FILES; i++) {
		n = lt_name_of("File.small", i);
		r = lt_probe(t, t->base, n.text, AFP_ERR_OK);
		r = r ? r : lt_params(t, t->base, n.text, 0, 0x0100);
		r = r ? r : lt_delete(t, t->base, n.text);
	}
	if (r)
		return r;
	return lt_volume_params(t, 0x0208);
}

/* Test 4 */

int lock_setup(struct lantest *t)
{
	int r = lt_probe(t, t->base, LOCK_FILE, AFP_ERR_NO_OBJECT);

	r = r ? r : lt_params(t, t->base, "", 0, 0x0100);
	r = r ? r : lt_create(t, LOCK_FILE);
	r = r ? r : lt_probe(t, t->base, LOCK_FILE, AFP_ERR_OK);
	r = r ? r : lt_params(t, t->base, LOCK_FILE, 0x0726, 0);
	r = r ? r : lt_open(t, t->base, LOCK_FILE, 0x0302, LT_ACCESS_RW_DENY_ALL);
	r = r ? r : lt_fork_params(t, 0x0202);
	r = r ? r : lt_params(t, t->base, LOCK_FILE, 0x072d, 0);
	r = r ? r : lt_write(t, LOCK_LEN);
	r = r ? r : lt_close(t);
	r = r ? r : lt_probe(t, t->base, LOCK_FILE, AFP_ERR_OK);
	r = r ? r : lt_params(t, t->base, LOCK_FILE, 0x073f, 0x133f);
	r = r ? r : lt_open(t, t->base, LOCK_FILE, 0x0342, AFP_READ);
	r = r ? r : lt_fork_params(t, 0x0200);
	r = r ? r : lt_read(t, LT_SMALL_READ);
	r = r ? r : lt_close(t);
	r = r ? r : lt_open(t, t->base, LOCK_FILE, 0x0342, AFP_READ | AFP_WRITE);
	r = r ? r : lt_fork_params(t, 0x0242);
	return r ? r : lt_params(t, t->base, LOCK_FILE, 0x072d, 0);
}

static int lock_timed(struct lantest *t)
{
	uint32_t offset;
	int r = 0;

	for (unsigned int i = 0; !r && i < LOCK_ROUNDS * LOCK_RANGES; i++) {
		offset = i % LOCK_RANGES * 10;
		r = lt_lock(t, false, offset, 10);
		r = r ? r : lt_lock(t, true, offset, 10);
	}
	return r;
}

int lock_teardown(struct lantest *t)
{
	int r = lt_probe(t, t->base, LOCK_FILE, AFP_ERR_OK);

	r = r ? r : lt_close(t);
	return r ? r : lt_delete(t, t->base, LOCK_FILE);
}

/* Tests 5, 6, 7 share their 2000 files. */

int many_create(struct lantest *t)
{
	struct lt_name n;
	int r = 0;

	t->files_left = true;
	for (unsigned int i = 1; !r && i <= LT_MANY_FILES; i++) {
		n = lt_name_of("File.0k", i);
		r = lt_create(t, n.text);
		r = r ? r : lt_params(t, t->base, n.text, 0x0726, 0);
	}
	return r;
}

static int list_one(struct lantest *t, unsigned int i, uint16_t start, bool newest)
{
	const struct afp_enumerate what = { t->base, 0x077d, 0x117f, LIST_COUNT, start, newest };

	return lt_enumerate(t, i, &what);
}

/* Where listing i starts: 1, then back and forth: 81, 41, 161, 121 ... */
static uint16_t list_start(unsigned int i)
{
	if (!i)
		return 1;
	return (uint16_t)((i % 2 ? 81 : 41) + 80 * ((i - 1) / 2));
}

/* The last 40 files are never listed. */
int many_list(struct lantest *t, bool newest)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < LT_LISTINGS; i++)
		r = list_one(t, i, list_start(i), newest);
	return r;
}

static int many_list_plain(struct lantest *t)
{
	return many_list(t, false);
}

/* Notes which of the files a reply lists; refuses a name that comes twice or is not ours. */
static int list_check(struct lantest *t, unsigned int listing, uint64_t seen[static 32])
{
	unsigned int i, n = 0, start = list_start(listing);
	struct afp_entries it;
	struct afp_params p;
	int len;

	lt_listing(t, listing, &it);
	while (afp_entries_next(&it, &p)) {
		len = 0;
		if (sscanf(p.long_name, "File.0k%u%n", &i, &len) != 1 || p.long_name[len] ||
		    i < 1 || i > LT_MANY_FILES || seen[i / 64] & 1ull << i % 64)
			return lt_refuse(t, "FPEnumerate from %u lists \"%s\" %s", start,
					 p.long_name,
					 len ? "again" : ", which the test did not make");
		seen[i / 64] |= 1ull << i % 64;
		n++;
	}
	if (it.at.bad || n != LIST_COUNT)
		return lt_refuse(t, "FPEnumerate from %u lists %u entries, not %d", start, n,
				 LIST_COUNT);
	return 0;
}

int many_list_check(struct lantest *t)
{
	uint64_t seen[32] = { 0 };
	int r = 0;

	for (unsigned int i = 0; !r && i < LT_LISTINGS; i++)
		r = list_check(t, i, seen);
	return r;
}

int many_delete(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = 1; !r && i <= LT_MANY_FILES; i++)
		r = lt_delete(t, t->base, lt_name_of("File.0k", i).text);
	t->files_left = r;
	return r;
}

/* Test 8: three levels of ten; dir[0..9], dir[10..109] are the inner ones. */

static struct lt_name tree_dir_name(unsigned int i)
{
	struct lt_name n;

	snprintf(n.text, sizeof(n.text), "dir%02u", i % TREE_WIDTH + 1);
	return n;
}

static int dirs_make_level(struct lantest *t, uint32_t parent, unsigned int depth,
			   unsigned int index)
{
	uint32_t dir;
	int r = 0;

	for (unsigned int i = 0; !r && i < TREE_WIDTH; i++) {
		r = lt_mkdir(t, parent, tree_dir_name(i).text, &dir);
		if (r || depth == 2)
			continue;
		t->dir[depth ? TREE_WIDTH + index * TREE_WIDTH + i : i] = dir;
		r = dirs_make_level(t, dir, depth + 1, i);
	}
	return r;
}

static int dirs_make(struct lantest *t)
{
	return dirs_make_level(t, t->base, 0, 0);
}

static int dirs_delete(struct lantest *t)
{
	unsigned int i, inner = TREE_WIDTH * TREE_WIDTH;
	int r = 0;

	for (i = 0; !r && i < inner * TREE_WIDTH; i++)
		r = lt_delete(t, t->dir[TREE_WIDTH + i / TREE_WIDTH], tree_dir_name(i).text);
	for (i = 0; !r && i < inner; i++)
		r = lt_delete(t, t->dir[i / TREE_WIDTH], tree_dir_name(i).text);
	for (i = 0; !r && i < TREE_WIDTH; i++)
		r = lt_delete(t, t->base, tree_dir_name(i).text);
	return r;
}

/* Test 9 */

struct lt_name cache_file(unsigned int dir, unsigned int i)
{
	struct lt_name n;

	snprintf(n.text, sizeof(n.text), "cache_file_%u_%u", dir, i);
	return n;
}

int cache_make(struct lantest *t, unsigned int n_dirs, unsigned int n_files)
{
	int r = 0;

	for (unsigned int d = 0; !r && d < n_dirs; d++) {
		r = lt_mkdir(t, t->base, lt_name_of("cache_dir_", d).text, &t->dir[d]);
		for (unsigned int i = 0; !r && i < n_files; i++)
			r = lt_create_in(t, t->dir[d], cache_file(d, i).text);
	}
	return r;
}

static int cache_setup(struct lantest *t)
{
	return cache_make(t, CACHE_DIRS, CACHE_FILES);
}

static int cache_timed(struct lantest *t)
{
	unsigned int d;
	int r = 0;

	for (unsigned int k = 0; !r && k < CACHE_ROUNDS * CACHE_DIRS; k++) {
		d = k % CACHE_DIRS;
		r = lt_probe(t, t->base, lt_name_of("cache_dir_", d).text, AFP_ERR_OK);
		for (unsigned int i = 0; !r && i < CACHE_FILES; i++)
			r = lt_params(t, t->dir[d], cache_file(d, i).text, 0x0302, 0);
	}
	return r;
}

int cache_remove(struct lantest *t, unsigned int n_dirs, unsigned int n_files)
{
	int r = 0;

	for (unsigned int d = 0; !r && d < n_dirs; d++) {
		for (unsigned int i = 0; !r && i < n_files; i++)
			r = lt_delete(t, t->dir[d], cache_file(d, i).text);
		r = r ? r : lt_delete(t, t->base, lt_name_of("cache_dir_", d).text);
	}
	return r;
}

static int cache_teardown(struct lantest *t)
{
	return cache_remove(t, CACHE_DIRS, CACHE_FILES);
}

/* Test 10 */

int lt_mixed(struct lantest *t, unsigned int n_files)
{
	const struct afp_enumerate what = { t->base, 0x0140, 0, 1024, 1, false };
	struct lt_name n;
	int r = 0;

	for (unsigned int i = 0; !r && i < n_files; i++) {
		n = lt_name_of("mixed_file_", i);
		r = lt_create(t, n.text);
		r = r ? r : lt_params(t, t->base, n.text, 0x0302, 0);
		if (!r && i % 10 == 9)
			r = lt_enumerate(t, 0, &what);
		r = r ? r : lt_params(t, t->base, n.text, 0x010c, 0);
		r = r ? r : lt_delete(t, t->base, n.text);
	}
	return r;
}

static int mixed_timed(struct lantest *t)
{
	return lt_mixed(t, MIXED_FILES);
}

/* Test 11: dir[0..19] is the chain. */

static struct lt_name deep_name(unsigned int level)
{
	struct lt_name n;

	snprintf(n.text, sizeof(n.text), "deep_%02u", level);
	return n;
}

static uint32_t deep_parent(const struct lantest *t, unsigned int level)
{
	return level ? t->dir[level - 1] : t->base;
}

int deep_make(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < LT_DEEP_LEVELS; i++)
		r = lt_mkdir(t, deep_parent(t, i), deep_name(i).text, &t->dir[i]);
	return r;
}

int deep_walk(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < LT_DEEP_LEVELS; i++)
		r = lt_probe(t, deep_parent(t, i), deep_name(i).text, AFP_ERR_OK);
	return r;
}

int deep_remove(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = LT_DEEP_LEVELS; !r && i > 0; i--)
		r = lt_delete(t, deep_parent(t, i - 1), deep_name(i - 1).text);
	return r;
}

static int deep_setup(struct lantest *t)
{
	int r = deep_make(t);

	for (unsigned int i = 0; !r && i < DEEP_FILES; i++)
		r = lt_create_in(t, t->dir[LT_DEEP_LEVELS - 1], lt_name_of("deep_file_", i).text);
	return r;
}

static int deep_timed(struct lantest *t)
{
	int r = 0;

	for (unsigned int k = 0; !r && k < DEEP_ROUNDS; k++) {
		r = deep_walk(t);
		for (unsigned int i = 0; !r && i < DEEP_FILES; i++)
			r = lt_params(t, t->dir[LT_DEEP_LEVELS - 1],
				      lt_name_of("deep_file_", i).text, 0x0300, 0);
	}
	return r;
}

static int deep_teardown(struct lantest *t)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < DEEP_FILES; i++)
		r = lt_delete(t, t->dir[LT_DEEP_LEVELS - 1], lt_name_of("deep_file_", i).text);
	return r ? r : deep_remove(t);
}

/* Test 12 */

int valid_make(struct lantest *t, unsigned int n_files)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < n_files; i++)
		r = lt_create(t, lt_name_of("valid_file_", i).text);
	return r;
}

static int valid_setup(struct lantest *t)
{
	return valid_make(t, VALID_FILES);
}

static int valid_timed(struct lantest *t)
{
	struct lt_name n;
	int r = 0;

	for (unsigned int k = 0; !r && k < VALID_ROUNDS * VALID_FILES; k++) {
		n = lt_name_of("valid_file_", k % VALID_FILES);
		r = lt_params(t, t->base, n.text, 0x0102, 0);
		r = r ? r : lt_params(t, t->base, n.text, 0x0204, 0);
		r = r ? r : lt_params(t, t->base, n.text, 0x0028, 0);
	}
	return r;
}

int valid_remove(struct lantest *t, unsigned int n_files)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < n_files; i++)
		r = lt_delete(t, t->base, lt_name_of("valid_file_", i).text);
	return r;
}

static int valid_teardown(struct lantest *t)
{
	return valid_remove(t, VALID_FILES);
}

/* clang-format off */
static const struct lantest_test tests_45[] = {
	{ "Open, stat and read 512 bytes from 1000 files [8,000 AFP ops]",
	  0, SMALL_FILES * SMALL_LEN, small_setup, small_timed, small_teardown, false },
	{ "Writing one large file [103 AFP ops]",
	  0, 0, bulk_write_setup, bulk_write, NULL, false },
	{ "Reading one large file [102 AFP ops]",
	  LANTEST_BIT(2), 0, bulk_read_setup, bulk_read, NULL, false },
	{ "Locking/Unlocking 10000 times each [20,000 AFP ops]",
	  0, LOCK_LEN, lock_setup, lock_timed, lock_teardown, false },
	{ "Creating dir with 2000 files [4,000 AFP ops]",
	  0, 0, NULL, many_create, NULL, false },
	{ "Enumerate dir with 2000 files [~51 AFP ops]",
	  LANTEST_BIT(5), 0, NULL, many_list_plain, many_list_check, true }, 
	{ "Deleting dir with 2000 files [2,000 AFP ops]",
	  LANTEST_BIT(5), 0, NULL, many_delete, NULL, true }, 
	{ "Create directory tree with 1000 dirs [1,110 AFP ops]",
	  0, 0, NULL, dirs_make, dirs_delete, false },
	{ "Directory cache hits (100 dirs + 1000 files) [11,000 AFP ops]",
	  0, 0, cache_setup, cache_timed, cache_teardown, false },
	{ "Mixed cache operations (create/stat/enum/delete) [820 AFP ops]",
	  0, 0, NULL, mixed_timed, NULL, false },
	{ "Deep path traversal (nested directory navigation) [3,500 AFP ops]",
	  0, 0, deep_setup, deep_timed, deep_teardown, false },
	{ "Cache validation efficiency (metadata changes) [30,000 AFP ops]",
	  0, 0, valid_setup, valid_timed, valid_teardown, false },
};
/* clang-format on */

const struct lantest_set lantest_4_5 = {
	.name = "lantest-4.5",
	.n_tests = sizeof(tests_45) / sizeof(tests_45[0]),
	.cache = LANTEST_BIT(9) | LANTEST_BIT(10) | LANTEST_BIT(11) | LANTEST_BIT(12),
	.write_test = 2,
	.read_test = 3,
	.test = tests_45,
};
