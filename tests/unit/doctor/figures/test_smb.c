/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers of SMB: what sessions did for requests, and which waits are no server's. Tests
 * user/doctor/figures/smb.c, handed.c, user/doctor/rules/rules_smb.c.
 */
#include "unit/measure_rig.h"

#include "bpf/commands.h"
#include "doctor/judge.h"

#include <stdio.h>

static const struct run_kind smb = { .judged = RUN_JUDGED_SHARES, .has_requests = true };

#define N_ACCOUNTS 6
#define N_PARTS    8

/* 10 s of a server: 1,000 CREATE, which take 1 s. */
static struct run *server(void)
{
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;
	struct ledger_account *a;

	r->kind = &smb;
	free(l->account);
	free(l->part);
	l->account = calloc(N_ACCOUNTS, sizeof(*l->account));
	l->part = calloc(N_PARTS, sizeof(*l->part));
	assert_true(l->account && l->part);
	l->n_accounts = 1;
	l->n_parts = 2;
	l->n_results = 0;
	a = &l->account[0];
	a->account = AFS_SMB2_CREATE;
	a->sum = (struct afs_account) { .begun = 1000, .answered = 1000, .ns = 1000 * MS };
	a->min_ns = a->max_ns = MS;
	a->hist[hist_index(MS, AFS_REQUEST_BITS)] = 1000;
	l->part[0] = part(AFS_SMB2_CREATE, AFS_CLASS_USER, AFS_OBJECT_NONE, 0);
	l->part[0].part.cpu_ns = 500 * MS;
	l->part[0].part.calls = 0;
	l->part[1] = part(AFS_SMB2_CREATE, AFS_CLASS_IDENT, AFS_OBJECT_NONE, 0);
	l->part[1].part.cpu_ns = 500 * MS;
	l->part[1].part.calls = 50000;
	return r;
}

/* One more account whose requests were parked for this long. */
static void add_account(struct run *r, unsigned int number, uint64_t n, uint64_t ns)
{
	struct ledger *l = &r->phase[0]->ledger;
	struct ledger_account *a = &l->account[l->n_accounts++];

	assert_true(l->n_accounts <= N_ACCOUNTS);
	a->account = (uint16_t)number;
	a->sum = (struct afs_account) {
		.begun = n, .answered = n, .ns = ns, .parked = n, .parked_ns = ns
	};
	a->min_ns = a->max_ns = ns / n;
	a->hist[hist_index(ns / n, AFS_REQUEST_BITS)] = n;
}

static struct ledger_part *add_wait(struct run *r, unsigned int account, unsigned int class,
				    unsigned int object, uint64_t blocked_ns)
{
	struct ledger *l = &r->phase[0]->ledger;

	assert_true(l->n_parts < N_PARTS);
	l->part[l->n_parts] = part(account, class, object, blocked_ns);
	return &l->part[l->n_parts++];
}

static void measured(struct run_figures *f, const struct run *r)
{
	run_figure_set(f, RUN_FIGURE_UNCOUNTED, 0);
	assert_int_equal(doctor_measure(f, r), 0);
	assert_ptr_equal(f->kind, &smb);
}

/* Its first finding; NULL: none. sure: how it is said. */
static const char *found(struct run_figures *f, bool *sure)
{
	static char key[64];
	struct diagnosis d;

	assert_int_equal(doctor_judge(&d, f), 0);
	snprintf(key, sizeof(key), "%s", d.n_found ? d.found[0].rule->key : "");
	*sure = d.n_found && d.found[0].sure;
	diagnosis_fini(&d);
	return *key ? key : NULL;
}

static void of_a_healthy_server_nothing_is_found(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	(void)state;
	measured(&f, r);
	is(&f, RUN_FIGURE_REQUESTS, 1000);
	is(&f, RUN_FIGURE_MEAN, 1e6);
	is(&f, RUN_FIGURE_BUSY, 0.1);
	is(&f, RUN_FIGURE_CPU, 1);
	is(&f, RUN_FIGURE_CREATE, 1);
	is(&f, RUN_FIGURE_CREATE_CALLS, 50);
	is(&f, RUN_FIGURE_SCAN, 0);
	is(&f, RUN_FIGURE_NOTIFYD, 0);
	assert_null(found(&f, &sure));
	done(r);
}

