/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS: known calls and replies in, each counted by its procedure or its operation, however they are
 * split, and what the thread did that has read it. Tests bpf/decode/nfs.h, bpf/decode/sunrpc.h,
 * bpf/programs.h, bpf/park.h.
 */
#include "rpc_records.h"

#include "bpf/programs.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#define NFS       100003
#define MOUNT     100005
#define V3(k)     (AFS_RPC_NFS + (k))
#define V4(op)    (AFS_RPC_COMPOUND + (op))
#define LOOKUP    3
#define WRITE     7
#define NOENT     2
#define AUTH_NONE 0
#define AUTH_SYS  1
#define AUTH_GSS  6

/* The begin of a call, up to its arguments: 44 bytes with the mark, and the credential's. */
static size_t begin_call(struct bytes *b, uint32_t xid, uint32_t program, uint32_t version,
			 uint32_t procedure, const struct bytes *credential, uint32_t flavor)
{
	const uint32_t words[] = { 0, xid, 0, 2, program, version, procedure, flavor };
	size_t begin = b->n;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put(b, words[i]);
	put(b, (uint32_t)credential->n);
	memcpy(b->at + b->n, credential->at, credential->n);
	b->n += (credential->n + 3) & ~3u;
	put(b, 0);
	put(b, 0);
	return begin;
}

static const struct bytes no_credential, of_a_user = { .n = 22 };

/* A call with 16 bytes of arguments, of a user: 84 bytes. */
static void call(struct bytes *b, uint32_t xid, uint32_t program, uint32_t procedure)
{
	size_t begin = begin_call(b, xid, program, 3, procedure, &of_a_user, AUTH_SYS);

	memset(b->at + b->n, 1, 16);
	b->n += 16;
	close_record(b, begin);
}

/* A reply with a status and 8 bytes more: 40. */
static void answer_with(struct bytes *b, uint32_t xid, uint32_t status)
{
	size_t begin = b->n;

	reply(b, xid, 0, 0);
	put(b, status);
	put(b, 17);
	put(b, 18);
	close_record(b, begin);
}

/* An operation and arguments as long as it has. */
static void add_operation(struct bytes *b, uint32_t op)
{
	size_t len = 12;

	put(b, op);
	if (op == AFS_NFS4_PUTFH || op == AFS_NFS4_LOOKUP) {
		put(b, len = op == AFS_NFS4_PUTFH ? 27 : 5);
	} else if (op == AFS_NFS4_GETATTR) {
		put(b, 2);
		len = 8;
	} else if (op == AFS_NFS4_SEQUENCE) {
		len = 32;
	} else if (op == AFS_NFS4_GETFH || op == AFS_NFS4_LOOKUPP || op == AFS_NFS4_PUTROOTFH ||
		   op == AFS_NFS4_PUTPUBFH || op == AFS_NFS4_SAVEFH || op == AFS_NFS4_RESTOREFH) {
		len = 0;
	}
	memset(b->at + b->n, 0x16, len);
	b->n += (len + 3) & ~3u;
}

#define OPS_MAX 9

/* Lists of operations, 0 at the end, and the one after which the compound is named. */
static const struct compound {
	uint32_t op[OPS_MAX];
	uint32_t named;
} compounds[] = {
	{ { 22, 25 }, 25 },                         /* PUTFH, READ */
	{ { 22, 38, 9 }, 38 },                      /* PUTFH, WRITE, GETATTR */
	{ { 53, 22, 18, 10, 3, 9 }, 18 },           /* SEQUENCE, PUTFH, OPEN, GETFH, ACCESS */
	{ { 24, 15, 15, 15, 10, 9 }, 15 },          /* PUTROOTFH, LOOKUP x 3, GETFH, GETATTR */
	{ { 24, 15, 15, 6, 10 }, 6 },               /* PUTROOTFH, LOOKUP x 2, CREATE */
	{ { 22, 9, 28 }, 28 },                      /* PUTFH, GETATTR, REMOVE */
	{ { 22, 9 }, 9 },                           /* PUTFH, GETATTR */
	{ { 24, 10 }, 10 },                         /* PUTROOTFH, GETFH */
	{ { 22, 32, 24, 15, 29, 31, 9 }, 29 },      /* two folders, RENAME */
	{ { 22, 9, 16, 10 }, 16 },                  /* PUTFH, GETATTR, LOOKUPP */
	{ { 35 }, 35 },                             /* SETCLIENTID */
	{ { 53 }, 53 },                             /* SEQUENCE: a sign of life */
	{ { 22, 23, 31, 32 }, 0 },                  /* nothing that says what it does */
	{ { 22, 10044 }, 0 },                       /* no operation */
	{ { 0 }, 0 },                               /* none at all */
	{ { 53, 24, 9, 10, 15, 15, 72, 9, 9 }, 72 } /* GETXATTR */
};
#define N_COMPOUNDS (sizeof(compounds) / sizeof(compounds[0]))

