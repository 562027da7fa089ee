/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of latencies, and whether a load keeps them. */
#include "drive/slo.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

static int take(struct slos *s, const char *text)
{
	struct err e = { 0 };
	int r = slo_take(s, text, &e);

	if (r)
		assert_non_null(strstr(e.text, text));
	return r;
}

static void a_limit_is_a_quantile_and_a_time(void **state)
{
	static const struct {
		const char *text, *scope;
		double q;
		uint64_t ns;
	} rows[] = {
		{ "p99=50ms", "", 0.99, 50000000 },
		{ "p99.9=1.5s", "", 0.999, 1500000000 },
		{ "save.p99.9=2s", "save", 0.999, 2000000000 },
		{ "probe.max=7us", "probe", 1, 7000 },
		{ "mean=1ns", "", 0, 1 },
		{ "read.mean=3ms", "read", 0, 3000000 },
	};
	struct slos s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(take(&s, rows[i].text), 0);
		assert_string_equal(s.slo[i].scope, rows[i].scope);
		assert_float_equal(s.slo[i].q, rows[i].q, 0);
		assert_int_equal(s.slo[i].limit_ns, rows[i].ns);
	}
}

static void what_is_no_limit_is_refused(void **state)
{
	static const char *const texts[] = { "",          "p99",       "p99=",      "p99=50",
					     "p99=50 ms", "p98=1s",    "=1s",       "p99=0s",
					     "p99=-1s",   "p99=nans",  "p99=infs",  "save.=1s",
					     "save=1s",   "p99=1e30s", "a.b.p99=1s" };
	struct slos s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(take(&s, texts[i]), -EINVAL);
		assert_int_equal(s.n, 0);
	}
	for (unsigned int i = 0; i < SLO_MAX; i++)
		assert_int_equal(take(&s, "p50=1s"), 0);
	assert_int_equal(slo_take(&s, "p50=1s", &(struct err) { 0 }), -EINVAL);
}

/* n latencies of the i-th action, 1 us, 2 us, ... */
static void fill(struct run_load *l, size_t i, const char *name, unsigned int n)
{
	l->action[i].name = name;
	l->action[i].n = n;
	for (unsigned int k = 1; k <= n; k++)
		hist_add(&l->action[i].planned, 1000 * k);
}

static bool judge(const char *text, struct run_load *load, const struct run_load *probe)
{
	struct slos s = { 0 };

	assert_int_equal(take(&s, text), 0);
	return slo_judge(&s, load, probe);
}

static void a_limit_is_kept_up_to_its_last_nanosecond(void **state)
{
	struct run_load *load = run_load_new(1, 2, 0), *probe = run_load_new(1, 1, 0);

	(void)state;
	fill(load, 0, "look", 100);
	fill(load, 1, "save", 10);
	fill(probe, 0, "stat", 5);
	assert_true(judge("max=100us", load, probe));
	assert_int_equal(load->slo[0].value_ns, 100000);
	assert_false(judge("max=99999ns", load, probe));
	assert_true(judge("save.max=10us", load, probe));
	assert_false(judge("save.max=9us", load, probe));
	assert_true(judge("probe.max=5us", load, probe));
	assert_false(judge("probe.mean=2us", load, probe));
	assert_int_equal(load->slo[0].value_ns, 3000);
	assert_true(judge("look.p50=51us", load, probe));
	assert_false(judge("look.p50=49us", load, probe));
	assert_int_equal(load->n_slos, 1);
	assert_string_equal(load->slo[0].text, "look.p50=49us");
	run_load_free(load);
	run_load_free(probe);
}

/* Nothing was done: neither kept nor missed. */
static void what_was_not_measured_is_not_judged(void **state)
{
	struct run_load *load = run_load_new(1, 1, 0);

	(void)state;
	fill(load, 0, "look", 0);
	assert_true(judge("p99=1ns", load, NULL));
	assert_false(load->slo[0].known);
	assert_true(judge("probe.p99=1ns", load, NULL));
	assert_false(load->slo[0].known);
	run_load_free(load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_a_quantile_and_a_time),
		cmocka_unit_test(what_is_no_limit_is_refused),
		cmocka_unit_test(a_limit_is_kept_up_to_its_last_nanosecond),
		cmocka_unit_test(what_was_not_measured_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