/* All but one client encrypt what they send: of these nothing is known. */
static void what_cannot_be_read_is_not_healthy(void **state)
{
	static const struct {
		unsigned int account;
		uint64_t frames, requests;
		enum doctor_verdict verdict;
		const char *who;
	} of[] = {
		{ AFS_SMB2_ENCRYPTED, 5000, 1000, DOCTOR_LOST,
		  "what cannot be read: encrypted frames" },
		{ AFS_SMB2_COMPRESSED, 20, 1000, DOCTOR_LOST,
		  "what cannot be read: compressed frames" },
		{ AFS_SMB2_SMB1, 11, 1000, DOCTOR_LOST, "what cannot be read: frames of SMB1" },
		{ AFS_SMB2_ENCRYPTED, 5000, 3, DOCTOR_LOST,
		  "what cannot be read: encrypted frames" },
		{ AFS_SMB2_ENCRYPTED, 10, 1000, DOCTOR_PARTLY, NULL },
		{ AFS_SMB2_CREATE_AND, 5000, 1000, DOCTOR_PARTLY, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = server();
		struct ledger *l = &r->phase[0]->ledger;
		struct diagnosis d;

		l->account[0].sum.begun = l->account[0].sum.answered = of[i].requests;
		l->account[1] = (struct ledger_account) { .account = (uint16_t)of[i].account,
							  .sum.untimed = of[i].frames };
		l->n_accounts = 2;
		measured(&f, r);
		assert_int_equal(doctor_judge(&d, &f), 0);
		assert_int_equal(d.verdict, of[i].verdict);
		if (of[i].verdict == DOCTOR_LOST) {
			assert_int_equal(d.n_out, 0);
			is(&f, RUN_FIGURE_UNCOUNTED, (double)of[i].frames);
			assert_string_equal(f.who[RUN_FIGURE_UNCOUNTED], of[i].who);
		}
		diagnosis_fini(&d);
		done(r);
	}
}

static void all_kinds_of_what_cannot_be_read_are_named(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->account[1] = (struct ledger_account) { .account = AFS_SMB2_ENCRYPTED, .sum.untimed = 7 };
	l->account[2] = (struct ledger_account) { .account = AFS_SMB2_COMPRESSED };
	l->account[3] = (struct ledger_account) { .account = AFS_SMB2_SMB1, .sum.untimed = 9 };
	l->n_accounts = 4;
	measured(&f, r);
	is(&f, RUN_FIGURE_UNCOUNTED, 16);
	assert_string_equal(f.who[RUN_FIGURE_UNCOUNTED],
			    "what cannot be read: encrypted frames, frames of SMB1");
	done(r);
}

/* One session of twenty is in state T: of the time of all threads that is little. */
static void one_paused_session_of_many_is_named(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	(void)state;
	run_figure_set(&f, RUN_FIGURE_TRACED, 0);
	run_figure_set(&f, RUN_FIGURE_STOPPED_NOW, 1);
	run_figure_set(&f, RUN_FIGURE_STOPPED_NOW_SHARE, 0.05);
	r->phase[0]->ledger.part[0].part.stopped_ns = 50 * MS;
	measured(&f, r);
	assert_true(f.value[RUN_FIGURE_STOPPED_WAIT] < 0.1);
	assert_string_equal(found(&f, &sure), "session-stopped");
	assert_false(sure);
	done(r);
}

/* Eight sessions were paused all the time: requests that came then have waited, if any came. */
static void pauses_of_idle_sessions_are_not_surely_a_harm(void **state)
{
	static const unsigned int requests[] = { 0, 2, 100 }; /* of each */

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct run_figures f = { 0 };
		struct run *r = server();
		struct ledger_part *p;
		bool sure;

		r->session[0].requests = 1000;
		for (int k = 0; k < 8; k++)
			run_session(r)->requests = requests[i];
		p = add_wait(r, AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, AFS_OBJECT_NONE, 0);
		p->part.stopped_ns = 80000u * (uint64_t)MS;
		run_figure_set(&f, RUN_FIGURE_TRACED, 0);
		run_figure_set(&f, RUN_FIGURE_STOPS, 8);
		measured(&f, r);
		assert_string_equal(found(&f, &sure), "server-stopped");
		assert_int_equal(sure, requests[i] == 100);
		/* In requests they are harm whoever asks. */
		p->account = AFS_SMB2_CREATE;
		measured(&f, r);
		assert_string_equal(found(&f, &sure), "server-stopped");
		assert_true(sure);
		done(r);
	}
}

