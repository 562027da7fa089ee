/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the server is said to have kept up with a recording, and when that cannot be told. */
#include "replay/replay.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull
#define S  (1000 * MS)

/* A replay of one client for 10 s: of n requests so many were answered after late_ns. */
struct case_ {
	unsigned int n, late, failed;
	uint64_t late_ns;
	uint64_t n_delayed, delayed_ns; /* by the replay itself */
	uint64_t cpu_ns;                /* its busiest thread */
	uint64_t busy_ns;               /* in its busiest second */
	uint64_t pause_ns;              /* after each request; 0: a second */
	uint64_t copies_ns;             /* each of the last 50 requests took so long, without one */
	double speed;                   /* 0: 1 */
};

#define STEPS 100u

/* A client that sends 100 requests, each of which takes 1 ms in the recorded server. */
struct plan {
	struct replay_plan p;
	struct replay_client_plan client;
	struct replay_step step[STEPS];
	uint32_t of_client[STEPS];
};

static const struct replay_plan *planned(struct plan *to, const struct case_ *x)
{
	const double speed = x->speed > 0 ? x->speed : 1;
	const uint64_t each_ns = MS + (x->pause_ns ? x->pause_ns : S);
	uint64_t due_ns = 0;

	*to = (struct plan) { 0 };
	for (uint32_t i = 0; i < STEPS; i++) {
		to->step[i].time_ns = x->copies_ns && i >= STEPS / 2 ? x->copies_ns : MS;
		to->step[i].due_ns = (uint64_t)((double)due_ns / speed);
		to->of_client[i] = i;
		due_ns += x->copies_ns && i >= STEPS / 2 ? x->copies_ns : each_ns;
	}
	to->client = (struct replay_client_plan) { .n_steps = STEPS, .step = to->of_client };
	to->p.o.speed = speed;
	to->p.n_steps = STEPS;
	to->p.n_clients = 1;
	to->p.last_due_ns = to->step[STEPS - 1].due_ns;
	to->p.step = to->step;
	to->p.client = &to->client;
	return &to->p;
}

static struct run_load *made(const struct case_ *x)
{
	struct run_load *l = run_load_new(1, 1, 0);
	struct run_action *a = l->action;

	l->n_open = l->n_threads = 1;
	l->client[0].opened = true;
	l->end_ns = l->done_ns = 10 * S;
	l->cpu_max_ns = x->cpu_ns;
	l->busy_second_ns = x->busy_ns;
	a->name = "read";
	a->n = x->n + x->failed;
	a->failed = x->failed;
	for (unsigned int i = 0; i < x->n; i++)
		hist_add(&a->planned, i < x->late ? x->late_ns : MS);
	return l;
}

static enum run_slo_verdict judged(const struct case_ *x, struct run_slo *kept_up)
{
	const struct replay_done done = { .n_delayed = x->n_delayed,
					  .delayed_max_ns = x->delayed_ns };
	struct run_load *l = made(x);
	struct slos none = { 0 };
	struct plan p;

	assert_int_equal(replay_judge(&none, planned(&p, x), &done, 0, l, kept_up, false),
			 RUN_SLO_KEPT);
	assert_int_equal(l->n_slos, 0);
	assert_int_equal(l->late_max_ns, 0);
	run_load_free(l);
	return kept_up->verdict;
}

static void expect(const struct case_ x, enum run_slo_verdict wanted)
{
	struct run_slo kept_up;

	assert_int_equal(judged(&x, &kept_up), wanted);
	assert_string_equal(kept_up.text, x.pause_ns ? kept_up.text : "p99<=1000ms");
}

static void a_server_keeps_up_whose_users_are_not_late(void **state)
{
	(void)state;
	expect((struct case_) { .n = 1000 }, RUN_SLO_KEPT);
	expect((struct case_) { .n = 1000, .late = 9, .late_ns = 5 * S }, RUN_SLO_KEPT);
	expect((struct case_) { .n = 1000, .late = 20, .late_ns = 5 * S }, RUN_SLO_BROKEN);
	expect((struct case_) { .n = 1000, .late = 20, .late_ns = 900 * MS }, RUN_SLO_KEPT);
}

