/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bricks of GlusterFS: what their threads did stands for what requests waited for. Tests
 * user/doctor/figures/gluster.c, handed.c.
 */
#include "unit/measure_rig.h"

#include "doctor/judge.h"

static const struct run_kind gluster = { .judged = RUN_JUDGED_BRICKS, .has_requests = true };

/* 10 s of a brick: a request of 80 ms; its threads were on a CPU for 10 ms and at a disk for 60. */
static struct run *brick(void)
{
	struct run *r = made();
	struct ledger *l = &r->phase[0]->ledger;

	r->kind = &gluster;
	l->account[0].sum.handed = 1;
	l->account[1].sum = (struct afs_account) { 0 };
	l->part[0] = part(AFS_ACCOUNT_THREADS, AFS_CLASS_SYNC, AFS_OBJECT_DATA, 60 * MS);
	l->part[1] = part(AFS_ACCOUNT_THREADS, AFS_CLASS_USER, AFS_OBJECT_NONE, 0);
	l->part[1].part.cpu_ns = 10 * MS;
	/* A thread that waits for work. */
	l->part[2] = part(AFS_ACCOUNT_THREADS, AFS_CLASS_WAIT, AFS_OBJECT_NONE,
			  9000u * (uint64_t)MS);
	l->result[0] = (struct ledger_result) { .account = FLUSH, .code = 28, .n = 1 };
	r->threads = calloc(2, sizeof(*r->threads));
	assert_non_null(r->threads);
	r->n_threads = 2;
	r->threads[0] = (struct run_threads) { .name = "glfs_iotwr*", .n = 2, .cpu_ns = 10 * MS };
	r->threads[1] = (struct run_threads) { .name = "glfs_epoll*", .n = 2 };
	return r;
}

static void what_threads_did_is_a_share_of_request_time(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = brick();

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_ptr_equal(f.kind, &gluster);
	is(&f, RUN_FIGURE_REQUESTS, 1);
	is(&f, RUN_FIGURE_BUSY, 0.008);
	is(&f, RUN_FIGURE_WAIT_DISK, 0.75);
	is(&f, RUN_FIGURE_SYNC, 0.75);
	is(&f, RUN_FIGURE_CPU, 0.125);
	is(&f, RUN_FIGURE_WAIT_THREAD, 0.125);
	is(&f, RUN_FIGURE_IO_THREADS, 2);
	is(&f, RUN_FIGURE_IO_THREADS_BUSY, 70. / 20000);
	is(&f, RUN_FIGURE_DISK_FULL, 1);
	is(&f, RUN_FIGURE_DISK_FULL_SHARE, 1);
	/* It is no server of AFP. */
	assert_false(f.known[RUN_FIGURE_CNID] || f.known[RUN_FIGURE_LOGIN]);
	done(r);
}

/* As many threads, and so much work, of two bricks, one of which has so many of these threads. */
static struct run *two_bricks(uint64_t busy_ms, unsigned int fewest)
{
	struct run *r = brick();

	r->threads[0].n = 10;
	r->threads[0].processes = 2;
	r->threads[0].fewest = fewest;
	r->threads[0].cpu_ns = busy_ms * MS;
	r->phase[0]->ledger.part[0].part.blocked_ns = 0;
	return r;
}

static bool may_lack_threads(const struct run_figures *f, bool *out)
{
	struct diagnosis d;
	bool is = false;

	*out = false;
	assert_int_equal(doctor_judge(&d, f), 0);
	for (size_t i = 0; i < d.n_open; i++)
		is |= !strcmp(d.open[i]->key, "threads");
	for (size_t i = 0; i < d.n_out; i++)
		*out |= !strcmp(d.out[i]->key, "threads");
	diagnosis_fini(&d);
	return is;
}

