/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a load shows of its server, and what it does not; when processes were paused; what is
 * advised once. Tests user/doctor/diagnose.c, pauses.c, advised.c. */
#include "unit/measure_rig.h"

#include "doctor/diagnose.h"
#include "doctor/judge.h"

static struct diagnose none;

/* Of clients of our own, of which one session, or the whole server, was watched. */
static struct run *loaded(bool whole)
{
	struct diagnose look = { 0 };
	struct run *r = made();

	r->ends[AFS_ROLE_SERVER].known = true;
	r->limit.tells = true;
	assert_int_equal(run_note(&r->server, "host", "127.0.0.1"), 0);
	assert_int_equal(diagnose_load(&look, NULL, NULL, whole, r), 0);
	assert_non_null(r->figures);
	return r;
}

static bool is_ruled_out(const struct run *r, const char *key)
{
	struct diagnosis d;
	bool is = false;

	assert_int_equal(doctor_judge(&d, r->figures), 0);
	for (size_t i = 0; i < d.n_out; i++)
		is |= !strcmp(d.out[i]->key, key);
	diagnosis_fini(&d);
	return is;
}

static void requests_of_a_load_have_the_figures_of_a_recording(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = loaded(true);

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(r->figures, RUN_FIGURE_SYNC, f.value[RUN_FIGURE_SYNC]);
	is(r->figures, RUN_FIGURE_P99, f.value[RUN_FIGURE_P99]);
	assert_false(r->figures->known[RUN_FIGURE_CPUS_USED]);
	done(r);
}

static void what_a_load_does_not_look_for_is_not_ruled_out(void **state)
{
	static const struct {
		const char *key;
		bool whole, one; /* ruled out where that was watched */
	} of[] = {
		{ "server-ended", false, false }, { "login-loop", false, false },
		{ "crash", true, false },         { "killed-sessions", true, false },
		{ "session-limit", true, false }, { "one-session", true, false },
		{ "locks", true, true },
	};
	struct run *whole = loaded(true), *one = loaded(false);

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (is_ruled_out(whole, of[i].key) != of[i].whole ||
		    is_ruled_out(one, of[i].key) != of[i].one)
			fail_msg("%s: %d %d", of[i].key, is_ruled_out(whole, of[i].key),
				 is_ruled_out(one, of[i].key));
	done(whole);
	done(one);
}

static bool may_be(const struct run *r, const char *key)
{
	struct diagnosis d;
	bool is = false;

	assert_int_equal(doctor_judge(&d, r->figures), 0);
	for (size_t i = 0; i < d.n_open; i++)
		is |= !strcmp(d.open[i]->key, key);
	diagnosis_fini(&d);
	return is;
}

/* Of two parts, in which a request came so long after the one before it. */
static struct run *in_parts(uint64_t each_ns, const char *from)
{
	struct diagnose look = { 0 };
	struct run *r = of_command(READ_EXT, 1000);
	struct run_phase *p = run_phase(r, 1, 1, "more");

	assert_non_null(p);
	p->complete = true;
	p->ledger.has_calls = p->ledger.has_requests = p->ledger.filled = true;
	run_set(p, METRIC_ELAPSED, 500 * each_ns);
	run_set(r->phase[0], METRIC_ELAPSED, 500 * each_ns);
	r->phase[0]->ledger.account[0].sum.ns = 1000 * MS / 100;
	r->session[0].requests = 1000;
	r->session[0].address = strdup(from);
	assert_int_equal(run_note(&r->server, "host", "127.0.0.1"), 0);
	assert_int_equal(diagnose_load(&look, NULL, NULL, true, r), 0);
	return r;
}

/* What needs more time than there was between requests cannot have been; nor what needs a network
 * interface where none was used. */
static void of_several_parts_that_is_ruled_out_for_which_there_was_no_time(void **state)
{
	static const char *const slow[] = { "delayed-acks", "slow-link", "round-trips" };
	struct run *fast = in_parts(MS / 10, "127.0.0.1:5"), *far = in_parts(50 * MS, "10.1.1.2:5");

	(void)state;
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (may_be(fast, slow[i]) || !may_be(far, slow[i]))
			fail_msg("%s: %d %d", slow[i], may_be(fast, slow[i]), may_be(far, slow[i]));
	is(fast->figures, RUN_FIGURE_LINK_USED, 0);
	assert_false(far->figures->known[RUN_FIGURE_LINK_USED]);
	/* Of replies on their way nothing is known: so it is not known that nobody waits for them.
	 */
	assert_false(far->figures->known[RUN_FIGURE_NET_WAIT]);
	assert_false(is_ruled_out(far, "slow-link"));
	done(fast);
	done(far);
}

static void a_directory_without_a_server_has_no_diagnosis(void **state)
{
	struct run *r = made();

	(void)state;
	assert_int_equal(diagnose_load(&none, NULL, NULL, false, r), 0);
	assert_null(r->figures);
	done(r);
}

#define BEGUN (100000 * (uint64_t)MS)