/* Nobody waits for a server that tells of changes when there are some, or for whoever has a lock.
 */
static void wait_for_others(unsigned int told)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	add_account(r, told + AFS_SMB2_CHANGE_NOTIFY, 2, 9000u * (uint64_t)MS);
	add_account(r, told + AFS_SMB2_LOCK, 3, 9000u * (uint64_t)MS);
	measured(&f, r);
	is(&f, RUN_FIGURE_REQUESTS, 1000);
	is(&f, RUN_FIGURE_BUSY, 0.1);
	is(&f, RUN_FIGURE_SLOW, 0);
	is(&f, RUN_FIGURE_LONGEST, 1e6);
	is(&f, RUN_FIGURE_LOCK_WAITS, 3);
	assert_null(found(&f, &sure));
	done(r);
}

static void waits_for_other_clients_are_no_time_of_the_server(void **state)
{
	(void)state;
	wait_for_others(AFS_SMB2_WAITED);
	wait_for_others(AFS_SMB2_CHAIN_WAITED);
}

static void folders_are_read_for_names_that_do_not_exist(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	struct ledger_part *p = add_wait(r, AFS_SMB2_CREATE, AFS_CLASS_DIR, AFS_OBJECT_DIR,
					 100 * MS);
	bool sure;

	(void)state;
	p->part.cpu_ns = 900 * MS;
	r->phase[0]->ledger.part[0].part.cpu_ns = 0;
	r->phase[0]->ledger.part[1].part.cpu_ns = 0;
	measured(&f, r);
	is(&f, RUN_FIGURE_SCAN, 1);
	is(&f, RUN_FIGURE_SCAN_MEAN, 1e6);
	assert_true(*f.who[RUN_FIGURE_SCAN]);
	/* The settings are not known. */
	assert_string_equal(found(&f, &sure), "folder-scans");
	assert_false(sure);
	/* They are read, but a session may have others. */
	assert_int_equal(run_note(&r->server, RUN_SMB_CONF, "case sensitive = yes"), 0);
	measured(&f, r);
	assert_false(f.known[RUN_FIGURE_CASE_FOLDED]);
	assert_string_equal(f.who[RUN_FIGURE_CASE_FOLDED],
			    "the configuration may have been changed after a session began");
	f = (struct run_figures) { 0 };
	r->shares.known = true;
	r->shares.all = r->shares.folded = 2;
	measured(&f, r);
	is(&f, RUN_FIGURE_CASE_FOLDED, 2);
	assert_string_equal(found(&f, &sure), "huge-folder");
	assert_true(sure);
	done(r);
	/* A list that a client asks for is its own wish. */
	f = (struct run_figures) { 0 };
	r = server();
	r->phase[0]->ledger.account[0].account = AFS_SMB2_QUERY_DIRECTORY;
	add_wait(r, AFS_SMB2_QUERY_DIRECTORY, AFS_CLASS_DIR, AFS_OBJECT_DIR, 900 * MS);
	measured(&f, r);
	is(&f, RUN_FIGURE_SCAN, 0);
	done(r);
}

