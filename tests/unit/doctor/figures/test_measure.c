/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests user/doctor/figures/measure.c, shares.c, times.c, waits.c, logins.c, answers.c, commands.c,
 * ends.c.
 */
#include "unit/measure_rig.h"

static void parts_are_shares_of_all_request_time(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_ELAPSED, 10e9);
	is(&f, RUN_FIGURE_REQUESTS, 1);
	is(&f, RUN_FIGURE_RATE, 0.1);
	is(&f, RUN_FIGURE_BUSY, 0.02);
	is(&f, RUN_FIGURE_SYNC, 0.3);
	is(&f, RUN_FIGURE_SYNC_RATE, 0.1);
	is(&f, RUN_FIGURE_LOG, 0.1);
	is(&f, RUN_FIGURE_LOG_CALLS, 1);
	is(&f, RUN_FIGURE_WAIT_DISK, 0.9);
	is(&f, RUN_FIGURE_PENDING, 120e6);
	assert_string_equal(f.who[RUN_FIGURE_PENDING], "FPOpenFork");
	is(&f, RUN_FIGURE_SLOW, 0.6);
	is(&f, RUN_FIGURE_SLOW_N, 1);
	is(&f, RUN_FIGURE_LONGEST, 80e6);
	is(&f, RUN_FIGURE_DISK_FULL, 3);
	assert_string_equal(f.who[RUN_FIGURE_DISK_FULL], "FPFlushFork");
	is(&f, RUN_FIGURE_SHORT_LIVED, 0.1);
	is(&f, RUN_FIGURE_TOP_BUSY, 0.02);
	/* Without a login there is no mean of logins. */
	assert_false(f.known[RUN_FIGURE_LOGIN]);
	assert_false(f.known[RUN_FIGURE_READ]);
	run_fini(r);
	free(r);
}

/* Of 100 ms: FPOpenVol reads folders for 30, 12 calls; a Spotlight query has no answer yet. */
/* 99 quick ones beside a slow one: what half of all took says nothing of either. */
static void quantiles_are_those_of_the_command_with_most_time(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger_account *quick = &r->phase[0]->ledger.account[1];

	(void)state;
	quick->sum = (struct afs_account) { .begun = 99, .answered = 99, .ns = 99 * MS / 10 };
	quick->min_ns = quick->max_ns = MS / 10;
	quick->hist[hist_index(MS / 10, AFS_REQUEST_BITS)] = 99;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_MEAN, (80e6 + 9.9e6) / 100);
	is(&f, RUN_FIGURE_MOSTLY, 80 / 89.9);
	assert_string_equal(f.who[RUN_FIGURE_MOSTLY], "FPFlushFork");
	is(&f, RUN_FIGURE_MOSTLY_P50, 80e6);
	is(&f, RUN_FIGURE_MOSTLY_P99, 80e6);
	assert_true(f.value[RUN_FIGURE_P50] < 1e6);
	done(r);
	/* Nothing was answered: there is no mean. */
	r = made();
	r->phase[0]->ledger.account[0].sum = (struct afs_account) { .begun = 1 };
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(f.known[RUN_FIGURE_MEAN] || f.known[RUN_FIGURE_MOSTLY]);
	done(r);
}

