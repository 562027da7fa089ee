/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/draw.h"

#include "base/opt.h"
#include "base/text.h"
#include "load/pace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of pace_seed(): not one of those that clients, arrivals and pauses have. */
#define NUMBERED (3ull << 32)

/* ---- as texts ---- */

static const struct {
	const char *what, *forms;
	struct opt row;
} units[] = {
	[DRAW_BYTES] = { "size",
			 "16K, uniform:4K-64K, exponential:16K, lognormal:16K,1.5 or 4K*60,64K*40",
			 { .type = OPT_SIZE, .max = DRAW_LEN_MAX } },
	[DRAW_NS] = { "time",
		      "0.5, fixed:200ms, uniform:0.1-2, exponential:0.5, lognormal:0.5,1.5 or "
		      "0.1*60,2*40",
		      { .type = OPT_TIME, .max = DRAW_TIME_MAX } },
};

/* What is being parsed. */
struct draw_text {
	enum draw_unit unit;
	const char *name, *all;
};

static int draw_wrong(const struct draw_text *t, struct err *e)
{
	return err_set(e, -EINVAL, "%s: '%s' is not a %s such as %s", t->name, t->all,
		       units[t->unit].what, units[t->unit].forms);
}

static int take_value(uint64_t *out, const struct draw_text *t, const char *word, struct err *e)
{
	const struct opt *row = &units[t->unit].row;
	double seconds;

	if (t->unit == DRAW_BYTES)
		return opt_number(row, t->name, word, out, e);
	if (opt_decimal(row, t->name, word, &seconds, e))
		return -EINVAL;
	*out = (uint64_t)llround(seconds * 1e9);
	return 0;
}

/* "4K*60,64K*40", which is taken apart */
static int take_table(struct draw *out, const struct draw_text *t, char *list, struct err *e)
{
	static const struct opt weight = { .type = OPT_UINT, .min = 1, .max = 1000000 };
	char *item, *times, name[64];
	uint64_t v;
	int r = 0;

	out->kind = DRAW_TABLE;
	snprintf(name, sizeof(name), "%s: weight", t->name);
	while (!r && (item = strsep(&list, ","))) {
		times = strchr(item, '*');
		if (!times)
			return draw_wrong(t, e);
		if (out->n == DRAW_TABLE_MAX)
			return err_set(e, -EINVAL, "%s: more than %d %ss", t->name, DRAW_TABLE_MAX,
				       units[t->unit].what);
		*times++ = '\0';
		r = take_value(&out->of[out->n].value, t, item, e);
		r = r ? r : opt_number(&weight, name, times, &v, e);
		out->of[out->n++].weight = r ? 0 : (unsigned int)v;
	}
	return r;
}

/* "4K-64K" */
static int take_uniform(struct draw *out, const struct draw_text *t, char *rest, struct err *e)
{
	char *to = strchr(rest, '-');
	int r;

	out->kind = DRAW_UNIFORM;
	if (!to)
		return draw_wrong(t, e);
	*to++ = '\0';
	r = take_value(&out->value, t, rest, e);
	r = r ? r : take_value(&out->most, t, to, e);
	if (!r && out->most < out->value)
		r = err_set(e, -EINVAL, "%s: '%s': the first %s is the smaller one", t->name,
			    t->all, units[t->unit].what);
	return r;
}

/* "16K,1.5" */
static int take_lognormal(struct draw *out, const struct draw_text *t, char *rest, struct err *e)
{
	char *sigma = strchr(rest, ',');
	const char *end;

	out->kind = DRAW_LOGNORMAL;
	if (!sigma || !text_decimal(sigma + 1, &end, &out->sigma) || *end || out->sigma <= 0 ||
	    out->sigma > 5)
		return draw_wrong(t, e);
	*sigma = '\0';
	return take_value(&out->value, t, rest, e);
}

static int take_one(struct draw *out, const struct draw_text *t, enum draw_kind kind, char *rest,
		    struct err *e)
{
	out->kind = kind;
	return take_value(&out->value, t, rest, e);
}

int draw_parse(struct draw *out, enum draw_unit unit, const char *name, const char *text,
	       struct err *e)
{
	const struct draw_text t = { unit, name, text };
	char copy[256];

	*out = (struct draw) { 0 };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return draw_wrong(&t, e);
	if (!strncmp(copy, "uniform:", 8))
		return take_uniform(out, &t, copy + 8, e);
	if (!strncmp(copy, "lognormal:", 10))
		return take_lognormal(out, &t, copy + 10, e);
	if (!strncmp(copy, "exponential:", 12))
		return take_one(out, &t, DRAW_EXPONENTIAL, copy + 12, e);
	if (!strncmp(copy, "fixed:", 6))
		return take_one(out, &t, DRAW_FIXED, copy + 6, e);
	if (strchr(copy, '*'))
		return take_table(out, &t, copy, e);
	return take_one(out, &t, unit == DRAW_NS ? DRAW_EXPONENTIAL : DRAW_FIXED, copy, e);
}

