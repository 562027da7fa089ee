/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rate that changes: its integral, and the planned times of arrivals against it. Tests
 * client/load/rate.c, pace.c.
 */
#include "load/rate.h"

#include "load/pace.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define THREADS 5

/* Ramps up and down, a step, a spike, pauses, one that begins late, a constant one, no end. */
static const char *const shapes[] = {
	"0:100,60:500,120:500",
	"0:500,60:100",
	"0:100,30:100,30:400,60:400",
	"0:50,10:50,10:1000,11:1000,11:50,30:50",
	"0:0,10:1000,20:0,40:0,40:200,60:200",
	"5:300,20:600",
	"0:250",
	"0:0,60:1000",
	"0:1000,20:0",
	"1.5:0.25,100.25:7.75,200:0.5",
	"0:0,0:100,10:100,10:0,20:0,20:100,30:100",
};

#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void parse(struct rate *out, const char *text)
{
	struct err e = { 0 };

	if (rate_parse(out, text, &e))
		fail_msg("%s", e.text);
}

/* The rate at s, by the definition; at a step either side. */
static double rate_at(const struct rate *r, double s)
{
	const struct rate_point *p = r->point;

	if (s <= p->s)
		return p->per_s;
	for (unsigned int i = 1; i < r->n; i++)
		if (s <= p[i].s)
			return p[i - 1].per_s + (p[i].per_s - p[i - 1].per_s) * (s - p[i - 1].s) /
						    (p[i].s - p[i - 1].s);
	return p[r->n - 1].per_s;
}

static void what_is_no_rate_is_refused(void **state)
{
	static const char *const texts[] = { "0: 5",   "0:0x5", "+0:5",    "",         ":",
					     "0:",     ":5",    "0:5,",    "0:5,,1:6", "0:5,1",
					     "0:-1",   "-1:5",  "0:nan",   "nan:1",    "0:inf",
					     "0:1e10", "1e9:5", "0:5;1:6", "0 :5",     "0:5 ,1:5",
					     "0:5x" };
	static const char *const never[] = { "10:5,9:5", "0:0", "0:0,10:0" };
	struct err e;
	struct rate r;
	char many[400] = "0:1";

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		e = (struct err) { 0 };
		if (rate_parse(&r, texts[i], &e) != -EINVAL)
			fail_msg("'%s' is a rate", texts[i]);
		assert_non_null(strstr(e.text, texts[i]));
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		assert_int_equal(rate_parse(&r, never[i], &e), -ERANGE);
		assert_non_null(strstr(e.text, never[i]));
	}
	for (unsigned int i = 1; i < RATE_POINTS_MAX; i++)
		strcat(many, ",9:1");
	parse(&r, many);
	assert_int_equal(r.n, RATE_POINTS_MAX);
	strcat(many, ",9:1");
	assert_int_equal(rate_parse(&r, many, &e), -ERANGE);
}

static void until_is_the_integral_of_the_rate(void **state)
{
	const double step = 1e-3;
	struct rate r;
	double sum;

	(void)state;
	for (size_t i = 0; i < N_SHAPES; i++) {
		parse(&r, shapes[i]);
		assert_float_equal(rate_until(&r, 0), 0, 1e-12);
		sum = 0;
		for (int k = 1; k <= 150000; k++) {
			sum += rate_at(&r, (k - 0.5) * step) * step;
			if (k % 977 == 0)
				assert_true(fabs(rate_until(&r, k * step) - sum) <
					    1e-6 * sum + 1e-6);
		}
		/* before the begin it is as at the first point */
		assert_float_equal(rate_until(&r, -3), -3 * r.point->per_s, 1e-9);
	}
}