/* All of it is done within a second, and took five times as long as it was to. */
static void of_a_short_replay_a_tenth_is_the_limit(void **state)
{
	struct case_ x = { .n = 1000, .late = 900, .late_ns = 500 * MS, .speed = 1000 };
	struct run_slo kept_up;

	(void)state;
	assert_int_equal(judged(&x, &kept_up), RUN_SLO_BROKEN);
	assert_string_equal(kept_up.text, "p99<=9.9099ms");
	x.late_ns = 5 * MS;
	assert_int_equal(judged(&x, &kept_up), RUN_SLO_KEPT);
}

static void what_is_refused_makes_nobody_late(void **state)
{
	(void)state;
	expect((struct case_) { .n = 1000, .failed = 500 }, RUN_SLO_KEPT);
}

/* Users would do other things, or the same again. */
static void a_server_that_refuses_what_was_done_is_not_said_to_keep_up(void **state)
{
	struct run_load *l = made(&(struct case_) { .n = 1000 });
	struct replay_done done = { 0 };
	struct slos none = { 0 };
	struct run_slo kept_up;
	struct plan p;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	done.n[STORE_READ][REPLAY_AS_RECORDED] = 9990; /* 9,000 were refused before, too */
	done.n[STORE_PROBE][REPLAY_NEW_ERROR] = done.n_refused_anew = 10;
	done.n_were_done = 1000;
	replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_KEPT);
	done.n[STORE_READ][REPLAY_UNSENT] = 1;
	done.n_refused_anew++;
	done.n_were_done++;
	replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
	assert_string_equal(kept_up.why,
			    "11 of 1001 requests that were done in the recording were refused or "
			    "not sent, or moved fewer bytes");
	done = (struct replay_done) { .n_refused_anew = 1, .n_were_done = 20 };
	done.n[STORE_READ][REPLAY_UNSENT] = 20;
	replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
	assert_string_equal(kept_up.why, "1 of 20 requests that were done in the recording was "
					 "refused or not sent, or moved fewer bytes");
	run_load_free(l);
}

/* Macs ask each file for attributes that hardly one has; a place without them says nothing new. */
static void what_was_refused_before_too_does_not_count(void **state)
{
	struct run_load *l = made(&(struct case_) { .n = 1000 });
	struct replay_done done = { 0 };
	struct slos none = { 0 };
	struct run_slo kept_up;
	struct plan p;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	done.n[STORE_READ][REPLAY_AS_RECORDED] = 500;
	done.n[STORE_GET_XATTR][REPLAY_LACKS] = 500;
	replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_KEPT);
	run_load_free(l);
}

/* Without its delays the requests might have been in time, or not. */
static void late_because_of_the_replay_itself_is_not_told(void **state)
{
	struct case_ x = { .n = 1000, .late = 500, .late_ns = 1500 * MS };

	(void)state;
	expect(x, RUN_SLO_BROKEN);
	x.n_delayed = 500;
	x.delayed_ns = 600 * MS;
	expect(x, RUN_SLO_UNSURE);
	x.delayed_ns = 400 * MS; /* too little */
	expect(x, RUN_SLO_BROKEN);
	x.n_delayed = 10; /* too few */
	x.delayed_ns = 600 * MS;
	expect(x, RUN_SLO_BROKEN);
}

static void a_replay_without_time_left_says_nothing_of_the_server(void **state)
{
	(void)state;
	expect((struct case_) { .n = 1000, .cpu_ns = 9900 * MS }, RUN_SLO_UNSURE);
	expect((struct case_) { .n = 1000, .late = 900, .late_ns = 5 * S, .cpu_ns = 9900 * MS },
	       RUN_SLO_UNSURE);
	expect((struct case_) { .n = 1000, .late = 900, .late_ns = 5 * S, .busy_ns = 970 * MS },
	       RUN_SLO_UNSURE);
}

