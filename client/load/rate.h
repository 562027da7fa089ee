/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_RATE_H
#define LOAD_RATE_H

/*
 * A rate of arrivals that changes in time: points of time and rate, linear between them; two points
 * at the same time are a step. Before the first point the rate is that of the first one, after the
 * last point that of the last one.
 *
 * How many arrivals there are until a time is the integral of the rate. A process of this rate is
 * one of rate 1 whose times are numbers of arrivals, put through the inverse: exact for arrivals at
 * equal distances and for Poisson processes alike.
 */

#include "base/err.h"
#include "run/load.h"

#define RATE_POINTS_MAX 32
#define RATE_MAX        1e9 /* arrivals a second */

struct rate_point {
	double s;     /* from when the rate begins */
	double per_s; /* arrivals */
	double area;  /* arrivals between the first point and this one */
};

/* n 0: none. */
struct rate {
	unsigned int n;
	struct rate_point point[RATE_POINTS_MAX];
};

/*
 * "0:100,60:500,120:500", seconds:rate, the times in ascending order. 0; -EINVAL: these are no such
 * points; -ERANGE: they are too many, go back in time, or nothing would ever arrive. With a text.
 */
int rate_parse(struct rate *out, const char *text, struct err *e);

/* Arrivals between 0 and s, which may be negative: then they are, too. */
double rate_until(const struct rate *r, double s);

/*
 * The parts between points, from 0 to end_s, into at most RATE_POINTS_MAX + 1 stages: how many; of
 * each only the times and rates are set.
 */
size_t rate_stages(const struct rate *r, double end_s, struct run_stage *out);

/* The first time from s on at which it is at least so much, as of a profile of clients; INFINITY:
 * never. */
double rate_reaches(const struct rate *r, double least, double s);

/* The largest that it ever is. */
double rate_most(const struct rate *r);

/* The inverse: when that many have arrived, at the earliest; INFINITY: never. */
double rate_when(const struct rate *r, double arrivals);

#endif
