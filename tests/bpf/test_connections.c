/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the requests of a connection went: as many as the ledger has, in the same buckets, and the
 * last of a connection that has ended.
 * Tests user/watch/bpf/connections.c, price.c.
 */
#include "watched.h"

#include "base/clock.h"
#include "run/account.h"

#define HEAD     16
#define DELETE   8
#define REQUESTS 40
#define PAUSE_US 3000

/* Of the test and, copied, its child. */
static struct watched_ends ends;

struct seen {
	unsigned int n;
	struct watch_connection last;
	uint64_t hist[AFS_REQUEST_BUCKETS], in_hist, ns[ACCOUNT_N_COLUMNS];
};

static void take_one(void *user, const struct watch_connection *c)
{
	struct seen *s = user;

	s->n++;
	s->last = *c;
	s->in_hist = 0;
	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++) {
		s->hist[i] = c->hist[i];
		s->in_hist += c->hist[i];
	}
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		s->ns[i] = c->ns[i];
}

/* FPDelete, read and answered; each fourth is refused, each fifth takes longer. */
static void serve(struct watched_shared *s)
{
	for (uint16_t id = 1; id <= REQUESTS; id++) {
		uint8_t frame[HEAD + 8] = { 0, 2, 0, (uint8_t)id, [11] = 8, [HEAD] = DELETE };
		uint8_t reply[HEAD] = { 1, 2, 0, (uint8_t)id };

		if (id % 4 == 0)
			memset(reply + 4, 0xff, 4);
		if (send(ends.client, frame, sizeof(frame), 0) != sizeof(frame) ||
		    recv(ends.server, frame, sizeof(frame), 0) != sizeof(frame))
			_exit(1);
		if (id % 5 == 0)
			usleep(PAUSE_US);
		if (send(ends.server, reply, HEAD, 0) != HEAD ||
		    recv(ends.client, reply, HEAD, 0) != HEAD)
			_exit(1);
	}
	s->value[0]++;
}

static void start(struct watched *x, struct seen *s, unsigned int what)
{
	const struct watch_sink sink = { .what = what, .user = s, .ended = take_one };

	memset(s, 0, sizeof(*s));
	watched_serve(x, &ends, serve, &sink);
}

static void is_what_was_served(const struct seen *s, unsigned int times)
{
	assert_int_equal(s->n, 1);
	assert_int_equal(s->last.requests, REQUESTS * times);
	assert_int_equal(s->last.errors, REQUESTS / 4 * times);
	assert_int_equal(s->last.bytes_in, (HEAD + 8) * REQUESTS * times);
	assert_int_equal(s->last.bytes_out, HEAD * REQUESTS * times);
	assert_int_equal(s->last.handed, 0);
	assert_int_equal(s->last.since_ns, 0);
	assert_int_equal(s->in_hist, s->last.requests);
	assert_true(s->last.busy_ns >= REQUESTS / 5 * times * (PAUSE_US * 1000ull));
}

static void a_connection_is_counted_as_in_the_ledger(void **state)
{
	const struct ledger_account *a;
	uint64_t parts = 0;
	struct watched x;
	struct seen s;

	(void)state;
	start(&x, &s, AFS_TRACE_LIVE);
	watched_step(&x);
	watch_connections(x.w, take_one, &s);
	is_what_was_served(&s, 1);
	assert_int_equal(s.last.pid, x.pid);
	assert_false(s.last.ended);
	a = ledger_account(&x.diff, DELETE);
	assert_non_null(a);
	for (size_t i = 0; i < AFS_REQUEST_BUCKETS; i++)
		assert_int_equal(s.hist[i], a->hist[i]);
	assert_int_equal(s.last.busy_ns, a->sum.ns);
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		parts += s.ns[i];
	assert_int_equal(parts + a->sum.unexplained_ns, a->sum.ns);
	/*
	 * Each fifth calls usleep(). Its timer starts before the thread leaves the CPU: until then
	 * the time counts as in calls.
	 */
	assert_true(s.ns[ACCOUNT_OTHER] > 0);
	assert_true(s.ns[ACCOUNT_OTHER] + s.ns[ACCOUNT_CALLS] + s.ns[ACCOUNT_RUNQ] >=
		    REQUESTS / 5 * (PAUSE_US * 1000ull));
	watched_end(&x);
	watched_close(&ends);
}

static void the_last_of_an_ended_connection_is_passed_once(void **state)
{
	struct watched x;
	struct seen s;

	(void)state;
	start(&x, &s, AFS_TRACE_LIVE);
	watched_go(&x);
	watched_go(&x);
	assert_int_equal(s.n, 0);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
	for (int i = 0; i < 500 && !s.n; i++) {
		usleep(2000);
		watch_tick(x.w);
	}
	is_what_was_served(&s, 2);
	assert_true(s.last.ended);
	for (int i = 0; i < 5; i++)
		watch_tick(x.w);
	watch_connections(x.w, take_one, &s);
	assert_int_equal(s.n, 1);
	watch_free(x.w);
	munmap(x.shared, sizeof(*x.shared));
	watched_close(&ends);
}

static void without_asking_nothing_is_passed(void **state)
{
	struct watched x;
	struct seen s;

	(void)state;
	start(&x, &s, 0);
	watched_go(&x);
	watch_connections(x.w, take_one, &s);
	assert_int_equal(s.n, 0);
	watched_end(&x);
	watched_close(&ends);
}

static void losses_and_price_are_known_meanwhile(void **state)
{
	struct watched x;
	struct run r;
	struct seen s;
	uint64_t price_ns;

	(void)state;
	start(&x, &s, AFS_TRACE_LIVE);
	watched_go(&x);
	assert_true(watch_settle(x.w));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run_init(&r, "test", "test"), 0);
		assert_int_equal(watch_losses(x.w, &r), 0);
		assert_true(r.n_losses > 0);
		assert_int_equal(run_losses(&r), 0);
		run_fini(&r);
	}
	assert_true(watch_price(x.w, &price_ns));
	assert_true(price_ns > 0);
	watched_end(&x);
	watched_close(&ends);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_counted_as_in_the_ledger),
		cmocka_unit_test(the_last_of_an_ended_connection_is_passed_once),
		cmocka_unit_test(without_asking_nothing_is_passed),
		cmocka_unit_test(losses_and_price_are_known_meanwhile),
	};

	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
