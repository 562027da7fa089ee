/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct pair {
	int key, value;
};

static void the_first_that_fits_is_found(void **state)
{
	const struct pair all[] = { { 1, 10 }, { 2, 20 }, { 2, 30 } };
	struct pair *grown = NULL;
	size_t n = 0, asked = 0;

	(void)state;
	assert_null(VEC_FIND(one, grown, n, one->key == 1));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(VEC_PUSH(grown, n, all[i]), 0);
	assert_ptr_equal(VEC_FIND(one, grown, n, one->key == 2), &grown[1]);
	assert_null(VEC_FIND(one, grown, n, one->value == 11));
	assert_null(VEC_FIND(one, grown, n - 1, one->value == 30));
	assert_ptr_equal(VEC_FIND(one, all, 3, one->value == 30), &all[2]);
	/* None after it is looked at. */
	VEC_FIND(one, all, 3, ++asked && one->key == 2);
	assert_int_equal(asked, 2);
	free(grown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_fits_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
