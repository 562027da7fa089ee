/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/pace.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>

/* Of pace_seed(): not one of those that clients have. */
#define ARRIVALS (1ull << 32)

void pace_seed(unsigned short random[3], uint64_t seed, uint64_t number)
{
	uint64_t x = hash_number(hash_number(seed + 0x9e3779b97f4a7c15u) + number);

	for (int i = 0; i < 3; i++)
		random[i] = (unsigned short)(x >> (16 * i));
}

double pace_exponential(unsigned short random[3], double mean)
{
	return -mean * log1p(-erand48(random));
}

double pace_most(const struct pace_opts *o, uint64_t ns)
{
	double mean = o->kind == PACE_CLOSED ? 0 : o->rate_per_s * (double)ns / 1e9;

	return mean + 10 * sqrt(mean) + 10; /* ten standard deviations */
}

void pace_begin(struct pace *p, const struct pace_opts *o, unsigned int k, unsigned int n_threads,
		uint64_t start_ns)
{
	*p = (struct pace) { .kind = o->kind, .start_ns = start_ns };
	pace_seed(p->random, o->seed, ARRIVALS + k);
	if (o->kind == PACE_CLOSED)
		return;
	p->gap_ns = 1e9 / o->rate_per_s * n_threads;
	if (o->kind == PACE_FIXED)
		p->first_ns = p->gap_ns / n_threads * k;
	else
		p->first_ns = pace_exponential(p->random, p->gap_ns);
	p->at_ns = p->first_ns;
}

/* When the arrival comes of which it is known how many come before it. */
static void pace_place(struct pace *p)
{
	p->at_ns = (rate_when(p->rate, p->before + rate_until(p->rate, -p->lead_s)) + p->lead_s) *
		   1e9;
}

void pace_follow(struct pace *p, const struct rate *rate, uint64_t lead_ns, unsigned int k,
		 unsigned int n_threads)
{
	if (p->kind == PACE_CLOSED)
		return;
	p->rate = rate;
	p->lead_s = (double)lead_ns / 1e9;
	p->share = n_threads;
	p->before = p->kind == PACE_FIXED ? k : p->first_ns / p->gap_ns * n_threads;
	pace_place(p);
}

uint64_t pace_due_ns(const struct pace *p)
{
	if (p->kind == PACE_CLOSED || p->at_ns > 1e18)
		return UINT64_MAX;
	return p->start_ns + (uint64_t)p->at_ns;
}

void pace_next(struct pace *p)
{
	p->n++;
	if (p->rate) {
		p->before += p->kind == PACE_FIXED ? p->share
						   : pace_exponential(p->random, p->share);
		pace_place(p);
		return;
	}
	if (p->kind == PACE_FIXED) /* multiplied, so that no error adds up */
		p->at_ns = p->first_ns + (double)p->n * p->gap_ns;
	else
		p->at_ns += pace_exponential(p->random, p->gap_ns);
}
