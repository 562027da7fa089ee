/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to a CNID server: known ones are asked, exactly those that a session had asked before
 * are counted, by how many questions ago that was. Tests bpf/ask.h.
 */
#include "rung_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/uio.h>

#define HEAD        16
#define CREATE_FILE 7
#define GET_PARMS   34 /* FPGetFileDirParms */
#define ENUMERATE   9
#define ADD         3
#define GET         4
#define LOOKUP      6
#define UPDATE      7
#define FILES       1000
#define ROUNDS      3

/* netatalk's struct cnid_dbd_rqst. */
struct question {
	uint32_t op, cnid;
	uint64_t dev, ino;
	uint32_t type, did;
	uint64_t name, name_len;
};
_Static_assert(sizeof(struct question) == 48, "as strace shows it");

/* A connection to oneself. */
struct ends {
	int near, far;
};

/* Of the test and, copied, its children: where clients and the CNID server connect. */
static struct listener {
	int fd;
	uint16_t port;
} clients, cnid;

static void listen_at(struct listener *l)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	l->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(l->fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(l->fd, 8), 0);
	assert_int_equal(getsockname(l->fd, (struct sockaddr *)&a, &len), 0);
	l->port = ntohs(a.sin_port);
}

static void must(bool so)
{
	if (!so)
		_exit(1);
}

static struct ends connection(const struct listener *l)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(l->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ends e = { .near = socket(AF_INET, SOCK_STREAM, 0) };

	must(e.near >= 0 && !connect(e.near, (struct sockaddr *)&a, sizeof(a)));
	e.far = accept(l->fd, NULL, NULL);
	must(e.far >= 0);
	return e;
}

/* A session: its client's connection, and that to its CNID server. */
struct session {
	struct ends client, cnid;
	uint16_t id;
};

static struct session session_new(void)
{
	return (struct session) { .client = connection(&clients), .cnid = connection(&cnid) };
}

static void begin(struct session *s, uint8_t command)
{
	uint8_t frame[HEAD + 1] = { 0, 2, [11] = 1, [HEAD] = command };

	s->id++;
	frame[2] = (uint8_t)(s->id >> 8);
	frame[3] = (uint8_t)s->id;
	must(send(s->client.near, frame, sizeof(frame), 0) == sizeof(frame));
	must(recv(s->client.far, frame, sizeof(frame), MSG_WAITALL) == sizeof(frame));
}

static void end(struct session *s)
{
	uint8_t frame[HEAD] = { 1, 2, (uint8_t)(s->id >> 8), (uint8_t)s->id };

	must(send(s->client.far, frame, HEAD, 0) == HEAD);
	must(recv(s->client.near, frame, HEAD, MSG_WAITALL) == HEAD);
}

static void drain(struct session *s, size_t len)
{
	char buf[256];

	must(recv(s->cnid.far, buf, len, MSG_WAITALL) == (ssize_t)len);
}

/* As netatalk sends it: in two pieces. */
static void question(struct session *s, struct question q)
{
	static const char name[] = "a file";
	struct iovec iov[2] = { { &q, sizeof(q) }, { (void *)name, strlen(name) } };

	q.name_len = q.name_len ? q.name_len : strlen(name);
	must(writev(s->cnid.near, iov, 2) == (ssize_t)(sizeof(q) + strlen(name)));
	drain(s, sizeof(q) + strlen(name));
}

static struct question about(uint64_t ino)
{
	return (struct question) { .op = ADD,
				   .cnid = 100 + (uint32_t)ino,
				   .dev = 40,
				   .ino = ino,
				   .did = 18,
				   .name = 0x55d53bdde1f1 + 9 * ino };
}

static void in_request(struct session *s, uint8_t command, struct question q)
{
	begin(s, command);
	question(s, q);
	end(s);
}

/* What the child does */

static void ask_in_rounds(struct watched_shared *shared)
{
	struct session s = session_new();

	(void)shared;
	for (uint64_t i = 0; i < ROUNDS * FILES; i++)
		in_request(&s, GET_PARMS, about(i % FILES));
}

/* Twice each: nothing of it counts. */
static void ask_other_things(struct watched_shared *shared)
{
	static const uint32_t other[] = { 1, 2, GET, UPDATE, 8, 0, 0x03000000 };
	struct session s = session_new();
	struct question q = about(1);

	(void)shared;
	for (int turn = 0; turn < 2; turn++) {
		in_request(&s, CREATE_FILE, about(1));
		begin(&s, GET_PARMS);
		for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
			q.op = other[i];
			question(&s, q);
		}
		/* Not a whole question. */
		q.op = ADD;
		must(write(s.cnid.near, &q, sizeof(q) - 1) == sizeof(q) - 1);
		drain(&s, sizeof(q) - 1);
		end(&s);
		/* Of no request. */
		question(&s, about(1));
	}
}

static void ask_all_kinds(struct watched_shared *shared)
{
	struct session s = session_new();

	(void)shared;
	begin(&s, ENUMERATE);
	for (uint32_t turn = 0; turn < 2; turn++)
		for (uint32_t op = LOOKUP; op >= ADD; op--) {
			struct question q = about(1);

			q.op = op;
			if (op != GET)
				question(&s, q);
		}
	end(&s);
}

