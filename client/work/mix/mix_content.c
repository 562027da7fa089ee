/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work/mix/mix_content.h"

#include "base/hash.h"
#include "load/pace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK   MIX_CONTENT_BLOCK
#define UNIT    512u /* of what is compressible */
#define PART    (128u << 10)
#define LANES   8
#define NO_FILE UINT64_MAX /* whose the duplicate parts are */
#define VERSION sizeof(uint32_t)

_Static_assert(BLOCK % (LANES * sizeof(uint64_t)) == 0, "a block is whole rows of words");

/* A number that seems unrelated to that of each other block, version, file and seed. */
static uint64_t content_key(uint64_t seed, uint64_t file, uint64_t block, uint32_t version)
{
	uint64_t key = hash_number(hash_number(seed) + file);

	return hash_number(hash_number(key + block) + version);
}

/* xorshift64 (Marsaglia 2003), several side by side, for the processor's wide registers. */
static void fill_random(uint8_t *out, uint64_t key)
{
	uint64_t state[LANES];

	for (uint64_t i = 0; i < LANES; i++)
		state[i] = hash_number(key + i) | 1;
	for (size_t at = 0; at < BLOCK; at += sizeof(state)) {
		for (int i = 0; i < LANES; i++) {
			state[i] ^= state[i] << 13;
			state[i] ^= state[i] >> 7;
			state[i] ^= state[i] << 17;
		}
		memcpy(out + at, state, sizeof(state));
	}
}

static bool is_duplicate(const struct mix_content *c, uint64_t file, uint64_t block)
{
	unsigned short random[3];

	if (!(c->duplicate > 0))
		return false;
	pace_seed(random, content_key(c->seed, file, block / (PART / BLOCK), UINT32_MAX), 0);
	return erand48(random) < c->duplicate;
}

/* One whole block. */
static void fill_block(const struct mix_content *c, uint8_t out[static BLOCK], uint64_t file,
		       uint32_t version, uint64_t block)
{
	size_t zeros = (size_t)(c->compressible * UNIT);
	bool duplicate = is_duplicate(c, file, block);

	if (duplicate)
		fill_random(out, content_key(0, NO_FILE, block % (PART / BLOCK), 0));
	else
		fill_random(out, content_key(c->seed, file, block, version));
	for (size_t at = 0; zeros && at < BLOCK; at += UNIT)
		memset(out + at + UNIT - zeros, 0, zeros);
	if (!duplicate)
		memcpy(out, &version, VERSION);
}

void mix_content_fill(const struct mix_content *c, uint8_t *at, size_t len, uint64_t file,
		      uint32_t version, uint64_t offset)
{
	uint8_t whole[BLOCK];

	while (len) {
		size_t skip = offset % BLOCK, n = BLOCK - skip < len ? BLOCK - skip : len;

		if (n == BLOCK) {
			fill_block(c, at, file, version, offset / BLOCK);
		} else {
			fill_block(c, whole, file, version, offset / BLOCK);
			memcpy(at, whole + skip, n);
		}
		at += n;
		offset += n;
		len -= n;
	}
}

size_t mix_content_check(const struct mix_content *c, const uint8_t *at, size_t len, uint64_t file,
			 uint32_t from, uint32_t to, uint64_t offset)
{
	uint8_t whole[BLOCK];
	uint32_t version;
	size_t i = 0, k;

	while (i < len) {
		size_t skip = offset % BLOCK, n = BLOCK - skip < len - i ? BLOCK - skip : len - i;

		version = to;
		if (!skip && n >= VERSION)
			memcpy(&version, at + i, VERSION);
		if (version < from || version > to)
			version = to; /* which it is not, unless the part is a duplicate */
		fill_block(c, whole, file, version, offset / BLOCK);
		if (memcmp(at + i, whole + skip, n)) {
			for (k = 0; at[i + k] == whole[skip + k]; k++)
				;
			return i + k;
		}
		i += n;
		offset += n;
	}
	return len;
}
