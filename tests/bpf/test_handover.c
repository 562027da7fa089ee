/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process reads a request, passes the connection on and ends; another one replies when user space
 * has collected what has ended. Tests bpf/stream.h, user/watch/bpf/slots.c.
 */
#include "pieces.h"

#include "bpf/commands.h"
#include "bpf/programs.h"
#include "bpf/services.h"

#define REQUESTS 3

/* How requests and replies of a server look, and where they are counted. */
struct handed {
	const char *name;
	struct bpf_load_wish wish;
	void (*put)(struct bytes *b, uint32_t id, bool is_reply);
	uint32_t account;
	uint32_t bytes; /* that are counted of a request */
	bool datagrams;
};

static void put_words(struct bytes *b, const uint32_t *word, size_t n)
{
	for (size_t i = 0; i < n; i++, b->n += sizeof(uint32_t))
		memcpy(b->at + b->n, &(uint32_t) { htonl(word[i]) }, sizeof(uint32_t));
}

#define PUT_WORDS(b, ...)                                                                          \
	put_words(b, (const uint32_t[]) { __VA_ARGS__ },                                           \
		  sizeof((const uint32_t[]) { __VA_ARGS__ }) / sizeof(uint32_t))

static void put_dsi(struct bytes *b, uint32_t id, bool is_reply)
{
	PUT_WORDS(b, (is_reply ? 0x01020000u : 0x00020000u) | id, 0, 1, 0);
	b->at[b->n++] = FIRST;
}

