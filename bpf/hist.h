/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_HIST_H
#define AFS_HIST_H

/*
 * base/hist.h's hist_index() for a histogram of n buckets, for BPF programs (BPF has no instruction
 * that counts leading zeros). Larger values are in the last bucket.
 */

#include "bpf/events.h"

/* A De Bruijn sequence: multiplied by each power of two its highest six bits differ. */
#define AFS_HIST_DE_BRUIJN 0x034245bd7639533full

/* The exponent of the power of two, by these bits. */
static const __u8 afs_hist_octave[64] = {
	0,  1,  10, 2,  11, 18, 3,  39, 15, 12, 45, 19, 52, 4,  40, 56, 8,  16, 13, 50, 48, 46,
	20, 30, 36, 53, 5,  22, 41, 32, 25, 57, 63, 9,  17, 38, 14, 44, 51, 55, 7,  49, 47, 29,
	35, 21, 31, 24, 62, 37, 43, 54, 6,  28, 34, 23, 61, 42, 27, 33, 60, 26, 59, 58,
};

static inline __u32 afs_hist_index(__u64 v, __u32 bits, __u32 n)
{
	__u32 octave, i;
	__u64 x = v;

	if (v < 1u << bits)
		return (__u32)v;
	/* Keeps the highest bit only, without branches, which could not be predicted. */
	for (int shift = 1; shift <= 32; shift *= 2)
		x |= x >> shift;
	x -= x >> 1;
	octave = afs_hist_octave[(x * AFS_HIST_DE_BRUIJN) >> 58];
	i = ((octave - bits + 1) << bits) + (__u32)(v >> (octave - bits)) - (1u << bits);
	return i < n ? i : n - 1;
}

#endif
