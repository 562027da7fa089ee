/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of a server whose threads park them, while they are in service and as records: of one
 * that was never parked what its thread did, of one that was its time alone. Tests bpf/park.h,
 * bpf/trace.h, user/watch/bpf/pending.c, running.c, connections.c.
 */
#include "watched.h"

#include "base/clock.h"
#include "bpf/commands.h"
#include "kinds/kind.h"

#include <sys/epoll.h>

#define FRAME  68 /* a mark, and a header */
#define PARKED 70000u
#define HERE   70001u
#define IDLE   70002u
#define WORK   5

/* Of the test and, copied, its child. */
static struct watched_ends ends;

struct seen {
	unsigned int n, connections;
	struct afs_record_requests r[8];
	struct watch_connection c;
};

static void put_request(struct seen *s, const struct afs_record_requests *r)
{
	if (s->n < 8)
		s->r[s->n] = *r;
	s->n++;
}

static void put(void *user, unsigned int stream, const void *record)
{
	if (stream == AFS_STREAM_REQUESTS)
		put_request(user, record);
}

static void put_running(void *user, const struct afs_record_requests *r,
			const struct afs_named *named)
{
	assert_null(named);
	put_request(user, r);
}

static void put_connection(void *user, const struct watch_connection *c)
{
	struct seen *s = user;

	s->connections++;
	s->c = *c;
}

static void make(uint8_t f[FRAME], uint8_t command, uint32_t id, uint8_t flags, uint32_t status)
{
	memset(f, 0, FRAME);
	f[3] = FRAME - 4;
	memcpy(f + 4, "\xfeSMB\x40", 5);
	memcpy(f + 12, &status, 4);
	f[16] = command;
	f[20] = flags;
	memcpy(f + 28, &id, 4);
}

static void take(uint8_t command, uint32_t id)
{
	uint8_t f[FRAME];

	make(f, command, id, 0, 0);
	if (send(ends.client, f, FRAME, 0) != FRAME || recv(ends.server, f, 4, MSG_WAITALL) != 4 ||
	    recv(ends.server, f, FRAME - 4, MSG_WAITALL) != FRAME - 4)
		_exit(1);
}

static void answer(uint8_t command, uint32_t id, uint8_t flags, uint32_t status)
{
	uint8_t f[FRAME];

	make(f, command, id, flags, status);
	if (send(ends.server, f, FRAME, 0) != FRAME || recv(ends.client, f, FRAME, 0) != FRAME)
		_exit(1);
}

static void serve(struct watched_shared *s)
{
	struct epoll_event event;
	int loop;

	if (s->value[0]++) {
		answer(AFS_SMB2_CREATE, HERE, 1, 0);
		answer(AFS_SMB2_READ, PARKED, 1, 0);
		take(AFS_SMB2_CHANGE_NOTIFY, IDLE);
		answer(AFS_SMB2_CHANGE_NOTIFY, IDLE, 3, AFS_SMB2_PENDING);
		return;
	}
	loop = epoll_create1(0);
	take(AFS_SMB2_READ, PARKED);
	epoll_wait(loop, &event, 1, 1);
	take(AFS_SMB2_CREATE, HERE);
	for (int i = 0; i < WORK; i++)
		getppid();
	close(loop);
}

static void start(struct watched *x, struct seen *s)
{
	const struct watch_opts opts = {
		.mode = WATCH_BPF,
		.sink = { .what = AFS_TRACE_SMALL | AFS_TRACE_LIVE, .user = s, .put = put },
	};
	struct target t = { .decoder = AFS_DECODER_SMB2,
			    .any_order = true,
			    .parks = true,
			    .accounts = kind_smb.is.accounts };
	struct err e = { 0 };
	struct stat st;
	int end[2];

	memset(s, 0, sizeof(*s));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
	ends.client = end[0];
	ends.server = end[1];
	watched_start(x, serve);
	assert_int_equal(fstat(ends.server, &st), 0);
	t.server = x->pid;
	t.client = st.st_ino;
	if (watch_open_traced(&x->w, &opts, &t, &e))
		fail_msg("%s", e.text);
}

