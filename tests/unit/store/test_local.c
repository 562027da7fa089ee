/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places without a server: which words mean one, and what is made and removed there. That a kind of
 * store is chosen by its prefix is in tests/python/test_toys.py, which adds one.
 */
#include "unit/posix_rig.h"

#include <sys/stat.h>

static void words_that_begin_like_a_path_are_places(void **state)
{
	static const struct {
		const char *word;
		bool is_local;
	} row[] = {
		{ "/srv/volume", true }, { "./here", true },
		{ ".", true },           { "..", true },
		{ "afp://h/v", false },  { "host", false },
		{ "toy:here", false },   { ":", false },
		{ "", false },           { "gluster://h/v", true },
		{ "nfs://h/e", true },   { "smb://h/s", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(store_is_local(row[i].word), row[i].is_local);
}

static void a_directory_is_made_once(void **state)
{
	struct rig *g = *state;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/place", g->path);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(store_make_local(path, &g->e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777 & ~0750, 0);
	assert_int_equal(store_open_local(&g->s, path, false, &g->e), 0);
	assert_string_equal(g->s->type->name, "POSIX");
	assert_int_equal(g->s->state, STORE_IS_OPEN);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/no/place", g->path);
	assert_int_equal(store_make_local(path, &g->e), -ENOENT);
	assert_non_null(strstr(g->e.text, path));
	assert_non_null(strstr(g->e.text, "No such file"));
}

static void a_removed_directory_goes_with_all_that_is_in_it(void **state)
{
	struct rig *g = *state;
	struct store_op op;
	char path[128];

	open_it(g, false);
	op = call(g,
		  (struct store_op) { .verb = STORE_MKDIR, .dir = g->s->root[0], .name = "base" });
	assert_int_equal(named(g, STORE_CREATE, op.made, "of a client that was lost"), STORE_OK);
	assert_int_equal(named(g, STORE_MKDIR, op.made, "home"), STORE_OK);
	snprintf(path, sizeof(path), "%s/keep", g->path);
	assert_int_equal(symlink("..", path), 0);
	snprintf(path, sizeof(path), "%s/base/home/out", g->path);
	assert_int_equal(symlink("../../keep", path), 0); /* is not followed */
	assert_int_equal(store_remove_local(g->s, g->path, "base", &g->e), 0);
	assert_int_equal(named(g, STORE_PROBE, g->s->root[0], "base"), STORE_NONE);
	assert_int_equal(named(g, STORE_DELETE, g->s->root[0], "keep"), STORE_OK);
	assert_int_equal(store_remove_local(g->s, g->path, "base", &g->e), 0); /* already */
}

static void what_is_in_a_place_is_named_before_what_a_url_asks_for(void **state)
{
	char out[64];

	(void)state;
	assert_string_equal(store_place_below(out, sizeof(out), "/srv/a?b", "x"), "/srv/a?b/x");
	assert_string_equal(store_place_below(out, sizeof(out), "nfs://h/srv?mountport=2", "x"),
			    "nfs://h/srv/x?mountport=2");
	assert_string_equal(store_place_below(out, sizeof(out), "smb://h/srv", "x"),
			    "smb://h/srv/x");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_begin_like_a_path_are_places),
		cmocka_unit_test(what_is_in_a_place_is_named_before_what_a_url_asks_for),
		TEST(a_directory_is_made_once),
		TEST(a_removed_directory_goes_with_all_that_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
