/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work/mix/mix_draw.h"

#include "base/opt.h"
#include "load/pace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of pace_seed(): not one of those that clients and arrivals have. */
#define SIZES (2ull << 32)

/* ---- lengths ---- */

static int mix_sizes_wrong(const char *text, struct err *e)
{
	return err_set(
	    e, -EINVAL,
	    "file_size: '%s' is not a size such as 16K, uniform:4K-64K, exponential:16K, "
	    "lognormal:16K,1.5 or 4K*60,64K*40",
	    text);
}

static int take_len(uint64_t *out, const char *text, struct err *e)
{
	static const struct opt row = { .type = OPT_SIZE, .max = MIX_FILE_LEN_MAX };

	return opt_number(&row, "file_size", text, out, e);
}

/* "4K*60,64K*40", which is taken apart */
static int take_table(struct mix_sizes *out, char *list, const char *text, struct err *e)
{
	static const struct opt weight = { .type = OPT_UINT, .min = 1, .max = 1000000 };
	char *item, *times;
	uint64_t v;
	int r = 0;

	out->kind = MIX_SIZES_TABLE;
	while (!r && (item = strsep(&list, ","))) {
		times = strchr(item, '*');
		if (!times || out->n == MIX_SIZES_MAX)
			return times ? err_set(e, -EINVAL, "file_size: more than %d lengths",
					       MIX_SIZES_MAX)
				     : mix_sizes_wrong(text, e);
		*times++ = '\0';
		r = take_len(&out->of[out->n].len, item, e);
		r = r ? r : opt_number(&weight, "file_size: weight", times, &v, e);
		out->of[out->n++].weight = r ? 0 : (unsigned int)v;
	}
	return r;
}

/* "4K-64K" */
static int take_uniform(struct mix_sizes *out, char *rest, const char *text, struct err *e)
{
	char *to = strchr(rest, '-');
	int r;

	out->kind = MIX_SIZES_UNIFORM;
	if (!to)
		return mix_sizes_wrong(text, e);
	*to++ = '\0';
	r = take_len(&out->len, rest, e);
	r = r ? r : take_len(&out->most, to, e);
	if (!r && out->most < out->len)
		r = err_set(e, -EINVAL, "file_size: '%s': the first length is the smaller one",
			    text);
	return r;
}

/* "16K,1.5" */
static int take_lognormal(struct mix_sizes *out, char *rest, const char *text, struct err *e)
{
	char *sigma = strchr(rest, ','), *end = sigma;

	out->kind = MIX_SIZES_LOGNORMAL;
	if (sigma) {
		*sigma++ = '\0';
		out->sigma = strtod(sigma, &end);
	}
	if (!sigma || end == sigma || *end || !(out->sigma > 0 && out->sigma <= 5))
		return mix_sizes_wrong(text, e);
	return take_len(&out->len, rest, e);
}

int mix_sizes_parse(struct mix_sizes *out, const char *text, struct err *e)
{
	char copy[256];

	*out = (struct mix_sizes) { 0 };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return mix_sizes_wrong(text, e);
	if (!strncmp(copy, "uniform:", 8))
		return take_uniform(out, copy + 8, text, e);
	if (!strncmp(copy, "lognormal:", 10))
		return take_lognormal(out, copy + 10, text, e);
	if (!strncmp(copy, "exponential:", 12)) {
		out->kind = MIX_SIZES_EXPONENTIAL;
		return take_len(&out->len, copy + 12, e);
	}
	return strchr(copy, '*') ? take_table(out, copy, text, e) : take_len(&out->len, copy, e);
}

void mix_sizes_text(char *out, size_t size, const struct mix_sizes *s)
{
	unsigned long long len = s->len, most = s->most;
	size_t n = 0;

	*out = '\0';
	switch (s->kind) {
	case MIX_SIZES_FIXED:
		snprintf(out, size, "%llu", len);
		return;
	case MIX_SIZES_UNIFORM:
		snprintf(out, size, "uniform:%llu-%llu", len, most);
		return;
	case MIX_SIZES_EXPONENTIAL:
		snprintf(out, size, "exponential:%llu", len);
		return;
	case MIX_SIZES_LOGNORMAL:
		snprintf(out, size, "lognormal:%llu,%g", len, s->sigma);
		return;
	case MIX_SIZES_TABLE:
		for (unsigned int i = 0; i < s->n && n < size; i++)
			n += (size_t)snprintf(out + n, size - n, "%s%llu*%u", i ? "," : "",
					      (unsigned long long)s->of[i].len, s->of[i].weight);
	}
}