static void single_commands_have_figures_of_their_own(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->account[0].account = OPEN_VOLUME;
	l->account[0].sum = (struct afs_account) { .begun = 2, .answered = 2, .ns = 40 * MS };
	l->account[1].account = SPOTLIGHT;
	l->account[1].sum = (struct afs_account) { .begun = 1 };
	l->part[0] = part(OPEN_VOLUME, AFS_CLASS_DIR, AFS_OBJECT_DIR, 30 * MS);
	l->part[0].part.calls = 24;
	l->part[1] = part(OPEN_VOLUME, AFS_CLASS_DIR, AFS_OBJECT_NONE, 0);
	l->part[1].part.cpu_ns = 10 * MS;
	l->part[2] = part(SPOTLIGHT, AFS_CLASS_WAIT, AFS_OBJECT_NONE, 60 * MS);
	l->has_storage = l->has_item[AFS_STORAGE_BLOCK] = true;
	l->n_storage = 1;
	l->storage = calloc(1, sizeof(*l->storage));
	assert_non_null(l->storage);
	l->storage[0] = (struct ledger_storage) { .account = OPEN_VOLUME,
						  .role = AFS_ROLE_SERVER,
						  .sum = { .bio_read_bytes = 40960 } };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_VOLUME_SIZE, 0.3);
	is(&f, RUN_FIGURE_VOLUME_SIZE_CALLS, 12);
	is(&f, RUN_FIGURE_SPOTLIGHT, 60e6);
	is(&f, RUN_FIGURE_SPOTLIGHT_WAIT, 0.6);
	is(&f, RUN_FIGURE_READ, 4096);
	is(&f, RUN_FIGURE_COMMAND_CPU, 1);
	is(&f, RUN_FIGURE_DATA_CPU, 0);
	assert_string_equal(f.who[RUN_FIGURE_COMMAND_CPU], "FPOpenVol");
	run_fini(r);
	free(r);
}

static void copies_of_data_are_told_from_other_work(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->part[0] = part(OPEN_VOLUME, AFS_CLASS_DIR, AFS_OBJECT_DIR, 0);
	l->part[0].part.cpu_ns = 10 * MS;
	l->part[1] = part(READ_EXT, AFS_CLASS_READ, AFS_OBJECT_DATA, 0);
	l->part[1].part.cpu_ns = 20 * MS;
	l->part[2] = part(WRITE, AFS_CLASS_WRITE, AFS_OBJECT_DATA, 0);
	l->part[2].part.cpu_ns = 10 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_DATA_CPU, 0.75);
	run_fini(r);
	free(r);
}

static void losses_are_a_figure_where_they_were_counted(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(f.known[RUN_FIGURE_UNCOUNTED]);
	assert_int_equal(run_loss(r, "threads not watched: no slot", 0), 0);
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_UNCOUNTED, 0);
	assert_int_equal(run_loss(r, "result codes not counted: no room", 3), 0);
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_UNCOUNTED, 3);
	assert_string_equal(f.who[RUN_FIGURE_UNCOUNTED], "result codes not counted: no room");
	done(r);
}

static void without_requests_nothing_is_known_of_them(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();

	(void)state;
	r->phase[0]->ledger.has_requests = false;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_ELAPSED, 10e9);
	assert_false(f.known[RUN_FIGURE_REQUESTS]);
	assert_false(f.known[RUN_FIGURE_SYNC]);
	run_fini(r);
	free(r);
}

static void refusals_have_a_share_and_a_session(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(BYTE_RANGE_LOCK, 12);
	struct run_session *s;

	(void)state;
	r->phase[0]->ledger.result[0].code = -5013;
	s = run_session(r);
	assert_non_null(s);
	s->denied = 3;
	s->pid = 77;
	s->user = strdup("mori");
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_DENIED, 3);
	is(&f, RUN_FIGURE_DENIED_SHARE, 0.25);
	assert_string_equal(f.who[RUN_FIGURE_DENIED], "FPByteRangeLock");
	assert_string_equal(f.who[RUN_FIGURE_DENIED_SHARE],
			    "mori from an unknown address (pid 77)");
	done(r);
}

/* Of 10 s; the serving thread's own waits are no such ones. */
static void threads_beside_those_that_serve_are_counted_apart(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger_part *part = r->phase[0]->ledger.part;

	(void)state;
	part[0].account = part[1].account = AFS_ACCOUNT_THREADS;
	part[0].class = AFS_CLASS_WAIT;
	part[0].part = (struct afs_part) { .calls = 60000, .cpu_ns = 3000u * (uint64_t)MS };
	part[1].part.cpu_ns = 400 * MS;
	part[2].account = AFS_ACCOUNT_BETWEEN;
	part[2].class = AFS_CLASS_WAIT;
	part[2].part.calls = 1000;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_IDLE_WAKES, 6000);
	is(&f, RUN_FIGURE_IDLE_CPU, 0.34);
	done(r);
}