/* 10 threads have 100 s in ten: 50 s of work may be all that five of one brick can do. */
static void a_brick_that_is_idle_does_not_hide_one_whose_threads_are_all_busy(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = two_bricks(50000, 5);
	bool out;

	(void)state;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_false(f.known[RUN_FIGURE_IO_THREADS_BUSY]);
	assert_string_equal(f.who[RUN_FIGURE_IO_THREADS_BUSY],
			    "which of the 2 bricks had how much of the work is not known");
	run_figure_set(&f, RUN_FIGURE_REQUESTS, 1000);
	run_figure_set(&f, RUN_FIGURE_P99, 300e6);
	run_figure_set(&f, RUN_FIGURE_UNCOUNTED, 0);
	run_figure_set(&f, RUN_FIGURE_WAIT_THREAD, 0.6);
	assert_true(may_lack_threads(&f, &out));
	assert_false(out);
	done(r);
	/* It is neither where the work is too little for the threads of either. */
	r = two_bricks(30000, 5);
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_IO_THREADS_BUSY, 0.6);
	assert_false(f.at_least[RUN_FIGURE_IO_THREADS_BUSY]);
	done(r);
	/* All are busy on average: so is the busiest. */
	r = two_bricks(85000, 1);
	f = (struct run_figures) { 0 };
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_IO_THREADS_BUSY, 0.85);
	assert_true(f.at_least[RUN_FIGURE_IO_THREADS_BUSY]);
	done(r);
}

/* They work for more than the requests that were answered. */
static void no_share_is_more_than_all(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = brick();
	struct ledger *l = &r->phase[0]->ledger;

	(void)state;
	l->part[0].part.blocked_ns = 190 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_WAIT_DISK, 0.95);
	is(&f, RUN_FIGURE_WAIT_THREAD, 0);
	is(&f, RUN_FIGURE_BUSY, 0.008);
	is(&f, RUN_FIGURE_PENDING, 0);
	/* Of a request without an answer it is known what was done for it. */
	l->account[1].sum.begun = 1;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_PENDING, 110e6);
	is(&f, RUN_FIGURE_BUSY, 0.019);
	is(&f, RUN_FIGURE_SLOW_N, 1);
	done(r);
}

static void a_brick_that_stands_still_is_known_by_its_threads(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = brick();

	(void)state;
	/* Whatever number of them there was, and however many have ended. */
	r->phase[0]->ledger.part[2].part.stopped_ns = 3 * 9070 * (uint64_t)MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_STOPPED, 0.75);
	is(&f, RUN_FIGURE_STOPPED_WAIT, 0.75);
	is(&f, RUN_FIGURE_STOPPED_IDLE, 0);
	done(r);
	/* Of several, one that nobody asks may have stood still. */
	r = two_bricks(0, 5);
	r->phase[0]->ledger.part[2].part.stopped_ns = 3 * 9070 * (uint64_t)MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_true(f.value[RUN_FIGURE_STOPPED_WAIT] > 0.7);
	is(&f, RUN_FIGURE_STOPPED_IDLE, f.value[RUN_FIGURE_STOPPED_WAIT]);
	done(r);
}

static void a_tracer_stops_only_threads_that_do_something(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = brick();

	(void)state;
	run_figure_set(&f, RUN_FIGURE_TRACED, 1);
	r->phase[0]->ledger.part[1].part.stopped_ns = 210 * MS;
	assert_int_equal(doctor_measure(&f, r), 0);
	is(&f, RUN_FIGURE_STOPPED, 210. / 9280);
	is(&f, RUN_FIGURE_STOPPED_WAIT, 0.75);
	done(r);
}

static void without_its_requests_it_is_a_brick_all_the_same(void **state)
{
	struct run_figures f = { 0 };
	struct run *r = brick();

	(void)state;
	r->phase[0]->ledger.has_requests = false;
	assert_int_equal(doctor_measure(&f, r), 0);
	assert_ptr_equal(f.kind, &gluster);
	assert_false(f.known[RUN_FIGURE_REQUESTS]);
	done(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_threads_did_is_a_share_of_request_time),
		cmocka_unit_test(a_brick_that_is_idle_does_not_hide_one_whose_threads_are_all_busy),
		cmocka_unit_test(no_share_is_more_than_all),
		cmocka_unit_test(a_brick_that_stands_still_is_known_by_its_threads),
		cmocka_unit_test(a_tracer_stops_only_threads_that_do_something),
		cmocka_unit_test(without_its_requests_it_is_a_brick_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
