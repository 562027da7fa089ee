/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_HIST_H
#define AFS_HIST_H

/*
 * base/hist.h's hist_index() for a cell's histogram, written so that a BPF program may use it
 * (it has no instruction that counts leading zeros). Everything past the last bucket is in it.
 */

#include "bpf/events.h"

static inline __u32 afs_hist_index(__u64 v)
{
	__u32 octave = 0, i;
	__u64 x = v;

	if (v < 1u << AFS_HIST_BITS)
		return (__u32)v;
	if (x >> 32) {
		octave += 32;
		x >>= 32;
	}
	if (x >> 16) {
		octave += 16;
		x >>= 16;
	}
	if (x >> 8) {
		octave += 8;
		x >>= 8;
	}
	if (x >> 4) {
		octave += 4;
		x >>= 4;
	}
	if (x >> 2) {
		octave += 2;
		x >>= 2;
	}
	octave += (__u32)(x >> 1);
	i = ((octave - AFS_HIST_BITS + 1) << AFS_HIST_BITS) +
	    (__u32)(v >> (octave - AFS_HIST_BITS)) - (1u << AFS_HIST_BITS);
	return i < AFS_HIST_BUCKETS ? i : AFS_HIST_BUCKETS - 1;
}

#endif
