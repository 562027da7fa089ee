/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills and checks the pattern. */
#include "work/pattern.h"

#include <endian.h>
#include <string.h>

#define ODD   0x9e3779b97f4a7c15ull
#define BLOCK 4096

static uint64_t word_at(uint64_t offset, uint64_t seed)
{
	return htole64((offset / 8 + seed) * ODD);
}

uint8_t pattern_byte(uint64_t offset, uint64_t seed)
{
	uint64_t word = word_at(offset, seed);

	return ((const uint8_t *)&word)[offset % 8];
}

/* Words that are computed at once, two in each register. */
typedef uint64_t pair __attribute__((vector_size(16)));
#define LANES 8
struct words {
	pair a, b, c, d;
};

/* Those at offset, a multiple of 8. */
static inline struct words words_at(uint64_t offset, uint64_t seed)
{
	const uint64_t first = offset / 8 + seed;
	const pair two = { 2 * ODD, 2 * ODD }, a = { first * ODD, (first + 1) * ODD };

	return (struct words) { a, a + two, a + two + two, a + two + two + two };
}

static inline void words_next(struct words *x)
{
	const pair step = { LANES * ODD, LANES * ODD };

	x->a += step;
	x->b += step;
	x->c += step;
	x->d += step;
}

static inline void pair_put(uint8_t *out, pair x)
{
	const pair little = { htole64(x[0]), htole64(x[1]) };

	memcpy(out, &little, sizeof(little));
}

/* As they are in memory. */
static inline void words_put(uint8_t out[static sizeof(struct words)], const struct words *x)
{
	pair_put(out, x->a);
	pair_put(out + 16, x->b);
	pair_put(out + 32, x->c);
	pair_put(out + 48, x->d);
}

/* Bytes before the first whole word. */
static size_t head_of(size_t len, uint64_t offset)
{
	size_t head = (8 - offset % 8) % 8;

	return head < len ? head : len;
}

void pattern_fill(uint8_t *at, size_t len, uint64_t offset, uint64_t seed)
{
	size_t i = 0, head = head_of(len, offset);
	struct words many;
	uint64_t word;

	for (; i < head; i++)
		at[i] = pattern_byte(offset + i, seed);
	many = words_at(offset + i, seed);
	for (; i + sizeof(many) <= len; i += sizeof(many), words_next(&many))
		words_put(at + i, &many);
	for (; i + 8 <= len; i += 8) {
		word = word_at(offset + i, seed);
		memcpy(at + i, &word, 8);
	}
	for (; i < len; i++)
		at[i] = pattern_byte(offset + i, seed);
}

size_t pattern_check(const uint8_t *at, size_t len, uint64_t offset, uint64_t seed)
{
	size_t i = 0, head = head_of(len, offset);
	uint8_t expected[sizeof(struct words)];
	struct words many;
	uint64_t found, word;

	for (; i < head; i++)
		if (at[i] != pattern_byte(offset + i, seed))
			return i;
	many = words_at(offset + i, seed);
	for (; i + sizeof(many) <= len; i += sizeof(many), words_next(&many)) {
		words_put(expected, &many);
		if (memcmp(at + i, expected, sizeof(expected)))
			break;
	}
	for (; i + 8 <= len; i += 8) {
		memcpy(&found, at + i, 8);
		word = word_at(offset + i, seed);
		if (found != word)
			break;
	}
	for (; i < len; i++)
		if (at[i] != pattern_byte(offset + i, seed))
			return i;
	return len;
}

size_t pattern_check_zero(const uint8_t *at, size_t len)
{
	size_t i = 0;

	/* All bytes are equal to the first. */
	if (len && !*at && !memcmp(at, at + 1, len - 1))
		return len;
	while (i < len && !at[i])
		i++;
	return i;
}

void pattern_stamp(uint8_t *at, size_t len, uint64_t offset, uint64_t seed)
{
	uint64_t word;

	for (size_t i = 0; i + 8 <= len; i += BLOCK) {
		word = word_at(offset + i, seed);
		memcpy(at + i, &word, 8);
	}
}