static const struct afs_record_requests *of(const struct seen *s, unsigned int command)
{
	for (unsigned int i = 0; i < s->n && i < 8; i++)
		if (s->r[i].command == command)
			return &s->r[i];
	fail_msg("no request %u", command);
	return NULL;
}

static uint64_t parts(const struct afs_record_requests *r)
{
	uint64_t sum = 0;

#define X(type, name, unit, meaning) sum += r->name;
	AFS_COLUMNS(X)
#undef X
	return sum;
}

static void requests_in_service_are_seen(struct watched *x, uint64_t begun)
{
	struct seen s = { 0 };

	watch_running(x->w, begun, put_running, &s);
	assert_int_equal(s.n, 0);
	watch_running(x->w, clock_now_ns(), put_running, &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(of(&s, AFS_SMB2_READ)->dsi_id, PARKED & 0xffff);
	assert_int_equal(of(&s, AFS_SMB2_READ)->calls, 0);
	assert_int_equal(parts(of(&s, AFS_SMB2_READ)), 0);
	assert_int_equal(of(&s, AFS_SMB2_CREATE)->dsi_id, HERE & 0xffff);
	assert_true(of(&s, AFS_SMB2_CREATE)->calls > WORK);
	assert_true(parts(of(&s, AFS_SMB2_CREATE)) > 0);
	assert_true(of(&s, AFS_SMB2_READ)->t < of(&s, AFS_SMB2_CREATE)->t);
	watch_connections(x->w, put_connection, &s);
	assert_int_equal(s.connections, 1);
	assert_int_equal(s.c.n_service, 2);
	assert_int_equal(s.c.since_ns, of(&s, AFS_SMB2_READ)->t);
	assert_int_equal(s.c.begun_ns, of(&s, AFS_SMB2_READ)->t + of(&s, AFS_SMB2_CREATE)->t);
}

static void parked_requests_have_a_time_and_no_parts(void **state)
{
	uint64_t begun;
	struct watched x;
	struct seen s;

	(void)state;
	start(&x, &s);
	begun = clock_now_ns();
	watched_go(&x);
	requests_in_service_are_seen(&x, begun);
	watched_go(&x);
	assert_true(watch_settle(x.w));
	for (int i = 0; i < 500 && s.n < 2; i++) {
		usleep(i ? 2000 : 0);
		assert_int_equal(watch_pull(x.w, 0), 0);
	}
	assert_int_equal(s.n, 2);
	assert_int_equal(of(&s, AFS_SMB2_READ)->dsi_id, PARKED & 0xffff);
	assert_int_equal(parts(of(&s, AFS_SMB2_READ)), 0);
	assert_int_equal(of(&s, AFS_SMB2_CREATE)->dsi_id, HERE & 0xffff);
	assert_true(of(&s, AFS_SMB2_CREATE)->calls > WORK);
	assert_true(parts(of(&s, AFS_SMB2_CREATE)) <= of(&s, AFS_SMB2_CREATE)->time_ns);
	assert_true(parts(of(&s, AFS_SMB2_CREATE)) > of(&s, AFS_SMB2_CREATE)->time_ns * 9 / 10);
	/* What waits for something to happen is not in service. */
	memset(&s, 0, sizeof(s));
	watch_running(x.w, clock_now_ns(), put_running, &s);
	assert_int_equal(s.n, 0);
	watch_connections(x.w, put_connection, &s);
	assert_int_equal(s.c.n_service, 0);
	assert_int_equal(s.c.since_ns, 0);
	assert_int_equal(s.c.requests, 2);
	assert_int_equal(s.c.handed, 0);
	watched_end(&x);
	watched_close(&ends);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parked_requests_have_a_time_and_no_parts),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
