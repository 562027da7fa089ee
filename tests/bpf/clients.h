/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_CLIENTS_H
#define TESTS_BPF_CLIENTS_H

/* Both ends of several connections in one process: requests of one byte, and their replies. */

#include "rung_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define HEAD  16
#define CONNS 8
#define TURNS 100
#define FIRST 30 /* the command of connection 0 */

/* Of the test and, copied, its child. */
static int listener, client[CONNS], server[CONNS];
static uint16_t port;

static inline void listen_here(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int one = 1;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	/* The servers' ends inherit it: no piece of an answer waits for the one before. */
	setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	assert_int_equal(bind(listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(listener, CONNS), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	port = ntohs(a.sin_port);
}

static inline void connect_one(int i)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	client[i] = socket(AF_INET, SOCK_STREAM, 0);
	if (client[i] < 0 || connect(client[i], (struct sockaddr *)&a, sizeof(a)))
		_exit(1);
	server[i] = accept(listener, NULL, NULL);
	if (server[i] < 0)
		_exit(1);
}

static inline void connect_all(void)
{
	for (int i = 0; i < CONNS; i++)
		connect_one(i);
}

/* A request of connection i, and its reply: a header and one byte. */
static inline void ask(int i, uint16_t id)
{
	uint8_t frame[HEAD + 1] = { 0, 2, (uint8_t)(id >> 8), (uint8_t)id };

	frame[11] = 1;
	frame[HEAD] = (uint8_t)(FIRST + i);
	if (send(client[i], frame, sizeof(frame), 0) != sizeof(frame))
		_exit(1);
}

static inline void take(int i)
{
	uint8_t frame[HEAD + 1];

	if (recv(server[i], frame, sizeof(frame), MSG_WAITALL) != sizeof(frame))
		_exit(1);
}

static inline void answer(int i, uint16_t id)
{
	uint8_t frame[HEAD + 1] = { 1, 2, (uint8_t)(id >> 8), (uint8_t)id };

	frame[7] = id % 2; /* every other one is an error */
	frame[11] = 1;
	if (send(server[i], frame, sizeof(frame), 0) != sizeof(frame))
		_exit(1);
}

static inline void hear(int i)
{
	uint8_t frame[HEAD + 1];

	if (recv(client[i], frame, sizeof(frame), MSG_WAITALL) != sizeof(frame))
		_exit(1);
}

static inline struct target whole_server(void)
{
	struct target t = { 0 };

	target_add_port(&t, port, AFS_OBJECT_CLIENT);
	return t;
}

static inline const struct afs_account *account_of(const struct ledger *l, int i)
{
	const struct ledger_account *a = ledger_account(l, (unsigned int)(FIRST + i));

	assert_non_null(a);
	return &a->sum;
}

static inline void open_server(struct rung_rig *g, struct bpf_load_wish *wish,
			       void (*fn)(struct watched_shared *s))
{
	wish->decoder = AFS_DECODER_DSI;
	listen_here();
	rig_open(g, wish, whole_server(), fn);
}

/* All of a connection's requests are of one account, and come when none is there. */
static inline void check_habits(const struct run *r, uint64_t requests)
{
	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct afs_habit *h = &r->session[i].habit;
		uint64_t pauses = 0;

		for (size_t k = 0; k < AFS_PAUSE_BUCKETS; k++)
			pauses += h->pause[k];
		assert_int_equal(h->most_n, requests);
		assert_in_range(h->most, FIRST, FIRST + CONNS - 1);
		assert_int_equal(pauses, requests - 1);
		assert_true(h->pause_ns > 0);
	}
}

#endif