/* Calls stay in the account of what began; its answer, if there is one, is in another. */
static void calls_are_of_those_too_that_wait_since(void **state)
{
	static const struct {
		unsigned int begun, waits;
		bool answered, looks_up, is_create;
	} of[] = {
		{ AFS_SMB2_CREATE_AND + AFS_SMB2_LOCK, AFS_SMB2_CHAIN_WAITED + AFS_SMB2_LOCK, true,
		  true, false },
		{ AFS_SMB2_CREATE_AND + AFS_SMB2_CHANGE_NOTIFY,
		  AFS_SMB2_CHAIN_WAITED + AFS_SMB2_CHANGE_NOTIFY, false, true, false },
		{ AFS_SMB2_COMPOUND, AFS_SMB2_CHAIN_WAITED + AFS_SMB2_CHANGE_NOTIFY, false, true,
		  false },
		{ AFS_SMB2_SET_INFO, AFS_SMB2_WAITED + AFS_SMB2_SET_INFO, true, true, false },
		{ AFS_SMB2_CREATE, AFS_SMB2_WAITED + AFS_SMB2_CREATE, true, true, true },
		{ AFS_SMB2_LOCK, AFS_SMB2_WAITED + AFS_SMB2_LOCK, true, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = server();
		struct ledger *l = &r->phase[0]->ledger;

		l->account[0].account = (uint16_t)of[i].begun;
		l->account[0].sum.answered = 200;
		l->account[0].sum.waited = 800;
		add_account(r, of[i].waits, 800, 800 * MS);
		if (!of[i].answered)
			l->account[1].sum.answered = 0;
		l->part[0].account = l->part[1].account = (uint16_t)of[i].begun;
		add_wait(r, of[i].begun, AFS_CLASS_DIR, AFS_OBJECT_DIR, 1000 * MS)->part.calls = 0;
		add_wait(r, of[i].begun, AFS_CLASS_WRITE, AFS_OBJECT_LOG, 0)->part.calls = 2000;
		measured(&f, r);
		if (of[i].looks_up)
			is(&f, RUN_FIGURE_SCAN_MEAN, 1e6);
		else
			assert_false(f.known[RUN_FIGURE_SCAN_MEAN]);
		is(&f, RUN_FIGURE_LOG_CALLS, 2);
		if (of[i].is_create)
			is(&f, RUN_FIGURE_CREATE_CALLS, 52);
		else
			assert_false(f.known[RUN_FIGURE_CREATE_CALLS]);
		done(r);
	}
}

static void a_module_that_stores_acls_is_named_with_what_it_costs(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	(void)state;
	r->phase[0]->ledger.part[1].part.calls = 459000;
	measured(&f, r);
	is(&f, RUN_FIGURE_CREATE_CALLS, 459);
	assert_null(found(&f, &sure));
	r->shares.known = true;
	r->shares.all = 2;
	r->shares.acls = 1;
	measured(&f, r);
	assert_string_equal(f.who[RUN_FIGURE_ACL_MODULE], "1 of 2 shares");
	assert_string_equal(found(&f, &sure), "acl-module");
	assert_false(sure);
	done(r);
}

static void break_an_oplock(unsigned int told)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	add_account(r, told + AFS_SMB2_CREATE, 5, 3000u * (uint64_t)MS);
	measured(&f, r);
	is(&f, RUN_FIGURE_REQUESTS, 1005);
	is(&f, RUN_FIGURE_BREAKS, 5);
	is(&f, RUN_FIGURE_BREAK_WAIT, 0.75);
	is(&f, RUN_FIGURE_BREAK_MEAN, 600e6);
	is(&f, RUN_FIGURE_SLOW_N, 5);
	assert_string_equal(found(&f, &sure), "oplock-breaks");
	assert_false(sure);
	done(r);
}

static void a_create_that_waits_for_another_client_is_told(void **state)
{
	(void)state;
	break_an_oplock(AFS_SMB2_WAITED);
	break_an_oplock(AFS_SMB2_CHAIN_WAITED);
}

