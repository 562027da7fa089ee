/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/rate.h"

#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define SECONDS_MAX 604800

/* One point; *text is what follows it. */
static bool rate_take_point(struct rate_point *out, const char **text)
{
	const char *end;

	if (!text_decimal(*text, &end, &out->s) || *end != ':' || out->s < 0 ||
	    out->s > SECONDS_MAX)
		return false;
	if (!text_decimal(end + 1, text, &out->per_s) || (**text && **text != ','))
		return false;
	if (out->per_s < 0 || out->per_s > RATE_MAX)
		return false;
	return true;
}

int rate_parse(struct rate *out, const char *text, struct err *e)
{
	const char *at = text;
	struct rate_point *p, *last = NULL;

	*out = (struct rate) { 0 };
	do {
		if (out->n == RATE_POINTS_MAX)
			return err_set(e, -ERANGE, "'%s' has more than %d points", text,
				       RATE_POINTS_MAX);
		p = &out->point[out->n++];
		if (!rate_take_point(p, &at))
			return err_set(
			    e, -EINVAL,
			    "'%s' is not a rate such as 200, or points SECONDS:RATE such "
			    "as 0:100,60:500,120:500",
			    text);
		if (last && p->s < last->s)
			return err_set(e, -ERANGE, "'%s': the times of the points must not fall",
				       text);
		if (last)
			p->area = last->area + (p->s - last->s) * (p->per_s + last->per_s) / 2;
		last = p;
	} while (*at++);
	if (last->area > 0 || last->per_s > 0 || out->point->per_s > 0)
		return 0;
	return err_set(e, -ERANGE, "'%s': at this rate no action ever begins", text);
}

/* Arrivals within x of the point p, on the way to the next one. */
static double rate_within(const struct rate_point *p, const struct rate_point *next, double x)
{
	double slope = (next->per_s - p->per_s) / (next->s - p->s);

	return (p->per_s + slope * x / 2) * x;
}

/* Since the first point. */
static double rate_since_first(const struct rate *r, double s)
{
	const struct rate_point *p = r->point, *last = &r->point[r->n - 1];

	if (s <= p->s)
		return (s - p->s) * p->per_s;
	if (s >= last->s)
		return last->area + (s - last->s) * last->per_s;
	while (p[1].s <= s)
		p++;
	return p->area + rate_within(p, p + 1, s - p->s);
}

double rate_until(const struct rate *r, double s)
{
	return rate_since_first(r, s) - rate_since_first(r, 0);
}

double rate_most(const struct rate *r)
{
	double most = 0;

	for (unsigned int i = 0; i < r->n; i++)
		most = fmax(most, r->point[i].per_s);
	return most;
}

/* The first time from s on, on the way from p to the next point; INFINITY: not there. */
static double rate_reaches_within(const struct rate_point *p, const struct rate_point *next,
				  double least, double s)
{
	double slope = (next->per_s - p->per_s) / (next->s - p->s);

	if (s >= next->s)
		return INFINITY;
	s = fmax(s, p->s);
	if (p->per_s + slope * (s - p->s) >= least)
		return s;
	return next->per_s >= least ? p->s + (least - p->per_s) / slope : INFINITY;
}

double rate_reaches(const struct rate *r, double least, double s)
{
	const struct rate_point *p = r->point, *last = &r->point[r->n - 1];
	double at;

	if (s < p->s && p->per_s >= least)
		return s;
	for (; p < last; p++) {
		at = p[1].s > p->s ? rate_reaches_within(p, p + 1, least, s) : INFINITY;
		if (at < INFINITY)
			return at;
	}
	return last->per_s >= least ? fmax(s, last->s) : INFINITY;
}

/* How long after a point so many have arrived, on the way to the next one. */
static double rate_solve(const struct rate_point *p, const struct rate_point *next, double n)
{
	double slope = (next->per_s - p->per_s) / (next->s - p->s);
	double root = sqrt(fmax(p->per_s * p->per_s + 2 * slope * n, 0));

	return n > 0 ? fmin(2 * n / (p->per_s + root), next->s - p->s) : 0;
}

double rate_when(const struct rate *r, double arrivals)
{
	const struct rate_point *p = r->point, *last = &r->point[r->n - 1];
	double n = arrivals + rate_since_first(r, 0);

	if (n < 0)
		return p->s + n / p->per_s;
	if (n > last->area)
		return last->per_s > 0 ? last->s + (n - last->area) / last->per_s : INFINITY;
	while (p < last && (p[1].area < n || p[1].s <= p->s))
		p++;
	return p < last ? p->s + rate_solve(p, p + 1, n - p->area) : p->s;
}

/* One stage, unless it is empty. */
static void rate_add_stage(struct run_stage *out, size_t *n, const struct rate_point *from,
			   const struct rate_point *to, double end_s)
{
	double slope = to->s > from->s ? (to->per_s - from->per_s) / (to->s - from->s) : 0;
	double end = fmin(to->s, end_s);

	if (end <= from->s)
		return;
	out[(*n)++] = (struct run_stage) { .from_s = from->s,
					   .to_s = end,
					   .from_per_s = from->per_s,
					   .to_per_s = from->per_s + slope * (end - from->s) };
}

size_t rate_stages(const struct rate *r, double end_s, struct run_stage *out)
{
	const struct rate_point *first = r->point, *last = &r->point[r->n - 1];
	const struct rate_point begin = { .per_s = first->per_s };
	const struct rate_point end = { .s = fmax(end_s, last->s), .per_s = last->per_s };
	size_t n = 0;

	rate_add_stage(out, &n, &begin, first, end_s);
	for (const struct rate_point *p = first; p < last; p++)
		rate_add_stage(out, &n, p, p + 1, end_s);
	rate_add_stage(out, &n, last, &end, end_s);
	return n;
}