static void call_compound(struct bytes *b, uint32_t xid, const struct compound *c, uint32_t tag)
{
	size_t begin = begin_call(b, xid, NFS, 4, 1, &of_a_user, AUTH_SYS);
	uint32_t n = 0;

	while (n < OPS_MAX && c->op[n])
		n++;
	put(b, tag);
	memset(b->at + b->n, 't', tag);
	b->n += (tag + 3) & ~3u;
	put(b, 0);
	put(b, n);
	for (uint32_t i = 0; i < n; i++)
		add_operation(b, c->op[i]);
	close_record(b, begin);
}

/* All procedures of version 3, in pieces of all lengths, each answered with its number as status.
 */
static void each_procedure(struct watched_shared *s)
{
	uint32_t xid = 1;

	(void)s;
	connect_one(0);
	for (size_t piece = 1; piece <= 90; piece++)
		for (uint32_t k = 1; k < 22; k += piece % 5 + 1, xid++) {
			struct bytes in = { 0 }, out = { 0 };

			call(&in, xid, NFS, k);
			come(&in, piece);
			answer_with(&out, xid, k);
			go(&out, piece);
			s->value[k]++;
		}
}

static void a_procedure_of_version_3_has_its_status(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, each_procedure, &r);
	for (uint32_t k = 1; k < 22; k++) {
		uint64_t n = g.x.shared->value[k];

		check(&g, V3(k), n, n * 84, n * 40);
		assert_int_equal(results(&g, V3(k), (int32_t)k), n);
		assert_int_equal(counted(&g, V3(k))->parked, 0);
	}
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* What begins with no status: NULL's results and those of MOUNT, but for MNT. */
static void ask_for_lists(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	connect_one(0);
	call(&in, 1, NFS, 0);
	call(&in, 2, MOUNT, 1);
	call(&in, 3, MOUNT, 5);
	call(&in, 4, 100021, 9);
	come(&in, sizeof(in.at));
	reply(&out, 1, 0, 0);
	answer_with(&out, 2, 13);
	answer_with(&out, 3, 1);
	answer_with(&out, 4, 1);
	go(&out, sizeof(out.at));
}

static void what_has_no_status_has_no_error(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, ask_for_lists, &r);
	check(&g, V3(0), 1, 84, 28);
	check(&g, AFS_RPC_MNT, 1, 84, 40);
	assert_int_equal(results(&g, AFS_RPC_MNT, 13), 1);
	check(&g, AFS_RPC_MOUNT + 5, 1, 84, 40);
	assert_int_equal(counted(&g, AFS_RPC_MOUNT + 5)->errors, 0);
	check(&g, AFS_RPC_NLM, 1, 84, 40);
	assert_int_equal(counted(&g, AFS_RPC_NLM)->errors, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Each compound in pieces and in fragments of all lengths, with tags of all lengths. */
#define PIECES 61

static void each_compound(struct watched_shared *s)
{
	uint32_t xid = 1;

	(void)s;
	connect_one(0);
	for (size_t piece = 1; piece <= PIECES; piece++)
		for (size_t i = 0; i < N_COMPOUNDS; i++, xid++) {
			struct bytes whole = { 0 }, in = { 0 }, out = { 0 };

			call_compound(&whole, xid, &compounds[i], piece % 6);
			if (piece % 2)
				in = whole;
			else
				shred(&in, &whole, piece);
			come(&in, 1 + piece * 7 % PIECES);
			answer_with(&out, xid, i % 2 ? NOENT : 0);
			go(&out, piece);
			s->value[0] += in.n;
		}
}

static void a_compound_is_named_after_its_first_operation_that_does_more(void **state)
{
	uint64_t n, in = 0;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, each_compound, &r);
	for (size_t i = 0; i < N_COMPOUNDS; i++) {
		const struct afs_account *a = counted(&g, V4(compounds[i].named));

		n = 0;
		for (size_t k = 0; k < N_COMPOUNDS; k++)
			n += compounds[k].named == compounds[i].named;
		assert_int_equal(a->begun, n * PIECES);
		assert_int_equal(a->answered, n * PIECES);
		in += a->bytes_in / n;
	}
	assert_int_equal(results(&g, V4(38), NOENT), PIECES);
	assert_int_equal(counted(&g, V4(25))->errors, 0);
	assert_int_equal(run_losses(&r), 0);
	assert_in_range(in, g.x.shared->value[0] - N_COMPOUNDS, g.x.shared->value[0]);
	done(&g, &r);
}

