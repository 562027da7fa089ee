/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is a limit, and whether a load keeps one of a latency. */
#include "drive/slo.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
		{ "p99<=50ms", "", 0.99, 50000000 },
		{ "save.p99.9<=2s", "save", 0.999, 2000000000 },
	};
	struct slos s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(take(&s, rows[i].text), 0);
		assert_string_equal(s.slo[i].scope, rows[i].scope);
		assert_float_equal(s.slo[i].q, rows[i].q, 0);
		assert_float_equal(s.slo[i].limit, (double)rows[i].ns, 0);
		assert_int_equal(s.slo[i].figure, SLO_LATENCY);
	}
}

static void what_is_no_limit_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "p99",
					     "p99=",
					     "p99=50",
					     "p99=50 ms",
					     "p98=1s",
					     "=1s",
					     "p99=0s",
					     "p99=-1s",
					     "p99=nans",
					     "p99=infs",
					     "save.=1s",
					     "save=1s",
					     "p99=1e30s",
					     "p99=0x10ms",
					     "p99= 5ms",
					     "rate>=0x10",
					     "rate>=+5",
					     "a.b.p99=1s",
					     "rate=5",
					     "rate<=5",
					     "rate>=",
					     "rate>=0",
					     "rate>=-1",
					     "rate>=5ms",
					     "failed",
					     "failed<=",
					     "failed=1",
					     "failed>=1",
					     "failed<=-1%",
					     "failed<=101%",
					     "failed<=0.5",
					     "failed<=1s",
					     "dropped<=x",
					     "save.dropped<=0",
					     "p99>=1s",
					     "p99<1s",
					     "p99==1s",
					     ".p99<=1s",
					     "rate>=nan",
					     "p99<=1s,",
					     ",p99<=1s" };
	struct slos s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct err e = { 0 };

		s.n = 0;
		if (slo_take(&s, texts[i], &e) != -EINVAL)
			fail_msg("'%s' is a limit", texts[i]);
		assert_true(strstr(e.text, texts[i]) || strchr(texts[i], ','));
		assert_int_equal(s.n, !strcmp(texts[i], "p99<=1s,"));
	}
	s.n = 0;
	for (unsigned int i = 0; i < SLO_MAX; i++) {
		char text[32];

		snprintf(text, sizeof(text), "p50=%us", i + 1);
		assert_int_equal(take(&s, text), 0);
	}
	assert_int_equal(slo_take(&s, "p50=99s", &(struct err) { 0 }), -EINVAL);
}

static void one_option_may_have_several_limits(void **state)
{
	struct slos s = { 0 };

	(void)state;
	assert_int_equal(slo_take(&s, "rate>=500,failed<=0.1%,dropped<=0,p99<=50ms", NULL), 0);
	assert_int_equal(slo_take(&s, "p99<=50ms,save.rate>=2.5/s,probe.failed<=3", NULL), 0);
	assert_int_equal(s.n, 6); /* one is given twice */
	assert_int_equal(s.slo[0].figure, SLO_RATE);
	assert_int_equal(s.slo[0].unit, RUN_SLO_PER_S);
	assert_float_equal(s.slo[0].limit, 500, 0);
	assert_int_equal(s.slo[1].unit, RUN_SLO_SHARE);
	assert_float_equal(s.slo[1].limit, 0.001, 1e-12);
	assert_int_equal(s.slo[2].unit, RUN_SLO_COUNT);
	assert_float_equal(s.slo[2].limit, 0, 0);
	assert_string_equal(s.slo[3].text, "p99<=50ms");
	assert_string_equal(s.slo[4].scope, "save");
	assert_float_equal(s.slo[4].limit, 2.5, 0);
	assert_true(slo_has(&s, SLO_FAILED, "") && slo_has(&s, SLO_FAILED, "probe"));
	assert_false(slo_has(&s, SLO_RATE, "probe") || slo_has(&s, SLO_DROPPED, "save"));
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
	return slo_judge(&s, load, probe, false) == RUN_SLO_KEPT;
}

/* A load whose clients all had a session. */
static struct run_load *new_load(size_t n_actions)
{
	struct run_load *l = run_load_new(1, n_actions, 0);

	l->client->opened = true;
	return l;
}

static void a_limit_is_kept_up_to_its_last_nanosecond(void **state)
{
	struct run_load *load = new_load(2), *probe = new_load(1);

	(void)state;
	fill(load, 0, "look", 100);
	fill(load, 1, "save", 10);
	fill(probe, 0, "stat", 5);
	assert_true(judge("max=100us", load, probe));
	assert_float_equal(load->slo[0].value, 100000, 0);
	assert_false(judge("max=99999ns", load, probe));
	assert_true(judge("save.max=10us", load, probe));
	assert_false(judge("save.max=9us", load, probe));
	assert_true(judge("probe.max=5us", load, probe));
	assert_false(judge("probe.mean=2us", load, probe));
	assert_float_equal(load->slo[0].value, 3000, 0);
	assert_true(judge("look.p50=51us", load, probe));
	assert_false(judge("look.p50=49us", load, probe));
	assert_int_equal(load->n_slos, 1);
	assert_string_equal(load->slo[0].text, "look.p50=49us");
	run_load_free(load);
	run_load_free(probe);
}

/* Nothing was done: neither kept nor broken. */
static void what_was_not_measured_is_not_judged(void **state)
{
	struct run_load *load = new_load(1);

	(void)state;
	fill(load, 0, "look", 0);
	assert_false(judge("p99=1ns", load, NULL));
	assert_false(load->slo[0].known);
	assert_int_equal(load->slo[0].verdict, RUN_SLO_UNSURE);
	assert_string_equal(load->slo[0].why, "no such action was complete");
	assert_false(judge("probe.p99=1ns", load, NULL));
	assert_false(load->slo[0].known);
	assert_int_equal(load->slo[0].verdict, RUN_SLO_UNSURE);
	assert_string_equal(load->slo[0].why, "there was no probe");
	run_load_free(load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_is_a_quantile_and_a_time),
		cmocka_unit_test(what_is_no_limit_is_refused),
		cmocka_unit_test(one_option_may_have_several_limits),
		cmocka_unit_test(a_limit_is_kept_up_to_its_last_nanosecond),
		cmocka_unit_test(what_was_not_measured_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
