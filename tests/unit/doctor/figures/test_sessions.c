/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "doctor/figures/sessions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS       1000000ull
#define WATCHED  10000
#define FOR_EVER 0

/* A session from a time in ms to another one; begun before the watch: 0. */
static void add(struct run *r, uint64_t begin, uint64_t end)
{
	struct run_session *s = run_session(r);

	assert_non_null(s);
	s->requests = 1;
	s->begun_ns = begin * MS;
	s->ended_ns = end * MS;
	s->user = strdup("mori");
}

static struct run_figures measured(struct run *r)
{
	struct run_figures f = { 0 };

	doctor_sessions(&f, r, (double)(WATCHED * MS));
	run_fini(r);
	return f;
}

static struct run served(uint64_t limit, unsigned int lasting)
{
	struct run r = { 0 };

	assert_int_equal(run_init(&r, "doctor", "doctor"), 0);
	r.limit.sessions = limit;
	while (lasting--)
		add(&r, 0, FOR_EVER);
	return r;
}

static void is(const struct run_figures *f, double refused, double brief)
{
	assert_true(f->known[RUN_FIGURE_REFUSED] && f->known[RUN_FIGURE_SHORT_LIVED]);
	assert_true(f->value[RUN_FIGURE_REFUSED] == refused);
	assert_true(f->value[RUN_FIGURE_SHORT_LIVED] == brief);
}

static void a_full_server_turns_away_those_who_come(void **state)
{
	struct run r = served(3, 3);
	struct run_figures f;

	(void)state;
	for (uint64_t i = 1; i <= 20; i++)
		add(&r, 400 * i, 400 * i + 2);
	f = measured(&r);
	is(&f, 20, 0);
	assert_true(f.value[RUN_FIGURE_LIMIT] == 3);
	assert_string_equal(f.who[RUN_FIGURE_SHORT_LIVED], "");
}

/* A process that serves a client for a moment may be one that is turned away, of an older server.
 */
static void without_a_known_limit_nobody_says_that_none_was_refused(void **state)
{
	struct run_figures f;
	struct run r;

	(void)state;
	for (int i = 0; i < 4; i++) {
		r = served(0, 3);
		r.limit.tells = i == 1;
		r.refused = i == 2;
		r.limit.changed = i == 3;
		f = measured(&r);
		assert_int_equal(f.known[RUN_FIGURE_REFUSED], i == 1 || i == 2);
		assert_int_equal(f.known[RUN_FIGURE_REFUSED_SHARE], i == 1 || i == 2);
		if (i == 3)
			assert_string_equal(
			    f.who[RUN_FIGURE_REFUSED],
			    "the configuration may have been changed after the server began");
	}
}

static void answers_that_say_so_count_as_well(void **state)
{
	struct run r = served(3, 3);
	struct run_figures f;

	(void)state;
	r.refused = 12;
	add(&r, 400, 402);
	f = measured(&r);
	is(&f, 13, 0);
}

/* Nor may brief sessions fill it. */
static void a_server_with_room_turns_nobody_away(void **state)
{
	struct run r = served(3, 2);
	struct run_figures f;

	(void)state;
	for (uint64_t i = 1; i <= 20; i++) {
		add(&r, 400 * i, 400 * i + 300);
		add(&r, 400 * i + 10, 400 * i + 310);
	}
	f = measured(&r);
	is(&f, 0, 4);
}

static void a_place_that_was_given_back_is_free(void **state)
{
	struct run r = served(3, 2);
	struct run_figures f;

	(void)state;
	add(&r, 0, 5000);
	add(&r, 4000, 4002);
	add(&r, 6000, 6002);
	f = measured(&r);
	is(&f, 1, 0.1);
}

static void without_the_setting_nobody_is_known_to_be_turned_away(void **state)
{
	struct run r = served(0, 3);
	struct run_figures f;

	(void)state;
	r.limit.tells = true;
	add(&r, 400, 402);
	f = measured(&r);
	is(&f, 0, 0.1);
	assert_false(f.known[RUN_FIGURE_LIMIT]);
}

static void who_has_not_logged_in_makes_no_login_loop(void **state)
{
	struct run r = served(0, 1);
	struct run_figures f;

	(void)state;
	add(&r, 400, 402);
	free(r.session[1].user);
	r.session[1].user = NULL;
	r.limit.tells = true;
	f = measured(&r);
	is(&f, 0, 0);
}

/* For 5 of 10 s; a session that begins since then shows that the server accepts all the same. */
static void connections_that_wait_are_not_accepted_if_no_session_begins(void **state)
{
	struct run r = served(0, 6);
	struct run_figures f;

	(void)state;
	assert_non_null(run_phase(&r, 0, 1, "watched"));
	r.unaccepted = (struct run_unaccepted) { true, 2, 5000 * MS };
	f = measured(&r);
	assert_true(f.value[RUN_FIGURE_UNACCEPTED] == 2);
	assert_true(f.value[RUN_FIGURE_UNACCEPTED_SHARE] == 0.25);
	assert_true(f.value[RUN_FIGURE_UNACCEPTED_FOR] == 5000. * MS);
	r = served(0, 6);
	assert_non_null(run_phase(&r, 0, 1, "watched"));
	r.unaccepted = (struct run_unaccepted) { true, 2, 5000 * MS };
	add(&r, 7000, FOR_EVER);
	f = measured(&r);
	assert_true(f.known[RUN_FIGURE_UNACCEPTED] && f.value[RUN_FIGURE_UNACCEPTED] == 0);
	/* One that came at the last look may be accepted in a moment. */
	r = served(0, 6);
	assert_non_null(run_phase(&r, 0, 1, "watched"));
	r.unaccepted = (struct run_unaccepted) { true, 2, 9500 * MS };
	f = measured(&r);
	assert_true(f.known[RUN_FIGURE_UNACCEPTED] && f.value[RUN_FIGURE_UNACCEPTED] == 0);
	r = served(0, 6);
	f = measured(&r);
	assert_false(f.known[RUN_FIGURE_UNACCEPTED]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_server_turns_away_those_who_come),
		cmocka_unit_test(answers_that_say_so_count_as_well),
		cmocka_unit_test(without_a_known_limit_nobody_says_that_none_was_refused),
		cmocka_unit_test(a_server_with_room_turns_nobody_away),
		cmocka_unit_test(a_place_that_was_given_back_is_free),
		cmocka_unit_test(without_the_setting_nobody_is_known_to_be_turned_away),
		cmocka_unit_test(who_has_not_logged_in_makes_no_login_loop),
		cmocka_unit_test(connections_that_wait_are_not_accepted_if_no_session_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