static void when_is_the_inverse_of_until(void **state)
{
	double n, s;
	struct rate r;

	(void)state;
	for (size_t i = 0; i < N_SHAPES; i++) {
		parse(&r, shapes[i]);
		for (int k = -50; k < 5000; k++) {
			n = k * 3.7;
			s = rate_when(&r, n);
			if (n < 0 && r.point->per_s <= 0)
				continue;
			if (isinf(s)) {
				assert_true(rate_until(&r, 1e6) < n + 1e-6);
				continue;
			}
			if (fabs(rate_until(&r, s) - n) > 1e-6)
				fail_msg("%s: %g arrivals at %g s, where there are %g", shapes[i],
					 n, s, rate_until(&r, s));
		}
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Arrivals of all threads in order until 100 s after the lead, ns from the begin; how many. */
static size_t arrivals(enum pace_kind kind, const struct rate *r, uint64_t lead_ns,
		       unsigned int threads, double *at, size_t room)
{
	const struct pace_opts o = { kind, 77, 3 };
	size_t n = 0;
	struct pace p;

	for (unsigned int k = 0; k < threads; k++) {
		pace_begin(&p, &o, k, threads, 1000);
		pace_follow(&p, r, lead_ns, k, threads);
		for (; pace_due_ns(&p) < lead_ns + 100000000000u; pace_next(&p)) {
			assert_true(n < room);
			at[n++] = (double)(pace_due_ns(&p) - 1000);
		}
	}
	qsort(at, n, sizeof(*at), by_value);
	return n;
}

static void fixed_arrivals_come_where_the_integral_is_a_whole_number(void **state)
{
	const size_t room = 200000;
	double *at = malloc(room * sizeof(*at)), before, here;
	const uint64_t lead_ns = 2000000000u;
	struct rate r;
	size_t n;

	(void)state;
	for (size_t i = 0; i < N_SHAPES; i++) {
		parse(&r, shapes[i]);
		before = rate_until(&r, -2);
		for (unsigned int threads = 1; threads <= THREADS; threads += THREADS - 1) {
			n = arrivals(PACE_FIXED, &r, lead_ns, threads, at, room);
			assert_true(fabs((double)n - (rate_until(&r, 100) - before)) <= 1.001);
			for (size_t k = 0; k < n; k++) {
				here = rate_until(&r, (at[k] - (double)lead_ns) / 1e9) - before;
				/* times are whole ns */
				if (fabs(here - (double)k) > 1e-5)
					fail_msg("%s: arrival %zu where the integral is %f",
						 shapes[i], k, here);
			}
		}
	}
	free(at);
}

/* Kolmogorov's distance of the gaps, as numbers of arrivals, from the exponential distribution. */
static double rate_distance(const struct rate *r, const double *at, size_t n)
{
	double *gap = malloc(n * sizeof(*gap)), last = 0, here, most = 0, f;

	for (size_t i = 0; i < n; i++) {
		here = rate_until(r, at[i] / 1e9);
		gap[i] = here - last;
		last = here;
	}
	qsort(gap, n, sizeof(*gap), by_value);
	for (size_t i = 0; i < n; i++) {
		f = 1 - exp(-gap[i]);
		most = fmax(most, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
	}
	free(gap);
	return most * sqrt((double)n);
}

/* In the time in which the rate is 1, they are a Poisson process of rate 1. */
static void poisson_arrivals_are_a_poisson_process_of_that_rate(void **state)
{
	const size_t room = 200000;
	double *at = malloc(room * sizeof(*at)), wanted, tens = 0, var = 0, count;
	struct rate r;
	size_t n, bins;

	(void)state;
	for (size_t i = 0; i < N_SHAPES; i++) {
		parse(&r, shapes[i]);
		wanted = rate_until(&r, 100);
		n = arrivals(PACE_POISSON, &r, 0, i % 2 ? THREADS : 1, at, room);
		/* 4 standard deviations */
		assert_true(fabs((double)n - wanted) < 4 * sqrt(wanted) + 1);
		/* 1.95: exceeded with a chance of 0.1 % */
		if (rate_distance(&r, at, n) > 1.95)
			fail_msg("%s: the gaps are not exponential", shapes[i]);
		/* the number in each 10 expected arrivals: its variance is 10 */
		bins = (size_t)(wanted / 10);
		var = 0;
		for (size_t b = 0, k = 0; b < bins; b++) {
			for (count = 0;
			     k < n && rate_until(&r, at[k] / 1e9) < 10.0 * (double)(b + 1); k++)
				count++;
			tens = count - 10;
			var += tens * tens / (double)bins;
		}
		assert_true(fabs(var / 10 - 1) < 6 * sqrt(2 / (double)bins));
	}
	free(at);
}

static void a_rate_that_does_not_change_is_the_same_as_a_number(void **state)
{
	const struct pace_opts o = { PACE_POISSON, 250, 9 };
	struct pace plain, follows;
	struct rate r;

	(void)state;
	parse(&r, "0:250");
	for (unsigned int k = 0; k < 3; k++) {
		pace_begin(&plain, &o, k, 3, 5);
		pace_begin(&follows, &o, k, 3, 5);
		pace_follow(&follows, &r, 1000000000u, k, 3);
		for (int i = 0; i < 10000; i++) {
			assert_true(fabs((double)pace_due_ns(&plain) -
					 (double)pace_due_ns(&follows)) < 100);
			pace_next(&plain);
			pace_next(&follows);
		}
	}
}

static void when_no_more_come_none_is_due(void **state)
{
	const struct pace_opts o = { PACE_FIXED, 1, 9 };
	struct rate r;
	struct pace p;

	(void)state;
	parse(&r, "0:10,1:10,1:0");
	pace_begin(&p, &o, 0, 1, 5);
	pace_follow(&p, &r, 0, 0, 1);
	for (int i = 0; i < 11; i++) {
		assert_true(pace_due_ns(&p) <= 1000000005u);
		pace_next(&p);
	}
	assert_true(pace_due_ns(&p) == UINT64_MAX);
	pace_next(&p);
	assert_true(pace_due_ns(&p) == UINT64_MAX);
}

static void stages_are_the_parts_between_points(void **state)
{
	static struct run_stage s[RATE_POINTS_MAX + 1];
	struct rate r;

	(void)state;
	parse(&r, "10:100,60:500,60:50,120:50");
	assert_int_equal(rate_stages(&r, 150, s), 4);
	assert_float_equal(s[0].to_s, 10, 0);
	assert_float_equal(s[0].to_per_s, 100, 0);
	assert_float_equal(s[1].from_s, 10, 0);
	assert_float_equal(s[1].to_per_s, 500, 0);
	assert_float_equal(s[2].from_per_s, 50, 0);
	assert_float_equal(s[3].from_s, 120, 0);
	assert_float_equal(s[3].to_s, 150, 0);
	/* the load ends within one */
	assert_int_equal(rate_stages(&r, 35, s), 2);
	assert_float_equal(s[1].to_s, 35, 0);
	assert_float_equal(s[1].to_per_s, 300, 1e-9);
	for (size_t i = 0; i < N_SHAPES; i++) {
		size_t n;

		parse(&r, shapes[i]);
		n = rate_stages(&r, 77, s);
		assert_true(n && s[0].from_s == 0 && s[n - 1].to_s == 77);
		for (size_t k = 1; k < n; k++)
			assert_true(s[k].from_s == s[k - 1].to_s);
	}
}

/* Looked for in small steps: the first time from s on at which it is at least so much. */
static double searched(const struct rate *r, double least, double s)
{
	const double step = 1.0 / 64, end = r->point[r->n - 1].s + 1;

	for (; s < end; s += step)
		if (rate_at(r, s + 1e-9) >= least - 1e-6)
			return s;
	return INFINITY;
}

static void a_client_s_turn_is_when_so_many_work(void **state)
{
	static const double from_s[] = { -3, 0, 0.5, 7, 10, 19.75, 20, 31, 59.5, 60, 300 };
	struct rate r;
	double found, wanted, most;

	(void)state;
	for (size_t i = 0; i < N_SHAPES; i++) {
		parse(&r, shapes[i]);
		most = rate_most(&r);
		for (unsigned int k = 0; k <= 11; k++) {
			for (size_t j = 0; j < sizeof(from_s) / sizeof(from_s[0]); j++) {
				found = rate_reaches(&r, most * k / 10, from_s[j]);
				wanted = searched(&r, most * k / 10, from_s[j]);
				if (from_s[j] > r.point[r.n - 1].s)
					wanted = r.point[r.n - 1].per_s >= most * k / 10 ? from_s[j]
											 : INFINITY;
				if (found != wanted && !(fabs(found - wanted) <= 1.0 / 64))
					fail_msg("%s: %g from %g: %g, not %g", shapes[i],
						 most * k / 10, from_s[j], found, wanted);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_s_turn_is_when_so_many_work),
		cmocka_unit_test(what_is_no_rate_is_refused),
		cmocka_unit_test(until_is_the_integral_of_the_rate),
		cmocka_unit_test(when_is_the_inverse_of_until),
		cmocka_unit_test(fixed_arrivals_come_where_the_integral_is_a_whole_number),
		cmocka_unit_test(poisson_arrivals_are_a_poisson_process_of_that_rate),
		cmocka_unit_test(a_rate_that_does_not_change_is_the_same_as_a_number),
		cmocka_unit_test(when_no_more_come_none_is_due),
		cmocka_unit_test(stages_are_the_parts_between_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
