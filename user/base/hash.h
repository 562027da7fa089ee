/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_HASH_H
#define BASE_HASH_H

/* Numbers that seem unrelated to each other, from ones that are. Not for secrets. */

#include <stdint.h>

/* splitmix64's finalizer: neighbouring numbers give unrelated bits, and no two the same. */
static inline uint64_t hash_number(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* FNV-1a of texts one after the other: the first goes on from HASH_TEXT. */
#define HASH_TEXT 0xcbf29ce484222325u
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

#endif
