/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrivals as distributions: the threads' together, against the theory. */
#include "load/pace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define N           100000
#define THREADS_MAX 7
#define RATE        1000.0
#define BIN_NS      10000000.0

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The first N arrivals of all threads, in order of time, ns. */
static double *arrivals_of(enum pace_kind kind, uint64_t seed, unsigned int threads)
{
	const struct pace_opts o = { kind, RATE, seed };
	struct pace p[THREADS_MAX];
	double *at = malloc(N * sizeof(*at));
	unsigned int first;

	for (unsigned int k = 0; k < threads; k++)
		pace_begin(&p[k], &o, k, threads, 1000);
	for (size_t i = 0; i < N; i++) {
		first = 0;
		for (unsigned int k = 1; k < threads; k++)
			if (pace_due_ns(&p[k]) < pace_due_ns(&p[first]))
				first = k;
		at[i] = (double)(pace_due_ns(&p[first]) - 1000);
		pace_next(&p[first]);
	}
	return at;
}

static double *arrivals(enum pace_kind kind, uint64_t seed)
{
	return arrivals_of(kind, seed, THREADS_MAX);
}

/* Kolmogorov's distance between the gaps and the exponential distribution, times sqrt(n). */
static double distance(const double *at)
{
	double *gap = malloc((N - 1) * sizeof(*gap)), most = 0, f;

	for (size_t i = 0; i + 1 < N; i++)
		gap[i] = at[i + 1] - at[i];
	qsort(gap, N - 1, sizeof(*gap), by_value);
	for (size_t i = 0; i + 1 < N; i++) {
		f = 1 - exp(-gap[i] * RATE / 1e9);
		most = fmax(most, fmax(f - (double)i / (N - 1), (double)(i + 1) / (N - 1) - f));
	}
	free(gap);
	return most * sqrt(N - 1);
}

/* Variance of the number of arrivals in 10 ms over their mean. */
static double dispersion(const double *at)
{
	size_t bins = (size_t)(at[N - 1] / BIN_NS);
	double *count = calloc(bins + 1, sizeof(*count)), mean = 0, var = 0;

	for (size_t i = 0; i < N; i++)
		count[(size_t)(at[i] / BIN_NS)]++;
	for (size_t i = 0; i < bins; i++)
		mean += count[i] / (double)bins;
	for (size_t i = 0; i < bins; i++)
		var += (count[i] - mean) * (count[i] - mean) / (double)(bins - 1);
	free(count);
	return var / mean;
}

static void poisson_arrivals_are_a_poisson_process(void **state)
{
	double *at, rate;

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		at = arrivals(PACE_POISSON, seed);
		rate = (N - 1) / at[N - 1] * 1e9;
		/* 1.95: exceeded with a chance of 0.1 % */
		assert_true(distance(at) < 1.95);
		/* 10,000 bins: a standard deviation of 1.4 % */
		assert_true(fabs(dispersion(at) - 1) < 0.05);
		/* 100,000 arrivals: a standard deviation of 0.3 % */
		assert_true(fabs(rate / RATE - 1) < 0.01);
		free(at);
	}
}

/* Of one thread, and of four that are merged: 100,000 arrivals of a seed that is as good as any. */
static void the_rate_is_within_half_a_percent(void **state)
{
	(void)state;
	for (unsigned int threads = 1; threads <= 4; threads += 3) {
		double *at = arrivals_of(PACE_POISSON, 4, threads);

		assert_true(fabs((N - 1) / (at[N - 1] - at[0]) * 1e9 / RATE - 1) < 0.005);
		assert_true(distance(at) < 1.95);
		assert_true(fabs(dispersion(at) - 1) < 0.05);
		free(at);
		at = arrivals_of(PACE_FIXED, 4, threads);
		assert_true(fabs((N - 1) / (at[N - 1] - at[0]) * 1e9 / RATE - 1) < 1e-6);
		assert_true(dispersion(at) < 1e-3);
		free(at);
	}
}

/* A client that draws and a thread whose arrivals are drawn have the same number and seed. */
static void arrivals_are_not_the_draws_of_a_client(void **state)
{
	const struct pace_opts o = { PACE_POISSON, 1000, 7 };
	unsigned short random[3];
	struct pace p;

	(void)state;
	for (unsigned int k = 0; k < 4; k++) {
		pace_begin(&p, &o, k, 1, 0);
		pace_seed(random, 7, k);
		assert_true(fabs(p.first_ns - pace_exponential(random, p.gap_ns)) > 1);
	}
}

static void fixed_arrivals_have_equal_distances(void **state)
{
	double *at = arrivals(PACE_FIXED, 1);

	(void)state;
	for (size_t i = 0; i < N; i++)
		assert_true(fabs(at[i] - (double)i * 1e9 / RATE) < 2);
	assert_true(dispersion(at) < 0.02);
	free(at);
}

static void another_seed_gives_other_arrivals_and_the_same_gives_the_same(void **state)
{
	double *a = arrivals(PACE_POISSON, 1), *b = arrivals(PACE_POISSON, 1),
	       *c = arrivals(PACE_POISSON, 2);
	size_t same = 0;

	(void)state;
	assert_memory_equal(a, b, N * sizeof(*a));
	for (size_t i = 0; i < N; i++)
		same += a[i] == c[i];
	assert_true(same < 10);
	free(a);
	free(b);
	free(c);
}

static void there_are_never_more_than_most(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct pace_opts o = { PACE_POISSON, (double)(seed * seed), seed };
		double n = 0;
		struct pace p;

		pace_begin(&p, &o, 0, 1, 0);
		for (; pace_due_ns(&p) < 5000000000u; pace_next(&p))
			n++;
		assert_true(n < pace_most(&o, 5000000000u));
		assert_true(pace_most(&o, 5000000000u) < 10 * n + 100);
	}
}

static void a_closed_loop_has_none(void **state)
{
	const struct pace_opts o = { PACE_CLOSED, 0, 1 };
	struct pace p;

	(void)state;
	pace_begin(&p, &o, 0, 1, 5);
	assert_true(pace_due_ns(&p) == UINT64_MAX);
}

static void neighbouring_seeds_are_unrelated(void **state)
{
	unsigned short random[3];
	double sum = 0, first;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		pace_seed(random, 1, i);
		first = erand48(random);
		sum += first;
	}
	/* mean of 10,000 uniform numbers: a standard deviation of 0.0029 */
	assert_true(fabs(sum / 10000 - 0.5) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poisson_arrivals_are_a_poisson_process),
		cmocka_unit_test(the_rate_is_within_half_a_percent),
		cmocka_unit_test(arrivals_are_not_the_draws_of_a_client),
		cmocka_unit_test(fixed_arrivals_have_equal_distances),
		cmocka_unit_test(another_seed_gives_other_arrivals_and_the_same_gives_the_same),
		cmocka_unit_test(there_are_never_more_than_most),
		cmocka_unit_test(a_closed_loop_has_none),
		cmocka_unit_test(neighbouring_seeds_are_unrelated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
