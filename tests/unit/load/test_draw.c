/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lengths and popularity by chance: what is written, and how often each comes. */
#include "load/draw.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define DRAWS 100000

static struct draw sizes_of(const char *text)
{
	struct draw s;
	struct err e;

	assert_int_equal(draw_parse(&s, DRAW_BYTES, "file_size", text, &e), 0);
	return s;
}

static void lengths_are_printed_as_they_are_read(void **state)
{
	static const struct {
		const char *text, *printed;
		double mean;
	} row[] = {
		{ "0", "0", 0 },
		{ "16K", "16384", 16384 },
		{ "1T", "1099511627776", 1099511627776.0 },
		{ "uniform:4K-64K", "uniform:4096-65536", 34816 },
		{ "uniform:7-7", "uniform:7-7", 7 },
		{ "exponential:16K", "exponential:16384", 16384 },
		{ "lognormal:16K,0.5", "lognormal:16384,0.5", 16384 * 1.1331484530668263 },
		{ "4K*60,64K*30,1M*10", "4096*60,65536*30,1048576*10",
		  4096 * 0.6 + 65536 * 0.3 + 1048576 * 0.1 },
		{ "0*1", "0*1", 0 },
	};
	struct draw s, again;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		s = sizes_of(row[i].text);
		draw_text(text, sizeof(text), DRAW_BYTES, &s);
		assert_string_equal(text, row[i].printed);
		again = sizes_of(text);
		assert_memory_equal(&again, &s, sizeof(s));
		assert_true(fabs(draw_mean(&s) - row[i].mean) <= 1e-6 * row[i].mean);
	}
}

static void what_is_no_length_is_named(void **state)
{
	static const char *const form = "is not a size such as 16K, uniform:4K-64K, "
					"exponential:16K, lognormal:16K,1.5 or 4K*60,64K*40";
	static const struct {
		const char *text, *part; /* NULL: form */
	} row[] = {
		{ "", NULL },
		{ "big", NULL },
		{ "-1", "'-1' is not in 0..1099511627776" },
		{ "2T", "'2T' is not in 0..1099511627776" },
		{ "uniform:4K", NULL },
		{ "uniform:64K-4K", "'uniform:64K-4K': the first size is the smaller one" },
		{ "uniform:-4K", NULL },
		{ "exponential:", NULL },
		{ "lognormal:16K", NULL },
		{ "lognormal:16K,", NULL },
		{ "lognormal:16K,nan", NULL },
		{ "lognormal:16K,0", NULL },
		{ "lognormal:16K,9", NULL },
		{ "4K*60,64K", NULL },
		{ "4K*0", "'0' is not in 1..1000000" },
		{ "4K*60,", NULL },
		{ "1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1,1*1",
		  "more than 16 sizes" },
	};
	struct draw s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		e = (struct err) { 0 };
		assert_true(draw_parse(&s, DRAW_BYTES, "file_size", row[i].text, &e) < 0);
		if (!strstr(e.text, row[i].part ? row[i].part : form) &&
		    !strstr(e.text, "is not a size"))
			fail_msg("%s: %s", row[i].text, e.text);
		assert_int_equal(strncmp(e.text, "file_size", 9), 0);
	}
}

static void times_are_read_in_seconds_or_with_a_unit(void **state)
{
	static const struct {
		const char *text, *printed;
		enum draw_kind kind;
		double mean_s, most_s;
	} row[] = {
		{ "0", "exponential:0.000000000", DRAW_EXPONENTIAL, 0, 0 },
		{ "0.5", "exponential:0.500000000", DRAW_EXPONENTIAL, 0.5, 50 },
		{ "20ms", "exponential:0.020000000", DRAW_EXPONENTIAL, 0.02, 2 },
		{ "fixed:1.5", "fixed:1.500000000", DRAW_FIXED, 1.5, 1.5 },
		{ "uniform:100ms-2", "uniform:0.100000000-2.000000000", DRAW_UNIFORM, 1.05, 2 },
		{ "lognormal:1m,0.5", "lognormal:60.000000000,0.5", DRAW_LOGNORMAL,
		  60 * 1.1331484530668263, 6000 },
		{ "0.1*3,2s*1", "0.100000000*3,2.000000000*1", DRAW_TABLE, 0.575, 2 },
	};
	struct draw d, again;
	char text[512];
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(draw_parse(&d, DRAW_NS, "think", row[i].text, &e), 0);
		assert_int_equal(d.kind, row[i].kind);
		draw_text(text, sizeof(text), DRAW_NS, &d);
		assert_string_equal(text, row[i].printed);
		assert_int_equal(draw_parse(&again, DRAW_NS, "think", text, &e), 0);
		assert_memory_equal(&again, &d, sizeof(d));
		assert_true(fabs(draw_mean(&d) / 1e9 - row[i].mean_s) <= 1e-9 * row[i].mean_s);
		assert_true(fabs((double)draw_most(&d) / 1e9 - row[i].most_s) < 1e-6);
	}
	assert_int_equal(draw_parse(&d, DRAW_NS, "think", "uniform:2-1", &e), -EINVAL);
	assert_string_equal(e.text, "think: 'uniform:2-1': the first time is the smaller one");
	assert_int_equal(draw_parse(&d, DRAW_NS, "think", "uniform:2", &e), -EINVAL);
	assert_string_equal(e.text,
			    "think: 'uniform:2' is not a time such as 0.5, fixed:200ms, "
			    "uniform:0.1-2, exponential:0.5, lognormal:0.5,1.5 or 0.1*60,2*40");
}

