/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that may take long, or need many requests: Spotlight queries, logins, lists of folders.
 * What of them is not seen, or is hidden by many others, is ruled out as little as it is sure.
 * Tests user/doctor/figures/commands.c, answers.c, logins.c.
 */
#include "unit/measure_rig.h"

#define S (1000 * (uint64_t)MS)

/* Spotlight queries: n with an answer after ns each, and one without, which waits for so long. */
static struct run *queries(uint64_t n, uint64_t ns, uint64_t pending_ns)
{
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;
	struct ledger_account *a = &l->account[1];

	l->n_accounts = 2;
	l->account[0].account = FLUSH;
	a->account = SPOTLIGHT;
	a->sum = (struct afs_account) { .begun = n + (pending_ns > 0),
					.answered = n,
					.ns = n * ns };
	if (n)
		a->hist[hist_index(ns, AFS_REQUEST_BITS)] = n;
	a->min_ns = a->max_ns = n ? ns : 0;
	l->part[2] = part(SPOTLIGHT, AFS_CLASS_WAIT, AFS_OBJECT_NONE, n * ns + pending_ns);
	return r;
}

static bool near(const struct run_figures *f, enum run_figure which, double value)
{
	return f->known[which] && fabs(f->value[which] - value) <= value / 16;
}

static void queries_that_are_answered_late_are_slow(void **state)
{
	static const struct {
		uint64_t n, ns, pending_ns;
		double late, wait; /* of all request time, which has 80 ms more */
	} of[] = {
		{ 0, 0, 60 * MS, 0, 60. / 140 },
		{ 1, 3 * S, 0, 3e9, 3000. / 3080 },
		{ 4, 3 * S, 0, 3e9, 12000. / 12080 },
		{ 5, 500 * MS, 0, 500e6, 2500. / 2580 },
		/* Others that are late make one without an answer no younger. */
		{ 9, 150 * MS, 10 * S, 150e6, 11350. / 11430 },
		{ 100, 10 * MS, 0, 0, 0 }, /* at once */
		{ 0, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = queries(of[i].n, of[i].ns, of[i].pending_ns);

		assert_int_equal(doctor_measure(&f, r), 0);
		is(&f, RUN_FIGURE_SPOTLIGHT, (double)of[i].pending_ns);
		if (!near(&f, RUN_FIGURE_SPOTLIGHT_LATE, of[i].late) ||
		    !near(&f, RUN_FIGURE_SPOTLIGHT_WAIT, of[i].wait))
			fail_msg("case %zu: %g, %g", i, f.value[RUN_FIGURE_SPOTLIGHT_LATE],
				 f.value[RUN_FIGURE_SPOTLIGHT_WAIT]);
		done(r);
	}
}

/* What keeps it from its answer is not the indexer, or need not be. */
static void a_paused_session_is_no_slow_query(void **state)
{
	(void)state;
	for (int runq = 0; runq < 2; runq++) {
		struct run_figures f = { 0 };
		struct run *r = queries(0, 0, 2 * S);
		struct afs_part *p = &r->phase[0]->ledger.part[2].part;

		*(runq ? &p->runq_ns : &p->stopped_ns) = 6 * S;
		assert_int_equal(doctor_measure(&f, r), 0);
		assert_false(f.known[RUN_FIGURE_SPOTLIGHT] || f.known[RUN_FIGURE_SPOTLIGHT_WAIT]);
		assert_true(*f.who[RUN_FIGURE_SPOTLIGHT]);
		/* A pause as long as a part of it takes only that from it. */
		*(runq ? &p->runq_ns : &p->stopped_ns) = 1 * S;
		f = (struct run_figures) { 0 };
		assert_int_equal(doctor_measure(&f, r), 0);
		is(&f, RUN_FIGURE_SPOTLIGHT, 2e9);
		is(&f, RUN_FIGURE_SPOTLIGHT_WAIT, 2000. / 3080);
		done(r);
	}
}

/* A request that hangs since before the watch may be of any command. */
static void an_older_request_may_be_a_query(void **state)
{
	static const struct {
		enum account_column column;
		enum run_figure unknown, known;
	} of[] = {
		{ ACCOUNT_OTHER, RUN_FIGURE_SPOTLIGHT, RUN_FIGURE_VOLUME_SIZE },
		{ ACCOUNT_DISK, RUN_FIGURE_VOLUME_SIZE, RUN_FIGURE_SPOTLIGHT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = made();
		struct run_service *s = run_service(r);

		assert_non_null(s);
		*s = (struct run_service) { .pid = 7,
					    .before = true,
					    .account = AFS_ACCOUNT_BETWEEN,
					    .column = of[i].column,
					    .age_ns = 3600 * S };
		r->has_service = true;
		assert_int_equal(doctor_measure(&f, r), 0);
		assert_false(f.known[of[i].unknown]);
		assert_true(*f.who[of[i].unknown]);
		is(&f, of[i].known, 0);
		done(r);
	}
}

/* Of 200 requests that ask for a volume's size one may read folders, if one was slow. */
static void one_volume_that_is_read_for_its_size_is_not_ruled_out(void **state)
{
	static const struct {
		uint64_t folders_ns, longest_ns;
		bool known;
	} of[] = { { 200 * MS, 200 * MS, false },
		   { 200 * MS, MS, true },
		   { 4 * MS, 200 * MS, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = of_command(OPEN_VOLUME, 200);
		struct ledger *l = &r->phase[0]->ledger;

		memset(l->account[0].hist, 0, sizeof(l->account[0].hist));
		l->account[0].hist[hist_index(of[i].longest_ns, AFS_REQUEST_BITS)] = 1;
		l->part[0] = part(OPEN_VOLUME, AFS_CLASS_DIR, AFS_OBJECT_DIR, of[i].folders_ns);
		l->part[0].part.calls = 300;
		assert_int_equal(doctor_measure(&f, r), 0);
		assert_true(f.known[RUN_FIGURE_VOLUME_SIZE]);
		assert_int_equal(f.known[RUN_FIGURE_VOLUME_SIZE_CALLS], of[i].known);
		done(r);
	}
}

/* A monitor logs in again and again; a user waits for 6 s. */
static void one_slow_login_among_quick_ones_is_not_ruled_out(void **state)
{
	static const struct {
		uint64_t quick, slow, slow_ns, refused, cpu_ns;
		bool known;
	} of[] = {
		{ 99, 1, 6 * S, 0, 0, false },
		{ 100, 0, 0, 0, 0, true },
		/* All are alike, and most of each is work on a CPU. */
		{ 0, 100, 150 * MS, 0, 11 * S, true },
		/* A wrong password. */
		{ 50, 1, 3 * S, 1, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = of_command(LOGIN, of[i].quick + of[i].slow);
		struct ledger *l = &r->phase[0]->ledger;
		struct ledger_account *a = &l->account[0];

		l->result[0] = (struct ledger_result) { LOGIN, -5023, of[i].refused };
		l->n_results = of[i].refused > 0;
		a->sum.ns = of[i].quick * 10 * MS + of[i].slow * of[i].slow_ns;
		a->max_ns = of[i].slow ? of[i].slow_ns : 10 * MS;
		memset(a->hist, 0, sizeof(a->hist));
		a->hist[hist_index(10 * MS, AFS_REQUEST_BITS)] = of[i].quick;
		if (of[i].slow)
			a->hist[hist_index(of[i].slow_ns, AFS_REQUEST_BITS)] = of[i].slow;
		l->part[0] = part(LOGIN, AFS_CLASS_READ, AFS_OBJECT_SOCKET,
				  a->sum.ns - of[i].cpu_ns);
		l->part[0].part.cpu_ns = of[i].cpu_ns;
		assert_int_equal(doctor_measure(&f, r), 0);
		if (f.known[RUN_FIGURE_LOGIN] != of[i].known)
			fail_msg("case %zu: %g", i, f.value[RUN_FIGURE_LOGIN]);
		assert_true(f.value[RUN_FIGURE_LOGIN_MEAN] < 80e6);
		done(r);
	}
}

/* Requests for lists of folders, of which so many were closed, and so many ended. */
static struct run *lists(uint64_t requests, uint64_t closed, uint64_t reads, uint64_t ended)
{
	struct run *r = of_command(ENUMERATE, requests);
	struct ledger *l = &r->phase[0]->ledger;

	l->result[0].code = -5018;
	l->result[0].n = ended;
	l->part[0].class = AFS_CLASS_CLOSE;
	l->part[0].object = AFS_OBJECT_DIR;
	l->part[0].part.calls = closed;
	l->part[1].class = AFS_CLASS_DIR;
	l->part[1].object = AFS_OBJECT_DIR;
	l->part[1].part.calls = reads;
	return r;
}

static void a_list_of_which_a_part_was_seen_is_not_ruled_out(void **state)
{
	static const struct {
		uint64_t requests, closed, reads, ended;
		double each; /* 0: not known */
	} of[] = {
		/* From before the watch: goes on, has ended, is long all the same. */
		{ 8, 0, 0, 0, 0 },
		{ 8, 0, 0, 1, 0 },
		{ 8, 1, 2, 2, 0 },
		/* As always some of many; or folders that are not there. */
		{ 300, 100, 200, 105, 3 },
		{ 50, 2, 4, 48, 25 },
		{ 20, 4, 8, 16, 5 },
		{ 30, 0, 0, 0, 30 },
		/* Begun in it: of few files, of many; at its end, or not yet. */
		{ 8, 1, 2, 0, 8 },
		{ 8, 1, 4, 0, 0 },
		{ 8, 1, 4, 1, 8 },
		{ 30, 1, 4, 0, 30 },
		{ 10, 1, 2, 1, 10 },
		/* Several. */
		{ 12, 3, 6, 3, 4 },
		{ 12, 3, 8, 3, 0 },
		{ 60, 3, 8, 3, 20 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = lists(of[i].requests, of[i].closed, of[i].reads, of[i].ended);

		assert_int_equal(doctor_measure(&f, r), 0);
		if (of[i].each <= 0
			? f.known[RUN_FIGURE_LIST_REQUESTS] || f.known[RUN_FIGURE_LIST_TIME] ||
			      !*f.who[RUN_FIGURE_LIST_REQUESTS]
			: !near(&f, RUN_FIGURE_LIST_REQUESTS, of[i].each) ||
			      !f.known[RUN_FIGURE_LIST_TIME])
			fail_msg("case %zu: %g", i, f.value[RUN_FIGURE_LIST_REQUESTS]);
		done(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_that_are_answered_late_are_slow),
		cmocka_unit_test(a_paused_session_is_no_slow_query),
		cmocka_unit_test(an_older_request_may_be_a_query),
		cmocka_unit_test(one_volume_that_is_read_for_its_size_is_not_ruled_out),
		cmocka_unit_test(one_slow_login_among_quick_ones_is_not_ruled_out),
		cmocka_unit_test(a_list_of_which_a_part_was_seen_is_not_ruled_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
