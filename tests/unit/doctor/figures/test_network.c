/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What clients wait for on the network, of all that clients wait for. Tests
 * user/doctor/figures/measure.c, clients.c.
 */
#include "unit/measure_rig.h"

#include "bpf/hist.h"
#include "doctor/judge.h"
#include "doctor/say.h"

/* 10 s in which requests took so long in all, and one client sent 200 of them in pieces. */
static struct run *in_pieces(uint64_t all_ms)
{
	struct run *r = made();
	struct run_session *s = &r->session[0];
	struct ledger *l = &r->phase[0]->ledger;
	uint32_t i = afs_hist_index(44ull * MS >> AFS_PAUSE_SHIFT, AFS_PAUSE_BITS,
				    AFS_PAUSE_BUCKETS);

	l->account[0].sum = (struct afs_account) { .begun = 1200,
						   .answered = 1200,
						   .ns = all_ms * MS };
	l->account[0].max_ns = all_ms * MS / 1200;
	l->account[0].hist[hist_index(80 * MS, AFS_REQUEST_BITS)] = 0;
	l->account[0].hist[hist_index(l->account[0].max_ns, AFS_REQUEST_BITS)] = 1200;
	l->account[1].sum = (struct afs_account) { 0 };
	l->part[0] = part(FLUSH, AFS_CLASS_SYNC, AFS_OBJECT_DATA, all_ms * MS);
	l->n_parts = 1;
	s->requests = 200;
	s->bytes_in = s->bytes_out = 200 * 50;
	s->begun_ns = s->ended_ns = 0;
	s->busy_ns = 40ull * MS;
	s->habit.pause[i] = 200;
	s->tcp = (struct run_session_tcp) { .known = true, .min_rtt_ns = 20000, .segments = 400 };
	run_loss(r, "records", 0);
	return r;
}

static bool is_found(const struct run_figures *f, const char *key, bool sure)
{
	struct diagnosis d;
	bool found = false;

	assert_int_equal(doctor_judge(&d, f), 0);
	for (size_t i = 0; i < d.n_found; i++)
		if (!strcmp(d.found[i].rule->key, key)) {
			assert_int_equal(d.found[i].sure, sure);
			found = true;
		}
	diagnosis_fini(&d);
	return found;
}

/* 200 others wait for a disk all the time. */
static void one_client_s_delayed_acknowledgements_are_not_what_all_wait_for(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = in_pieces(1000000);

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_ACKS, 1);
	assert_true(f.value[RUN_FIGURE_ACKS_WAIT] > 0.005 && f.value[RUN_FIGURE_ACKS_WAIT] < 0.02);
	assert_false(is_found(&f, "delayed-acks", false));
	done(r);
}

static void where_nothing_else_is_waited_for_they_are(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = in_pieces(200);

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_true(f.value[RUN_FIGURE_ACKS_WAIT] > 0.95);
	assert_true(f.value[RUN_FIGURE_NET_WAIT] < 0.05);
	assert_true(is_found(&f, "delayed-acks", true));
	done(r);
}

/* So many more clients that wait as often, and whose connections are not seen. */
static void add_unseen(struct run *r, int n)
{
	while (n-- > 0) {
		struct run_session *s = run_session(r), *first = &r->session[0];

		assert_non_null(s);
		s->requests = first->requests;
		s->busy_ns = first->busy_ns;
		s->habit = first->habit;
	}
}

static bool may_be(const struct run_figures *f, const char *key)
{
	struct diagnosis d;
	bool is = false;

	assert_int_equal(doctor_judge(&d, f), 0);
	for (size_t i = 0; i < d.n_open; i++)
		is |= !strcmp(d.open[i]->key, key);
	diagnosis_fini(&d);
	return is;
}

static void nothing_is_sure_of_a_minority_whose_connections_are_seen(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = in_pieces(200);
	char text[512];

	(void)state;
	add_unseen(r, 3);
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_true(is_found(&f, "delayed-acks", false));
	for (size_t i = 0; i < doctor_rules_count(&f); i++)
		if (!strcmp(doctor_rule_at(&f, i)->key, "unseen-clients"))
			doctor_note(text, sizeof(text), &f, doctor_rule_at(&f, i));
	assert_non_null(strstr(text, "the connections of 3 of 4 clients (75% of all requests) "
				     "are not seen"));
	done(r);
}

