/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What result codes of AFP are to a store; the codes are those of Apple's AFP Reference. */
#include "store/store.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void codes_are_what_callers_tell_apart(void **state)
{
	static const struct {
		int32_t code;
		enum store_result result;
	} known[] = {
		{ 0, STORE_OK },          { -5018, STORE_NONE },      { -5012, STORE_NONE },
		{ -5017, STORE_EXISTS },  { -5000, STORE_DENIED },    { -5006, STORE_DENIED },
		{ -5013, STORE_LOCKED },  { -5032, STORE_DENIED },    { -5008, STORE_FULL },
		{ -5047, STORE_QUOTA },   { -5007, STORE_NOT_EMPTY }, { -5019, STORE_INVALID },
		{ -5024, STORE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(store_afp_result(known[i].code), known[i].result);
}

static void any_other_code_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(store_afp_result(-5014), STORE_FAILED);
	assert_int_equal(store_afp_result(1), STORE_FAILED);
	assert_int_equal(store_afp_result(INT32_MIN), STORE_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_what_callers_tell_apart),
		cmocka_unit_test(any_other_code_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
