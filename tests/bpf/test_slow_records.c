/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only slow requests make records, with the names that they carry; those that have not ended are
 * read from the programs' state. Tests bpf/paths.h, user/watch/bpf/running.c, sessions.c.
 */
#include "watched.h"

#include "base/clock.h"
#include "bpf/paths.h"

#define HEAD   16
#define DELETE 8

/* Of the test and, copied, its child. */
static struct watched_ends ends;

/* A request that takes longer is slow. */
static uint64_t over_ns = 50000000;

struct seen {
	unsigned int requests, names;
	struct afs_record_requests r;
	struct afs_named named;
};

static void put(void *user, unsigned int stream, const void *record)
{
	const struct afs_named *named = record;
	struct seen *s = user;

	if (stream == AFS_STREAM_REQUESTS) {
		s->requests++;
		s->r = *(const struct afs_record_requests *)record;
	} else if (stream == AFS_STREAM_NAMES) {
		s->names++;
		memcpy(&s->named, named, offsetof(struct afs_named, bytes) + named->len);
	}
}

static void put_running(void *user, const struct afs_record_requests *r,
			const struct afs_named *named)
{
	struct seen *s = user;

	s->requests++;
	s->r = *r;
	if (named) {
		s->names++;
		s->named = *named;
	}
}

/* The server has read FPDelete of a name, which is its bytes 15 to 22. */
static void take(uint16_t id, const char name[8])
{
	uint8_t frame[HEAD + 22] = { 0, 2, (uint8_t)(id >> 8), (uint8_t)id };

	frame[11] = 22;
	frame[HEAD] = DELETE;
	frame[HEAD + 8] = 3;
	frame[HEAD + 14] = 7;
	memcpy(frame + HEAD + 15, name, 7);
	if (send(ends.client, frame, sizeof(frame), 0) != sizeof(frame) ||
	    recv(ends.server, frame, sizeof(frame), 0) != sizeof(frame))
		_exit(1);
}

static void answer(uint16_t id)
{
	uint8_t head[HEAD] = { 1, 2, (uint8_t)(id >> 8), (uint8_t)id };

	if (send(ends.server, head, HEAD, 0) != HEAD || recv(ends.client, head, HEAD, 0) != HEAD)
		_exit(1);
}

/* Every second step answers what the one before it has read last. */
static void serve(struct watched_shared *s)
{
	uint16_t id = (uint16_t)(10 * (s->value[0] / 2 + 1));

	if (s->value[0]++ % 2) {
		answer(id);
		return;
	}
	for (uint16_t fast = 1; fast < 10; fast++) {
		take(id - fast, "fast_01");
		answer(id - fast);
	}
	take(id, "slow_01");
}

static void start(struct watched *x, struct seen *s, unsigned int what)
{
	const struct watch_sink sink = { .what = what, .over_ns = over_ns, .user = s, .put = put };

	memset(s, 0, sizeof(*s));
	watched_serve(x, &ends, serve, &sink);
}

static void stop(struct watched *x)
{
	watched_end(x);
	watched_close(&ends);
}

static void is_slow_one(const struct seen *s, uint16_t id, pid_t pid)
{
	assert_int_equal(s->requests, 1);
	assert_int_equal(s->r.dsi_id, id);
	assert_int_equal(s->r.command, DELETE);
	assert_int_equal(s->r.session, pid);
	assert_true(s->r.time_ns >= over_ns && s->r.other_ns >= over_ns / 2);
	assert_int_equal(s->names, 1);
	assert_int_equal(s->named.dsi_id, id);
	assert_int_equal(s->named.command, DELETE);
	assert_int_equal(s->named.len, 21);
	assert_memory_equal(s->named.bytes + 14, "slow_01", 7);
}

/* One slow request. A thread is quiet a moment before its records are handed over. */
static void be_slow(struct watched *x, struct seen *s)
{
	memset(s, 0, sizeof(*s));
	watched_go(x);
	usleep(over_ns / 1000 + 20000);
	watched_go(x);
	assert_true(watch_settle(x->w));
	for (int i = 0; i < 500 && !s->requests; i++) {
		usleep(i ? 2000 : 0);
		assert_int_equal(watch_pull(x->w, 0), 0);
	}
}

static void check_slow(unsigned int what)
{
	struct seen s;
	struct watched x;

	start(&x, &s, what);
	for (uint16_t id = 10; id <= 30; id += 10) {
		be_slow(&x, &s);
		is_slow_one(&s, id, x.pid);
	}
	stop(&x);
}

static void only_a_slow_request_makes_a_record(void **state)
{
	(void)state;
	check_slow(AFS_TRACE_SMALL | AFS_TRACE_NAMES);
	check_slow(AFS_TRACE_SMALL | AFS_TRACE_NAMES | AFS_TRACE_CALLS);
}

static void names_are_made_only_if_wanted(void **state)
{
	struct seen s;
	struct watched x;

	(void)state;
	start(&x, &s, AFS_TRACE_SMALL);
	be_slow(&x, &s);
	assert_int_equal(s.requests, 1);
	assert_int_equal(s.names, 0);
	stop(&x);
}

static void a_request_is_seen_before_it_ends(void **state)
{
	struct run_session session;
	struct seen s;
	struct watched x;
	uint64_t begun;

	(void)state;
	start(&x, &s, AFS_TRACE_SMALL | AFS_TRACE_NAMES);
	begun = clock_now_ns();
	watched_go(&x);
	usleep(over_ns / 1000 + 20000);
	watch_running(x.w, begun, put_running, &s);
	assert_int_equal(s.requests, 0);
	watch_running(x.w, clock_now_ns() - over_ns, put_running, &s);
	is_slow_one(&s, 10, x.pid);
	assert_true(s.r.t > begun && s.r.t + s.r.time_ns == s.r.timestamp);
	assert_true(watch_session(x.w, x.pid, s.r.port, &session));
	assert_int_equal(session.pid, x.pid);
	run_session_fini(&session);
	assert_false(watch_session(x.w, x.pid, 4711, &session));
	assert_false(watch_session(x.w, 1, s.r.port, &session));
	memset(&s, 0, sizeof(s));
	watched_go(&x);
	assert_true(watch_settle(x.w));
	watch_running(x.w, clock_now_ns(), put_running, &s);
	assert_int_equal(s.requests, 0);
	stop(&x);
}

static void a_session_that_is_held_is_seen(void **state)
{
	struct seen s;
	struct watched x;
	int status;

	(void)state;
	start(&x, &s, AFS_TRACE_SMALL);
	watched_go(&x);
	watched_go(&x);
	kill(x.pid, SIGSTOP);
	assert_int_equal(waitpid(x.pid, &status, WUNTRACED), x.pid);
	usleep(20000);
	watch_running(x.w, clock_now_ns() - 10000000, put_running, &s);
	assert_int_equal(s.requests, 1);
	assert_int_equal(s.r.command, AFS_ACCOUNT_BETWEEN);
	assert_int_equal(s.r.stopped_ns, s.r.time_ns);
	kill(x.pid, SIGCONT);
	stop(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_slow_request_makes_a_record),
		cmocka_unit_test(names_are_made_only_if_wanted),
		cmocka_unit_test(a_request_is_seen_before_it_ends),
		cmocka_unit_test(a_session_that_is_held_is_seen),
	};

	/* In an emulated guest a fast request can take that long when other tests run. */
	if (getenv("REF_TENTH"))
		over_ns *= 10;
	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
