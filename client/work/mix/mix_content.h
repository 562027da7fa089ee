/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_MIX_MIX_CONTENT_H
#define WORK_MIX_MIX_CONTENT_H

/*
 * What the files of a mix hold: bytes that no server can compress and blocks that are there once
 * only, but for the shares asked for. The bytes of a file follow from the seed, its number, and a
 * version, which each write makes a new one: so they can be checked without being kept. A block of
 * 4 KiB begins with its version.
 *
 * Compressible: that share of each 512 bytes, their end, is zeros. Duplicate: that share of the
 * parts of 128 KiB (of a smaller file all of it) is the same in all files; it has no version.
 */

#include <stddef.h>
#include <stdint.h>

#define MIX_CONTENT_BLOCK 4096u

struct mix_content {
	uint64_t seed;
	double compressible, duplicate; /* shares, 0 to 1 */
};

/* Bytes that a file, by its number, has at offset in this version. */
void mix_content_fill(const struct mix_content *c, uint8_t *at, size_t len, uint64_t file,
		      uint32_t version, uint64_t offset);

/*
 * Index of the first byte that is none of these, in each block of one version from ... to; len: all
 * are. Of a last block too short for a version (4 bytes) only to's.
 */
size_t mix_content_check(const struct mix_content *c, const uint8_t *at, size_t len, uint64_t file,
			 uint32_t from, uint32_t to, uint64_t offset);

#endif
