/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server in steps: each request is in one step, in the same number by command, user, client,
 * volume, session and file.
 * Tests user/top/live.c, live_note.c.
 */
#include "watched.h"

#include "base/hist.h"
#include "top/live.h"

#define HEAD     16
#define DELETE   8
#define REQUESTS 30
#define HOLD_US  20000

/* Of the test and, copied, its child. */
static struct watched_ends ends;

/* FPDelete of "file_NN", read and answered; each tenth is refused. The very first takes long. */
static void serve(struct watched_shared *s)
{
	for (uint8_t id = 1; id <= REQUESTS; id++) {
		uint8_t frame[HEAD + 22] = { 0,
					     2,
					     0,
					     id,
					     [11] = 22,
					     [HEAD] = DELETE,
					     [HEAD + 7] = 2,
					     [HEAD + 8] = 3,
					     [HEAD + 14] = 7 };
		uint8_t reply[HEAD] = { 1, 2, 0, id };
		useconds_t hold = 0;

		if (!s->value[0] && id == 1)
			hold = HOLD_US;
		memcpy(frame + HEAD + 15, "file_00", 7);
		frame[HEAD + 21] = (uint8_t)('0' + id % 3);
		if (id % 10 == 0)
			memset(reply + 4, 0xff, 4);
		if (send(ends.client, frame, sizeof(frame), 0) != sizeof(frame) ||
		    recv(ends.server, frame, sizeof(frame), 0) != sizeof(frame) || usleep(hold) ||
		    send(ends.server, reply, HEAD, 0) != HEAD ||
		    recv(ends.client, reply, HEAD, 0) != HEAD)
			_exit(1);
	}
	s->value[0]++;
}

static struct live *start(struct watched *x, bool files)
{
	const struct live_opts opts = { .files = files, .texts = true };
	struct err e = { 0 };
	struct live *l = live_new(&opts, &e);
	struct watch_sink sink;

	assert_non_null(l);
	sink = live_sink(l);
	watched_serve(x, &ends, serve, &sink);
	/* What was before is in no step. */
	watched_go(x);
	assert_true(watch_settle(x->w));
	if (files)
		usleep(20000);
	assert_int_equal(live_begin(l, x->w), 0);
	return l;
}

static void end(struct watched *x, struct live *l)
{
	watched_end(x);
	live_free(l);
	watched_close(&ends);
}

static struct live_sum sum_of(const struct live_table *t)
{
	struct live_sum all = { 0 };

	for (size_t i = 0; i < t->n; i++)
		live_sum_add(&all, &t->row[i]->sum);
	live_sum_add(&all, &t->rest);
	return all;
}

static void are_served(const struct live *l, enum live_by by, unsigned int times)
{
	struct live_sum all = sum_of(live_rows(l, by));
	uint64_t n = 0;

	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++)
		n += all.hist[i];
	assert_int_equal(all.requests, REQUESTS * times);
	assert_int_equal(n, REQUESTS * times);
	assert_int_equal(all.errors, REQUESTS / 10 * times);
	assert_int_equal(all.bytes_in, (HEAD + 22) * REQUESTS * times);
	assert_int_equal(all.bytes_out, HEAD * REQUESTS * times);
}

static void a_step_has_what_was_done_in_it(void **state)
{
	struct watched x;
	struct live *l = start(&x, false);

	(void)state;
	for (unsigned int times = 0; times < 3; times++) {
		for (unsigned int i = 0; i < times; i++)
			watched_go(&x);
		assert_true(watch_settle(x.w));
		assert_int_equal(live_step(l), 0);
		for (int by = 0; by < LIVE_FILE; by++)
			are_served(l, by, times);
		assert_int_equal(live_last(l)->all.requests, REQUESTS * times);
		assert_true(live_last(l)->has_requests);
		assert_int_equal(live_last(l)->in_service, 0);
		assert_int_equal(live_last(l)->lost, 0);
		assert_int_equal(live_last(l)->active, times > 0);
		assert_int_equal(live_last(l)->sessions, 1);
		assert_int_equal(live_last(l)->ended_ns > live_last(l)->begun_ns, 1);
	}
	assert_int_equal(live_rows(l, LIVE_SESSION)->n, 1);
	assert_int_equal(live_rows(l, LIVE_SESSION)->row[0]->pid, x.pid);
	assert_string_equal(live_rows(l, LIVE_COMMAND)->row[0]->name, "FPDelete");
	assert_int_equal(live_rows(l, LIVE_FILE)->n, 0);
	end(&x, l);
}

static void files_are_told_apart(void **state)
{
	struct watched x;
	struct live *l = start(&x, true);
	struct live_sum all = { 0 }, step;

	(void)state;
	watched_go(&x);
	assert_true(watch_settle(x.w));
	/* A thread's records are handed over when it leaves its CPU. */
	for (int i = 0; i < 500 && all.requests < REQUESTS; i++) {
		usleep(2000);
		assert_int_equal(live_step(l), 0);
		step = sum_of(live_rows(l, LIVE_FILE));
		live_sum_add(&all, &step);
		if (!step.requests)
			continue;
		assert_int_equal(live_rows(l, LIVE_FILE)->n, 3);
		for (size_t k = 0; k < 3; k++) {
			const struct live_row *r = live_rows(l, LIVE_FILE)->row[k];

			assert_memory_equal(r->name, "file_0", 6);
			assert_int_equal(r->sum.requests, REQUESTS / 3);
		}
	}
	assert_int_equal(all.requests, REQUESTS);
	assert_int_equal(all.errors, REQUESTS / 10);
	end(&x, l);
}

