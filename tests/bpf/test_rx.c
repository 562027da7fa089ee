/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rx over UDP: known packets in, exactly these calls counted, by whichever call they are moved, in
 * any order, by any thread, once or again. Tests user/watch/bpf/connections.c, bpf/decode/rx.h,
 * bpf/services.h, bpf/cursor.h.
 */
#include "rx_packets.h"

#include "bpf/services.h"
#include "watch/watch_priv.h"

#include <pthread.h>
#include <sys/uio.h>

#define TIME    (AFS_RX_FS + GETTIME - 130)
#define FETCHES (AFS_RX_FS + FETCH - 130)
#define STATS   (AFS_RX_FS + STATUS - 130)

/* The pieces of memory a datagram is moved from or to: the first n bytes, and the rest. */
static struct msghdr pieces(struct iovec v[3], struct bytes *b, size_t n, struct sockaddr_in *name)
{
	v[0] = (struct iovec) { b->at, n };
	v[1] = (struct iovec) { b->at + n, 0 };
	v[2] = (struct iovec) { b->at + n, sizeof(b->at) - n };
	return (struct msghdr) {
		.msg_name = name, .msg_namelen = sizeof(*name), .msg_iov = v, .msg_iovlen = 3
	};
}

#define SPLITS 60

/* A call by recvmsg and sendmsg, split after each byte. */
static void split_messages(void)
{
	for (uint32_t n = 1; n <= SPLITS; n++) {
		struct bytes b = ask(8, n, GETTIME, 40), got = { 0 };
		struct sockaddr_in peer;
		struct iovec v[3];
		struct msghdr m = pieces(v, &got, n, &peer);

		post(0, &b);
		check_moved(recvmsg(server, &m, 0), b.n);
		b = tell(8, n, 1, LAST, 100);
		m = pieces(v, &b, n, &from[0]);
		v[2].iov_len = b.n - n;
		check_moved(sendmsg(server, &m, 0), b.n);
		check_moved(recv(client[0], got.at, sizeof(got.at), 0), b.n);
	}
}

#define MANY 20

/* As many by one recvmmsg, answered by one sendmmsg. */
static void many_messages(void)
{
	static struct bytes got[MANY];
	struct sockaddr_in peer[MANY];
	struct iovec v[MANY][3];
	struct mmsghdr m[MANY];

	for (uint32_t i = 0; i < MANY; i++) {
		struct bytes b = ask(400 + 4 * i, 1, FETCH, i);

		post(0, &b);
		m[i].msg_hdr = pieces(v[i], &got[i], 1 + i * 3, &peer[i]);
	}
	check_moved(recvmmsg(server, m, MANY, 0, NULL), MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		got[i] = tell(400 + 4 * i, 1, 1, LAST, 10 * i);
		m[i].msg_hdr = pieces(v[i], &got[i], 1 + i, &from[0]);
		v[i][2].iov_len = got[i].n - 1 - i;
	}
	check_moved(sendmmsg(server, m, MANY, 0), MANY);
	for (uint32_t i = 0; i < MANY; i++)
		check_moved(recv(client[0], got[0].at, sizeof(got[0].at), 0), got[i].n);
}

static void all_calls(struct watched_shared *s)
{
	(void)s;
	split_messages();
	many_messages();
	for (uint32_t n = 1; n <= 10; n++) {
		in(0, ask(1001, n, STATUS, 12));
		out(0, tell(1001, n, 1, LAST, 7));
	}
}