/* All is well with the first client: of the others that cannot be told. */
static void clients_that_are_not_seen_are_not_ruled_out_by_one_that_is(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = in_pieces(200);

	(void)state;
	r->session[0].tcp.segments = 200;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(is_found(&f, "delayed-acks", false) || may_be(&f, "delayed-acks"));
	done(r);
	r = in_pieces(200);
	r->session[0].tcp.segments = 200;
	add_unseen(r, 1);
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_true(may_be(&f, "delayed-acks") && may_be(&f, "round-trips"));
	/* What is known of round trips is the least of them. */
	assert_true(!f.known[RUN_FIGURE_TRIPS_WAIT] && f.at_least[RUN_FIGURE_TRIPS_WAIT]);
	done(r);
	/* With 200 others that wait for a disk all the time, theirs is little. */
	r = in_pieces(1000000);
	r->session[0].tcp.segments = 200;
	add_unseen(r, 1);
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(may_be(&f, "delayed-acks") || may_be(&f, "round-trips"));
	done(r);
}

/* What the server waits for on clients' connections: 60 ms for the rest of a request, as the
 * kernel's programs saw, and so long until a client took more of a reply. */
static struct run *with_upload(uint64_t taking_ms)
{
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	l->part[0] = part(FLUSH, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, 60 * MS);
	l->part[1] = part(OPEN_FORK, AFS_CLASS_WAIT, AFS_OBJECT_CLIENT, taking_ms * MS);
	l->part[2] = part(OPEN_FORK, AFS_CLASS_OPEN, AFS_OBJECT_NONE, (140 - taking_ms) * MS);
	r->session[0].habit.upload_ns = 60 * MS;
	return r;
}

/* One client uploads, another one takes no replies: either is known by itself. */
static void a_client_that_sends_late_is_none_that_takes_no_replies(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = with_upload(0);

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NET, 0.3);
	is(&f, RUN_FIGURE_TAKING, 0);
	done(r);
	r = with_upload(120);
	r->session[0].habit.upload_ns = 20 * MS;
	r->n_rest = 1; /* also of sessions that are not listed */
	r->rest.habit.upload_ns = 40 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NET, 0.9);
	is(&f, RUN_FIGURE_TAKING, 0.6);
	assert_string_equal(f.who[RUN_FIGURE_TAKING], "");
	done(r);
}

/* Those of before what is measured are not in its time: a load is watched while it makes files. */
static void of_a_load_uploads_may_be_of_before_it(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = with_upload(0);

	(void)state;
	r->phase[0]->load = calloc(1, sizeof(*r->phase[0]->load));
	assert_non_null(r->phase[0]->load);
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_TAKING, 0.3);
	assert_string_equal(f.who[RUN_FIGURE_TAKING], "at most");
	done(r);
}

/* Of several phases single clients are not looked at, and a share of the time of all bounds only
 * that of clients who were there all the time. */
static void who_came_later_may_have_uploaded_all_the_time(void **state)
{
	(void)state;
	for (uint64_t late_ns = 0; late_ns < 2; late_ns++) {
		struct run_figures f = { 0 };
		struct run *r = with_upload(0);

		assert_non_null(run_phase(r, 0, 1, "before"));
		for (size_t i = 0; i < r->n_phases; i++) {
			r->phase[i]->start_ns = 1;
			run_set(r->phase[i], METRIC_ELAPSED, 1000 * MS);
		}
		r->session[0].requests = 1000;
		r->session[0].begun_ns = 1 + late_ns;
		assert_int_equal(doctor_measure(&f, r), 0);
		assert_int_equal(f.known[RUN_FIGURE_UPLOAD], !late_ns);
		done(r);
	}
}

