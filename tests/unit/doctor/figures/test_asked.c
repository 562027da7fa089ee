/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/figures/asked.h"

#include "bpf/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct run run_with(uint64_t cached)
{
	struct run r = { 0 };

	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	r.has_asking = true;
	r.limit.cached = cached;
	return r;
}

/* One more session: n questions, so many of which it had asked so many questions ago. */
static struct run_session *add(struct run *r, uint32_t n, uint32_t again, uint32_t ago)
{
	struct run_session *s = run_session(r);

	assert_non_null(s);
	s->begun_ns = 1; /* in the watched time */
	s->asking.n = n;
	s->asking.again[afs_hist_index(ago, 0, AFS_ASKING_BUCKETS)] = again;
	return s;
}

/* CNID is a fifth of the requests' own time. */
static struct run_figures measured(struct run *r)
{
	const struct asked_seen seen = { .cnid_ns = 2e9, .most_ns = 2e9, .work_ns = 10e9 };
	struct run_figures f = { 0 };

	doctor_asked(&f, r, &seen);
	run_fini(r);
	return f;
}

static void is(const struct run_figures *f, enum run_figure which, double value)
{
	if (!f->known[which] || f->value[which] != value)
		fail_msg("%s is %g, not %g", run_figures[which].key, f->value[which], value);
}

/* The server has the size that was set when it began, whatever is in the file now. */
static void of_a_cache_whose_setting_was_changed_nothing_is_concluded(void **state)
{
	struct run r = run_with(0);
	struct run_figures f;

	(void)state;
	r.limit.changed = true;
	add(&r, 6000, 4000, 6000);
	f = measured(&r);
	is(&f, RUN_FIGURE_ASKED, 6000);
	assert_false(f.known[RUN_FIGURE_ASKED_AGAIN] || f.known[RUN_FIGURE_ASKED_TIME] ||
		     f.known[RUN_FIGURE_DIRCACHE] || f.known[RUN_FIGURE_DIRCACHE_NEED]);
	assert_string_equal(f.who[RUN_FIGURE_ASKED_AGAIN],
			    "the configuration may have been changed after the server began");
}

static void what_was_asked_long_ago_was_forgotten(void **state)
{
	struct run r = run_with(1024);
	struct run_session *most;
	struct run_figures f;

	(void)state;
	add(&r, 4000, 1000, 3000);
	most = add(&r, 6000, 4000, 3000);
	most->pid = 77;
	most->user = strdup("mori");
	f = measured(&r);
	is(&f, RUN_FIGURE_ASKED, 10000);
	is(&f, RUN_FIGURE_ASKED_AGAIN, 0.5);
	is(&f, RUN_FIGURE_ASKED_TIME, 0.1);
	is(&f, RUN_FIGURE_DIRCACHE, 1024);
	is(&f, RUN_FIGURE_DIRCACHE_NEED, 4096);
	is(&f, RUN_FIGURE_DIRCACHE_BYTES, 4096 * 192);
	assert_string_equal(f.who[RUN_FIGURE_ASKED_AGAIN], "mori from an unknown address (pid 77)");
}