/* Share of the lengths that are at most so long. */
static double share_up_to(const struct draw *s, uint64_t len)
{
	unsigned int n = 0;

	for (uint64_t i = 0; i < DRAWS; i++)
		n += draw_numbered(s, 7, i) <= len;
	return (double)n / DRAWS;
}

/* Five standard deviations of a share of DRAWS. */
static void assert_share(double got, double want)
{
	assert_true(fabs(got - want) <= 5 * sqrt(want * (1 - want) / DRAWS));
}

static void lengths_come_as_often_as_they_should(void **state)
{
	struct draw s = sizes_of("uniform:1000-1999");

	(void)state;
	assert_share(share_up_to(&s, 1249), 0.25);
	assert_share(share_up_to(&s, 1899), 0.90);
	assert_true(share_up_to(&s, 999) == 0 && share_up_to(&s, 1999) == 1);
	s = sizes_of("exponential:100000");
	assert_share(share_up_to(&s, 69315), 0.5);
	assert_share(share_up_to(&s, 230259), 0.9);
	s = sizes_of("lognormal:100000,1.5");
	assert_share(share_up_to(&s, 100000), 0.5);
	assert_share(share_up_to(&s, 448169), 0.8413447); /* one sigma */
	s = sizes_of("10*60,20*30,30*10");
	assert_share(share_up_to(&s, 10), 0.6);
	assert_share(share_up_to(&s, 20), 0.9);
	assert_true(share_up_to(&s, 9) == 0 && share_up_to(&s, 30) == 1);
}

/* No number is more than 100 times the one given, and the mean is that of what is drawn. */
static void the_mean_is_that_of_what_is_drawn(void **state)
{
	static const char *const text[] = { "exponential:100000",   "lognormal:100000,0.5",
					    "lognormal:100000,1.5", "lognormal:100000,3",
					    "lognormal:100000,5",   "uniform:1000-1999",
					    "10*60,20000*30,30*10" };
	double sum, squares, v, error;
	struct draw s;

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		s = sizes_of(text[i]);
		sum = squares = 0;
		for (uint64_t k = 0; k < DRAWS; k++) {
			v = (double)draw_numbered(&s, 7, k);
			sum += v;
			squares += v * v;
		}
		error = sqrt(squares / DRAWS - sum / DRAWS * sum / DRAWS) / sqrt(DRAWS);
		if (fabs(sum / DRAWS - draw_mean(&s)) > 4 * error)
			fail_msg("%s: %.0f is said, %.0f drawn", text[i], draw_mean(&s),
				 sum / DRAWS);
	}
}

static void a_file_has_always_the_same_length(void **state)
{
	const struct draw s = sizes_of("exponential:16K"), one = sizes_of("16K");
	unsigned int other = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(draw_numbered(&s, 1, i), draw_numbered(&s, 1, i));
		other += draw_numbered(&s, 2, i) != draw_numbered(&s, 1, i);
		assert_int_equal(draw_numbered(&one, 1, i), 16384);
	}
	assert_true(other > 95);
}

/* The first of n by Zipf's law: 1 / sum of 1 / k^s. */
static double zipf_share(unsigned int n, double s, unsigned int k)
{
	double all = 0;

	for (unsigned int i = 1; i <= n; i++)
		all += pow(i, -s);
	return pow(k, -s) / all;
}

static void the_popular_come_more_often_by_zipfs_law(void **state)
{
	static const double exponent[] = { 0, 0.5, 1, 1.2, 3 };
	static const unsigned int n[] = { 1, 2, 10, 1000 };
	static unsigned int times[1000];
	unsigned short random[3] = { 1, 2, 3 };
	unsigned int k;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		for (size_t j = 0; j < 4; j++) {
			memset(times, 0, sizeof(times));
			for (unsigned int d = 0; d < DRAWS; d++) {
				k = draw_popular(n[j], exponent[i], random);
				assert_true(k < n[j]);
				times[k]++;
			}
			for (k = 0; k < n[j]; k += 1 + k / 3)
				assert_share((double)times[k] / DRAWS,
					     zipf_share(n[j], exponent[i], k + 1));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_are_printed_as_they_are_read),
		cmocka_unit_test(times_are_read_in_seconds_or_with_a_unit),
		cmocka_unit_test(what_is_no_length_is_named),
		cmocka_unit_test(lengths_come_as_often_as_they_should),
		cmocka_unit_test(the_mean_is_that_of_what_is_drawn),
		cmocka_unit_test(a_file_has_always_the_same_length),
		cmocka_unit_test(the_popular_come_more_often_by_zipfs_law),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
