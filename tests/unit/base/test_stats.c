/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of samples: against values worked out by hand, with the method named. */
#include "base/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void is_near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * (fabs(want) > 1 ? fabs(want) : 1))
		fail_msg("%.12g is not %.12g", got, want);
}

static struct stats of_first(size_t n)
{
	uint64_t *value = calloc(n + 1, sizeof(*value));
	struct stats s;

	/* 1 .. n, from both ends by turns: not sorted */
	for (size_t i = 0; i < n; i++)
		value[i] = i % 2 ? n - i / 2 : i / 2 + 1;
	assert_int_equal(stats_of(&s, value, n), 0);
	free(value);
	return s;
}

static void nothing_is_all_zero(void **state)
{
	struct stats s = { .n = 7, .mean = 1 };

	(void)state;
	assert_int_equal(stats_of(&s, NULL, 0), 0);
	assert_int_equal(s.n, 0);
	assert_false(s.has_ci);
	is_near(s.mean + s.median + s.stddev + s.cv + s.p95, 0);
	is_near(stats_quantile(NULL, 0, 0.5), 0);
}

static void one_value_has_no_spread(void **state)
{
	const uint64_t value[] = { 42 };
	struct stats s;

	(void)state;
	assert_int_equal(stats_of(&s, value, 1), 0);
	is_near(s.mean, 42);
	is_near(s.median, 42);
	is_near(s.p99, 42);
	is_near(s.stddev, 0);
	is_near(s.stddev_population, 0);
	assert_false(s.has_ci);
}

/* The textbook eight: squares of the differences add up to 32; 32 / 8 = 4, 32 / 7. */
static void both_deviations_have_their_divisor(void **state)
{
	const uint64_t value[] = { 9, 2, 4, 5, 4, 7, 4, 5 };
	struct stats s;

	(void)state;
	assert_int_equal(stats_of(&s, value, 8), 0);
	is_near(s.mean, 5);
	is_near(s.median, 4.5);
	is_near(s.stddev_population, 2);
	is_near(s.stddev, sqrt(32.0 / 7));
	is_near(s.cv, sqrt(32.0 / 7) / 5);
	is_near(s.min, 2);
	is_near(s.max, 9);
}

/* Hyndman and Fan's type 7, what R and NumPy do by default: of 1..10 at (10 - 1) * q. */
static void quantiles_are_interpolated(void **state)
{
	const uint64_t sorted[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	struct stats s = of_first(20);

	(void)state;
	is_near(stats_quantile(sorted, 10, 0), 1);
	is_near(stats_quantile(sorted, 10, 0.25), 3.25);
	is_near(stats_quantile(sorted, 10, 0.5), 5.5);
	is_near(stats_quantile(sorted, 10, 0.9), 9.1);
	is_near(stats_quantile(sorted, 10, 1), 10);
	is_near(stats_quantile(sorted, 10, 2), 10);
	is_near(s.p95, 19.05);
	is_near(s.p99, 19.81);
}

/*
 * Ranks and levels of the sign test's interval, level = 1 - 2 P(Bin(n, 1/2) < k), in integers:
 * n = 6: 1 - 2/64; 10: 1 - 2 * 11/1024; 15: 1 - 2 * 576/32768; 20: 1 - 2 * 21700/1048576;
 * 100: the tables' ranks 40 and 61 (96.48 %).
 */
static void the_interval_of_the_median_has_the_ranks_of_the_tables(void **state)
{
	static const struct {
		size_t n, low, high;
		double level;
	} known[] = { { 6, 1, 6, 0.96875 },
		      { 8, 1, 8, 0.9921875 },
		      { 9, 2, 8, 0.9609375 },
		      { 10, 2, 9, 0.978515625 },
		      { 15, 4, 12, 0.96484375 },
		      { 20, 6, 15, 0.958610534667969 },
		      { 100, 40, 61, 0.9647997997822952 } };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct stats s = of_first(known[i].n);

		assert_true(s.has_ci);
		is_near(s.ci_low, (double)known[i].low);
		is_near(s.ci_high, (double)known[i].high);
		is_near(s.ci_level, known[i].level);
	}
}

static void fewer_than_six_values_have_no_interval(void **state)
{
	(void)state;
	for (size_t n = 0; n < 6; n++)
		assert_false(of_first(n).has_ci);
}

/* 2^-n is no double any more. */
static void an_interval_of_very_many_values_is_narrow(void **state)
{
	struct stats s = of_first(5000);

	(void)state;
	assert_true(s.has_ci);
	assert_true(s.ci_low > 2400 && s.ci_low < 2500);
	assert_true(s.ci_high > 2500 && s.ci_high < 2600);
	assert_true(s.ci_level >= 0.95 && s.ci_level < 0.96);
}

/* Nanoseconds of a day: no overflow, no loss that could be seen. */
static void large_values_stay_exact_enough(void **state)
{
	const uint64_t value[] = { 86400000000000, 86400000000002 };
	struct stats s;

	(void)state;
	assert_int_equal(stats_of(&s, value, 2), 0);
	is_near(s.mean, 86400000000001);
	is_near(s.stddev_population, 1);
	is_near(s.stddev, sqrt(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_all_zero),
		cmocka_unit_test(one_value_has_no_spread),
		cmocka_unit_test(both_deviations_have_their_divisor),
		cmocka_unit_test(quantiles_are_interpolated),
		cmocka_unit_test(the_interval_of_the_median_has_the_ranks_of_the_tables),
		cmocka_unit_test(fewer_than_six_values_have_no_interval),
		cmocka_unit_test(an_interval_of_very_many_values_is_narrow),
		cmocka_unit_test(large_values_stay_exact_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