/* The tail of a distribution that has no end. */
static uint64_t limited(const struct mix_sizes *s, double len)
{
	double most = MIX_TIMES_MEAN * (double)s->len;

	most = most < (double)MIX_FILE_LEN_MAX ? most : (double)MIX_FILE_LEN_MAX;
	return (uint64_t)llround(len < most ? len : most);
}

static uint64_t draw_of_table(const struct mix_sizes *s, double u)
{
	uint64_t all = 0, at;
	unsigned int i = 0;

	for (unsigned int k = 0; k < s->n; k++)
		all += s->of[k].weight;
	for (at = (uint64_t)(u * (double)all); i + 1 < s->n && at >= s->of[i].weight; i++)
		at -= s->of[i].weight;
	return s->of[i].len;
}

uint64_t mix_sizes_draw(const struct mix_sizes *s, uint64_t seed, uint64_t number)
{
	unsigned short random[3];
	double u, v;

	if (s->kind == MIX_SIZES_FIXED)
		return s->len;
	pace_seed(random, seed, SIZES + number);
	u = erand48(random);
	switch (s->kind) {
	case MIX_SIZES_UNIFORM:
		return s->len + (uint64_t)(u * ((double)(s->most - s->len) + 1));
	case MIX_SIZES_EXPONENTIAL:
		return limited(s, -log1p(-u) * (double)s->len);
	case MIX_SIZES_LOGNORMAL:
		/* Box and Muller's pair of normal numbers, of which one is needed */
		v = sqrt(-2 * log1p(-u)) * cos(2 * M_PI * erand48(random));
		return limited(s, exp(s->sigma * v) * (double)s->len);
	default:
		return draw_of_table(s, u);
	}
}

double mix_sizes_mean(const struct mix_sizes *s)
{
	double sum = 0, all = 0;

	switch (s->kind) {
	case MIX_SIZES_UNIFORM:
		return ((double)s->len + (double)s->most) / 2;
	case MIX_SIZES_LOGNORMAL:
		return (double)s->len * exp(s->sigma * s->sigma / 2);
	case MIX_SIZES_TABLE:
		for (unsigned int i = 0; i < s->n; i++) {
			sum += (double)s->of[i].len * s->of[i].weight;
			all += s->of[i].weight;
		}
		return sum / all;
	default:
		return (double)s->len;
	}
}

/* ---- popularity ---- */

/*
 * The integral of x^-s from 1 to x, and its inverse: (x^(1-s) - 1) / (1 - s), and the logarithm for
 * s = 1.
 */
static double zipf_integral(double s, double x)
{
	return fabs(1 - s) < 1e-9 ? log(x) : expm1((1 - s) * log(x)) / (1 - s);
}

static double zipf_inverse(double s, double y)
{
	return fabs(1 - s) < 1e-9 ? exp(y) : exp(log1p((1 - s) * y) / (1 - s));
}

/*
 * By rejection and inversion (Hörmann, Derflinger 1996): exact for every s > 0, one to two draws
 * each. Under the curve x^-s, moved by a half, the k-th has the area from k - 1/2 to k + 1/2.
 */
unsigned int mix_popular(unsigned int n, double s, unsigned short random[3])
{
	double least, most, y, x, k;

	if (!(s > 0) || n < 2)
		return (unsigned int)(erand48(random) * n);
	least = zipf_integral(s, 1.5) - 1;
	most = zipf_integral(s, n + 0.5);
	for (;;) {
		y = most + erand48(random) * (least - most);
		x = zipf_inverse(s, y);
		k = floor(x + 0.5);
		k = k < 1 ? 1 : k > n ? n : k;
		if (y >= zipf_integral(s, k + 0.5) - pow(k, -s))
			return (unsigned int)k - 1;
	}
}