/* At a higher speed it was to be faster than it was. */
static void a_client_that_never_paused_does_not_tell(void **state)
{
	struct case_ x = { .n = 1000, .late = 900, .late_ns = 5 * S, .pause_ns = MS };

	(void)state;
	expect(x, RUN_SLO_UNSURE);
	x.speed = 2;
	expect(x, RUN_SLO_BROKEN);
	x.speed = 1;
	x.pause_ns = 20 * MS;
	expect(x, RUN_SLO_BROKEN);
	x.pause_ns = MS;
	x.late = 0;
	expect(x, RUN_SLO_KEPT);
}

/* It paused for most of the recording, and at its end not for 10 s. */
static void a_client_that_paused_and_then_copied_does_not_tell(void **state)
{
	struct case_ x = { .n = 1000, .late = 900, .late_ns = 5 * S, .copies_ns = 190 * MS };
	struct run_slo kept_up;

	(void)state;
	assert_int_equal(judged(&x, &kept_up), RUN_SLO_BROKEN);
	x.copies_ns = 210 * MS;
	assert_int_equal(judged(&x, &kept_up), RUN_SLO_UNSURE);
	assert_non_null(strstr(kept_up.why, "sent 100 of 100 requests seldom paused"));
	x.late = 0;
	assert_int_equal(judged(&x, &kept_up), RUN_SLO_KEPT);
}

/* 40 of 100 were lost while it was recorded; of 100 one may be. */
static void a_server_that_was_not_sent_all_is_not_said_to_keep_up(void **state)
{
	const struct replay_done done = { 0 };
	struct run_load *l = made(&(struct case_) { .n = 1000 });
	struct slos slos = { 0 };
	struct run_slo kept_up;
	struct plan p;
	struct err e;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	p.p.counts[1].recorded = p.p.counts[1].planned = 60;
	slo_take(&slos, "p99<=2s", &e);
	for (uint64_t gone = 0; gone <= 40; gone += 40) {
		assert_int_equal(replay_judge(&slos, &p.p, &done, gone, l, &kept_up, false),
				 gone ? RUN_SLO_UNSURE : RUN_SLO_KEPT);
		assert_int_equal(kept_up.verdict, gone ? RUN_SLO_UNSURE : RUN_SLO_KEPT);
		if (!gone)
			continue;
		assert_string_equal(kept_up.why,
				    "too many requests were left out: not in the recording any "
				    "more 40, impossible to replay 0; to be sent were 60");
		assert_string_equal(l->slo[0].why, kept_up.why);
	}
	run_load_free(l);
}

/* Of 100 that a recording begun in mid-session has, 40 are of files that were open before; logins
 * are never replayed, and the rest was not asked for. */
static void a_server_that_is_not_sent_what_cannot_be_is_not_said_to_keep_up(void **state)
{
	const struct replay_done done = { 0 };
	struct run_load *l = made(&(struct case_) { .n = 1000 });
	struct slos slos = { 0 };
	struct run_slo kept_up;
	struct plan p;
	struct err e;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	p.p.counts[1].recorded = 2000;
	p.p.counts[1].planned = 60;
	p.p.counts[1].left[REPLAY_SESSION] = p.p.counts[1].left[REPLAY_OTHERS] = 400;
	p.p.counts[1].left[REPLAY_OUTSIDE] = 1100;
	slo_take(&slos, "p99<=2s", &e);
	replay_judge(&slos, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_KEPT);
	p.p.counts[1].left[REPLAY_FORK] = 40;
	assert_int_equal(replay_judge(&slos, &p.p, &done, 0, l, &kept_up, false), RUN_SLO_UNSURE);
	assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
	assert_string_equal(kept_up.why,
			    "too many requests were left out: not in the recording any "
			    "more 0, impossible to replay 40; to be sent were 60");
	assert_string_equal(l->slo[0].why, kept_up.why);
	run_load_free(l);
}

