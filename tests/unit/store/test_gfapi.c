/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places on GlusterFS volumes: what a URL says, what is said where there is no library or no
 * server, and the paths of directories. What the verbs do is in
 * tests/integration/smallfile/test_gfapi.py. Tests client/store/gfapi.c, gfapi_lib.c,
 * dirs.c.
 */
#include "store/gfapi_priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

/* It leaks where it finds no server. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libglusterfs.so\nleak:libgfapi.so\n";
}

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void a_url_names_host_port_volume_and_path(void **state)
{
	static const struct {
		const char *where, *host, *volume, *path;
		int port;
	} row[] = {
		{ "host/vol", "host", "vol", "", 24007 },
		{ "host/vol/", "host", "vol", "", 24007 },
		{ "host//vol//", "host", "vol", "", 24007 },
		{ "127.0.0.2:24008/vol/dir", "127.0.0.2", "vol", "/dir", 24008 },
		{ "h:1/v//a b/c%20//", "h", "v", "/a b/c%20", 1 },
		{ "[::1]/v/d", "::1", "v", "/d", 24007 },
		{ "[fe80::1]:65535/v", "fe80::1", "v", "", 65535 },
	};
	struct gfapi_url u;
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		assert_int_equal(gfapi_url_parse(&u, row[i].where, &e), 0);
		assert_string_equal(u.host, row[i].host);
		assert_string_equal(u.volume, row[i].volume);
		assert_string_equal(u.path, row[i].path);
		assert_int_equal(u.port, row[i].port);
	}
}

static void a_wrong_url_is_refused_with_its_form(void **state)
{
	static const struct {
		const char *where, *why;
	} row[] = {
		{ "", "there is no host" },
		{ "/vol", "there is no host" },
		{ ":24007/vol", "there is no host" },
		{ "[]/vol", "there is no host" },
		{ "[::1/vol", "a [ has no ]" },
		{ "host", "there is no volume" },
		{ "host/", "there is no volume" },
		{ "host:/vol", "the port is not in 1..65535" },
		{ "host:0/vol", "the port is not in 1..65535" },
		{ "host:65536/vol", "the port is not in 1..65535" },
		{ "host:24007x/vol", "the port is not in 1..65535" },
		{ "[::1]24007/vol", "the port is not in 1..65535" },
	};
	struct store *s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		char place[64];

		snprintf(place, sizeof(place), GFAPI_PREFIX "%s", row[i].where);
		assert_int_equal(store_open_local(&s, place, false, &e), -EINVAL);
		assert_non_null(strstr(e.text, place));
		assert_non_null(strstr(e.text, row[i].why));
		assert_non_null(strstr(e.text, "gluster://HOST[:PORT]/VOLUME[/PATH]"));
	}
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	struct gfapi_url u;
	struct err e;
	char *where = malloc(PATH_MAX + 16);

	(void)state;
	assert_non_null(where);
	for (unsigned int i = 0; i < 3; i++) {
		size_t at = (size_t)sprintf(where, "%s", i == 0 ? "" : i == 1 ? "h/" : "h/v/");

		memset(where + at, 'x', PATH_MAX);
		strcpy(where + at + PATH_MAX, i ? "" : "/v");
		assert_int_equal(gfapi_url_parse(&u, where, &e), -EINVAL);
		assert_non_null(strstr(e.text, "too long"));
	}
	free(where);
}

static void a_library_that_is_missing_or_too_old_is_named(void **state)
{
	struct gfapi_calls c;
	struct err e;

	(void)state;
	assert_int_equal(gfapi_load(&c, "libgfapi-of-nobody.so.0", &e), -ENOENT);
	assert_non_null(strstr(e.text, "libgfapi of GlusterFS 6 or newer"));
	assert_non_null(strstr(e.text, "package libgfapi0"));
	assert_non_null(strstr(e.text, "libgfapi-of-nobody.so.0"));
	/* one that is there, and has none of the functions */
	assert_int_equal(gfapi_load(&c, "libc.so.6", &e), -ENOENT);
	assert_non_null(strstr(e.text, "libc.so.6 is too old: it has no glfs_new"));
	assert_non_null(strstr(e.text, "package libgfapi0"));
}

/* Nobody listens on port 1. Where the library is not installed, that is what is said. */
static void a_server_that_does_not_answer_is_named(void **state)
{
	void *library = dlopen(GFAPI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct store *s;
	struct err e;
	int r;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		r = store_open_local(&s, "gluster://127.0.0.1:1/vol/d", false, &e);
		if (library && r == -ENOENT) { /* the library alone */
			assert_non_null(strstr(e.text, "package glusterfs-common"));
			continue;
		}
		assert_int_equal(r, library ? -ENOTCONN : -ENOENT);
		if (library) {
			assert_non_null(
			    strstr(e.text, "volume vol of GlusterFS server 127.0.0.1:1"));
			assert_non_null(strstr(e.text, "Does glusterd run there"));
		} else {
			assert_non_null(strstr(e.text, "package libgfapi0"));
		}
	}
}