/* Kept ones of n, the last of which ended 10 s after the watch began. */
static struct watch_stops stops(size_t n)
{
	struct watch_stops s = { .n = n, .n_kept = n < 4 ? n : 4 };

	for (size_t i = 0; i < s.n_kept; i++) {
		s.kept[i].to_ns = BEGUN + (10000 - 2000 * (s.n_kept - 1 - i)) * MS;
		s.kept[i].from_ns = s.kept[i].to_ns - 600 * MS;
		s.kept[i].pid = 1 << 30; /* it has ended */
	}
	return s;
}

static void pauses_say_when_and_how_long_each_was(void **state)
{
	struct watch_stops s = stops(2);
	char text[RUN_FIGURE_WHO];

	(void)state;
	pauses_say(text, sizeof(text), &s, 2, BEGUN);
	assert_string_equal(text, "for 600ms at 7.4s of the watch, for 600ms at 9.4s");
	/* One that had begun before counts from the begin; of older ones nothing is said. */
	pauses_say(text, sizeof(text), &s, 1, BEGUN + 9900 * (uint64_t)MS);
	assert_string_equal(text, "for 100ms at 0.0s of the watch");
	s = stops(9);
	pauses_say(text, sizeof(text), &s, 9, BEGUN);
	assert_string_equal(text, "the last ones for 600ms at 3.4s of the watch, for 600ms at "
				  "5.4s, for 600ms at 7.4s, for 600ms at 9.4s");
	pauses_say(text, 20, &s, 9, BEGUN);
	assert_int_equal(strlen(text), 19);
}

static void of_several_processes_their_number_is_said(void **state)
{
	const enum run_figure which = RUN_FIGURE_STOPS;
	struct watch_stops s = stops(3);
	struct run_figures f = { 0 };

	(void)state;
	pauses_who(&f, which, &s, 2, BEGUN);
	assert_string_equal(f.who[which], "last process (pid 1073741824): for 600ms at 7.4s of the "
					  "watch, for 600ms at 9.4s");
	s.kept[0].pid--;
	pauses_who(&f, which, &s, 2, BEGUN);
	assert_null(strstr(f.who[which], "processes"));
	s.kept[1].pid = s.kept[0].pid;
	pauses_who(&f, which, &s, 3, BEGUN);
	assert_ptr_equal(strstr(f.who[which], "last process (pid 1073741824), in 2 processes: for "
					      "600ms at 5.4s of the watch, "),
			 f.who[which]);
	/* of the older ones it is not known whose they were */
	s = stops(9);
	pauses_who(&f, which, &s, 9, BEGUN);
	assert_non_null(strstr(f.who[which], "the last 4 pauses all of process (pid 1073741824): "
					     "the last ones for "));
	s.kept[0].pid--;
	pauses_who(&f, which, &s, 9, BEGUN);
	assert_non_null(strstr(f.who[which], ", in 2 or more processes: the last ones for "));
}

/* A setting's warning, and the cause that is found with other advice. */
static void what_to_do_is_said_once(void **state)
{
	static const char what[] = "dircache size = 9: so few (entries) are lost (/a.conf:14)";
	struct run *r = loaded(true);

	(void)state;
	assert_int_equal(run_note(&r->warnings, "dircache", "%s; set more", what), 0);
	assert_int_equal(run_note(&r->warnings, "log-level", "%s; log less", what), 0);
	assert_int_equal(diagnose_advise_once(r), 0);
	assert_non_null(strstr(run_note_find(&r->warnings, "dircache"), "set more"));
	run_figure_set(r->figures, RUN_FIGURE_ASKED, 5000);
	run_figure_set(r->figures, RUN_FIGURE_ASKED_AGAIN, 0.9);
	run_figure_set(r->figures, RUN_FIGURE_ASKED_TIME, 0.5);
	run_figure_set(r->figures, RUN_FIGURE_LOG, 0);
	run_figure_set(r->figures, RUN_FIGURE_REQUESTS, 10000);
	assert_int_equal(diagnose_advise_once(r), 0);
	assert_string_equal(run_note_find(&r->warnings, "dircache"), what);
	assert_non_null(strstr(run_note_find(&r->warnings, "log-level"), "log less"));
	run_figure_set(r->figures, RUN_FIGURE_LOG, 0.5);
	run_figure_set(r->figures, RUN_FIGURE_LOG_CALLS, 5);
	assert_int_equal(diagnose_advise_once(r), 0);
	assert_string_equal(run_note_find(&r->warnings, "log-level"), what);
	done(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_a_load_have_the_figures_of_a_recording),
		cmocka_unit_test(what_a_load_does_not_look_for_is_not_ruled_out),
		cmocka_unit_test(of_several_parts_that_is_ruled_out_for_which_there_was_no_time),
		cmocka_unit_test(a_directory_without_a_server_has_no_diagnosis),
		cmocka_unit_test(pauses_say_when_and_how_long_each_was),
		cmocka_unit_test(of_several_processes_their_number_is_said),
		cmocka_unit_test(what_to_do_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
