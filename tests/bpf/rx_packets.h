/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_BPF_RX_PACKETS_H
#define TESTS_BPF_RX_PACKETS_H

/* Both ends of Rx in one process: packets, a client's and the server's. */

#include "counted.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define EPOCH   0x80001234u /* of a client whose address does not matter */
#define CLIENT  1
#define LAST    4
#define MORE    0x20
#define JUMBO   1412
#define GETTIME 153
#define FETCH   130
#define STATUS  132

/* Of the test and, copied, its child. */
static int server, client[2];
static struct sockaddr_in home, from[2];

static inline int bound(struct sockaddr_in *at)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*at = a;
	return fd;
}

static inline void watch_server(struct rung_rig *g, void (*fn)(struct watched_shared *s),
				struct run *r)
{
	struct bpf_load_wish wish = {};
	struct target t = { 0 };

	wish.any_order = true;
	wish.decoder = AFS_DECODER_RX;
	server = bound(&home);
	client[0] = bound(&from[0]);
	client[1] = bound(&from[1]);
	target_add_port(&t, ntohs(home.sin_port), AFS_OBJECT_CLIENT);
	rig_open(g, &wish, t, fn);
	rig_step(g);
	rig_read(g, r);
}

static inline void done(struct rung_rig *g, struct run *r)
{
	rig_close(g, r);
	close(server);
	close(client[0]);
	close(client[1]);
}

struct header {
	uint32_t epoch, id, call, sequence;
	uint8_t type, flags, security;
	uint16_t service;
};

struct bytes {
	size_t n;
	uint8_t at[8192];
};

static inline void put(struct bytes *b, uint32_t word)
{
	const uint32_t be = htonl(word);

	memcpy(b->at + b->n, &be, sizeof(be));
	b->n += sizeof(be);
}

static inline void fill(struct bytes *b, size_t n)
{
	memset(b->at + b->n, 'd', n);
	b->n += n;
}

static inline void head(struct bytes *b, const struct header *h)
{
	put(b, h->epoch);
	put(b, h->id);
	put(b, h->call);
	put(b, h->sequence);
	put(b, 77);
	put(b, (uint32_t)h->type << 24 | (uint32_t)h->flags << 16 | h->security);
	put(b, h->service);
}

/* Data of a request of service 1: the operation, and more bytes. */
static inline struct bytes ask(uint32_t id, uint32_t call, uint32_t operation, size_t more)
{
	const struct header h = { EPOCH, id, call, 1, AFS_RX_DATA, CLIENT | LAST, 0, 1 };
	struct bytes b = { 0 };

	head(&b, &h);
	put(&b, operation);
	fill(&b, more);
	return b;
}

/* Any packet of a reply, with n bytes. */
static inline struct bytes tell(uint32_t id, uint32_t call, uint32_t sequence, uint8_t flags,
				size_t n)
{
	const struct header h = { EPOCH, id, call, sequence, AFS_RX_DATA, flags, 0, 1 };
	struct bytes b = { 0 };

	head(&b, &h);
	fill(&b, n);
	return b;
}

static inline void check_moved(ssize_t moved, size_t n)
{
	if (moved != (ssize_t)n)
		_exit(1);
}

static inline void post(int c, const struct bytes *b)
{
	check_moved(sendto(client[c], b->at, b->n, 0, (struct sockaddr *)&home, sizeof(home)),
		    b->n);
}

static inline void receive(void)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	uint8_t at[8192];

	if (recvfrom(server, at, sizeof(at), 0, (struct sockaddr *)&peer, &len) < 0)
		_exit(1);
}

/* From client c to the server, which reads it. */
static inline void in(int c, struct bytes b)
{
	post(c, &b);
	receive();
}

static inline void out(int c, struct bytes b)
{
	uint8_t at[8192];

	check_moved(sendto(server, b.at, b.n, 0, (struct sockaddr *)&from[c], sizeof(from[c])),
		    b.n);
	check_moved(recv(client[c], at, sizeof(at), 0), b.n);
}

/* A packet of the middle of a request. */
static inline struct bytes more_of(uint32_t id, uint32_t call, uint32_t sequence, uint8_t flags,
				   size_t n)
{
	return tell(id, call, sequence, flags | CLIENT, n);
}

/* A packet other than DATA, with a word. */
static inline struct bytes other(uint32_t id, uint32_t call, uint8_t type, uint8_t flags,
				 uint32_t word)
{
	const struct header h = { EPOCH, id, call, 0, type, flags, 0, 1 };
	struct bytes b = { 0 };

	head(&b, &h);
	put(&b, word);
	return b;
}

#endif
