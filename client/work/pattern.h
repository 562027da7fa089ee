/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_PATTERN_H
#define WORK_PATTERN_H

/*
 * Data that depends on its offset: the 8 bytes at offset o (a multiple of 8), little-endian, are
 * (o / 8 + seed) times an odd number, so that no word occurs twice in a file, and neighbours have
 * equal bytes only by chance.
 */

#include <stddef.h>
#include <stdint.h>

void pattern_fill(uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

/* Index of the first byte that is not the pattern's; len: all are. */
size_t pattern_check(const uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

/* The same for zeros. */
size_t pattern_check_zero(const uint8_t *at, size_t len);

/* The pattern's byte at an offset. */
uint8_t pattern_byte(uint64_t offset, uint64_t seed);

/* Makes equal 4 KiB blocks differ: writes a number at the begin of each. */
void pattern_stamp(uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

#endif