/* The log took 20 of 200 ms. */
static void stops_and_waits_for_a_cpu_are_no_work(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger_part *open = &r->phase[0]->ledger.part[2];

	(void)state;
	open->part.stopped_ns = 3000u * (uint64_t)MS;
	open->part.runq_ns = 700 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOG, 0.1);
	/* Nor is a login: 20 of 80 ms are left. */
	r->phase[0]->ledger.account[1].account = open->account = LOGIN;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOG, 0.25);
	is(&f, RUN_FIGURE_SYNC, 60.0 / 3900);
	done(r);
}

/* Of 200 ms: 60 in a wait at a socket of another program. */
static void only_who_asks_waits_for_a_name_service(void **state)
{
	static const struct {
		unsigned int account, class;
		double share;
	} of[] = {
		{ FLUSH, AFS_CLASS_WAIT, 0.3 },
		{ FLUSH, AFS_CLASS_RECV, 0.3 },
		{ FLUSH, AFS_CLASS_SEND, 0 },
		{ FLUSH, AFS_CLASS_WRITE, 0 }, /* to its main process */
		{ SPOTLIGHT, AFS_CLASS_WAIT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct run_figures f = { 0 };
		struct run *r = made();

		r->phase[0]->ledger.account[0].account = (uint16_t)of[i].account;
		r->phase[0]->ledger.part[0] = part(of[i].account, of[i].class, AFS_OBJECT_SOCKET,
						   60 * MS);
		assert_int_equal(doctor_measure(&f, r), 0);
		is(&f, RUN_FIGURE_NAMES, of[i].share);
		done(r);
	}
}

/* 100 ms before they were read, and 180 ms of request time. */
static void waits_for_a_cpu_are_of_the_time_since_requests_came(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct ledger_part *between = &r->phase[0]->ledger.part[1];

	(void)state;
	*between = part(AFS_ACCOUNT_BETWEEN, AFS_CLASS_WAIT, AFS_OBJECT_NONE, 0);
	between->part.runq_ns = 100 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_WAIT_CPU, 100.0 / 280);
	is(&f, RUN_FIGURE_UNREAD_SHARE, 100.0 / 280);
	is(&f, RUN_FIGURE_UNREAD, 100e6);
	done(r);
}

/* 12 requests of 80 ms in all, for which the server opened and closed 3 folders. */
static void there_are_as_many_lists_as_folders_that_were_closed(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(ENUMERATE, 12);

	(void)state;
	r->phase[0]->ledger.result[0].code = -5018;
	r->phase[0]->ledger.part[0].class = AFS_CLASS_CLOSE;
	r->phase[0]->ledger.part[0].object = AFS_OBJECT_DIR;
	r->phase[0]->ledger.part[0].part.calls = 3;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LIST_REQUESTS, 4);
	is(&f, RUN_FIGURE_LIST_TIME, 80e6 / 3);
	is(&f, RUN_FIGURE_LIST, 0.4);
	/* Of one that was begun before the watch nothing was closed. */
	r->phase[0]->ledger.part[0].object = AFS_OBJECT_DATA;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LIST_REQUESTS, 12);
	/* What failed has listed nothing; the end of a folder is no failure. */
	r->phase[0]->ledger.result[0] = (struct ledger_result) { ENUMERATE, -5018, 12 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LIST_REQUESTS, 12);
	r->phase[0]->ledger.result[0] = (struct ledger_result) { ENUMERATE, -5029, 9 };
	r->phase[0]->ledger.part[0].object = AFS_OBJECT_DIR;
	r->phase[0]->ledger.part[0].part.calls = 1;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LIST_REQUESTS, 3);
	is(&f, RUN_FIGURE_LIST_TIME, 80e6 / 4);
	r->phase[0]->ledger.result[0].n = 12;
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LIST, 0);
	assert_false(f.known[RUN_FIGURE_LIST_REQUESTS]);
	done(r);
}

