/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_PATTERN_H
#define WORK_PATTERN_H

/*
 * Data that tells where it belongs: 8 bytes at offset o (a multiple of 8), little-endian, are
 * (o / 8 + seed) times an odd number, so that no word is at two places of a file, and neighbours
 * share no bytes but by chance.
 */

#include <stddef.h>
#include <stdint.h>

void pattern_fill(uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

/* Index of the first byte that is not the pattern's; len: all are. */
size_t pattern_check(const uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

/* The same for zeros. */
size_t pattern_check_zero(const uint8_t *at, size_t len);

/* What belongs at an offset. */
uint8_t pattern_byte(uint64_t offset, uint64_t seed);

/* Makes 4 KiB blocks that are equal among themselves unequal: a number into each one's begin. */
void pattern_stamp(uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

#endif
