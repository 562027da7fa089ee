/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What clients wait for on the network, of all that clients wait for. Tests
 * user/doctor/figures/measure.c, clients.c.
 */
#include "unit/measure_rig.h"

#include "bpf/hist.h"
#include "doctor/judge.h"

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

/* One client uploads, another one takes no replies: either is known by itself. */
static void a_client_that_sends_late_is_none_that_takes_no_replies(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->part[0] = part(FLUSH, AFS_CLASS_RECV, AFS_OBJECT_CLIENT, 60 * MS);
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NET, 0.3);
	is(&f, RUN_FIGURE_TAKING, 0);
	l->part[2] = part(OPEN_FORK, AFS_CLASS_SEND, AFS_OBJECT_CLIENT, 120 * MS);
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_NET, 0.9);
	is(&f, RUN_FIGURE_TAKING, 0.6);
	done(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_that_sends_late_is_none_that_takes_no_replies),
		cmocka_unit_test(one_client_s_delayed_acknowledgements_are_not_what_all_wait_for),
		cmocka_unit_test(where_nothing_else_is_waited_for_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
