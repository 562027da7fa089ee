/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kinds/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* With one line in a section. */
static struct run set_by(const char *section, const char *key, const char *value)
{
	struct afpconf_item item = { .section = (char *)section,
				     .key = (char *)key,
				     .value = (char *)value };
	const struct afpconf c = { .n = 1, .item = &item };
	struct run r = { 0 };

	settings_conf(&r, &c);
	return r;
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_of_sessions_is_that_of_the_global_section),
		cmocka_unit_test(the_directory_cache_is_as_large_as_netatalk_makes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
