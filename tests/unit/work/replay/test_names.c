/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of the recorded lengths and kinds, different within a directory.
 * Tests client/work/replay/replay_names.c.
 */
#include "base/text.h"
#include "work/replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

static size_t make(char out[REPLAY_NAME_MAX + 1], uint64_t key, uint16_t len, uint8_t kind,
		   uint8_t ext_len)
{
	const struct replay_slot s = { .key = key, .len = len, .kind = kind, .ext_len = ext_len };

	return replay_name(out, &s);
}

static void a_name_has_its_length_its_kind_and_its_extension(void **state)
{
	char name[REPLAY_NAME_MAX + 1];

	(void)state;
	for (uint64_t key = 1; key < 50; key++) {
		for (uint16_t len = 8; len <= 255; len += 13) {
			for (uint8_t kind = REPLAY_NAME_ASCII; kind <= REPLAY_NAME_LEGACY; kind++) {
				assert_int_equal(make(name, key, len, kind, 3), len);
				assert_int_equal(strlen(name), len);
				assert_int_equal(name[len - 4], '.');
				for (const char *c = name; *c; c += text_char(c))
					assert_true(text_char(c));
			}
		}
	}
}

static void the_kind_is_seen_in_the_bytes(void **state)
{
	static const struct {
		uint8_t kind;
		const char *begins;
	} cases[] = {
		{ REPLAY_NAME_COMPOSED, "\xc3" },
		{ REPLAY_NAME_WIDE, "\xe4\xb8" },
		{ REPLAY_NAME_EMOJI, "\xf0\x9f\x98" },
	};
	char name[REPLAY_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(name, 7, 20, cases[i].kind, 0);
		assert_memory_equal(name, cases[i].begins, strlen(cases[i].begins));
	}
	make(name, 7, 20, REPLAY_NAME_DECOMPOSED, 0);
	assert_memory_equal(name + 1, "\xcc\x81", 2);
}

static void a_name_is_the_same_each_time(void **state)
{
	char a[REPLAY_NAME_MAX + 1], b[REPLAY_NAME_MAX + 1];

	(void)state;
	make(a, 12345, 31, REPLAY_NAME_ASCII, 4);
	make(b, 12345, 31, REPLAY_NAME_ASCII, 4);
	assert_string_equal(a, b);
	make(b, 12346, 31, REPLAY_NAME_ASCII, 4);
	assert_string_not_equal(a, b);
}

/* More names of one letter than there are letters: they become longer. */
static void names_of_a_directory_differ(void **state)
{
	enum { N = 3000 };
	struct replay_plan p = { .n_slots = N };
	char(*name)[REPLAY_NAME_MAX + 1] = calloc(N, sizeof(*name));

	(void)state;
	p.slot = calloc(N, sizeof(*p.slot));
	for (uint32_t i = 0; i < N; i++)
		p.slot[i] = (struct replay_slot) { .key = i * 977,
						   .parent = i % 2,
						   .len = (uint16_t)(1 + i % 3),
						   .kind = (uint8_t)(1 + i % 6) };
	assert_int_equal(replay_names_choose(&p), 0);
	for (uint32_t i = 0; i < N; i++)
		replay_name(name[i], &p.slot[i]);
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = i + 2; k < N; k += 2)
			assert_int_not_equal(strcasecmp(name[i], name[k]), 0);
	free(p.slot);
	free(name);
}

static void words_that_systems_reserve_are_not_made(void **state)
{
	char name[REPLAY_NAME_MAX + 1];

	(void)state;
	for (uint64_t key = 0; key < 20000; key++) {
		make(name, key, (uint16_t)(1 + key % 4), REPLAY_NAME_ASCII, 0);
		assert_null(strpbrk(name, "aeiouAEIOU/:.\\ "));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_its_length_its_kind_and_its_extension),
		cmocka_unit_test(the_kind_is_seen_in_the_bytes),
		cmocka_unit_test(a_name_is_the_same_each_time),
		cmocka_unit_test(names_of_a_directory_differ),
		cmocka_unit_test(words_that_systems_reserve_are_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
