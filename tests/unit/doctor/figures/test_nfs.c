/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers of NFS: what their threads did. Tests user/doctor/figures/nfs.c, handed.c,
 * user/doctor/rules/rules_nfs.c. With faults that were made on a server:
 * tests/integration/doctor/test_doctor_ganesha.py.
 */
#include "unit/measure_rig.h"

#include "bpf/programs.h"
#include "doctor/judge.h"

static const struct run_kind nfs = { .judged = RUN_JUDGED_EXPORTS, .has_requests = true };

#define NFS_WRITE (AFS_RPC_NFS + 7)

/* 10 s of a server: 1,000 WRITE, which take 1 s, half of it in its log. */
static struct run *server(uint64_t log_calls)
{
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;
	struct ledger_account *a = &l->account[0];

	r->kind = &nfs;
	l->n_accounts = 1;
	l->n_parts = 2;
	l->n_results = 0;
	a->account = NFS_WRITE;
	a->sum = (struct afs_account) { .begun = 1000, .answered = 1000, .ns = 1000 * MS };
	a->min_ns = a->max_ns = MS;
	memset(a->hist, 0, sizeof(a->hist));
	a->hist[hist_index(MS, AFS_REQUEST_BITS)] = 1000;
	l->part[0] = part(NFS_WRITE, AFS_CLASS_USER, AFS_OBJECT_NONE, 0);
	l->part[0].part.cpu_ns = 500 * MS;
	l->part[0].part.calls = 0;
	l->part[1] = part(AFS_ACCOUNT_THREADS, AFS_CLASS_WRITE, AFS_OBJECT_LOG, 0);
	l->part[1].part.cpu_ns = 500 * MS;
	l->part[1].part.calls = log_calls;
	return r;
}

static const char *first(struct run_figures *f, const struct run *r)
{
	struct diagnosis d;
	const char *key;

	run_figure_set(f, RUN_FIGURE_UNCOUNTED, 0);
	assert_int_equal(doctor_measure(f, r), 0);
	assert_ptr_equal(f->kind, &nfs);
	assert_int_equal(doctor_judge(&d, f), 0);
	key = d.n_found ? d.found[0].rule->key : "";
	diagnosis_fini(&d);
	return key;
}

static void a_log_that_takes_much_is_named(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server(3000);

	(void)state;
	assert_string_equal(first(&f, r), "log");
	is(&f, RUN_FIGURE_LOG, 0.5);
	is(&f, RUN_FIGURE_LOG_CALLS, 3);
	is(&f, RUN_FIGURE_REQUESTS, 1000);
	done(r);
}

static void few_lines_of_log_are_no_cause(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server(10);

	(void)state;
	assert_string_equal(first(&f, r), "");
	done(r);
}

static void a_server_that_ended_is_named(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server(0);

	(void)state;
	r->server_end.ended_ns = 5;
	assert_string_equal(first(&f, r), "server-ended");
	done(r);
}

/* Of other things that a server refuses nothing is concluded. */
static void a_full_disk_is_a_status(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server(0);
	struct ledger *l = &r->phase[0]->ledger;
	struct ledger_result refused = { .account = NFS_WRITE, .code = 28, .n = 900 };

	(void)state;
	free(l->result);
	l->result = malloc(sizeof(refused));
	assert_non_null(l->result);
	*l->result = refused;
	l->n_results = 1;
	first(&f, r);
	is(&f, RUN_FIGURE_DISK_FULL, 900);
	is(&f, RUN_FIGURE_DISK_FULL_SHARE, 0.9);
	done(r);
}

/* What a full disk refused is not seen in what Kerberos encrypts. */
static void of_sealed_requests_no_refusal_is_ruled_out(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server(0);

	(void)state;
	first(&f, r);
	assert_true(f.known[RUN_FIGURE_DISK_FULL] && f.known[RUN_FIGURE_LOCKED]);
	r->phase[0]->ledger.account[0].account = AFS_RPC_SEALED;
	f = (struct run_figures) { 0 };
	first(&f, r);
	assert_false(f.known[RUN_FIGURE_DISK_FULL] || f.known[RUN_FIGURE_LOCKED] ||
		     f.known[RUN_FIGURE_LIST]);
	done(r);
}

/* A tracer stops those threads that make calls. All others are idle, as many as there are. */
static void a_tracer_is_named_however_many_threads_are_idle(void **state)
{
	const struct {
		uint64_t stopped_ms, idle_s;
		const char *key;
	} row[] = { { 1000, 40, "server-traced" },
		    { 1000, 2000, "server-traced" },
		    { 90, 40, "" },      /* nobody notices that */
		    { 110, 2000, "" } }; /* nor this, in requests that took a second in all */

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = server(1);

		run_figure_set(&f, RUN_FIGURE_TRACED, 1);
		r->phase[0]->ledger.part[0].part.stopped_ns = row[i].stopped_ms * MS;
		r->phase[0]->ledger.part[1] = part(AFS_ACCOUNT_THREADS, AFS_CLASS_WAIT,
						   AFS_OBJECT_NONE, row[i].idle_s * 1000 * MS);
		r->phase[0]->ledger.part[1].part.cpu_ns = 600 * MS;
		assert_string_equal(first(&f, r), row[i].key);
		is(&f, RUN_FIGURE_STOPPED_FOR, (double)(row[i].stopped_ms * MS));
		done(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_takes_much_is_named),
		cmocka_unit_test(few_lines_of_log_are_no_cause),
		cmocka_unit_test(a_server_that_ended_is_named),
		cmocka_unit_test(a_full_disk_is_a_status),
		cmocka_unit_test(of_sealed_requests_no_refusal_is_ruled_out),
		cmocka_unit_test(a_tracer_is_named_however_many_threads_are_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
