/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What files of a mix hold: judged by a search for repeated strings, by counts of equal blocks, and
 * by bytes that are changed one by one. */
#include "work/mix/mix_content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define FILES 64u
#define LEN   (256u << 10)

static uint8_t data[FILES][LEN];

static void fill_all(const struct mix_content *c, uint32_t version)
{
	for (uint64_t f = 0; f < FILES; f++)
		mix_content_fill(c, data[f], LEN, f, version, 0);
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(*(uint8_t *const *)a, *(uint8_t *const *)b, MIX_CONTENT_BLOCK);
}

/* Share of the blocks that are not the first of their content. */
static double repeated_blocks(void)
{
	static uint8_t *block[FILES * LEN / MIX_CONTENT_BLOCK];
	const size_t n = sizeof(block) / sizeof(block[0]);
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		block[i] = &data[0][0] + i * MIX_CONTENT_BLOCK;
	qsort(block, n, sizeof(block[0]), by_bytes);
	for (size_t i = 1; i < n; i++)
		same += !memcmp(block[i], block[i - 1], MIX_CONTENT_BLOCK);
	return (double)same / (double)n;
}

/*
 * Share of the bytes that a compressor can leave out: those in strings of 8 or more that were there
 * before, at whatever distance and place in the 16 MiB.
 */
static double repeated_strings(void)
{
	enum { SLOTS = 1 << 22 };
	static uint32_t seen[SLOTS];
	const uint8_t *at = &data[0][0];
	size_t n = sizeof(data), saved = 0;
	uint64_t word;

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i + 8 <= n;) {
		uint32_t *slot;
		size_t len = 0, before;

		memcpy(&word, at + i, 8);
		slot = &seen[(word * 0x9e3779b97f4a7c15u) >> 42];
		before = *slot;
		*slot = (uint32_t)i + 1;
		while (before && i + len < n && at[before - 1 + len] == at[i + len])
			len++;
		saved += len >= 8 ? len : 0;
		i += len >= 8 ? len : 1;
	}
	return (double)saved / (double)n;
}

static void nothing_can_be_left_out_unless_asked(void **state)
{
	const struct mix_content c = { .seed = 1 };
	uint64_t count[256] = { 0 };

	(void)state;
	fill_all(&c, 0);
	assert_true(repeated_blocks() == 0);
	assert_true(repeated_strings() < 0.001);
	for (size_t i = 0; i < sizeof(data); i++)
		count[(&data[0][0])[i]]++;
	for (int i = 0; i < 256; i++) /* of 65,536 each: 1 % is ten standard deviations, but for
					 the versions, which are zeros */
		if (i)
			assert_in_range(count[i], 64000, 67000);
}

static void as_much_can_be_left_out_as_was_asked(void **state)
{
	static const double share[] = { 0.1, 0.3, 0.5, 0.9 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct mix_content c = { .seed = 3, .compressible = share[i] };

		fill_all(&c, 7);
		assert_true(repeated_blocks() == 0);
		assert_true(repeated_strings() > share[i] - 0.03 &&
			    repeated_strings() < share[i] + 0.01);
		c = (struct mix_content) { .seed = 3, .duplicate = share[i] };
		fill_all(&c, 7);
		/* of 128 parts */
		assert_true(repeated_blocks() > share[i] - 0.2 &&
			    repeated_blocks() < share[i] + 0.2);
		/* of all blocks, the 32 that are there once */
		assert_true(repeated_blocks() > 0);
	}
}

/* Duplicates are the same for each user, whose seeds differ, and blocks of versions are not. */
static void versions_files_and_seeds_have_bytes_of_their_own(void **state)
{
	static uint8_t other[LEN];
	struct mix_content a = { .seed = 1 }, b = { .seed = 2 };

	(void)state;
	mix_content_fill(&a, data[0], LEN, 5, 1, 0);
	for (int what = 0; what < 3; what++) {
		mix_content_fill(what == 0 ? &b : &a, other, LEN, what == 1 ? 6 : 5,
				 what == 2 ? 2 : 1, 0);
		for (size_t at = 0; at < LEN; at += MIX_CONTENT_BLOCK)
			assert_memory_not_equal(other + at + 8, data[0] + at + 8, 64);
	}
	a.duplicate = b.duplicate = 1;
	mix_content_fill(&a, data[0], LEN, 5, 1, 0);
	mix_content_fill(&b, other, LEN, 9, 3, 0);
	assert_memory_equal(other, data[0], LEN);
}