/* One request that has had no answer since it was begun so long ago. */
static void add_unanswered(struct run *r, unsigned int number, uint64_t age_ns)
{
	struct ledger *l = &r->phase[0]->ledger;
	struct ledger_account *a = &l->account[l->n_accounts++];
	struct run_service *s = run_service(r);

	assert_true(l->n_accounts <= N_ACCOUNTS && s);
	a->account = (uint16_t)number;
	a->sum = (struct afs_account) { .begun = 1 };
	*s = (struct run_service) {
		.pid = 7, .account = (uint16_t)number, .column = ACCOUNT_OTHER, .age_ns = age_ns
	};
	r->has_service = true;
}

/* A client that sleeps answers no break: who opens the file waits for half a minute. */
static void still_break_an_oplock(unsigned int told)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	add_unanswered(r, told + AFS_SMB2_CREATE, 9000u * (uint64_t)MS);
	measured(&f, r);
	is(&f, RUN_FIGURE_BREAKS, 1);
	is(&f, RUN_FIGURE_BREAK_MEAN, 9e9);
	is(&f, RUN_FIGURE_BREAK_WAIT, 0.9);
	is(&f, RUN_FIGURE_OLDEST, 9e9);
	is(&f, RUN_FIGURE_IN_SERVICE, 1);
	assert_string_equal(found(&f, &sure), "oplock-breaks");
	assert_false(sure);
	done(r);
}

static void who_still_waits_for_another_client_counts_until_now(void **state)
{
	(void)state;
	still_break_an_oplock(AFS_SMB2_WAITED);
	still_break_an_oplock(AFS_SMB2_CHAIN_WAITED);
}

static void still_wait_for_a_lock(unsigned int told)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	add_unanswered(r, told + AFS_SMB2_LOCK, 9000u * (uint64_t)MS);
	measured(&f, r);
	is(&f, RUN_FIGURE_LOCK_WAITS, 1);
	is(&f, RUN_FIGURE_BUSY, 0.1);
	is(&f, RUN_FIGURE_IN_SERVICE, 0);
	assert_false(f.known[RUN_FIGURE_OLDEST]);
	assert_null(found(&f, &sure));
	done(r);
}

static void who_still_waits_for_a_lock_is_noted_and_no_time_of_the_server(void **state)
{
	(void)state;
	still_wait_for_a_lock(AFS_SMB2_WAITED);
	still_wait_for_a_lock(AFS_SMB2_CHAIN_WAITED);
}