/* Of either there are so few that it would be told. */
static void what_is_lost_and_what_cannot_be_replayed_is_counted_together(void **state)
{
	const struct replay_done done = { 0 };
	struct run_load *l = made(&(struct case_) { .n = 1000 });
	struct slos none = { 0 };
	struct run_slo kept_up;
	struct plan p;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	p.p.counts[1].planned = 1000;
	p.p.counts[1].left[REPLAY_FORK] = 6;
	replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_KEPT);
	replay_judge(&none, &p.p, &done, 6, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
	assert_string_equal(kept_up.why,
			    "too many requests were left out: not in the recording any "
			    "more 6, impossible to replay 6; to be sent were 1000");
	run_load_free(l);
}

#define TOO_MANY "too many requests are left out to say that the server keeps up"
#define UNKNOWN  "how many requests the unreadable parts of the recording had is not known"

static bool is_warned(const struct replay_plan *p, const struct recording *about, const char *begin)
{
	struct run_notes notes = { 0 };
	bool found = false;

	assert_int_equal(replay_note_recording(p, about, &notes), 0);
	for (size_t i = 0; i < notes.n; i++)
		found |= !strncmp(notes.note[i].text, begin, strlen(begin));
	run_notes_fini(&notes);
	return found;
}

/* Before anything is sent. */
static void what_will_not_be_told_is_said_beforehand(void **state)
{
	struct recording about = { .lost = 4 };
	struct plan p;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	p.p.counts[1].planned = 1000;
	p.p.counts[1].left[REPLAY_SESSION] = 500;
	p.p.counts[1].left[REPLAY_FORK] = 4;
	assert_false(is_warned(&p.p, &about, TOO_MANY));
	about.missing = 6;
	assert_true(is_warned(&p.p, &about, TOO_MANY));
	assert_false(is_warned(&p.p, &about, UNKNOWN));
	about = (struct recording) { .found.damaged = 1 };
	assert_false(is_warned(&p.p, &about, TOO_MANY));
	assert_true(is_warned(&p.p, &about, UNKNOWN));
	about.lost = 7; /* with the 4 more than one of 100 */
	assert_true(is_warned(&p.p, &about, TOO_MANY));
	assert_false(is_warned(&p.p, &about, UNKNOWN));
}

