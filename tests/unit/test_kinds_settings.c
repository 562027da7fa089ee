/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* With one line in a section. */
static struct run set_in(unsigned int version, const char *section, const char *key,
			 const char *value)
{
	struct afpconf_item item = { .section = (char *)section,
				     .key = (char *)key,
				     .value = (char *)value };
	const struct afpconf c = { .n = 1, .item = &item };
	struct run r = { 0 };

	settings_conf(&r, &c, version);
	return r;
}

static struct run set_by(const char *section, const char *key, const char *value)
{
	return set_in(0, section, key, value);
}

static void the_limit_of_sessions_is_that_of_the_global_section(void **state)
{
	(void)state;
	assert_int_equal(set_by("Global", "max connections", "17").limit.sessions, 17);
	assert_int_equal(set_by("global", "Max Connections", " 17").limit.sessions, 17);
	/* The default. */
	assert_int_equal(set_by("vol1", "max connections", "17").limit.sessions, 200);
	assert_int_equal(set_by("Global", "max connections", "none").limit.sessions, 200);
	assert_int_equal(set_by("Global", "max connections", "-3").limit.sessions, 200);
}

/* At least 1,024, and a power of two. */
static void the_directory_cache_is_as_large_as_netatalk_makes_it(void **state)
{
	(void)state;
	assert_int_equal(set_by("Global", "dircache size", "1024").limit.cached, 1024);
	assert_int_equal(set_by("Global", "dircache size", "1025").limit.cached, 2048);
	assert_int_equal(set_by("Global", "dircache size", "65536").limit.cached, 65536);
	/* The default, which depends on the version. */
	assert_int_equal(set_by("Global", "dircache size", "1023").limit.cached, 0);
	assert_int_equal(set_by("vol1", "dircache size", "4096").limit.cached, 0);
	assert_int_equal(set_in(405, "Global", "log level", "x").limit.cached, 65536);
	assert_int_equal(set_in(402, "Global", "log level", "x").limit.cached, 8192);
	assert_int_equal(set_in(301, "Global", "dircache size", "1023").limit.cached, 8192);
	assert_int_equal(set_in(405, "Global", "dircache size", "8192").limit.cached, 8192);
}

static void the_version_is_a_string_of_the_program(void **state)
{
	static const char text[] = "\177ELF\0\1\0"
				   "2.4.1\0"
				   "libc.so.6\0"
				   "4.5\0"
				   "10.4.5.1\0"
				   "4.5.1 (patched)\0"
				   "4.5.1\0"
				   "3.1.12\0";

	(void)state;
	assert_int_equal(settings_version(text, sizeof(text)), 405);
	assert_int_equal(settings_version("4.10.0dev", sizeof("4.10.0dev")), 410);
	assert_int_equal(settings_version("3.1.12", sizeof("3.1.12")), 301);
	assert_int_equal(settings_version("4.5.1", sizeof("4.5.1") - 1), 0); /* has no end */
	assert_int_equal(settings_version("4.5.1-2", sizeof("4.5.1-2")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_of_sessions_is_that_of_the_global_section),
		cmocka_unit_test(the_version_is_a_string_of_the_program),
		cmocka_unit_test(the_directory_cache_is_as_large_as_netatalk_makes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
