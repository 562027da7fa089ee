/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is no harm, though it looks like it. Tests user/doctor/figures/waits.c, times.c, answers.c,
 * commands.c, logins.c. */
#include "unit/measure_rig.h"

/* Of 100 questions, which took 30 of 200 ms, 2 found a file that was new; it was synced for 4 ms.
 */
static void questions_that_find_all_files_are_no_harm(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(ENUMERATE, 1);
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->part[0] = part(ENUMERATE, AFS_CLASS_SEND, AFS_OBJECT_BACKEND, 60 * MS);
	l->part[0].part.calls = 100;
	l->part[1] = part(ENUMERATE, AFS_CLASS_WRITE, AFS_OBJECT_CNIDDB, 20 * MS);
	l->part[1].role = AFS_ROLE_BACKEND;
	l->part[1].part.calls = 2;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_CNID_WRITES, 0.2);
	is(&f, RUN_FIGURE_BEHIND, 0.02 * 60 / 180);
	l->account[0].sum.inside[AFS_INSIDE_SYNC] = 4 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_BEHIND, (0.02 * 60 + 4) / 180);
	done(r);
}

/* A name service is asked and answers; a log is only sent. */
static void what_is_only_sent_is_no_question(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(FLUSH, 1);
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->part[0] = part(FLUSH, AFS_CLASS_SEND, AFS_OBJECT_SOCKET, 60 * MS);
	l->part[1] = part(FLUSH, AFS_CLASS_WAIT, AFS_OBJECT_SOCKET, 20 * MS);
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NAMES, 0.1);
	done(r);
}

/* Its client may sleep: nobody waits for that reply, but it is time of a request. */
static void a_reply_that_nobody_takes_is_no_slow_request(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct run_service *s = run_service(r);

	(void)state;
	assert_non_null(s);
	*s = (struct run_service) { .pid = 7,
				    .before = true,
				    .account = AFS_ACCOUNT_BETWEEN,
				    .column = ACCOUNT_NET,
				    .age_ns = 3600000u * (uint64_t)MS };
	r->has_service = true;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_BUSY, 1.02);
	is(&f, RUN_FIGURE_SLOW_N, 1);
	is(&f, RUN_FIGURE_SLOW, 0.12 / 10.2);
	is(&f, RUN_FIGURE_IN_SERVICE, 0);
	assert_false(f.known[RUN_FIGURE_OLDEST]);
	/* One that begins in the watch is blocked in a call on its client's socket. */
	r->phase[0]->ledger.part[2] = part(OPEN_FORK, AFS_CLASS_SEND, AFS_OBJECT_CLIENT, 120 * MS);
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NET, 10.12 / 10.2);
	is(&f, RUN_FIGURE_SLOW_N, 0);
	is(&f, RUN_FIGURE_SLOW, 0);
	done(r);
}

/* All sessions are idle, and stopped: nobody waits. */
static void a_stop_of_idle_sessions_harms_nobody(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->part[1] = part(AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, 0);
	l->part[1].part.stopped_ns = 5000u * (uint64_t)MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_STOPPED, 0.5);
	is(&f, RUN_FIGURE_STOPPED_WAIT, 5 / 5.18);
	r->session[0].requests = 0;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_STOPPED, 0.5);
	is(&f, RUN_FIGURE_STOPPED_WAIT, 0);
	/* One works, and one that nobody uses is stopped. */
	r->session[0].requests = 2;
	assert_non_null(run_session(r));
	r->session[1].stopped = true;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_STOPPED, 0.25);
	is(&f, RUN_FIGURE_STOPPED_WAIT, 0);
	done(r);
}

/* A session that asks now and then stood still between two requests: nobody need have waited. */
static void a_pause_between_rare_requests_is_not_sure(void **state)
{
	static const struct {
		uint64_t requests;
		double idle;
	} of[] = { { 2, 2000 }, { 14, 2000 }, { 15, 0 }, { 500, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = made();
		struct ledger *l = &r->phase[0]->ledger;

		l->part[1] = part(AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, 0);
		l->part[1].part.stopped_ns = 2000u * (uint64_t)MS;
		r->session[0].requests = of[i].requests;
		run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
		run_figure_set(&f, RUN_FIGURE_TRACED, 0);
		assert_int_equal(doctor_measure(&f, r), 0);
		is(&f, RUN_FIGURE_STOPPED, 0.2);
		is(&f, RUN_FIGURE_STOPPED_WAIT, 2000. / 2180);
		is(&f, RUN_FIGURE_STOPPED_IDLE, of[i].idle / 2180);
		done(r);
	}
}

/* FPOpenVol refused: by a CNID server that is dead, or because that user may not. */
static void a_volume_that_is_forbidden_is_not_broken(void **state)
{
	static const struct {
		int32_t code;
		double refused;
	} of[] = { { -5014, 3 }, { -5019, 3 }, { -5000, 0 }, { -5018, 3 }, { -5023, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = of_command(OPEN_VOLUME, 6);

		r->phase[0]->ledger.result[0].code = of[i].code;
		assert_int_equal(doctor_measure(&f, r), 0);
		is(&f, RUN_FIGURE_VOLUMES_REFUSED, of[i].refused);
		is(&f, RUN_FIGURE_CNID_HARM, of[i].refused / 6);
		done(r);
	}
}

/* However long PAM waits before it refuses a password (FAIL_DELAY), it sleeps meanwhile. One that
 * waits for something else is slow, also beside an older one that sleeps. */
static void an_old_login_that_sleeps_may_be_refused(void **state)
{
	struct run *r = of_command(LOGIN, 1);

	(void)state;
	r->phase[0]->ledger.n_results = 0;
	r->has_service = true;
	for (uint64_t i = 0; i < 8; i++) {
		bool naps = i & 1, second = i & 2, is_known = !naps || second;
		struct run_figures f = { 0 };
		struct run_service *s = run_service(r);

		assert_non_null(s);
		r->n_service = 1;
		r->service[0] = (struct run_service) { .pid = 7,
						       .before = i & 4,
						       .account = i & 4 ? AFS_ACCOUNT_BETWEEN
									: LOGIN,
						       .naps = naps,
						       .age_ns = 9000u * (uint64_t)MS };
		if (second) {
			s = run_service(r);
			assert_non_null(s);
			*s = (struct run_service) { .pid = 8,
						    .account = LOGIN,
						    .age_ns = 5000u * (uint64_t)MS };
		}
		assert_int_equal(doctor_measure(&f, r), 0);
		is(&f, RUN_FIGURE_LOGIN_OLDEST, 9000e6);
		assert_int_equal(f.known[RUN_FIGURE_LOGIN], is_known);
		if (is_known)
			is(&f, RUN_FIGURE_LOGIN, naps ? 5000e6 : 9000e6);
		assert_int_equal(!strstr(f.who[RUN_FIGURE_LOGIN], "as PAM does"), is_known);
	}
	done(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_that_find_all_files_are_no_harm),
		cmocka_unit_test(what_is_only_sent_is_no_question),
		cmocka_unit_test(a_reply_that_nobody_takes_is_no_slow_request),
		cmocka_unit_test(a_stop_of_idle_sessions_harms_nobody),
		cmocka_unit_test(a_pause_between_rare_requests_is_not_sure),
		cmocka_unit_test(a_volume_that_is_forbidden_is_not_broken),
		cmocka_unit_test(an_old_login_that_sleeps_may_be_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
