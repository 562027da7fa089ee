/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histogram against exact sorted data. */
#include "base/hist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 19997 /* q * N is not whole: ranks have to be rounded up */

/* xorshift: the same numbers on every machine. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static double draw_unit(uint64_t *state)
{
	return ((double)(draw(state) >> 11) + 0.5) / 9007199254740992.0;
}

static uint64_t uniform(uint64_t *s)
{
	return draw(s) % 1000000;
}

static uint64_t exponential(uint64_t *s)
{
	return (uint64_t)(-log(draw_unit(s)) * 50000);
}

static uint64_t pareto(uint64_t *s)
{
	return (uint64_t)(1000 / pow(draw_unit(s), 1 / 1.1));
}

static uint64_t bimodal(uint64_t *s)
{
	return draw(s) % 10 ? 8000 + draw(s) % 100 : 4000000 + draw(s) % 50000;
}

static uint64_t constant(uint64_t *s)
{
	(void)s;
	return 123457;
}

static uint64_t tiny(uint64_t *s)
{
	return draw(s) % 70;
}

static uint64_t any_bits(uint64_t *s)
{
	return draw(s) >> (draw(s) % 64);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void quantiles_are_within_1_in_128_of_the_exact_ones(void **state)
{
	static uint64_t (*const kinds[])(uint64_t *) = { uniform,  exponential, pareto,  bimodal,
							 constant, tiny,        any_bits };
	static const double qs[] = {
		0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1
	};
	uint64_t *exact = malloc(N * sizeof(*exact));
	struct hist *h = malloc(sizeof(*h));

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		uint64_t seed = 88172645463325252ull + k;

		memset(h, 0, sizeof(*h));
		for (size_t i = 0; i < N; i++) {
			exact[i] = kinds[k](&seed);
			hist_add(h, exact[i]);
		}
		qsort(exact, N, sizeof(*exact), compare);
		for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
			size_t rank = (size_t)ceil(qs[i] * N);
			double want = (double)exact[rank ? rank - 1 : 0];
			double got = (double)hist_quantile(h, qs[i]);

			if (fabs(got - want) > want / 128)
				fail_msg("kind %zu, q %g: %.0f instead of %.0f", k, qs[i], got,
					 want);
		}
		assert_int_equal(h->min, exact[0]);
		assert_int_equal(h->max, exact[N - 1]);
	}
	free(exact);
	free(h);
}

static void every_value_is_inside_its_bucket(void **state)
{
	(void)state;
	for (unsigned int bits = 1; bits <= HIST_BITS; bits++) {
		for (unsigned int shift = 0; shift < 64; shift++) {
			for (int step = -3; step <= 3; step++) {
				uint64_t v = (1ull << shift) + (uint64_t)step;
				size_t i = hist_index(v, bits);

				assert_true(i < HIST_BUCKETS(bits));
				assert_true(hist_low(i, bits) <= v);
				if (i + 1 < HIST_BUCKETS(bits))
					assert_true(v < hist_low(i + 1, bits));
			}
		}
	}
}

static void buckets_ascend_and_their_lower_ends_round_trip(void **state)
{
	(void)state;
	for (unsigned int bits = 1; bits <= HIST_BITS; bits++) {
		for (size_t i = 0; i < HIST_BUCKETS(bits); i++) {
			assert_int_equal(hist_index(hist_low(i, bits), bits), i);
			if (i)
				assert_true(hist_low(i, bits) > hist_low(i - 1, bits));
		}
		assert_int_equal(hist_index(UINT64_MAX, bits), HIST_BUCKETS(bits) - 1);
	}
}

static void no_bucket_is_wider_than_its_share_of_the_value(void **state)
{
	(void)state;
	for (size_t i = 1; i + 1 < HIST_BUCKETS(HIST_BITS); i++) {
		uint64_t low = hist_low(i, HIST_BITS), width = hist_low(i + 1, HIST_BITS) - low;

		assert_true(width == 1 || width <= low >> HIST_BITS);
	}
}

static void merging_equals_recording_in_one_histogram(void **state)
{
	struct hist *h = calloc(3, sizeof(*h));
	uint64_t seed = 42;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		uint64_t v = pareto(&seed);

		hist_add(&h[0], v);
		hist_add(&h[1 + i % 2], v);
	}
	hist_merge(&h[1], &h[2]);
	assert_memory_equal(&h[0], &h[1], sizeof(h[0]));
	free(h);
}

static void merging_an_empty_histogram_changes_nothing(void **state)
{
	struct hist *h = calloc(2, sizeof(*h));

	(void)state;
	hist_add(&h[0], 5);
	hist_merge(&h[0], &h[1]);
	assert_int_equal(h[0].min, 5);
	assert_int_equal(h[0].n, 1);
	hist_merge(&h[1], &h[0]);
	assert_int_equal(h[1].min, 5);
	free(h);
}

static void an_empty_histogram_answers_zero(void **state)
{
	struct hist *h = calloc(1, sizeof(*h));

	(void)state;
	assert_int_equal(hist_quantile(h, 0.5), 0);
	assert_true(hist_mean(h) == 0);
	free(h);
}

static void the_mean_is_exact(void **state)
{
	struct hist *h = calloc(1, sizeof(*h));

	(void)state;
	hist_add(h, 1000001);
	hist_add(h, 2000002);
	assert_true(hist_mean(h) == 1500001.5);
	free(h);
}

static void quantiles_never_leave_min_and_max(void **state)
{
	struct hist *h = calloc(1, sizeof(*h));

	(void)state;
	hist_add(h, 1000);
	hist_add(h, 1000);
	hist_add(h, 1001);
	assert_int_equal(hist_quantile(h, 0), 1000);
	assert_int_equal(hist_quantile(h, 1), 1001);
	assert_in_range(hist_quantile(h, 0.5), 1000, 1001);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_within_1_in_128_of_the_exact_ones),
		cmocka_unit_test(every_value_is_inside_its_bucket),
		cmocka_unit_test(buckets_ascend_and_their_lower_ends_round_trip),
		cmocka_unit_test(no_bucket_is_wider_than_its_share_of_the_value),
		cmocka_unit_test(merging_equals_recording_in_one_histogram),
		cmocka_unit_test(merging_an_empty_histogram_changes_nothing),
		cmocka_unit_test(an_empty_histogram_answers_zero),
		cmocka_unit_test(the_mean_is_exact),
		cmocka_unit_test(quantiles_never_leave_min_and_max),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