/* Nonsense where a tag's length should be, and an end before it; then one that is right. */
static void call_what_is_no_compound(struct watched_shared *s)
{
	static const struct compound right = { { 22, 25 }, 25 };
	struct bytes in = { 0 }, out = { 0 };
	size_t begin;

	(void)s;
	connect_one(0);
	begin = begin_call(&in, 1, NFS, 4, 1, &of_a_user, AUTH_SYS);
	put(&in, 0xfffffff0);
	put(&in, 1);
	close_record(&in, begin);
	begin = begin_call(&in, 2, NFS, 4, 1, &of_a_user, AUTH_SYS);
	put(&in, 400);
	put(&in, 2);
	close_record(&in, begin);
	begin = begin_call(&in, 3, NFS, 4, 1, &no_credential, AUTH_NONE);
	in.n -= 8;
	close_record(&in, begin);
	call_compound(&in, 4, &right, 0);
	call(&in, 5, NFS, LOOKUP);
	come(&in, sizeof(in.at));
	for (uint32_t xid = 1; xid <= 5; xid++)
		reply(&out, xid, xid < 4 ? 4 : 0, 0);
	go(&out, sizeof(out.at));
}

static void what_is_no_compound_is_counted_and_the_next_one_is_found(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, call_what_is_no_compound, &r);
	assert_int_equal(counted(&g, V4(0))->answered, 3);
	assert_int_equal(results(&g, V4(0), AFS_RPC_ACCEPTED(4)), 3);
	assert_int_equal(counted(&g, V4(25))->answered, 1);
	assert_int_equal(counted(&g, V3(LOOKUP))->answered, 1);
	assert_int_equal(counted(&g, V3(LOOKUP))->errors, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* A credential of Kerberos: for data or something else, with a service. */
static struct bytes kerberos(uint32_t what_for, uint32_t service)
{
	const uint32_t words[] = { 1, what_for, 7, service, 8, 0x16161616, 0x16161616 };
	struct bytes b = { 0 };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put(&b, words[i]);
	return b;
}

static void call_as(struct bytes *in, uint32_t xid, uint32_t version, struct bytes credential)
{
	size_t begin = begin_call(in, xid, NFS, version, 1, &credential, AUTH_GSS);

	for (int i = 0; i < 2; i++)
		put(in, 0);
	put(in, 1);
	add_operation(in, 25);
	close_record(in, begin);
}

static void call_by_kerberos(struct watched_shared *s)
{
	struct bytes in = { 0 }, out = { 0 };

	(void)s;
	connect_one(0);
	call_as(&in, 1, 3, kerberos(0, 1));
	call_as(&in, 2, 4, kerberos(0, 1));
	call_as(&in, 3, 3, kerberos(0, 2));
	call_as(&in, 4, 4, kerberos(0, 2));
	call_as(&in, 5, 4, kerberos(0, 3));
	call_as(&in, 6, 3, kerberos(1, 3));
	come(&in, 5);
	for (uint32_t xid = 1; xid <= 6; xid++)
		answer_with(&out, xid, 13);
	go(&out, sizeof(out.at));
}

static void what_kerberos_signs_has_no_name_and_no_result(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, call_by_kerberos, &r);
	assert_int_equal(counted(&g, V3(1))->answered, 2);
	assert_int_equal(results(&g, V3(1), 13), 2);
	assert_int_equal(results(&g, V4(25), 13), 1);
	assert_int_equal(counted(&g, AFS_RPC_SEALED)->answered, 3);
	assert_int_equal(counted(&g, AFS_RPC_SEALED)->errors, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* What threads do */

/* As a thread of a pool that has nothing to do, until a time that is over. */
static void idle(void)
{
	const struct timespec past = { 0 };
	uint32_t word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0,
		&past, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* As one that waits for a lock, which is free. */
static void lock(void)
{
	uint32_t word = 0;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, &word, NULL, 0);
}

static void come_as_to_ganesha(uint32_t xid, uint32_t procedure)
{
	struct bytes in = { 0 };

	call(&in, xid, NFS, procedure);
	come_after_its_mark(&in);
}

static void go_one(uint32_t xid)
{
	struct bytes out = { 0 };

	answer_with(&out, xid, 0);
	go(&out, sizeof(out.at));
}

#define TURNS_HERE 10
#define WORK       7

static void serve_each(struct watched_shared *s)
{
	(void)s;
	connect_one(0);
	for (uint32_t xid = 0; xid < TURNS_HERE; xid++) {
		come_as_to_ganesha(xid, LOOKUP);
		work(WORK);
		lock();
		go_one(xid);
		idle();
	}
}

static void a_request_is_of_the_thread_that_reads_and_answers_it(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, serve_each, &r);
	check(&g, V3(LOOKUP), TURNS_HERE, TURNS_HERE * 84, TURNS_HERE * 40);
	/* The read that completes the call, the work, the lock, and the write of the reply. */
	assert_int_equal(calls_for(&g, V3(LOOKUP)), TURNS_HERE * (1 + WORK + 2 + 1));
	assert_int_equal(counted(&g, V3(LOOKUP))->parked, 0);
	assert_true(counted(&g, V3(LOOKUP))->unexplained_ns <= counted(&g, V3(LOOKUP))->ns / 100);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

static void *answer_for_another(void *arg)
{
	struct bytes out = { 0 };

	(void)arg;
	answer_with(&out, 1, 0);
	if (send(server[0], out.at, out.n, 0) != (ssize_t)out.n)
		_exit(1);
	return NULL;
}

/* A thread leaves its reply to another one, and has nothing to do; then it serves the next. */
static void leave_to_another(struct watched_shared *s)
{
	uint8_t at[64];
	pthread_t t;

	(void)s;
	connect_one(0);
	come_as_to_ganesha(1, WRITE);
	work(WORK);
	idle();
	work(100);
	if (pthread_create(&t, NULL, answer_for_another, NULL))
		_exit(1);
	pthread_join(t, NULL);
	if (recv(client[0], at, 40, MSG_WAITALL) != 40)
		_exit(1);
	come_as_to_ganesha(2, LOOKUP);
	work(WORK);
	go_one(2);
}

static void a_reply_that_is_left_to_another_thread_is_parked(void **state)
{
	const struct afs_account *a;
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, leave_to_another, &r);
	check(&g, V3(WRITE), 1, 84, 40);
	a = counted(&g, V3(WRITE));
	assert_int_equal(a->parked, 1);
	assert_in_range(a->had_ns, 1, a->ns - 1);
	assert_int_equal(calls_for(&g, V3(WRITE)), 1 + WORK);
	check(&g, V3(LOOKUP), 1, 84, 40);
	assert_int_equal(counted(&g, V3(LOOKUP))->parked, 0);
	assert_int_equal(calls_for(&g, V3(LOOKUP)), 1 + WORK + 1);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Between the fragments of a call, and of its reply, the thread waits for events. */
static void wait_between_fragments(struct watched_shared *s)
{
	struct bytes whole = { 0 }, in = { 0 }, answer = { 0 }, out = { 0 };
	struct epoll_event event;
	int fd = epoll_create1(0);
	uint8_t at[sizeof(in.at)];

	(void)s;
	connect_one(0);
	call(&whole, 1, NFS, WRITE);
	shred(&in, &whole, 60);
	if (send(client[0], in.at, in.n, 0) != (ssize_t)in.n ||
	    recv(server[0], at, 64, MSG_WAITALL) != 64)
		_exit(1);
	epoll_wait(fd, &event, 1, 0);
	if (recv(server[0], at, in.n - 64, MSG_WAITALL) != (ssize_t)in.n - 64)
		_exit(1);
	answer_with(&answer, 1, 0);
	shred(&out, &answer, 32);
	if (send(server[0], out.at, 36, 0) != 36)
		_exit(1);
	epoll_wait(fd, &event, 1, 0);
	if (send(server[0], out.at + 36, out.n - 36, 0) != (ssize_t)out.n - 36)
		_exit(1);
	s->value[0] = in.n;
	s->value[1] = out.n;
}

static void a_wait_between_fragments_does_not_park(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_parking(&g, AFS_DECODER_SUNRPC, wait_between_fragments, &r);
	check(&g, V3(WRITE), 1, g.x.shared->value[0], g.x.shared->value[1]);
	assert_int_equal(counted(&g, V3(WRITE))->parked, 0);
	assert_int_equal(calls_for(&g, V3(WRITE)), 6);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_procedure_of_version_3_has_its_status),
		cmocka_unit_test(what_has_no_status_has_no_error),
		cmocka_unit_test(a_compound_is_named_after_its_first_operation_that_does_more),
		cmocka_unit_test(what_is_no_compound_is_counted_and_the_next_one_is_found),
		cmocka_unit_test(what_kerberos_signs_has_no_name_and_no_result),
		cmocka_unit_test(a_request_is_of_the_thread_that_reads_and_answers_it),
		cmocka_unit_test(a_reply_that_is_left_to_another_thread_is_parked),
		cmocka_unit_test(a_wait_between_fragments_does_not_park),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
