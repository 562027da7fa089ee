/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_HIST_H
#define BASE_HIST_H

/*
 * Log-linear histogram of unsigned 64-bit values (here: ns).
 *
 * With s sub-bucket bits, values below 2^s have a bucket each; above, each octave
 * [2^k, 2^(k+1)) is cut into 2^s equal buckets. So a bucket is at most 1/2^s of its value wide
 * and its middle at most 1/2^(s+1) away from any value in it. The client uses s = HIST_BITS
 * (relative error of a quantile <= 1/128); the kernel's counters use a coarser s of the same
 * family (bpf/events.h): hist_index() is the one definition of the buckets.
 */

#include <stddef.h>
#include <stdint.h>

#define HIST_BITS          6
#define HIST_BUCKETS(bits) ((size_t)(65 - (bits)) << (bits))

/* Index of v's bucket; always below HIST_BUCKETS(bits). */
static inline size_t hist_index(uint64_t v, unsigned int bits)
{
	unsigned int octave;

	if (v < 1ull << bits)
		return (size_t)v;
	octave = 63u - (unsigned int)__builtin_clzll(v);
	return ((size_t)(octave - bits + 1) << bits) +
	       (size_t)((v >> (octave - bits)) - (1ull << bits));
}

/* Smallest value of bucket i. */
uint64_t hist_low(size_t i, unsigned int bits);

struct hist {
	uint64_t n;
	uint64_t sum;      /* exact */
	uint64_t min, max; /* exact; 0 when n is 0 */
	uint64_t bucket[HIST_BUCKETS(HIST_BITS)];
};

void hist_add(struct hist *h, uint64_t v);
void hist_merge(struct hist *to, const struct hist *from);

/*
 * The value below or at which a share q (0..1) of the values lies: the nearest-rank value
 * ceil(q * n), known to within its bucket, clamped to [min, max]. 0 when empty.
 */
uint64_t hist_quantile(const struct hist *h, double q);

/* sum / n, 0 when empty. */
double hist_mean(const struct hist *h);

#endif
