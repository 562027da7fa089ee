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

/* Bytes before the first whole word. */
static size_t head_of(size_t len, uint64_t offset)
{
	size_t head = (8 - offset % 8) % 8;

	return head < len ? head : len;
}

void pattern_fill(uint8_t *at, size_t len, uint64_t offset, uint64_t seed)
{
	size_t i = 0, head = head_of(len, offset);
	uint64_t word;

	for (; i < head; i++)
		at[i] = pattern_byte(offset + i, seed);
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
	uint64_t found, word;

	for (; i < head; i++)
		if (at[i] != pattern_byte(offset + i, seed))
			return i;
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