/* "16384", "0.200000000" */
static const char *value_text(char out[32], enum draw_unit unit, uint64_t v)
{
	unsigned long long n = v;

	if (unit == DRAW_BYTES)
		snprintf(out, 32, "%llu", n);
	else
		snprintf(out, 32, "%llu.%09llu", n / 1000000000, n % 1000000000);
	return out;
}

void draw_text(char *out, size_t size, enum draw_unit unit, const struct draw *d)
{
	static const char *const before[] = { [DRAW_UNIFORM] = "uniform:",
					      [DRAW_EXPONENTIAL] = "exponential:",
					      [DRAW_LOGNORMAL] = "lognormal:" };
	char text[32], most[32];
	size_t n = 0;

	*out = '\0';
	value_text(text, unit, d->value);
	switch (d->kind) {
	case DRAW_FIXED:
		snprintf(out, size, "%s%s", unit == DRAW_NS ? "fixed:" : "", text);
		return;
	case DRAW_UNIFORM:
		snprintf(out, size, "%s%s-%s", before[d->kind], text,
			 value_text(most, unit, d->most));
		return;
	case DRAW_EXPONENTIAL:
		snprintf(out, size, "%s%s", before[d->kind], text);
		return;
	case DRAW_LOGNORMAL:
		snprintf(out, size, "%s%s,%.17g", before[d->kind], text, d->sigma);
		return;
	case DRAW_TABLE:
		for (unsigned int i = 0; i < d->n && n < size; i++)
			n += (size_t)snprintf(out + n, size - n, "%s%s*%u", i ? "," : "",
					      value_text(text, unit, d->of[i].value),
					      d->of[i].weight);
	}
}

/* ---- values ---- */

/* The tail of a distribution that has no end. */
static uint64_t limited(const struct draw *d, double v)
{
	double most = (double)draw_most(d);

	return (uint64_t)llround(v < most ? v : most);
}

static uint64_t draw_of_table(const struct draw *d, double u)
{
	uint64_t all = 0, at;
	unsigned int i = 0;

	for (unsigned int k = 0; k < d->n; k++)
		all += d->of[k].weight;
	for (at = (uint64_t)(u * (double)all); i + 1 < d->n && at >= d->of[i].weight; i++)
		at -= d->of[i].weight;
	return d->of[i].value;
}

uint64_t draw_next(const struct draw *d, unsigned short random[3])
{
	double u, v;

	if (d->kind == DRAW_FIXED)
		return d->value;
	u = erand48(random);
	switch (d->kind) {
	case DRAW_UNIFORM:
		return d->value + (uint64_t)(u * ((double)(d->most - d->value) + 1));
	case DRAW_EXPONENTIAL:
		return limited(d, -log1p(-u) * (double)d->value);
	case DRAW_LOGNORMAL:
		/* Box and Muller's pair of normal numbers, of which one is needed */
		v = sqrt(-2 * log1p(-u)) * cos(2 * M_PI * erand48(random));
		return limited(d, exp(d->sigma * v) * (double)d->value);
	default:
		return draw_of_table(d, u);
	}
}

uint64_t draw_numbered(const struct draw *d, uint64_t seed, uint64_t number)
{
	unsigned short random[3];

	pace_seed(random, seed, NUMBERED + number);
	return draw_next(d, random);
}

/* How often a normal number is at most x. */
static double draw_normal(double x)
{
	return erfc(-x / M_SQRT2) / 2;
}

/* As a multiple of the median: what is above the limit is as long as the limit. */
static double draw_lognormal_mean(double sigma)
{
	const double limit = log(DRAW_TIMES_MEAN) / sigma;

	return exp(sigma * sigma / 2) * draw_normal(limit - sigma) +
	       DRAW_TIMES_MEAN * draw_normal(-limit);
}

double draw_mean(const struct draw *d)
{
	double sum = 0, all = 0;

	switch (d->kind) {
	case DRAW_UNIFORM:
		return ((double)d->value + (double)d->most) / 2;
	case DRAW_LOGNORMAL:
		return (double)d->value * draw_lognormal_mean(d->sigma);
	case DRAW_TABLE:
		for (unsigned int i = 0; i < d->n; i++) {
			sum += (double)d->of[i].value * d->of[i].weight;
			all += d->of[i].weight;
		}
		return sum / all;
	default:
		return (double)d->value;
	}
}

uint64_t draw_most(const struct draw *d)
{
	uint64_t most = d->value;

	switch (d->kind) {
	case DRAW_UNIFORM:
		return d->most;
	case DRAW_EXPONENTIAL:
	case DRAW_LOGNORMAL:
		return d->value * DRAW_TIMES_MEAN;
	case DRAW_TABLE:
		for (unsigned int i = 0; i < d->n; i++)
			most = d->of[i].value > most ? d->of[i].value : most;
		return most;
	default:
		return most;
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
unsigned int draw_popular(unsigned int n, double s, unsigned short random[3])
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