/* 3 lists, of which one or more had so many names that they needed 2 reads more. */
static void one_huge_folder_among_small_ones_is_not_ruled_out(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(ENUMERATE, 12);

	(void)state;
	r->phase[0]->ledger.result[0].code = -5018;
	r->phase[0]->ledger.part[0].class = AFS_CLASS_CLOSE;
	r->phase[0]->ledger.part[0].object = AFS_OBJECT_DIR;
	r->phase[0]->ledger.part[0].part.calls = 3;
	r->phase[0]->ledger.part[1].class = AFS_CLASS_DIR;
	r->phase[0]->ledger.part[1].object = AFS_OBJECT_DIR;
	r->phase[0]->ledger.part[1].part.calls = 8;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(f.known[RUN_FIGURE_LIST_REQUESTS]);
	assert_true(*f.who[RUN_FIGURE_LIST_REQUESTS]);
	r->phase[0]->ledger.part[1].part.calls = 6;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LIST_REQUESTS, 4);
	done(r);
}

/* 200 ms of requests that the watch has seen begin, and two that hung all the time or for 4 s. */
static void requests_from_before_the_watch_are_in_all_shares(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();
	struct run_service *s = run_service(r);

	(void)state;
	assert_non_null(s);
	*s = (struct run_service) { .pid = 7,
				    .before = true,
				    .account = AFS_ACCOUNT_BETWEEN,
				    .column = ACCOUNT_CNID,
				    .age_ns = 3600000u * (uint64_t)MS };
	strcpy(s->user, "mori");
	s = run_service(r);
	assert_non_null(s);
	*s = (struct run_service) { .pid = 8,
				    .before = true,
				    .account = AFS_ACCOUNT_BETWEEN,
				    .column = ACCOUNT_DISK,
				    .age_ns = 4000u * (uint64_t)MS };
	r->has_service = true;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_BUSY, 1.42);
	is(&f, RUN_FIGURE_CNID, 10 / 14.2);
	is(&f, RUN_FIGURE_WAIT_DISK, 4.18 / 14.2);
	is(&f, RUN_FIGURE_PENDING, 14.12e9);
	is(&f, RUN_FIGURE_SLOW_N, 3);
	is(&f, RUN_FIGURE_SLOW, 14.12 / 14.2);
	is(&f, RUN_FIGURE_IN_SERVICE, 2);
	is(&f, RUN_FIGURE_OLDEST, 3600e9);
	assert_string_equal(f.who[RUN_FIGURE_OLDEST], "begun before the watch");
	assert_string_equal(f.who[RUN_FIGURE_IN_SERVICE], "mori from an unknown address (pid 7)");
	done(r);
}

/* PAM answers a wrong password late: 10 logins, of which one took 2 s and was refused. */
static void a_wrong_password_is_no_slow_login(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(LOGIN, 10);
	struct ledger_account *a = &r->phase[0]->ledger.account[0];

	(void)state;
	a->sum.ns = 2090 * (uint64_t)MS;
	a->max_ns = 2000 * (uint64_t)MS;
	memset(a->hist, 0, sizeof(a->hist));
	a->hist[hist_index(10 * MS, AFS_REQUEST_BITS)] = 9;
	a->hist[hist_index(2000 * (uint64_t)MS, AFS_REQUEST_BITS)] = 1;
	r->phase[0]->ledger.result[0] = (struct ledger_result) { .account = LOGIN,
								 .code = -5023,
								 .n = 1 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOGIN_REFUSED, 1);
	assert_true(f.value[RUN_FIGURE_LOGIN] < 30e6);
	/* Nor do people notice it as a slow server. */
	is(&f, RUN_FIGURE_SLOW_N, 1);
	assert_true(f.value[RUN_FIGURE_P99] < 100e6);
	done(r);
}

static void requests_that_change_nothing_write_no_cnid(void **state)
{
	struct run_figures f = { 0 }, none = { 0 };
	struct run *r = of_command(ENUMERATE, 1);

	(void)state;
	r->phase[0]->ledger.part[0].object = AFS_OBJECT_BACKEND;
	assert_int_equal(doctor_measure(&none, r), 0);
	is(&none, RUN_FIGURE_CNID_WRITES, 0);
	is(&none, RUN_FIGURE_BEHIND, 0);
	r->phase[0]->ledger.part[1].object = AFS_OBJECT_CNIDDB;
	r->phase[0]->ledger.part[1].part.calls = 20;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_CNID_WRITES, 2);
	is(&f, RUN_FIGURE_BEHIND, 0.4);
	assert_string_equal(f.who[RUN_FIGURE_CNID_WRITES], "FPEnumerate");
	done(r);
}