static void put_smb2(struct bytes *b, uint32_t id, bool is_reply)
{
	/* Little-endian: header length 64, command 13 (ECHO), flags, id. */
	PUT_WORDS(b, 64, 0xfe534d42, 0x40000000, 0, 0x0d000000, is_reply ? 0x01000000 : 0, 0,
		  id << 24, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void put_rpc(struct bytes *b, uint32_t id, bool is_reply, uint32_t program, uint32_t version)
{
	if (is_reply)
		PUT_WORDS(b, 0x80000000u | 32, id, 1, 0, 0, 0, 0, 0, 0);
	else
		PUT_WORDS(b, 0x80000000u | 40, id, 0, 2, program, version, 3, 0, 0, 0, 0);
}

static void put_gluster(struct bytes *b, uint32_t id, bool is_reply)
{
	put_rpc(b, id, is_reply, 1298437, 400);
}

static void put_nfs(struct bytes *b, uint32_t id, bool is_reply)
{
	put_rpc(b, id, is_reply, AFS_RPC_NFS_PROGRAM, 3);
}

/* A channel's calls follow one another: its epoch, connection, call, sequence, serial, ... */
static void put_rx(struct bytes *b, uint32_t id, bool is_reply)
{
	const uint32_t flags = is_reply ? 4 : 1 | 4;

	PUT_WORDS(b, 0x80001234, 8, id, 1, 77, AFS_RX_DATA << 24 | flags << 16, 1, 153);
}

static const struct handed kinds[] = {
	{ "afp", { .decoder = AFS_DECODER_DSI }, put_dsi, FIRST, 17, false },
	{ "smb",
	  { .decoder = AFS_DECODER_SMB2, .any_order = true, .parks = true },
	  put_smb2,
	  AFS_SMB2_ECHO,
	  64,
	  false },
	{ "gluster",
	  { .decoder = AFS_DECODER_SUNRPC, .any_order = true, .files = AFS_FILES_GLUSTER },
	  put_gluster,
	  AFS_RPC_FOP + 3,
	  44,
	  false },
	{ "nfs",
	  { .decoder = AFS_DECODER_SUNRPC, .any_order = true, .parks = true },
	  put_nfs,
	  AFS_RPC_NFS + 3,
	  44,
	  false },
	{ "rx",
	  { .decoder = AFS_DECODER_RX, .any_order = true },
	  put_rx,
	  AFS_RX_FS + 153 - 130,
	  4,
	  true },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Of the test and, copied, its child. */
static const struct handed *kind;
static struct sockaddr_in here;
static int passed[2]; /* through which the socket is passed on */

/* The server's end is made before the child, which alone keeps it, if it is one of datagrams. */
static struct target listen_as_the_kind_does(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	struct target t = { 0 };

	listen_here();
	if (!kind->datagrams)
		return whole_server();
	server[0] = socket(AF_INET, SOCK_DGRAM, 0);
	client[0] = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(server[0], (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(server[0], (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(client[0], (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(client[0], (struct sockaddr *)&here, &len), 0);
	target_add_port(&t, ntohs(a.sin_port), AFS_OBJECT_CLIENT);
	return t;
}

static void ask_by(int fd, uint32_t id)
{
	struct bytes b = { 0 };

	kind->put(&b, id, false);
	if (send(fd, b.at, b.n, 0) != (ssize_t)b.n)
		_exit(1);
}

static void take_from(int fd, uint32_t id)
{
	struct bytes b = { 0 };
	uint8_t at[sizeof(b.at)];

	kind->put(&b, id, false);
	if (recvfrom(fd, at, b.n, kind->datagrams ? 0 : MSG_WAITALL,
		     (struct sockaddr *)&(struct sockaddr_in) { 0 },
		     &(socklen_t) { sizeof(struct sockaddr_in) }) != (ssize_t)b.n)
		_exit(1);
}

static void reply_by(int fd, uint32_t id)
{
	struct bytes b = { 0 };
	uint8_t at[sizeof(b.at)];

	kind->put(&b, id, true);
	if (sendto(fd, b.at, b.n, 0, kind->datagrams ? (struct sockaddr *)&here : NULL,
		   kind->datagrams ? sizeof(here) : 0) != (ssize_t)b.n ||
	    recv(client[0], at, b.n, MSG_WAITALL) != (ssize_t)b.n)
		_exit(1);
}

/* Sends the descriptor, or receives one: which it is then. */
static int pass(int fd, bool sends)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (!sends) {
		if (recvmsg(passed[1], &m, 0) != 1)
			_exit(1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		return fd;
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(passed[0], &m, 0) != 1)
		_exit(1);
	return fd;
}

/* The process that reads the first request; it may close its descriptor before it ends. */
static void read_and_end(bool closes)
{
	take_from(server[0], 1);
	pass(server[0], true);
	if (closes)
		close(server[0]);
	_exit(0);
}

static void hand_over(bool closes)
{
	int status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		_exit(1);
	if (!kind->datagrams)
		connect_one(0);
	ask_by(client[0], 1);
	pid = fork();
	if (!pid)
		read_and_end(closes);
	close(server[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		_exit(1);
}

/* Step 0: a connection is handed over; step 1: it is answered, and goes on. */
static void hand_over_and_go_on(struct watched_shared *s)
{
	if (!s->value[0]++) {
		hand_over(s->value[1]);
		return;
	}
	server[0] = pass(0, false);
	reply_by(server[0], 1);
	for (uint32_t id = 2; id <= REQUESTS; id++) {
		ask_by(client[0], id);
		take_from(server[0], id);
		reply_by(server[0], id);
	}
}

static void start(struct rung_rig *g, const struct handed *k, void (*fn)(struct watched_shared *s),
		  bool closes)
{
	struct target t;

	kind = k;
	t = listen_as_the_kind_does();
	rig_open(g, &k->wish, t, fn);
	g->x.shared->value[1] = closes;
	if (k->datagrams)
		close(server[0]);
	rig_step(g);
	rig_tick(g);
}

static void finish(struct rung_rig *g, struct run *r)
{
	done(g, r);
	if (kind->datagrams)
		close(client[0]);
}

static void is_of_the_process_that_replied(const struct handed *k, bool closes)
{
	const struct afs_account *a;
	struct rung_rig g;
	struct run r;

	print_message("%s%s\n", k->name, closes ? ", closed" : "");
	start(&g, k, hand_over_and_go_on, closes);
	rig_step(&g);
	rig_tick(&g);
	rig_read(&g, &r);
	a = counted(&g, k->account);
	assert_int_equal(a->begun, REQUESTS);
	assert_int_equal(a->answered, REQUESTS);
	assert_int_equal(a->bytes_in, REQUESTS * k->bytes);
	assert_int_equal(run_losses(&r), 0);
	assert_null(run_note_find(&r.rungs, "requests.before"));
	assert_int_equal(r.n_sessions, 1);
	assert_int_equal(r.session[0].pid, g.x.pid);
	assert_int_equal(r.session[0].requests, REQUESTS);
	finish(&g, &r);
}

/* Place: a process that reads a request, passes the connection on and ends before it is answered |
 *   exact; the request is that of the process that answers */
static void a_request_is_of_the_process_that_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_KINDS; i++)
		for (int closes = 0; closes < 2; closes++)
			is_of_the_process_that_replied(&kinds[i], closes);
}

/* Whoever has the connection last closes it. */
static void hand_over_and_close(struct watched_shared *s)
{
	if (!s->value[0]++)
		hand_over(s->value[1]);
	else
		close(pass(0, false));
}

static bool has_book(const struct run *r, const char *name)
{
	for (size_t i = 0; i < r->n_books; i++)
		if (!strcmp(r->book[i].name, name))
			return true;
	return false;
}

static void without_a_reply(const struct handed *k, bool closes)
{
	const struct afs_account *a;
	struct rung_rig g;
	struct run r;

	print_message("%s%s\n", k->name, closes ? ", closed" : "");
	start(&g, k, hand_over_and_close, closes);
	rig_step(&g);
	rig_tick(&g);
	rig_read(&g, &r);
	a = counted(&g, k->account);
	assert_int_equal(a->begun, 1);
	assert_int_equal(a->answered, 0);
	assert_int_equal(r.n_sessions, 1);
	assert_int_not_equal(r.session[0].pid, g.x.pid);
	assert_true(r.session[0].ended_ns);
	/* Nothing keeps its slot any more. */
	assert_true(has_book(&r, "afpd (1 ended) syscr"));
	finish(&g, &r);
}

static void a_request_that_nobody_answers_is_of_who_has_read_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_KINDS; i++)
		for (int closes = 0; closes < 2; closes++)
			without_a_reply(&kinds[i], closes);
}

/* Two connections of a process; of one the descriptor changes between requests. */
static void go_on_by_another_descriptor(struct watched_shared *s)
{
	const uint32_t id = (uint32_t)++s->value[0];
	int fd;

	for (int i = 0; i < 2 && id == 1; i++)
		connect_one(i);
	for (int i = 0; i < 2; i++) {
		ask(i, (uint16_t)id);
		take(i);
		answer(i, (uint16_t)id);
		hear(i);
	}
	fd = dup(server[0]);
	close(server[0]);
	server[0] = fd;
}

static void a_connection_goes_on_by_another_descriptor(void **state)
{
	struct bpf_load_wish wish = {};
	struct rung_rig g;
	struct run r;

	(void)state;
	open_server(&g, &wish, go_on_by_another_descriptor);
	for (int i = 0; i < REQUESTS; i++) {
		rig_step(&g);
		rig_tick(&g);
	}
	rig_read(&g, &r);
	assert_int_equal(r.n_sessions, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(r.session[i].requests, REQUESTS);
		assert_int_equal(r.session[i].ended_ns, 0);
	}
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_of_the_process_that_replies),
		cmocka_unit_test(a_request_that_nobody_answers_is_of_who_has_read_it),
		cmocka_unit_test(a_connection_goes_on_by_another_descriptor),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
