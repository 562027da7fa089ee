/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists in messages: items whole, and the rest counted. */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void all_items_that_fit_are_there(void **state)
{
	struct err_list l = { .room = 60 };

	(void)state;
	err_list_add(&l, "pid %d", 100);
	err_list_add(&l, "pid %d", 200);
	assert_string_equal(err_list_end(&l), "pid 100, pid 200");
}

static void no_item_is_cut(void **state)
{
	for (size_t room = 45; room < 200; room++) {
		struct err_list l = { .room = room };
		char whole[ERR_TEXT_MAX] = "", more[40];
		int shown = 0;

		(void)state;
		for (int i = 0; i < 12; i++)
			err_list_add(&l, "pid 30390 (port %d)", 20000 + i);
		err_list_end(&l);
		for (; shown < 12; shown++) {
			snprintf(more, sizeof(more), "(port %d)", 20000 + shown);
			if (!strstr(l.text, more))
				break;
			err_append(whole, "%spid 30390 %s", shown ? ", " : "", more);
		}
		if (shown < 12)
			err_append(whole, ", and %d more", 12 - shown);
		assert_int_not_equal(shown, 0);
		assert_string_equal(l.text, whole);
		assert_true(strlen(l.text) < room);
	}
}

static void behind_one_that_does_not_fit_none_is_shown(void **state)
{
	struct err_list l = { .room = 50 };

	(void)state;
	err_list_add(&l, "first");
	err_list_add(&l, "%s", "a second one, which is too long for what is left");
	err_list_add(&l, "third");
	assert_string_equal(err_list_end(&l), "first, and 2 more");
}

static void a_first_one_alone_may_be_cut(void **state)
{
	struct err_list l = { .room = 40 };

	(void)state;
	err_list_add(&l, "%s", "/sys/fs/cgroup/a/path/that/is/longer/than/all/of/the/room");
	err_list_add(&l, "second");
	assert_non_null(strstr(err_list_end(&l), "/sys/fs/cgroup/a"));
	assert_non_null(strstr(l.text, ", and 1 more"));
	assert_true(strlen(l.text) < 41);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_items_that_fit_are_there),
		cmocka_unit_test(no_item_is_cut),
		cmocka_unit_test(behind_one_that_does_not_fit_none_is_shown),
		cmocka_unit_test(a_first_one_alone_may_be_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