static void waits_of_sessions_are_by_what_they_are_for(void **state)
{
	static const struct {
		unsigned int class, object;
		enum run_figure figure;
		const char *key;
	} some[] = {
		{ AFS_CLASS_LOCK, AFS_OBJECT_DATA, RUN_FIGURE_TDB, "tdb" },
		{ AFS_CLASS_WAIT, AFS_OBJECT_NONE, RUN_FIGURE_TDB, "tdb" },
		{ AFS_CLASS_WAIT, AFS_OBJECT_SOCKET, RUN_FIGURE_ASKED_OTHERS, "name-service" },
		{ AFS_CLASS_READ, AFS_OBJECT_SOCKET, RUN_FIGURE_ASKED_OTHERS, "name-service" },
		{ AFS_CLASS_SEND, AFS_OBJECT_SOCKET, RUN_FIGURE_TDB, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = server();
		bool sure;
		const char *key;

		r->phase[0]->ledger.account[0].sum.ns = 2000u * (uint64_t)MS;
		add_wait(r, AFS_SMB2_CREATE, some[i].class, some[i].object, 1000 * MS);
		measured(&f, r);
		is(&f, some[i].figure, some[i].key ? 0.5 : 0);
		key = found(&f, &sure);
		assert_false(sure);
		if (some[i].key)
			assert_string_equal(key, some[i].key);
		else
			assert_null(key);
		done(r);
	}
}

static void the_log_is_a_share_of_the_requests_time(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	struct ledger_part *p = add_wait(r, AFS_SMB2_CREATE, AFS_CLASS_WRITE, AFS_OBJECT_LOG, 0);
	bool sure;

	(void)state;
	p->part.calls = 30000;
	p->part.cpu_ns = 600 * MS;
	r->phase[0]->ledger.part[0].part.cpu_ns = 0;
	r->phase[0]->ledger.part[1].part.cpu_ns = 400 * MS;
	measured(&f, r);
	is(&f, RUN_FIGURE_LOG, 0.6);
	is(&f, RUN_FIGURE_LOG_CALLS, 30);
	assert_string_equal(found(&f, &sure), "log");
	assert_true(sure);
	done(r);
}

/* Its thread is told that a request has come, and gets no CPU to read it. */
static void what_lies_unread_is_no_idle_server(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	struct diagnosis d;

	(void)state;
	add_wait(r, AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, AFS_OBJECT_NONE, 0)->part.runq_ns =
	    40000u * (uint64_t)MS;
	measured(&f, r);
	is(&f, RUN_FIGURE_UNREAD, 40e6);
	assert_int_equal(doctor_judge(&d, &f), 0);
	assert_int_equal(d.verdict, DOCTOR_SLOW);
	diagnosis_fini(&d);
	done(r);
}

/* Who has the lock has no CPU: it is not the database that is slow. */
static void a_lock_whose_holder_waits_for_a_cpu_is_no_cause(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();
	bool sure;

	(void)state;
	r->phase[0]->ledger.account[0].sum.ns = 2000u * (uint64_t)MS;
	add_wait(r, AFS_SMB2_CREATE, AFS_CLASS_WAIT, AFS_OBJECT_NONE, 1000 * MS)->part.runq_ns =
	    4000u * (uint64_t)MS;
	measured(&f, r);
	assert_true(f.value[RUN_FIGURE_WAIT_CPU] > 0.5);
	assert_null(found(&f, &sure));
	done(r);
}

/* An fsync of the pool is in no request's parts, but its time is. */
static void what_the_pool_waits_for_counts(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();

	(void)state;
	add_account(r, AFS_SMB2_FLUSH, 100, 3000u * (uint64_t)MS);
	add_wait(r, AFS_ACCOUNT_THREADS, AFS_CLASS_SYNC, AFS_OBJECT_DATA, 2800u * (uint64_t)MS)
	    ->part.calls = 100;
	measured(&f, r);
	is(&f, RUN_FIGURE_SYNC, 0.7);
	is(&f, RUN_FIGURE_WAIT_DISK, 0.7);
	is(&f, RUN_FIGURE_SYNC_MEAN, 28e6);
	done(r);
}

static void without_its_requests_nothing_is_known(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = server();

	(void)state;
	r->phase[0]->ledger.has_requests = false;
	measured(&f, r);
	assert_false(f.known[RUN_FIGURE_REQUESTS] || f.known[RUN_FIGURE_SCAN]);
	done(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_healthy_server_nothing_is_found),
		cmocka_unit_test(what_cannot_be_read_is_not_healthy),
		cmocka_unit_test(all_kinds_of_what_cannot_be_read_are_named),
		cmocka_unit_test(one_paused_session_of_many_is_named),
		cmocka_unit_test(pauses_of_idle_sessions_are_not_surely_a_harm),
		cmocka_unit_test(waits_for_other_clients_are_no_time_of_the_server),
		cmocka_unit_test(folders_are_read_for_names_that_do_not_exist),
		cmocka_unit_test(calls_are_of_those_too_that_wait_since),
		cmocka_unit_test(a_module_that_stores_acls_is_named_with_what_it_costs),
		cmocka_unit_test(a_create_that_waits_for_another_client_is_told),
		cmocka_unit_test(who_still_waits_for_another_client_counts_until_now),
		cmocka_unit_test(who_still_waits_for_a_lock_is_noted_and_no_time_of_the_server),
		cmocka_unit_test(waits_of_sessions_are_by_what_they_are_for),
		cmocka_unit_test(the_log_is_a_share_of_the_requests_time),
		cmocka_unit_test(what_lies_unread_is_no_idle_server),
		cmocka_unit_test(a_lock_whose_holder_waits_for_a_cpu_is_no_cause),
		cmocka_unit_test(what_the_pool_waits_for_counts),
		cmocka_unit_test(without_its_requests_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