static void pieces_of_any_length_are_those_of_the_whole(void **state)
{
	const struct mix_content c = { .seed = 1, .compressible = 0.3, .duplicate = 0.3 };
	static uint8_t piece[LEN];
	size_t at = 0, n;

	(void)state;
	srandom(1);
	for (uint32_t v = 0; v < 3; v++) {
		mix_content_fill(&c, data[0], LEN, 5, v, 0);
		for (at = 0; at < LEN; at += n) {
			n = 1 + (size_t)random() % 9000;
			n = n < LEN - at ? n : LEN - at;
			mix_content_fill(&c, piece, n, 5, v, at);
			assert_memory_equal(piece, data[0] + at, n);
			assert_int_equal(mix_content_check(&c, piece, n, 5, v, v, at), n);
		}
	}
}

static void each_byte_that_changes_is_found(void **state)
{
	const struct mix_content all[] = { { .seed = 1 },
					   { .seed = 1, .compressible = 0.5, .duplicate = 0.5 } };
	const size_t len = 3 * MIX_CONTENT_BLOCK + 100;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		for (uint64_t file = 0; file < 4; file++) {
			mix_content_fill(&all[k], data[0], len, file, 4, 0);
			for (size_t i = 0; i < len; i++) {
				data[0][i] ^= 1;
				/* a changed version is another content: found in its block */
				assert_in_range(
				    mix_content_check(&all[k], data[0], len, file, 0, 9, 0),
				    i / MIX_CONTENT_BLOCK * MIX_CONTENT_BLOCK,
				    i % MIX_CONTENT_BLOCK < 4 ? i + 8 : i);
				data[0][i] ^= 1;
			}
			assert_int_equal(mix_content_check(&all[k], data[0], len, file, 4, 4, 0),
					 len);
		}
	}
}

/* A write that the server has lost, or has put into another file or place. */
static void old_and_strange_blocks_are_found(void **state)
{
	const struct mix_content c = { .seed = 1 };
	const size_t len = 4 * MIX_CONTENT_BLOCK, at = 2 * MIX_CONTENT_BLOCK;

	(void)state;
	mix_content_fill(&c, data[0], len, 5, 8, 0);
	mix_content_fill(&c, data[0] + at, MIX_CONTENT_BLOCK, 5, 7, at);
	assert_int_equal(mix_content_check(&c, data[0], len, 5, 7, 8, 0), len);
	assert_int_equal(mix_content_check(&c, data[0], len, 5, 8, 8, 0), at);
	assert_int_equal(mix_content_check(&c, data[0], len, 5, 8, 9, 0), at);
	mix_content_fill(&c, data[0] + at, MIX_CONTENT_BLOCK, 6, 8, at);
	assert_in_range(mix_content_check(&c, data[0], len, 5, 8, 8, 0), at + 4, at + 12);
	mix_content_fill(&c, data[0] + at, MIX_CONTENT_BLOCK, 5, 8, 0);
	assert_in_range(mix_content_check(&c, data[0], len, 5, 8, 8, 0), at + 4, at + 12);
	memset(data[0] + at, 0, MIX_CONTENT_BLOCK);
	assert_int_equal(mix_content_check(&c, data[0], len, 5, 8, 8, 0), at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_can_be_left_out_unless_asked),
		cmocka_unit_test(as_much_can_be_left_out_as_was_asked),
		cmocka_unit_test(versions_files_and_seeds_have_bytes_of_their_own),
		cmocka_unit_test(pieces_of_any_length_are_those_of_the_whole),
		cmocka_unit_test(each_byte_that_changes_is_found),
		cmocka_unit_test(old_and_strange_blocks_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