/* One more that was lost says nothing of those that cannot be read: the run's total does. */
static void what_cannot_be_read_is_unknown_whatever_else_was_lost(void **state)
{
	struct recording about[] = {
		{ .lost = 1, .found.damaged = 1 },
		{ .lost = 1, .found.torn_b = 12 },
		{ .lost = 1, .found.missing = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++) {
		assert_true(replay_gone(&about[i]) == REPLAY_GONE_UNKNOWN);
		about[i].missing = 4;
		assert_int_equal(replay_gone(&about[i]), 5);
	}
	assert_int_equal(replay_gone(&(struct recording) { .lost = 1 }), 1);
}

/* Of 10,000 that were recorded 90 were lost; 1,000 are replayed, and may be those around them. */
static void a_part_is_judged_by_what_may_be_missing_in_it(void **state)
{
	const struct replay_done done = { 0 };
	struct run_load *l = made(&(struct case_) { .n = 1000 });
	struct slos slos = { 0 };
	struct run_slo kept_up;
	struct plan p;

	(void)state;
	planned(&p, &(struct case_) { .n = 1000 });
	p.p.counts[1].recorded = 10000;
	assert_int_equal(replay_judge(&slos, &p.p, &done, 90, l, &kept_up, false), RUN_SLO_KEPT);
	assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
	replay_judge(&slos, &p.p, &done, REPLAY_GONE_UNKNOWN, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
	assert_non_null(strstr(kept_up.why, "cannot be read"));
	run_load_free(l);
}

/* The one before may have been late, and the time between two of them is no pause. */
static void sessions_that_share_a_place_do_not_tell_who_was_late(void **state)
{
	const struct replay_done done = { 0 };
	const struct case_ x = { .n = 1000, .late = 900, .late_ns = 5 * S };
	struct run_load *l = made(&x);
	struct slos none = { 0 };
	struct run_slo kept_up;
	struct plan p;

	(void)state;
	planned(&p, &x);
	p.p.n_sessions = 2;
	for (unsigned int speed = 1; speed <= 2; speed++) {
		p.p.o.speed = speed;
		replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
		assert_int_equal(kept_up.verdict, RUN_SLO_UNSURE);
		assert_string_equal(kept_up.why, "sessions that share a place (--sessions) wait "
						 "for the one before to end");
	}
	p.p.n_sessions = 1;
	replay_judge(&none, &p.p, &done, 0, l, &kept_up, false);
	assert_int_equal(kept_up.verdict, RUN_SLO_BROKEN);
	run_load_free(l);
}

static void limits_are_judged_besides(void **state)
{
	const struct replay_done done = { .n_delayed = 1000, .delayed_max_ns = 30 * MS };
	struct run_load *l = made(&(struct case_) { .n = 1000, .late = 100, .late_ns = 20 * MS });
	struct slos s = { 0 };
	struct run_slo kept_up;
	struct err e = { 0 };
	struct plan p;

	(void)state;
	planned(&p, &(struct case_) { .n = 1 });
	assert_int_equal(slo_take(&s, "p99<=10ms,read.p50<=1s", &e), 0);
	assert_int_equal(replay_judge(&s, &p.p, &done, 0, l, &kept_up, false), RUN_SLO_UNSURE);
	assert_int_equal(kept_up.verdict, RUN_SLO_KEPT);
	assert_int_equal(l->n_slos, 2);
	assert_int_equal(l->slo[0].verdict, RUN_SLO_UNSURE);
	assert_string_equal(l->slo[0].why,
			    "this program, or waits of its clients for each other, made up to 1000 "
			    "requests late, by up to 30 ms");
	assert_int_equal(l->slo[1].verdict, RUN_SLO_KEPT);
	run_load_free(l);
}

static void a_limit_of_no_request_is_refused(void **state)
{
	struct slos s = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(slo_take(&s, "p99<=10ms,stat.p50<=1s", &e), 0);
	assert_int_equal(replay_check_slos(&s, &e), 0);
	assert_int_equal(slo_take(&s, "save.p50<=1s", &e), 0);
	assert_int_equal(replay_check_slos(&s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "no request 'save'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_keeps_up_whose_users_are_not_late),
		cmocka_unit_test(of_a_short_replay_a_tenth_is_the_limit),
		cmocka_unit_test(what_is_refused_makes_nobody_late),
		cmocka_unit_test(a_server_that_refuses_what_was_done_is_not_said_to_keep_up),
		cmocka_unit_test(what_was_refused_before_too_does_not_count),
		cmocka_unit_test(a_server_that_is_not_sent_what_cannot_be_is_not_said_to_keep_up),
		cmocka_unit_test(late_because_of_the_replay_itself_is_not_told),
		cmocka_unit_test(a_replay_without_time_left_says_nothing_of_the_server),
		cmocka_unit_test(a_client_that_never_paused_does_not_tell),
		cmocka_unit_test(a_client_that_paused_and_then_copied_does_not_tell),
		cmocka_unit_test(a_server_that_was_not_sent_all_is_not_said_to_keep_up),
		cmocka_unit_test(what_is_lost_and_what_cannot_be_replayed_is_counted_together),
		cmocka_unit_test(what_will_not_be_told_is_said_beforehand),
		cmocka_unit_test(what_cannot_be_read_is_unknown_whatever_else_was_lost),
		cmocka_unit_test(a_part_is_judged_by_what_may_be_missing_in_it),
		cmocka_unit_test(sessions_that_share_a_place_do_not_tell_who_was_late),
		cmocka_unit_test(limits_are_judged_besides),
		cmocka_unit_test(a_limit_of_no_request_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