static void every_system_call_and_split_is_followed(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, all_calls, &r);
	check(&g, TIME, SPLITS, SPLITS * 44ull, SPLITS * 100ull);
	check(&g, FETCHES, MANY, MANY * 4ull + MANY * (MANY - 1) / 2,
	      10ull * MANY * (MANY - 1) / 2);
	check(&g, STATS, 10, 160, 70);
	assert_int_equal(g.diff.n_accounts, 3);
	assert_int_equal(ledger_packets(&g.diff, false).datagrams, SPLITS + MANY + 10);
	assert_int_equal(ledger_packets(&g.diff, true).type[AFS_RX_DATA], SPLITS + MANY + 10);
	assert_int_equal(ledger_packets(&g.diff, true).again, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Requests and replies of several packets, in disorder, and again. */
static void disorder(struct watched_shared *s)
{
	struct bytes first = ask(4, 1, GETTIME, 1408);

	(void)s;
	first.at[21] = CLIENT;
	in(0, more_of(4, 1, 3, LAST, 100)); /* the last one comes first */
	in(0, more_of(4, 1, 2, 0, 1412));
	in(0, more_of(4, 1, 2, 0, 1412));
	in(0, first);
	in(0, first);
	out(0, tell(4, 1, 1, 0, 1412));
	out(0, tell(4, 1, 3, 0, 1412));
	out(0, tell(4, 1, 2, 0, 1412)); /* later than the one after it */
	out(0, tell(4, 1, 2, 0, 1412)); /* again */
	out(0, tell(4, 1, 4, LAST, 5));
	out(0, tell(4, 1, 4, LAST, 5)); /* again: the call is over */
	in(0, first);                   /* and so it is here */
	in(0, ask(4, 2, STATUS, 0));    /* the next on its channel */
	in(0, more_of(4, 1, 3, LAST, 100));
	out(0, tell(4, 1, 4, LAST, 5));
	out(0, tell(4, 2, 1, LAST, 1));
}

static void packets_that_come_or_go_again_do_not_count_again(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, disorder, &r);
	check(&g, TIME, 1, 1412 + 1412 + 100, 3 * 1412 + 5);
	check(&g, STATS, 1, 4, 1);
	assert_int_equal(ledger_packets(&g.diff, false).type[AFS_RX_DATA], 8);
	assert_int_equal(ledger_packets(&g.diff, false).again, 4);
	assert_int_equal(ledger_packets(&g.diff, true).type[AFS_RX_DATA], 8);
	assert_int_equal(ledger_packets(&g.diff, true).again, 3);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* A jumbogram of three packets: b holds the first, 1412 bytes of data long. */
static struct bytes jumbo(struct bytes b, uint8_t flags)
{
	b.at[21] |= MORE;
	put(&b, (uint32_t)(flags | MORE) << 24);
	fill(&b, JUMBO);
	put(&b, (uint32_t)(flags | LAST) << 24);
	fill(&b, 33);
	return b;
}

static void jumbograms(struct watched_shared *s)
{
	(void)s;
	for (uint32_t n = 1; n <= 4000; n += 7) {
		struct bytes b = ask(8, n, FETCH, JUMBO - 4), got = { 0 };
		struct sockaddr_in peer;
		struct iovec v[3];
		struct msghdr m = pieces(v, &got, n, &peer);

		b.at[21] = CLIENT;
		b = jumbo(b, CLIENT);
		post(0, &b);
		check_moved(recvmsg(server, &m, 0), b.n);
		b = jumbo(tell(8, n, 1, 0, JUMBO), 0);
		out(0, b);
		s->value[0]++;
	}
}

static void jumbograms_are_several_packets(void **state)
{
	struct rung_rig g;
	struct run r;
	uint64_t n;

	(void)state;
	watch_server(&g, jumbograms, &r);
	n = g.x.shared->value[0];
	check(&g, FETCHES, n, n * (2 * JUMBO + 33), n * (2 * JUMBO + 33));
	assert_int_equal(ledger_packets(&g.diff, false).datagrams, n);
	assert_int_equal(ledger_packets(&g.diff, false).type[AFS_RX_DATA], 3 * n);
	assert_int_equal(ledger_packets(&g.diff, true).type[AFS_RX_DATA], 3 * n);
	assert_int_equal(ledger_packets(&g.diff, true).again, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

static void aborts(struct watched_shared *s)
{
	(void)s;
	in(0, ask(4, 1, GETTIME, 0));
	out(0, other(4, 1, AFS_RX_ABORT, 0, (uint32_t)-455));
	out(0, other(4, 1, AFS_RX_ABORT, 0, (uint32_t)-455)); /* as the client asked again */
	in(0, ask(4, 2, GETTIME, 0));
	out(0, other(4, 2, AFS_RX_BUSY, 0, 0)); /* no end */
	out(0, tell(4, 2, 1, 0, 1));
	out(0, other(4, 2, AFS_RX_ABORT, 0, 13));
	for (uint32_t channel = 0; channel < 4; channel++)
		in(0, ask(16 + channel, 5, STATUS, 0));
	out(0, other(16, 0, AFS_RX_ABORT, 0, (uint32_t)-5)); /* of the whole connection */
	in(0, ask(20, 1, FETCH, 0));
	in(0, other(20, 1, AFS_RX_ABORT, CLIENT, (uint32_t)-6)); /* of the client */
	out(0, tell(20, 1, 1, LAST, 4));                         /* it did not know */
}

static void an_abort_is_a_result(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, aborts, &r);
	check(&g, TIME, 2, 8, 1);
	assert_int_equal(counted(&g, TIME)->errors, 2);
	assert_int_equal(results(&g, TIME, -455), 1);
	assert_int_equal(results(&g, TIME, 13), 1);
	assert_int_equal(counted(&g, STATS)->answered, 4);
	assert_int_equal(results(&g, STATS, -5), 4);
	assert_int_equal(counted(&g, FETCHES)->answered, 1);
	assert_int_equal(results(&g, FETCHES, -6), 1);
	assert_int_equal(ledger_packets(&g.diff, true).type[AFS_RX_ABORT], 4);
	assert_int_equal(ledger_packets(&g.diff, true).type[AFS_RX_BUSY], 1);
	assert_int_equal(ledger_packets(&g.diff, false).type[AFS_RX_ABORT], 1);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Two clients with equal numbers; and one that changes its address. */
static void addresses(struct watched_shared *s)
{
	struct bytes b = ask(4, 1, GETTIME, 0), reply = tell(4, 1, 1, LAST, 9);

	(void)s;
	b.at[0] = reply.at[0] = 0; /* OLD */
	in(0, b);
	in(1, b);
	in(1, b); /* again */
	out(1, reply);
	out(0, reply);
	in(0, ask(8, 1, STATUS, 0));
	in(1, ask(8, 1, STATUS, 0)); /* again, from elsewhere */
	out(1, tell(8, 1, 1, LAST, 3));
	out(0, tell(8, 1, 1, LAST, 3));
}

static void the_epoch_says_whether_the_address_matters(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, addresses, &r);
	check(&g, TIME, 2, 8, 18);
	check(&g, STATS, 1, 4, 3);
	assert_int_equal(ledger_packets(&g.diff, false).again, 2);
	assert_int_equal(ledger_packets(&g.diff, true).again, 1);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

#define FLIGHT  200
#define THREADS 4

static void *answer_every_fourth(void *arg)
{
	for (uint32_t k = *(const uint32_t *)arg; k < FLIGHT; k += THREADS) {
		struct bytes b = tell(4 * k, 7, 1, LAST, 10);

		if (k % 2)
			b = other(4 * k, 7, AFS_RX_ABORT, 0, 1 + k % 8);
		check_moved(
		    sendto(server, b.at, b.n, 0, (struct sockaddr *)&from[0], sizeof(from[0])),
		    b.n);
	}
	return NULL;
}

static void overlapping(struct watched_shared *s)
{
	static uint32_t number[THREADS];
	pthread_t thread[THREADS];
	uint8_t at[100];

	(void)s;
	for (uint32_t k = 0; k < FLIGHT; k++)
		in(0, ask(4 * k, 7, k % 2 ? FETCH : GETTIME, 0));
	for (uint32_t i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, answer_every_fourth, &number[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t k = 0; k < FLIGHT; k++)
		if (recv(client[0], at, sizeof(at), 0) < 0)
			_exit(1);
}

static void any_thread_answers_in_any_order(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, overlapping, &r);
	check(&g, TIME, FLIGHT / 2, FLIGHT / 2 * 4, FLIGHT / 2 * 10);
	check(&g, FETCHES, FLIGHT / 2, FLIGHT / 2 * 4, 0);
	assert_int_equal(counted(&g, FETCHES)->errors, FLIGHT / 2);
	assert_int_equal(results(&g, FETCHES, 4), FLIGHT / 8);
	assert_int_equal(r.session[0].requests, FLIGHT);
	assert_int_equal(r.session[0].bytes_out, FLIGHT / 2 * 10);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* An end of a call that was read before the watch. */
static void only_send(struct watched_shared *s)
{
	(void)s;
	out(0, tell(12, 9, 8, LAST, 1));
}

static void a_socket_that_is_only_sent_on_is_the_servers(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, only_send, &r);
	assert_int_equal(r.n_sessions, 1);
	assert_int_equal(r.session[0].pid, g.x.pid);
	assert_int_equal(r.session[0].requests, 0);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* Services and what cannot be seen, calls of the server itself, and packets of all types. */
static void kinds(struct watched_shared *s)
{
	static const struct {
		uint32_t service, word, second;
		uint8_t security;
	} calls[] = {
		{ 52, 514, 0, 0 },  { 73, 504, 0, 0 },    { 4, 100, 0, 0 },    { 1, 80, 0, 0 },
		{ 1, 65540, 0, 0 }, { 147, 3, 1, 0 },     { 147, 3, 9, 0 },    { 999, 153, 0, 0 },
		{ 1, 999, 0, 0 },   { 1, GETTIME, 0, 2 }, { 50, 10004, 0, 0 },
	};
	struct bytes b;

	(void)s;
	for (uint32_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct header h = { EPOCH,
					  4 * i,
					  1,
					  1,
					  AFS_RX_DATA,
					  CLIENT | LAST,
					  calls[i].security,
					  (uint16_t)calls[i].service };

		b = (struct bytes) { 0 };
		head(&b, &h);
		put(&b, calls[i].word);
		put(&b, calls[i].second);
		in(0, b);
		out(0, tell(4 * i, 1, 1, LAST, 1));
	}
	b = ask(400, 1, GETTIME, 0);
	out(0, b); /* the server calls its client */
	in(0, tell(400, 1, 1, LAST, 5));
	for (uint8_t type = 2; type <= 13; type++) {
		in(0, other(500, 0, type, CLIENT, 0));
		out(0, other(500, 0, type, 0, 0));
		out(0, other(500, 0, type, 0, 0));
	}
}

static void every_service_and_type_is_known(void **state)
{
	static const unsigned int number[] = {
		AFS_RX_VL + 13,      AFS_RX_PT + 4,     AFS_RX_VOL,     AFS_RX_BOS,
		AFS_RX_FS_LATER + 4, AFS_RX_RXPERF + 1, AFS_RX_SECURED, AFS_RX_VOTE + 4,
	};
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, kinds, &r);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		check(&g, number[i], 1, 8, 1);
	check(&g, AFS_RX_OTHER, 3, 24, 3);
	assert_int_equal(g.diff.n_accounts, 9);
	for (int type = 2; type <= 13; type++) {
		assert_int_equal(ledger_packets(&g.diff, false).type[type], 1);
		assert_int_equal(ledger_packets(&g.diff, true).type[type], 2);
	}
	assert_int_equal(ledger_packets(&g.diff, false).type[AFS_RX_DATA], 12);
	assert_int_equal(run_losses(&r), 0);
	done(&g, &r);
}

/* What is no Rx, what is too short, and what has no end. */
static void garbage(struct watched_shared *s)
{
	struct bytes b = { 0 };

	(void)s;
	fill(&b, 100);
	in(0, b); /* type 'd' */
	b.n = 27;
	in(0, b);
	b.n = 0;
	in(0, b); /* empty */
	b = ask(4, 1, GETTIME, 50);
	b.at[21] |= MORE; /* another packet follows, says the flag */
	in(0, b);
	in(0, ask(8, 1, STATUS, 0)); /* without an answer, twice: the client goes on */
	in(0, ask(8, 2, STATUS, 0));
	in(0, ask(8, 3, STATUS, 0));
	out(0, tell(8, 3, 1, LAST, 1));
	out(0, tell(12, 9, 7, 0, 1)); /* of a call that nothing was read of, and its end, twice */
	out(0, tell(12, 9, 8, LAST, 1));
	out(0, tell(12, 9, 8, LAST, 1));
	in(0, more_of(16, 2, 5, LAST, 50)); /* and of one whose begin was not */
	out(0, tell(16, 2, 1, LAST, 1));
}

/* Calls that had begun before the watch. */
static unsigned long before(const struct run *r)
{
	const char *text = run_note_find(&r->rungs, "requests.before");

	return text ? strtoul(text, NULL, 10) : 0;
}

static void garbage_is_a_loss_and_what_was_before_is_not(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	watch_server(&g, garbage, &r);
	assert_int_equal(counted(&g, STATS)->begun, 3);
	assert_int_equal(counted(&g, STATS)->answered, 1);
	assert_int_equal(g.diff.n_accounts, 1);
	assert_int_equal(loss_of(&r, NONE), 1);
	assert_int_equal(loss_of(&r, LOST), 100 + 27 + 82);
	assert_int_equal(before(&r), 2);
	done(&g, &r);
}

#define BURST 3000

/* More than the server's socket has room for. */
static void flood(struct watched_shared *s)
{
	struct bytes b = ask(4, 1, GETTIME, 500);
	int small = 65536;

	if (setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)))
		_exit(1);
	in(0, b);
	for (int i = 0; i < BURST; i++)
		post(0, &b);
	s->value[0] = BURST;
	while (recv(server, b.at, sizeof(b.at), MSG_DONTWAIT) > 0)
		s->value[0]--;
	out(0, tell(4, 1, 1, LAST, 1));
}

static void drops_are_counted_where_the_kernel_makes_them(void **state)
{
	static struct watch w;
	struct rung_rig g;
	uint32_t at = 0;
	struct stat st;
	struct run r;
	uint64_t n;

	(void)state;
	watch_server(&g, flood, &r);
	assert_int_equal(fstat(server, &st), 0);
	w.bpf = g.rung;
	w.t.decoder = AFS_DECODER_RX;
	assert_true(watch_drops(&w, st.st_ino, &n));
	assert_int_equal(n, g.x.shared->value[0]);
	assert_in_range(n, 1, BURST);
	assert_false(watch_drops(&w, 1, &n));
	assert_string_equal(watch_thread_role(&w, g.x.pid, &at), "listener");
	assert_null(watch_thread_role(&w, 1, &at));
	check(&g, TIME, 1, 504, 1);
	done(&g, &r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_system_call_and_split_is_followed),
		cmocka_unit_test(packets_that_come_or_go_again_do_not_count_again),
		cmocka_unit_test(jumbograms_are_several_packets),
		cmocka_unit_test(an_abort_is_a_result),
		cmocka_unit_test(the_epoch_says_whether_the_address_matters),
		cmocka_unit_test(any_thread_answers_in_any_order),
		cmocka_unit_test(a_socket_that_is_only_sent_on_is_the_servers),
		cmocka_unit_test(every_service_and_type_is_known),
		cmocka_unit_test(garbage_is_a_loss_and_what_was_before_is_not),
		cmocka_unit_test(drops_are_counted_where_the_kernel_makes_them),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
