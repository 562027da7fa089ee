/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_MIX_MIX_DRAW_H
#define WORK_MIX_MIX_DRAW_H

/* How long the files of a mix are, and which of them an action takes: by chance, from a seed. */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define MIX_FILE_LEN_MAX (1ull << 40)
#define MIX_SIZES_MAX    16
#define MIX_TIMES_MEAN   100 /* an exponential or lognormal length is at most so often the first */

enum mix_sizes_kind {
	MIX_SIZES_FIXED,
	MIX_SIZES_UNIFORM,
	MIX_SIZES_EXPONENTIAL,
	MIX_SIZES_LOGNORMAL,
	MIX_SIZES_TABLE,
};

struct mix_sizes {
	enum mix_sizes_kind kind;
	uint64_t len;  /* fixed: of each file; uniform: the least; exponential: the mean;
			  lognormal: the median */
	uint64_t most; /* uniform */
	double sigma;  /* lognormal: the standard deviation of the logarithm */
	unsigned int n;
	struct {
		uint64_t len;
		unsigned int weight;
	} of[MIX_SIZES_MAX]; /* table */
};

/*
 * "16K", "uniform:4K-64K", "exponential:16K", "lognormal:16K,1.5" or a table "4K*60,64K*30,1M*10"
 * of lengths and weights. 0; -EINVAL with a text.
 */
int mix_sizes_parse(struct mix_sizes *out, const char *text, struct err *e);

/* As it is parsed. out has room for size bytes. */
void mix_sizes_text(char *out, size_t size, const struct mix_sizes *s);

/* Of the file with this number, among all of the seed's: always the same. */
uint64_t mix_sizes_draw(const struct mix_sizes *s, uint64_t seed, uint64_t number);

/* The mean length, in bytes; of exponential and lognormal ones without their limit. */
double mix_sizes_mean(const struct mix_sizes *s);

/*
 * Which of n things is taken, 0 to n - 1: each alike (s 0), or by Zipf's law, the k-th with a
 * chance that is proportional to 1 / k^s. random: as erand48().
 */
#define MIX_ZIPF_MAX 5
unsigned int mix_popular(unsigned int n, double s, unsigned short random[3]);

#endif