static void a_diagnosis_gets_what_came_since_the_last(void **state)
{
	const struct ledger_account *a;
	struct watched x;
	struct live *l = start(&x, false);
	struct run r;

	(void)state;
	for (unsigned int times = 1; times <= 2; times++) {
		for (unsigned int i = 0; i < times; i++)
			watched_go(&x);
		assert_true(watch_settle(x.w));
		assert_int_equal(live_step(l), 0);
		assert_int_equal(run_init(&r, "test", "test"), 0);
		assert_int_equal(live_note(l, &r), 0);
		assert_int_equal(r.n_phases, 1);
		assert_int_equal(ledger_answered(&r.phase[0]->ledger), REQUESTS * times);
		a = ledger_account(&r.phase[0]->ledger, DELETE);
		assert_true(a->hist[hist_index(a->max_ns, AFS_REQUEST_BITS)]);
		assert_true(r.phase[0]->known[METRIC_ELAPSED]);
		assert_int_equal(r.n_sessions, 1);
		assert_int_equal(r.session[0].requests, REQUESTS * times);
		assert_true(r.session[0].busy_ns > 0);
		assert_int_equal(r.session[0].bytes_in, (HEAD + 22) * REQUESTS * times);
		assert_int_equal(r.session[0].bytes_out, HEAD * REQUESTS * times);
		assert_int_equal(r.session[0].habit.most, DELETE);
		assert_int_equal(r.session[0].habit.most_n, REQUESTS * times);
		run_fini(&r);
	}
	end(&x, l);
}

static void a_diagnosis_knows_that_a_session_has_ended(void **state)
{
	struct watched x;
	struct live *l = start(&x, false);
	struct run r;

	(void)state;
	watched_go(&x);
	assert_int_equal(live_step(l), 0);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
	for (int i = 0; i < 500 && (!i || live_last(l)->sessions); i++) {
		usleep(2000);
		assert_int_equal(live_step(l), 0);
	}
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(live_note(l, &r), 0);
	assert_int_equal(r.n_sessions, 1);
	assert_int_equal(r.session[0].requests, REQUESTS);
	assert_true(r.session[0].ended_ns > 0);
	run_fini(&r);
	watch_free(x.w);
	munmap(x.shared, sizeof(*x.shared));
	live_free(l);
	watched_close(&ends);
}

/* What only /proc shows, of a session that the watch knows and of one that it does not. */
static void an_older_request_is_in_the_step_that_has_ended(void **state)
{
	const struct run_service older[] = {
		{ .pid = 77,
		  .address = "192.0.2.7:50000",
		  .user = "anna",
		  .column = ACCOUNT_CNID,
		  .age_ns = 7000000000u },
		{ .pid = 78,
		  .address = "192.0.2.7:50001",
		  .column = ACCOUNT_CNID,
		  .age_ns = 9000000000u },
		{ .pid = 79,
		  .address = "[2001:db8::1]:9",
		  .user = "anna",
		  .column = ACCOUNT_DISK,
		  .age_ns = 2000000000u },
	};
	const struct live_row *r;
	uint64_t step_ns, was_ns;
	struct watched x;
	struct live *l = start(&x, false);

	(void)state;
	assert_int_equal(live_step(l), 0);
	step_ns = live_last(l)->ended_ns - live_last(l)->begun_ns;
	was_ns = live_last(l)->all.service_ns;
	for (size_t i = 0; i < 3; i++)
		live_older(l, &older[i]);
	assert_int_equal(live_last(l)->in_service, 3);
	assert_int_equal(live_last(l)->oldest_ns, 9000000000u);
	r = live_table_row((struct live_table *)live_rows(l, LIVE_USER), "anna");
	assert_int_equal(r->in_service, 2);
	assert_int_equal(r->oldest_ns, 7000000000u);
	r = live_table_row((struct live_table *)live_rows(l, LIVE_CLIENT), "192.0.2.7");
	assert_int_equal(r->in_service, 2);
	assert_int_equal(r->oldest_ns, 9000000000u);
	r = live_table_row((struct live_table *)live_rows(l, LIVE_SESSION),
			   "- 192.0.2.7:50001 (78)");
	assert_int_equal(r->in_service, 1);
	assert_int_equal(r->pid, 78);
	r = live_table_row((struct live_table *)live_rows(l, LIVE_SESSION),
			   "anna [2001:db8::1]:9 (79)");
	assert_int_equal(r->pid, 79);
	assert_int_equal(r->sum.requests, 0);
	/* Their time is in the sums, of which the bar is. */
	assert_true(step_ns > 0 && step_ns < 2000000000u);
	assert_int_equal(r->sum.time_ns[ACCOUNT_DISK], step_ns);
	assert_int_equal(live_last(l)->all.service_ns, was_ns + 3 * step_ns);
	r = live_table_row((struct live_table *)live_rows(l, LIVE_COMMAND), RUN_SERVICE_EARLIER);
	assert_int_equal(r->sum.service_ns, 3 * step_ns);
	assert_int_equal(r->sum.time_ns[ACCOUNT_CNID], 2 * step_ns);
	/* They are of that step only: the next look finds them again. */
	assert_int_equal(live_step(l), 0);
	assert_int_equal(live_last(l)->in_service, 0);
	end(&x, l);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_has_what_was_done_in_it),
		cmocka_unit_test(files_are_told_apart),
		cmocka_unit_test(a_diagnosis_gets_what_came_since_the_last),
		cmocka_unit_test(a_diagnosis_knows_that_a_session_has_ended),
		cmocka_unit_test(an_older_request_is_in_the_step_that_has_ended),
	};

	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
