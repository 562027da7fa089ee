/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a load has become steady. */
#include "drive/steady.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define S     1000000000ull
#define BEGIN (1000 * S)

/* Seconds after BEGIN when it was found, at looks ten times a second; 0: not within most_s. */
static double found(double (*done)(double s), uint64_t most_s)
{
	struct steady s;
	unsigned int n = 0;

	steady_begin(&s, BEGIN, most_s * S);
	for (uint64_t t = BEGIN; t < BEGIN + (most_s + 5) * S; t += S / 10)
		n += steady_tick(&s, t, (uint64_t)done((double)(t - BEGIN) / (double)S));
	assert_in_range(n, 0, 1);
	return s.found_ns ? (double)(s.found_ns - BEGIN) / (double)S : 0;
}

static double flat(double s)
{
	return 500 * s;
}

/* 4 % more in 10 s, of the rate at the beginning */
static double nearly_flat(double s)
{
	return 1000 * s + 2 * s * s;
}

/* 100, 200, 300, ... a second */
static double rising(double s)
{
	return 50 * s * s;
}

/* grows for 20 s, then stays */
static double grown_up(double s)
{
	return s < 20 ? 50 * s * s : 20000 + 2000 * (s - 20);
}

static double noisy(double s)
{
	return 1000 * s + ((int)(s * 10) % 7) * 5;
}

/* 900 and 1,100 in turn */
static double alternating(double s)
{
	unsigned int n = (unsigned int)s;

	return 1000 * n - 100 * (n % 2) + (s - n) * (n % 2 ? 1100 : 900);
}

/* the same, and each second 40 more */
static double rising_in_jumps(double s)
{
	return alternating(s) + 20 * s * s;
}

static double nothing(double s)
{
	(void)s;
	return 0;
}

static void a_flat_rate_is_steady_after_ten_seconds(void **state)
{
	(void)state;
	assert_float_equal(found(flat, 60), 10, 0.11);
	assert_float_equal(found(nearly_flat, 60), 10, 0.11);
	assert_float_equal(found(noisy, 60), 10, 0.11);
	assert_float_equal(found(alternating, 60), 10, 0.11);
	assert_float_equal(found(nothing, 60), 10, 0.11);
}

static void a_rate_that_changes_is_not(void **state)
{
	(void)state;
	/* it rises by the same amount each second: relative to what it is, less and less */
	assert_true(found(rising, 100) == 0);
	assert_in_range((unsigned int)(100 * found(grown_up, 60)), 2700, 3020);
	assert_true(found(grown_up, 25) == 0);
	assert_true(found(rising_in_jumps, 20) == 0);
}

static void nobody_waits_who_did_not_ask(void **state)
{
	struct steady s;

	(void)state;
	steady_begin(&s, BEGIN, 0);
	assert_false(steady_tick(&s, BEGIN + 30 * S, 100));
	assert_int_equal(s.found_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flat_rate_is_steady_after_ten_seconds),
		cmocka_unit_test(a_rate_that_changes_is_not),
		cmocka_unit_test(nobody_waits_who_did_not_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
