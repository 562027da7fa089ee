/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which volume a folder belongs to. */
#include "kinds/conf.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *path, *folder;
	bool below;
} folders[] = {
	{ "/srv/vol", "/srv/vol", true },    { "/srv/vol/src", "/srv/vol", true },
	{ "/srv/vol2", "/srv/vol", false },  { "/srv/vol2/src", "/srv/vol", false },
	{ "/srv/vol", "/srv/vol/", true },   { "/srv/vol/src", "/srv/vol//", true },
	{ "/srv/vo", "/srv/vol", false },    { "/srv", "/srv/vol", false },
	{ "/srv/vol2", "/srv/vol/", false },
};

static void a_name_that_begins_like_a_folder_is_not_in_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!text_below(folders[i].path, folders[i].folder) == folders[i].below)
			fail_msg("%s in %s", folders[i].path, folders[i].folder);
}

static const struct {
	const char *path, *volume;
} cases[] = {
	{ "/srv/vol", "/srv/vol" },
	{ "/srv/vol2/src", "/srv/vol2" },
	{ "/srv/vol/inner/src", "/srv/vol/inner/" },
	{ "/srv/vol/innermost", "/srv/vol" },
	{ "/srv/other", NULL },
	{ "/", NULL },
};

static void the_innermost_volume_is_found(void **state)
{
	struct afpconf_item item[] = {
		{ .key = "path", .value = "/srv/vol" },
		{ .key = "path", .value = "/srv/vol/inner/" },
		{ .key = "volume name", .value = "/srv/other" },
		{ .key = "path", .value = "/" },
		{ .key = "Path", .value = "/srv/vol2" },
	};
	const struct afpconf c = { .n = sizeof(item) / sizeof(item[0]), .item = item };
	const char *found;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		found = volumes_find(&c, cases[i].path);
		if (!cases[i].volume)
			assert_null(found);
		else
			assert_string_equal(found, cases[i].volume);
	}
}

static void each_folder_is_listed_once_and_none_that_depends_on_the_user(void **state)
{
	struct afpconf_item item[] = {
		{ .key = "path", .value = "/srv/a/" },  { .key = "path", .value = "/home/$u" },
		{ .key = "Path", .value = "/srv/b" },   { .key = "volume name", .value = "/x" },
		{ .key = "path", .value = "relative" }, { .key = "path", .value = "/srv/a" },
		{ .key = "path", .value = "/srv/ab" },
	};
	const struct afpconf c = { .n = sizeof(item) / sizeof(item[0]), .item = item };
	struct servers_session session[] = { { .volume = "/home/alice" },
					     { .volume = "" },
					     { .volume = "/srv/b" } };
	const struct servers_entry s = { .n_sessions = 3, .session = session };
	char path[8][CENSUS_PATH_MAX];

	(void)state;
	assert_int_equal(volumes_list(path, 8, &c, &s), 4);
	assert_string_equal(path[0], "/srv/a");
	assert_string_equal(path[1], "/srv/b");
	assert_string_equal(path[2], "/srv/ab");
	assert_string_equal(path[3], "/home/alice");
	assert_int_equal(volumes_list(path, 2, &c, &s), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_begins_like_a_folder_is_not_in_it),
		cmocka_unit_test(the_innermost_volume_is_found),
		cmocka_unit_test(each_folder_is_listed_once_and_none_that_depends_on_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
