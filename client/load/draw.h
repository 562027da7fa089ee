/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_DRAW_H
#define LOAD_DRAW_H

/*
 * Numbers by chance, from a seed: how long files are, how long a client pauses, which of several
 * things an action takes. Lengths are bytes, times are ns.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define DRAW_LEN_MAX    (1ull << 40)
#define DRAW_TIME_MAX   86400000000000ull
#define DRAW_TABLE_MAX  16
#define DRAW_TIMES_MEAN 100 /* an exponential or lognormal number is at most so often the first */

enum draw_unit { DRAW_BYTES, DRAW_NS };

enum draw_kind {
	DRAW_FIXED,
	DRAW_UNIFORM,
	DRAW_EXPONENTIAL,
	DRAW_LOGNORMAL,
	DRAW_TABLE,
};

struct draw {
	enum draw_kind kind;
	uint64_t value; /* fixed: each; uniform: the least; exponential: the mean; lognormal: the
			   median */
	uint64_t most;  /* uniform */
	double sigma;   /* lognormal: the standard deviation of the logarithm */
	unsigned int n;
	struct {
		uint64_t value;
		unsigned int weight;
	} of[DRAW_TABLE_MAX]; /* table */
};

/*
 * Bytes: "16K", "uniform:4K-64K", "exponential:16K", "lognormal:16K,1.5" or a table of lengths and
 * weights, "4K*60,64K*30,1M*10". Times: the same with "0.5", "200ms", in seconds without a unit,
 * and "fixed:0.5": a time alone is the mean of exponential ones. name: of what, for the text of
 * -EINVAL. 0.
 */
int draw_parse(struct draw *out, enum draw_unit unit, const char *name, const char *text,
	       struct err *e);

/* As it is parsed. out has room for size bytes. */
void draw_text(char *out, size_t size, enum draw_unit unit, const struct draw *d);

/* The next one. random: as erand48(). */
uint64_t draw_next(const struct draw *d, unsigned short random[3]);

/* The one with this number, among all of the seed's: always the same. */
uint64_t draw_numbered(const struct draw *d, uint64_t seed, uint64_t number);

/* The mean, with the limit of exponential and lognormal ones. */
double draw_mean(const struct draw *d);

/* The largest that there can be. */
uint64_t draw_most(const struct draw *d);

/*
 * Which of n things is taken, 0 to n - 1: each alike (s 0), or by Zipf's law, the k-th with a
 * chance that is proportional to 1 / k^s. random: as erand48().
 */
#define DRAW_ZIPF_MAX 5
unsigned int draw_popular(unsigned int n, double s, unsigned short random[3]);

#endif
