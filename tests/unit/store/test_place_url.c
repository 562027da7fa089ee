/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the URL of a place on a server says, and how a wrong one is refused. */
#include "store/place_url.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const struct place_url_form share = { "toy://", "toy://USER@HOST/SHARE", "share", true, 9 };
static const struct place_url_form whole = { "toy://", "toy://HOST/PATH", NULL, false, 9 };

static void a_url_names_user_host_port_share_and_path(void **state)
{
	static const struct {
		const char *where, *user, *host, *name, *path;
		int port;
	} row[] = {
		{ "host/s", "", "host", "s", "", 9 },
		{ "me@host/s/", "me", "host", "s", "", 9 },
		{ "me%40home@host//s//", "me@home", "host", "s", "", 9 },
		{ "me@home@127.0.0.2:24008/s/dir", "me@home", "127.0.0.2", "s", "/dir", 24008 },
		{ "h:1/a%20b//c d/%25e//", "", "h", "a b", "/c d/%e", 1 },
		{ "u@[::1]/s/d", "u", "::1", "s", "/d", 9 },
	};
	struct place_url u;
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		assert_int_equal(place_url_parse(&u, &share, row[i].where, &e), 0);
		assert_string_equal(u.user, row[i].user);
		assert_string_equal(u.host, row[i].host);
		assert_string_equal(u.name, row[i].name);
		assert_string_equal(u.path, row[i].path);
		assert_int_equal(u.port, row[i].port);
	}
	assert_int_equal(place_url_parse(&u, &whole, "h/export/dir/", &e), 0);
	assert_string_equal(u.path, "/export/dir");
}

static void a_wrong_url_is_refused_with_its_form(void **state)
{
	static const struct {
		const char *where, *why;
	} row[] = {
		{ "", "there is no host" },
		{ "me@/s", "there is no host" },
		{ "h", "there is no share" },
		{ "h//", "there is no share" },
		{ "h:0/s", "the port is not in 1..65535" },
		{ "me:secret@h/s", "AFPSCOPE_PASSWORD" },
		{ "h/s/%0", "two hex digits" },
		{ "h/%zz", "two hex digits" },
		{ "h/%00", "a name cannot contain a NUL" },
	};
	char deep[PATH_MAX + 10] = "h/s/";
	struct place_url u;
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		assert_int_equal(place_url_parse(&u, &share, row[i].where, &e), -EINVAL);
		assert_non_null(strstr(e.text, row[i].why));
		assert_non_null(strstr(e.text, "toy://USER@HOST/SHARE"));
		assert_null(strstr(e.text, "secret"));
	}
	assert_int_equal(place_url_parse(&u, &whole, "me@h/e", &e), -EINVAL);
	assert_non_null(strstr(e.text, "it has no users"));
	memset(deep + 4, 'x', sizeof(deep) - 5);
	assert_int_equal(place_url_parse(&u, &share, deep, &e), -EINVAL);
	assert_non_null(strstr(e.text, "a part is too long"));
}

static void a_host_becomes_an_address(void **state)
{
	static const char *const row[][2] = { { "127.0.0.1", "127.0.0.1" },
					      { "::1", "[::1]" },
					      { "127.0.0.2", "127.0.0.2" } };
	struct place_url u = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < N(row); i++) {
		snprintf(u.host, sizeof(u.host), "%s", row[i][0]);
		assert_int_equal(place_url_resolve(&u, &e), 0);
		assert_string_equal(u.address, row[i][1]);
	}
	snprintf(u.host, sizeof(u.host), "no host");
	assert_int_equal(place_url_resolve(&u, &e), -EHOSTUNREACH);
	assert_non_null(strstr(e.text, "cannot find host no host"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_names_user_host_port_share_and_path),
		cmocka_unit_test(a_wrong_url_is_refused_with_its_form),
		cmocka_unit_test(a_host_becomes_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