/* ---- directories ---- */

static const char *path_of(const struct gfapi *g, uint64_t dir, const char *name)
{
	static char path[PATH_MAX];

	assert_int_equal(gfapi_path(g, dir, name, path), 0);
	return path;
}

static void paths_begin_in_the_stores_own_directory(void **state)
{
	struct gfapi g = { 0 };
	uint64_t a, b;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		strcpy(g.root, i ? "/some/where" : "");
		assert_string_equal(path_of(&g, 0, ""), i ? "/some/where" : "/");
		assert_string_equal(path_of(&g, 0, "f"), i ? "/some/where/f" : "/f");
		a = dirs_keep(&g.f.dirs, 0, "a", -1);
		b = dirs_keep(&g.f.dirs, a, "b", -1);
		assert_true(a && b && a != b);
		assert_int_equal(dirs_keep(&g.f.dirs, a, "b", -1), b);
		assert_string_equal(path_of(&g, b, ""), i ? "/some/where/a/b" : "/a/b");
		assert_string_equal(path_of(&g, b, "f"), i ? "/some/where/a/b/f" : "/a/b/f");
	}
	dirs_free(&g.f.dirs);
}

static void a_directory_that_moves_takes_along_what_is_in_it(void **state)
{
	struct gfapi g = { 0 };
	uint64_t a = dirs_keep(&g.f.dirs, 0, "a", -1), b = dirs_keep(&g.f.dirs, a, "b", -1),
		 c = dirs_keep(&g.f.dirs, 0, "c", -1);
	char path[PATH_MAX];

	(void)state;
	assert_true(dirs_move(&g.f.dirs, a, c, "new"));
	assert_string_equal(path_of(&g, b, "f"), "/c/new/b/f");
	assert_int_equal(dirs_find(&g.f.dirs, 0, "a"), 0);
	assert_int_equal(dirs_find(&g.f.dirs, c, "new"), a);
	dirs_forget(&g.f.dirs, a);
	assert_int_equal(gfapi_path(&g, a, "", path), ENOENT);
	assert_int_equal(gfapi_path(&g, b, "f", path), ENOENT);
	assert_int_equal(dirs_keep(&g.f.dirs, 0, "other", -1), a); /* its place is free */
	dirs_free(&g.f.dirs);
}

static void any_number_of_directories_is_kept(void **state)
{
	struct gfapi g = { 0 };
	char name[32];

	(void)state;
	for (unsigned int i = 1; i <= 1000; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		assert_int_equal(dirs_keep(&g.f.dirs, 0, name, -1), i);
	}
	assert_string_equal(path_of(&g, 1000, "f"), "/d1000/f");
	dirs_free(&g.f.dirs);
}

static void a_path_that_is_too_long_is_an_error(void **state)
{
	char name[256], path[PATH_MAX];
	struct gfapi g = { 0 };
	uint64_t dir = 0;
	int code;

	(void)state;
	memset(name, 'x', 255);
	name[255] = '\0';
	for (unsigned int depth = 0; depth < 15; depth++)
		dir = dirs_keep(&g.f.dirs, dir, name, -1);
	assert_int_equal(gfapi_path(&g, dir, "", path), 0);
	assert_int_equal(strlen(path), 15 * 256);
	/* 255 bytes are left, with the slash */
	for (size_t len = 253; len <= 255; len++) {
		name[len] = '\0';
		code = gfapi_path(&g, dir, name, path);
		assert_int_equal(code, len < 255 ? 0 : ENAMETOOLONG);
		name[len] = 'x';
	}
	dirs_free(&g.f.dirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_names_host_port_volume_and_path),
		cmocka_unit_test(a_wrong_url_is_refused_with_its_form),
		cmocka_unit_test(a_name_that_is_too_long_is_refused),
		cmocka_unit_test(a_library_that_is_missing_or_too_old_is_named),
		cmocka_unit_test(a_server_that_does_not_answer_is_named),
		cmocka_unit_test(paths_begin_in_the_stores_own_directory),
		cmocka_unit_test(a_directory_that_moves_takes_along_what_is_in_it),
		cmocka_unit_test(any_number_of_directories_is_kept),
		cmocka_unit_test(a_path_that_is_too_long_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