static void ask_with_differences(struct watched_shared *shared)
{
	struct question q[8];
	struct session s = session_new();

	(void)shared;
	for (int i = 0; i < 8; i++)
		q[i] = about(1);
	q[1].cnid++;
	q[2].dev++;
	q[3].ino++;
	q[4].type++;
	q[5].did++;
	q[6].name_len = 77;
	q[7].name++;
	begin(&s, GET_PARMS);
	for (int i = 0; i < 8; i++)
		question(&s, q[i]);
	end(&s);
}

static void ask_by_all_calls(struct watched_shared *shared)
{
	struct session s = session_new();
	struct question q = about(1);
	struct iovec iov = { &q, sizeof(q) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	(void)shared;
	begin(&s, GET_PARMS);
	must(write(s.cnid.near, &q, sizeof(q)) == sizeof(q));
	must(writev(s.cnid.near, &iov, 1) == sizeof(q));
	must(send(s.cnid.near, &q, sizeof(q), 0) == sizeof(q));
	must(sendmsg(s.cnid.near, &m, 0) == sizeof(q));
	drain(&s, 4 * sizeof(q));
	end(&s);
}

/* Two processes that each serve a client and ask the same. */
static void ask_in_two_sessions(struct watched_shared *shared)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		must(pid >= 0);
		if (!pid) {
			ask_in_rounds(shared);
			_exit(0);
		}
	}
	for (int i = 0; i < 2; i++) {
		int status;

		must(wait(&status) > 0 && !status);
	}
}

/* What was counted */

static struct run watched(void (*fn)(struct watched_shared *s), unsigned int what)
{
	const struct watch_sink sink = { .what = what };
	struct bpf_load_wish wish = {};
	struct target t = { 0 };
	struct rung_rig g;
	struct run r, kept;

	listen_at(&clients);
	listen_at(&cnid);
	target_add_port(&t, clients.port, AFS_OBJECT_CLIENT);
	target_add_port(&t, cnid.port, AFS_OBJECT_BACKEND);
	wish.decoder = AFS_DECODER_DSI;
	wish.sink = &sink;
	rig_open(&g, &wish, t, fn);
	rig_step(&g);
	rig_read(&g, &r);
	kept = r;
	r.n_sessions = 0;
	r.session = NULL;
	rig_close(&g, &r);
	close(clients.fd);
	close(cnid.fd);
	return kept;
}

/* As many sessions, each with so many questions, so many of which had been asked so long ago. */
static void check(const struct run *r, size_t sessions, uint32_t n, unsigned int bucket,
		  uint32_t again)
{
	assert_int_equal(r->n_sessions, sessions);
	for (size_t i = 0; i < sessions; i++) {
		const struct afs_asking *a = &r->session[i].asking;

		assert_int_equal(a->n, n);
		for (unsigned int k = 0; k < AFS_ASKING_BUCKETS; k++)
			if (a->again[k] != (k == bucket ? again : 0))
				fail_msg("%u questions asked again, bucket %u", a->again[k], k);
	}
	assert_true(r->has_asking);
}

static void done(struct run *r)
{
	for (size_t i = 0; i < r->n_sessions; i++)
		run_session_fini(&r->session[i]);
	free(r->session);
}

static void questions_asked_again_are_counted_by_how_long_ago(void **state)
{
	struct run r = watched(ask_in_rounds, AFS_TRACE_ASKED);

	(void)state;
	/* From 512 to 1,023 questions ago. */
	check(&r, 1, ROUNDS * FILES, 10, (ROUNDS - 1) * FILES);
	done(&r);
}

static void only_reading_questions_about_an_object_count(void **state)
{
	struct run r = watched(ask_other_things, AFS_TRACE_ASKED);

	(void)state;
	check(&r, 1, 0, 0, 0);
	done(&r);
	r = watched(ask_all_kinds, AFS_TRACE_ASKED);
	/* Two or three ago. */
	check(&r, 1, 6, 2, 3);
	done(&r);
}

static void the_same_but_for_the_names_address_is_the_same(void **state)
{
	struct run r = watched(ask_with_differences, AFS_TRACE_ASKED);

	(void)state;
	/* The last is the first once more, seven questions later. */
	check(&r, 1, 8, 3, 1);
	done(&r);
}

static void each_call_that_sends_is_understood(void **state)
{
	struct run r = watched(ask_by_all_calls, AFS_TRACE_ASKED);

	(void)state;
	check(&r, 1, 4, 1, 3);
	done(&r);
}

static void another_session_that_asks_the_same_repeats_nothing(void **state)
{
	struct run r = watched(ask_in_two_sessions, AFS_TRACE_ASKED);

	(void)state;
	check(&r, 2, ROUNDS * FILES, 10, (ROUNDS - 1) * FILES);
	done(&r);
}

static void who_does_not_want_them_has_none(void **state)
{
	struct run r = watched(ask_in_rounds, AFS_TRACE_LIVE);

	(void)state;
	assert_false(r.has_asking);
	assert_int_equal(r.session[0].asking.n, 0);
	done(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_asked_again_are_counted_by_how_long_ago),
		cmocka_unit_test(only_reading_questions_about_an_object_count),
		cmocka_unit_test(the_same_but_for_the_names_address_is_the_same),
		cmocka_unit_test(each_call_that_sends_is_understood),
		cmocka_unit_test(another_session_that_asks_the_same_repeats_nothing),
		cmocka_unit_test(who_does_not_want_them_has_none),
	};

	/* A pattern of names: only these. */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