/* 60 of 200 ms were for the CNID server; waiting for a CPU is no work. */
static void questions_asked_again_have_a_share_of_the_work(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(ENUMERATE, 1);

	(void)state;
	r->phase[0]->ledger.part[0].class = AFS_CLASS_WAIT;
	r->phase[0]->ledger.part[0].object = AFS_OBJECT_BACKEND;
	r->phase[0]->ledger.part[2].part.runq_ns = 700 * MS;
	r->session[0].asking.n = 1000;
	r->session[0].asking.again[AFS_ASKING_BUCKETS - 1] = 500;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_ASKED_AGAIN, 0.5);
	is(&f, RUN_FIGURE_ASKED_TIME, 0.15);
	done(r);
}

static void a_login_that_goes_on_counts(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = of_command(LOGIN, 1);

	(void)state;
	r->phase[0]->ledger.n_results = 0;
	r->phase[0]->ledger.account[0].sum.ns = 80 * MS;
	r->phase[0]->ledger.account[0].sum.begun = 2;
	r->phase[0]->ledger.part[0].part.blocked_ns = 5000u * (uint64_t)MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOGIN_PENDING, 1);
	is(&f, RUN_FIGURE_LOGIN, 4940e6);
	/* So long it may be of a wrong password, which PAM refuses after 1 to 3 s. */
	r->phase[0]->ledger.part[0].part.blocked_ns = 3000u * (uint64_t)MS;
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOGIN_PENDING, 1);
	is(&f, RUN_FIGURE_LOGIN_OLDEST, 2940e6);
	assert_false(f.known[RUN_FIGURE_LOGIN] || f.known[RUN_FIGURE_LOGIN_WAIT]);
	assert_non_null(strstr(f.who[RUN_FIGURE_LOGIN], "than PAM takes to refuse one"));
	/* What it was on a CPU, or waited for one, is not its fault, nor is what its helper did. */
	r->phase[0]->ledger.part[0].part.runq_ns = 50 * MS;
	r->phase[0]->ledger.part[0].part.blocked_ns = 0;
	r->phase[0]->ledger.part[2] = part(LOGIN, AFS_CLASS_USER, AFS_OBJECT_NONE, 0);
	r->phase[0]->ledger.part[2].role = AFS_ROLE_HELPER;
	r->phase[0]->ledger.part[2].part.runq_ns = 20 * MS;
	r->phase[0]->ledger.account[0].sum.begun = 1;
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOGIN, 10e6);
	r->phase[0]->ledger.part[2].part.cpu_ns = 3 * MS;
	r->phase[0]->ledger.part[0].part.cpu_ns = 2 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_LOGIN, 5e6);
	done(r);
}

/* A crash is told from a kill, and named; the share is of the sessions that there were. */
static void ends_of_sessions_have_a_share_and_a_last_one(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(f.known[RUN_FIGURE_CRASHED] || f.known[RUN_FIGURE_CNID_ENDED]);
	is(&f, RUN_FIGURE_SERVER_ENDED, 0);
	is(&f, RUN_FIGURE_SERVER_RESTARTED, 0);
	r->n_rest = 7;
	r->ends[AFS_ROLE_SERVER] = (struct run_ends) {
		.known = true, .clean = 3, .crashed = 2, .pid = 77, .signal = 11
	};
	r->ends[AFS_ROLE_BACKEND] = (struct run_ends) { .known = true, .clean = 4 };
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_CRASHED, 2);
	is(&f, RUN_FIGURE_CRASHED_SHARE, 2. / 8);
	assert_string_equal(f.who[RUN_FIGURE_CRASHED], "pid 77 by signal 11 (Segmentation fault)");
	is(&f, RUN_FIGURE_KILLED, 0);
	/* One that ends by design is none that failed. */
	is(&f, RUN_FIGURE_CNID_ENDED, 0);
	r->n_rest = 0;
	r->ends[AFS_ROLE_SERVER] = (struct run_ends) {
		.known = true, .killed = 5, .pid = 78, .signal = 9
	};
	r->ends[AFS_ROLE_BACKEND] = (struct run_ends) {
		.known = true, .failed = 1, .crashed = 1, .killed = 1, .pid = 79, .status = 3
	};
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_KILLED, 5);
	is(&f, RUN_FIGURE_KILLED_SHARE, 1); /* never more than all */
	assert_string_equal(f.who[RUN_FIGURE_KILLED], "pid 78 by signal 9 (Killed)");
	is(&f, RUN_FIGURE_CNID_ENDED, 3);
	assert_string_equal(f.who[RUN_FIGURE_CNID_ENDED], "pid 79 with exit status 3");
	done(r);
}