/* Uploads are counted from the begin of the watch to its end, not by phase. */
static void of_several_phases_it_may_not_be_known(void **state)
{
	static const struct {
		uint64_t taking_ms;
		double is;
		const char *who;
	} cases[] = { { 0, 0.3, "at most" }, { 40, -1, "" }, { 120, 0.6, "at least" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run *r = with_upload(cases[i].taking_ms);
		struct run_figures f = { 0 };

		assert_non_null(run_phase(r, 0, 1, "before"));
		assert_int_equal(doctor_measure(&f, r), 0);
		assert_int_equal(f.known[RUN_FIGURE_TAKING], cases[i].is >= 0);
		if (cases[i].is >= 0)
			is(&f, RUN_FIGURE_TAKING, cases[i].is);
		assert_string_equal(f.who[RUN_FIGURE_TAKING], cases[i].who);
		done(r);
	}
}

/* Nor of a request that began before the watch: which of its bytes had come was not seen. */
static void of_requests_from_before_the_watch_it_may_not_be_known(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = with_upload(0);

	(void)state;
	r->service = calloc(1, sizeof(*r->service));
	assert_non_null(r->service);
	r->n_service = 1;
	r->service[0] = (struct run_service) { .before = true,
					       .age_ns = 200ull * MS,
					       .column = ACCOUNT_NET };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NET, 0.65);
	assert_false(f.known[RUN_FIGURE_TAKING]);
	done(r);
}

/* Beside a slow link there are no round trips, as far as is seen: those who are not seen are a
 * fifth of the waiting, and that is all that may be otherwise. */
static void a_few_that_are_not_seen_leave_a_slow_link_sure(void **state)
{
	struct run_figures f = { 0 };

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 10000);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	run_figure_set(&f, RUN_FIGURE_NET_WAIT, 0.9);
	run_figure_set(&f, RUN_FIGURE_LINK, 0.9);
	run_figure_set(&f, RUN_FIGURE_LINK_RATE, 1e6);
	run_figure_set(&f, RUN_FIGURE_LINK_UNSENT, 100000);
	run_figure_set(&f, RUN_FIGURE_LINK_REPLY, 1e9);
	run_figure_set(&f, RUN_FIGURE_TCP_UNSEEN, 0.2);
	run_figure_set(&f, RUN_FIGURE_TRIPS_WAIT, 0);
	f.known[RUN_FIGURE_TRIPS_WAIT] = false;
	assert_true(is_found(&f, "slow-link", false));
	f.at_least[RUN_FIGURE_TRIPS_WAIT] = true;
	assert_true(is_found(&f, "slow-link", true));
	/* They explain too much of it, or those who are not seen may. */
	run_figure_set(&f, RUN_FIGURE_TCP_UNSEEN, 0.5);
	assert_true(is_found(&f, "slow-link", false));
	run_figure_set(&f, RUN_FIGURE_TCP_UNSEEN, 0.2);
	f.value[RUN_FIGURE_TRIPS_WAIT] = 0.5;
	assert_true(is_found(&f, "slow-link", false));
}

/* Somebody uploads all the time: a client that takes replies slowly is none the less named. */
static void an_upload_hides_no_slow_reader(void **state)
{
	struct run_figures f = { 0 };

	(void)state;
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 10000);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	run_figure_set(&f, RUN_FIGURE_NET, 0.5);
	run_figure_set(&f, RUN_FIGURE_TAKING, 0.05);
	run_figure_set(&f, RUN_FIGURE_NET_WAIT, 0.6);
	run_figure_set(&f, RUN_FIGURE_WINDOW, 0.6);
	run_figure_set(&f, RUN_FIGURE_WINDOW_LOST, 0);
	assert_true(is_found(&f, "client-window", false));
	/* where the server itself waits for that the cause is the other one */
	run_figure_set(&f, RUN_FIGURE_TAKING, 0.45);
	assert_false(is_found(&f, "client-window", false));
	assert_true(is_found(&f, "network", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_that_sends_late_is_none_that_takes_no_replies),
		cmocka_unit_test(of_several_phases_it_may_not_be_known),
		cmocka_unit_test(of_requests_from_before_the_watch_it_may_not_be_known),
		cmocka_unit_test(a_few_that_are_not_seen_leave_a_slow_link_sure),
		cmocka_unit_test(an_upload_hides_no_slow_reader),
		cmocka_unit_test(one_client_s_delayed_acknowledgements_are_not_what_all_wait_for),
		cmocka_unit_test(where_nothing_else_is_waited_for_they_are),
		cmocka_unit_test(nothing_is_sure_of_a_minority_whose_connections_are_seen),
		cmocka_unit_test(clients_that_are_not_seen_are_not_ruled_out_by_one_that_is),
		cmocka_unit_test(of_a_load_uploads_may_be_of_before_it),
		cmocka_unit_test(who_came_later_may_have_uploaded_all_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
