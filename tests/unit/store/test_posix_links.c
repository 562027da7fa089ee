/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests client/store/remove.c, posix.c, file_store.c: what is removed is never outside, whatever
 * somebody puts in the place of a directory meanwhile, and before whichever call. The same source
 * without O_NOFOLLOW removes what is outside: this test would see it.
 */
#include "store/file_store.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

/* The mutant. */
int mutant_open_posix(struct store **out, const char *path, bool direct, struct err *e);
extern const char *const mutant_posix_what[N_STORE_VERBS];
#define store_open_posix mutant_open_posix
#define store_posix_kind mutant_posix_kind
#define store_posix_what mutant_posix_what
#define store_posix_type mutant_posix_type
#undef O_NOFOLLOW
#define O_NOFOLLOW 0
#include "store/posix.c"
#undef store_open_posix
#undef store_posix_kind
#undef store_posix_what

int store_open_posix(struct store **out, const char *path, bool direct, struct err *e);

typedef int open_place(struct store **out, const char *path, bool direct, struct err *e);

#define STEPS_MAX 200 /* more than the calls of one removal */

/* In the folder: base/d/deep/f, base/d/f, base/link -> outside; outside has the same names. */
static struct {
	char folder[64];
	const struct file_store_calls *real;
	/* before these calls "d" and "link" change places */
	unsigned int step, first, second, third;
} race;

static void adversary(void)
{
	char d[128], link[128];

	if (race.step == race.first || race.step == race.second || race.step == race.third) {
		snprintf(d, sizeof(d), "%s/base/d", race.folder);
		snprintf(link, sizeof(link), "%s/base/link", race.folder);
		renameat2(AT_FDCWD, d, AT_FDCWD, link, RENAME_EXCHANGE); /* if both are there */
	}
	race.step++;
}

static int raced_open_dir(struct file_store *f, uint64_t dir, const char *name, bool is_new,
			  int *fd)
{
	adversary();
	return race.real->open_dir(f, dir, name, is_new, fd);
}

static int raced_remove(struct file_store *f, uint64_t dir, const char *name, bool is_dir)
{
	adversary();
	return race.real->remove(f, dir, name, is_dir);
}

static void *raced_open_list(struct file_store *f, uint64_t dir)
{
	adversary();
	return race.real->open_list(f, dir);
}

static int raced_next(struct file_store *f, void *list, uint64_t dir, bool with_attrs,
		      struct file_store_entry *out)
{
	adversary();
	return race.real->next(f, list, dir, with_attrs, out);
}

static void make(const char *name, bool is_dir)
{
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s/%s", race.folder, name);
	r = is_dir ? mkdir(path, 0755) : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(r >= 0);
	if (!is_dir)
		close(r);
}

static void make_all(void)
{
	static const char *const dirs[] = { "base",    "base/d",       "base/d/deep",
					    "outside", "outside/deep", "outside/more" };
	static const char *const files[] = { "base/d/f",       "base/d/deep/f",  "outside/f",
					     "outside/deep/f", "outside/more/f", "outside/g" };
	char link[128];

	snprintf(race.folder, sizeof(race.folder), "build/links-XXXXXX");
	assert_non_null(mkdtemp(race.folder));
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make(dirs[i], true);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make(files[i], false);
	snprintf(link, sizeof(link), "%s/base/link", race.folder);
	assert_int_equal(symlink("../outside", link), 0);
}

static unsigned int n_outside;

static int count_or_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	n_outside += strstr(path, "/outside/") != NULL;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

/* How many of the six entries outside are still there. */
static unsigned int outside_after(open_place *open, unsigned int first, unsigned int second,
				  unsigned int third)
{
	struct file_store_calls raced;
	struct store_op last;
	struct file_store *f;
	struct store *s;
	struct err e;

	make_all();
	assert_int_equal(open(&s, race.folder, false, &e), 0);
	f = (struct file_store *)s;
	race.real = f->calls;
	race.step = 0;
	race.first = first;
	race.second = second;
	race.third = third;
	raced = *f->calls;
	raced.open_dir = raced_open_dir;
	raced.remove = raced_remove;
	raced.open_list = raced_open_list;
	raced.next = raced_next;
	f->calls = &raced;
	store_remove_tree(s, s->root[0], "base", &last,
			  &e); /* it may fail: what it has to remove has gone */
	store_close(s);
	n_outside = 0;
	assert_int_equal(nftw(race.folder, count_or_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	return n_outside;
}

/* In how many races something outside was removed. */
static unsigned int touched(open_place *open)
{
	unsigned int n = 0, calls;

	outside_after(open, STEPS_MAX, STEPS_MAX, STEPS_MAX);
	calls = race.step;
	assert_in_range(calls, 10, STEPS_MAX - 1);
	for (unsigned int first = 0; first < calls; first++)
		for (unsigned int second = first + 1; second <= calls; second++)
			for (unsigned int back = 0; back < 2; back++)
				n += outside_after(open, first, second,
						   back ? second + 1 : STEPS_MAX) != 6;
	return n;
}

static void nothing_outside_is_removed_whenever_a_link_comes(void **state)
{
	(void)state;
	assert_int_equal(touched(store_open_posix), 0);
}

static void without_o_nofollow_this_test_would_see_it(void **state)
{
	(void)state;
	assert_int_not_equal(touched(mutant_open_posix), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_outside_is_removed_whenever_a_link_comes),
		cmocka_unit_test(without_o_nofollow_this_test_would_see_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