static void the_end_of_the_server_is_a_figure_with_its_time(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = made();

	(void)state;
	r->server_end.ended_ns = 12345;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_SERVER_ENDED, 1);
	is(&f, RUN_FIGURE_SERVER_RESTARTED, 0);
	assert_string_equal(f.who[RUN_FIGURE_SERVER_ENDED], "after 10.0 s of the watch");
	r->server_end.restarted_pid = 4711;
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_SERVER_RESTARTED, 1);
	assert_string_equal(f.who[RUN_FIGURE_SERVER_RESTARTED],
			    "process 4711 listens on its port now");
	done(r);
}

/* Two volumes: one's CNID server is always at work, and the other one's is paused (T): a session
 * has waited for one of them since before the watch. */
static void a_paused_cnid_server_is_not_hidden_by_a_busy_one(void **state)
{
	(void)state;
	for (int held = 0; held < 2; held++) {
		struct run_figures f = { 0 };
		struct run *r = made();
		struct run_service *s = run_service(r);

		assert_non_null(s);
		*s = (struct run_service) { .before = true,
					    .account = AFS_ACCOUNT_BETWEEN,
					    .column = ACCOUNT_CNID,
					    .age_ns = 3600000u * (uint64_t)MS };
		r->phase[0]->ledger.part[1].role = AFS_ROLE_BACKEND;
		r->phase[0]->ledger.part[1].part.cpu_ns = 9900u * (uint64_t)MS;
		run_figure_set(&f, RUN_FIGURE_CNID_HELD, held);
		assert_int_equal(doctor_measure(&f, r), 0);
		assert_int_equal(f.value[RUN_FIGURE_CNID_STOPPED] > 0.9, held);
		assert_int_equal(f.value[RUN_FIGURE_CNID_CPU] > 0.9, !held);
		done(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_a_figure_where_they_were_counted),
		cmocka_unit_test(parts_are_shares_of_all_request_time),
		cmocka_unit_test(single_commands_have_figures_of_their_own),
		cmocka_unit_test(quantiles_are_those_of_the_command_with_most_time),
		cmocka_unit_test(copies_of_data_are_told_from_other_work),
		cmocka_unit_test(without_requests_nothing_is_known_of_them),
		cmocka_unit_test(refusals_have_a_share_and_a_session),
		cmocka_unit_test(threads_beside_those_that_serve_are_counted_apart),
		cmocka_unit_test(stops_and_waits_for_a_cpu_are_no_work),
		cmocka_unit_test(waits_for_a_cpu_are_of_the_time_since_requests_came),
		cmocka_unit_test(only_who_asks_waits_for_a_name_service),
		cmocka_unit_test(there_are_as_many_lists_as_folders_that_were_closed),
		cmocka_unit_test(one_huge_folder_among_small_ones_is_not_ruled_out),
		cmocka_unit_test(requests_from_before_the_watch_are_in_all_shares),
		cmocka_unit_test(a_paused_cnid_server_is_not_hidden_by_a_busy_one),
		cmocka_unit_test(a_wrong_password_is_no_slow_login),
		cmocka_unit_test(requests_that_change_nothing_write_no_cnid),
		cmocka_unit_test(questions_asked_again_have_a_share_of_the_work),
		cmocka_unit_test(a_login_that_goes_on_counts),
		cmocka_unit_test(ends_of_sessions_have_a_share_and_a_last_one),
		cmocka_unit_test(the_end_of_the_server_is_a_figure_with_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