/* Within half of the cache nothing is dropped: the file has changed. */
static void what_was_asked_a_moment_ago_says_nothing_of_the_cache(void **state)
{
	static const struct {
		uint64_t cached;
		uint32_t ago;
		double again;
	} at[] = {
		{ 1024, 511, 0 },
		{ 1024, 512, 0.5 },
		{ 8192, 4095, 0 },
		{ 8192, 4096, 0.5 },
		{ 0, 4095, 0 },
		{ 65536, 32767, 0 },
		{ 0, 4096, 0.5 },
		{ 65536, 32768, 0.5 },
		{ 1024, 1, 0 },
		{ 1024, 1u << 30, 0.5 },
		{ 1ul << 31, 1u << 22, 0.5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct run r = run_with(at[i].cached);
		struct run_figures f;

		add(&r, 2000, 1000, at[i].ago);
		f = measured(&r);
		is(&f, RUN_FIGURE_ASKED_AGAIN, at[i].again);
		assert_int_equal(f.known[RUN_FIGURE_DIRCACHE_NEED], at[i].again > 0);
		assert_int_equal(f.known[RUN_FIGURE_DIRCACHE], at[i].cached > 0);
	}
}

static void nine_of_ten_would_fit_into_the_size_that_is_needed(void **state)
{
	struct run r = run_with(1024);
	struct run_figures f;

	(void)state;
	add(&r, 2000, 899, 1000);
	add(&r, 2000, 51, 5000);
	add(&r, 2000, 50, 100000);
	f = measured(&r);
	is(&f, RUN_FIGURE_DIRCACHE_NEED, 8192);
	/* Never less than twice the present size. */
	r = run_with(1024);
	add(&r, 2000, 1000, 600);
	f = measured(&r);
	is(&f, RUN_FIGURE_DIRCACHE_NEED, 2048);
}

/* What is known of questions that are not seen, of so much of the requests' own time. */
static bool is_known(struct run *r, double unseen, double most)
{
	const struct asked_seen seen = {
		.cnid_ns = 1e9, .most_ns = most * 10e9, .unseen = unseen, .work_ns = 10e9
	};
	struct run_figures f = { 0 };

	doctor_asked(&f, r, &seen);
	assert_int_equal(f.known[RUN_FIGURE_ASKED_AGAIN], f.known[RUN_FIGURE_ASKED_TIME]);
	assert_true(f.known[RUN_FIGURE_ASKED_AGAIN] || f.who[RUN_FIGURE_ASKED_AGAIN][0]);
	run_fini(r);
	return f.known[RUN_FIGURE_ASKED_AGAIN];
}

static struct run read_by_sessions(uint64_t cached, bool changed)
{
	struct run r = run_with(cached);

	r.has_asking = false;
	r.limit.changed = changed;
	return r;
}

static struct run asked_once(uint32_t n, uint64_t begun_ns)
{
	struct run r = run_with(8192);

	add(&r, n, 0, 1)->begun_ns = begun_ns;
	return r;
}

/* As with cnid scheme = sqlite, or of what a session had before the watch. */
static void what_may_have_been_forgotten_unseen_is_not_known(void **state)
{
	struct run r;

	(void)state;
	/* It is not much, whatever it is. */
	r = read_by_sessions(1024, false);
	assert_true(is_known(&r, 1e6, 0.04));
	r = read_by_sessions(1024, true);
	assert_true(is_known(&r, 1e6, 0.04));
	r = asked_once(100000, 0);
	assert_true(is_known(&r, 0, 0.04));
	/* It may be. */
	r = read_by_sessions(1024, false);
	assert_false(is_known(&r, 512, 0.06));
	r = read_by_sessions(0, false);
	assert_false(is_known(&r, 1, 0.06));
	r = read_by_sessions(1024, true);
	assert_false(is_known(&r, 1, 0.06));
	r = asked_once(100, 0);
	assert_false(is_known(&r, 0, 0.06));
	r = read_by_sessions(1024, false);
	add(&r, 0, 0, 1)->begun_ns = 0;
	assert_false(is_known(&r, 400, 0.8));
	/* A quarter was asked again, as far as is seen: 2.5% of the time. */
	r = run_with(1024);
	add(&r, 2000, 500, 4000)->begun_ns = 0;
	assert_false(is_known(&r, 0, 0.18));
	/* No session is older than the watch, or asks for more than its cache holds. */
	r = read_by_sessions(1024, false);
	assert_true(is_known(&r, 511, 0.9));
	r = asked_once(4000, 1);
	assert_true(is_known(&r, 0, 0.9));
	r = asked_once(50000, 1);
	assert_true(is_known(&r, 0, 0.9));
	/* Of two volumes one has a CNID server. */
	r = asked_once(4000, 1);
	assert_false(is_known(&r, 50000, 0.9));
	r = asked_once(4000, 1);
	assert_true(is_known(&r, 50, 0.9));
}

static void what_was_asked_again_is_known_whatever_else_is_not(void **state)
{
	struct run r = run_with(1024);

	(void)state;
	add(&r, 2000, 1000, 4000);
	assert_true(is_known(&r, 0, 0.9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_long_ago_was_forgotten),
		cmocka_unit_test(of_a_cache_whose_setting_was_changed_nothing_is_concluded),
		cmocka_unit_test(what_was_asked_a_moment_ago_says_nothing_of_the_cache),
		cmocka_unit_test(nine_of_ten_would_fit_into_the_size_that_is_needed),
		cmocka_unit_test(what_may_have_been_forgotten_unseen_is_not_known),
		cmocka_unit_test(what_was_asked_again_is_known_whatever_else_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
