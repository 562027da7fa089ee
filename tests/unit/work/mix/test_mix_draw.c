/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lengths and popularity by chance: what is written, and how often each comes. */
#include "work/mix/mix_draw.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define DRAWS 100000

static struct mix_sizes sizes_of(const char *text)
{
	struct mix_sizes s;
	struct err e;

	assert_int_equal(mix_sizes_parse(&s, text, &e), 0);
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
		{ "lognormal:16K,1.5", "lognormal:16384,1.5", 16384 * 3.0802168 },
		{ "4K*60,64K*30,1M*10", "4096*60,65536*30,1048576*10",
		  4096 * 0.6 + 65536 * 0.3 + 1048576 * 0.1 },
		{ "0*1", "0*1", 0 },
	};
	struct mix_sizes s, again;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		s = sizes_of(row[i].text);
		mix_sizes_text(text, sizeof(text), &s);
		assert_string_equal(text, row[i].printed);
		again = sizes_of(text);
		assert_memory_equal(&again, &s, sizeof(s));
		assert_true(fabs(mix_sizes_mean(&s) - row[i].mean) <= 1e-6 * row[i].mean);
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
		{ "uniform:64K-4K", "'uniform:64K-4K': the first length is the smaller one" },
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
		  "more than 16 lengths" },
	};
	struct mix_sizes s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		e = (struct err) { 0 };
		assert_true(mix_sizes_parse(&s, row[i].text, &e) < 0);
		if (!strstr(e.text, row[i].part ? row[i].part : form) &&
		    !strstr(e.text, "is not a size"))
			fail_msg("%s: %s", row[i].text, e.text);
		assert_int_equal(strncmp(e.text, "file_size", 9), 0);
	}
}

/* Share of the lengths that are at most so long. */
static double share_up_to(const struct mix_sizes *s, uint64_t len)
{
	unsigned int n = 0;

	for (uint64_t i = 0; i < DRAWS; i++)
		n += mix_sizes_draw(s, 7, i) <= len;
	return (double)n / DRAWS;
}

/* Five standard deviations of a share of DRAWS. */
static void assert_share(double got, double want)
{
	assert_true(fabs(got - want) <= 5 * sqrt(want * (1 - want) / DRAWS));
}

static void lengths_come_as_often_as_they_should(void **state)
{
	struct mix_sizes s = sizes_of("uniform:1000-1999");

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

static void a_file_has_always_the_same_length(void **state)
{
	const struct mix_sizes s = sizes_of("exponential:16K"), one = sizes_of("16K");
	unsigned int other = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(mix_sizes_draw(&s, 1, i), mix_sizes_draw(&s, 1, i));
		other += mix_sizes_draw(&s, 2, i) != mix_sizes_draw(&s, 1, i);
		assert_int_equal(mix_sizes_draw(&one, 1, i), 16384);
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
				k = mix_popular(n[j], exponent[i], random);
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
		cmocka_unit_test(what_is_no_length_is_named),
		cmocka_unit_test(lengths_come_as_often_as_they_should),
		cmocka_unit_test(a_file_has_always_the_same_length),
		cmocka_unit_test(the_popular_come_more_often_by_zipfs_law),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
