/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams of hostile peers into a socket with server and client on it, which has room for few
 * connections and calls; users that read, write, give up and release in between. The input is the
 * script. Nothing may be read that was not sent, and the socket must come to rest. The network is
 * in memory: the kernel's would take most of the time.
 */
#include "rx/endpoint.h"

#include "base/clock.h"
#include "unit/rx_inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define SERVICE 147
#define HELD    4u
#define MS      1000000ull
#define MOST    2000u /* bytes of a datagram */

struct stage {
	struct rx_endpoint *ep;
	struct rbuf script;
	uint64_t now_ns;
	struct rx_conn *conn;
	uint32_t epoch, cid; /* of conn, as its packets say */
	struct rx_call *held[HELD];
	unsigned int n_held;
	uint32_t serial;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

/* ---- the network, in place of the kernel's ---- */

struct network {
	struct sockaddr_in from;
	size_t len; /* of what is to be received; 0: nothing */
	uint8_t bytes[MOST];
	size_t sent_len;
	uint8_t sent[RX_HEADER_LEN]; /* how the newest datagram begins */
};

static struct network *network(void)
{
	static struct network n;

	return &n;
}

static struct sockaddr_in peer(int which)
{
	return (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_port = htons((uint16_t)(7001 + which)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* Reads all of it, so that the sanitizer sees what it is. */
static size_t take_datagram(const struct iovec *iov, size_t n)
{
	static uint8_t all[70000];
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		must(iov[i].iov_len <= sizeof(all) - len, "too long a datagram");
		memcpy(all + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	memcpy(network()->sent, all, RX_HEADER_LEN);
	network()->sent_len = len;
	return len;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned int n, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *m, unsigned int n, int flags)
{
	(void)fd, (void)flags;
	for (unsigned int i = 0; i < n; i++)
		m[i].msg_len = (unsigned int)take_datagram(m[i].msg_hdr.msg_iov,
							   m[i].msg_hdr.msg_iovlen);
	return (int)n;
}

ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len);
ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len)
{
	const struct iovec iov = { (void *)(uintptr_t)data, len };

	(void)fd, (void)flags, (void)to, (void)to_len;
	return (ssize_t)take_datagram(&iov, 1);
}

int __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned int n, int flags, struct timespec *t);
int __wrap_recvmmsg(int fd, struct mmsghdr *m, unsigned int n, int flags, struct timespec *t)
{
	struct network *net = network();

	(void)fd, (void)flags, (void)t;
	if (!net->len || !n) {
		errno = EAGAIN;
		return -1;
	}
	must(m->msg_hdr.msg_iovlen == 1 && m->msg_hdr.msg_iov->iov_len >= net->len, "no room");
	memcpy(m->msg_hdr.msg_iov->iov_base, net->bytes, net->len);
	memcpy(m->msg_hdr.msg_name, &net->from, sizeof(net->from));
	m->msg_len = (unsigned int)net->len;
	net->len = 0;
	return 1;
}

/* ---- the socket's user ---- */

static bool arrived(void *user, struct rx_call *c)
{
	struct stage *s = user;

	if (s->n_held == HELD)
		return false;
	s->held[s->n_held++] = c;
	return true;
}

static void changed(void *user, struct rx_call *c)
{
	(void)user;
	must(rx_call_state(c) != RX_CALL_IDLE, "news of a call that is none");
}

static size_t debug(void *user, struct rbuf asked, uint8_t out[static RX_DATA_LEN])
{
	(void)user;
	memset(out, 0, RX_DATA_LEN);
	return rbuf_left(&asked) < RX_DATA_LEN ? rbuf_left(&asked) : RX_DATA_LEN;
}

/* Time goes on, to whatever is due by then. Nobody reads what was sent. */
static void go_on(struct stage *s, uint64_t by_ns)
{
	struct io_wait wait;
	struct err e;

	s->now_ns += by_ns;
	for (unsigned int n = 0;; n++) {
		must(!rx_endpoint_advance(s->ep, s->now_ns, &e), "the socket is lost");
		rx_endpoint_wait(s->ep, &wait);
		if (wait.due_ns > s->now_ns)
			break;
		must(n < 1000, "it is due for ever");
	}
}

/* ---- what peers send ---- */

static uint32_t number_of(struct stage *s)
{
	static const uint32_t numbers[] = { 0,  1,  2,  3,   16,         31,
					    32, 33, 34, 255, 0x7fffffff, 0xffffffff };
	uint8_t which = rbuf_u8(&s->script);

	return which < 128 ? which % 4u : numbers[which % 12u];
}

static void put_ack(struct stage *s, struct wbuf *w)
{
	static const uint8_t have[RX_ACK_MAX] = { 1, 0, 1, 1 };
	struct rx_ack a = { .first = number_of(s), .have = have };

	a.serial = number_of(s);
	a.reason = rbuf_u8(&s->script) % 11;
	a.n = rbuf_u8(&s->script);
	a.packet_max = number_of(s) * 50;
	a.window = number_of(s);
	a.datagram_max = number_of(s);
	rx_ack_put(w, &a);
}

static void put_body(struct stage *s, struct wbuf *w, uint8_t type)
{
	size_t len = rbuf_u8(&s->script) * 6u;
	const uint8_t *own;

	if (type == RX_ACK) {
		put_ack(s, w);
		return;
	}
	if (type == RX_DATA) {
		wbuf_zero(w, len);
		return;
	}
	len = rbuf_left(&s->script) < len % 16 ? rbuf_left(&s->script) : len % 16;
	own = rbuf_bytes(&s->script, len);
	wbuf_bytes(w, own, len);
}

static void send_packet(struct stage *s)
{
	static const uint8_t types[] = { RX_DATA,   RX_DATA,      RX_DATA,  RX_ACK,
					 RX_ACK,    RX_ACK,       RX_BUSY,  RX_ABORT,
					 RX_ACKALL, RX_CHALLENGE, RX_DEBUG, RX_VERSION };
	struct network *net = network();
	uint8_t how = rbuf_u8(&s->script);
	struct wbuf w = wbuf_of(net->bytes, sizeof(net->bytes));
	struct rx_header h = { .epoch = how & 1 ? 0x80000001 : 5,
			       .cid = how & 6,
			       .service = how & 0x80 ? 1 : SERVICE };

	if (how & 8) { /* as the server of our own call */
		h.epoch = s->epoch;
		h.cid = s->cid;
	}
	h.call = number_of(s);
	h.seq = number_of(s);
	h.serial = ++s->serial;
	h.type = types[rbuf_u8(&s->script) % sizeof(types)];
	h.flags = rbuf_u8(&s->script);
	rx_header_put(&w, &h);
	put_body(s, &w, h.type);
	net->from = peer(how >> 4 & 1);
	net->len = (size_t)(w.at - net->bytes);
	go_on(s, MS);
}

/* ---- what users do ---- */

static void read_some(struct stage *s, struct rx_call *c)
{
	const uint8_t *at;
	size_t len, total = 0;

	while ((at = rx_call_peek(c, &len))) {
		for (size_t i = 0; i < len; i++)
			must(!at[i], "a byte that was not sent");
		total += len;
		must(len && total < 256 * MOST, "more than was sent");
		rx_call_skip(c, len, s->now_ns);
	}
}

static void use(struct stage *s, uint8_t what)
{
	static const uint8_t bytes[70000];
	struct rx_call *c;
	unsigned int i;

	if (!s->n_held)
		return;
	i = what % s->n_held;
	c = s->held[i];
	read_some(s, c);
	if (what & 0x40)
		rx_call_write(c, bytes, what * 300u);
	if (what & 0x20)
		rx_call_end(c);
	if ((what & 0x1c) == 0x1c)
		rx_call_abort(c, RX_USER_ABORT);
	if (what & 0x10) {
		rx_endpoint_release(s->ep, c);
		s->held[i] = s->held[--s->n_held];
	}
	go_on(s, MS);
}

static void begin_call(struct stage *s)
{
	struct rx_call *c;

	if (s->n_held == HELD)
		return;
	c = rx_endpoint_begin(s->ep, s->conn, s->now_ns);
	if (!c)
		return;
	s->held[s->n_held++] = c;
	rx_call_write(c, "request", 7);
	go_on(s, MS);
}

static void play(struct stage *s)
{
	while (rbuf_left(&s->script)) {
		uint8_t what = rbuf_u8(&s->script);

		if (what < 150)
			send_packet(s);
		else if (what < 210)
			use(s, rbuf_u8(&s->script));
		else if (what < 230)
			begin_call(s);
		else
			go_on(s, (uint64_t)(what - 229) * 300 * MS);
	}
	while (s->n_held)
		use(s, 0x10);
	for (unsigned int n = 0; rx_inside_active(s->ep); n++) {
		must(n < 1000, "a call does not end");
		go_on(s, 1000 * MS);
	}
}

/* ---- set-up ---- */

/* Epoch and id of our connection, which are random, from a packet of it. */
static void learn(struct stage *s)
{
	struct rx_header h;
	struct rx_call *c = rx_endpoint_begin(s->ep, s->conn, s->now_ns);
	struct rbuf b = rbuf_of(network()->sent, RX_HEADER_LEN);

	must(c, "no call");
	network()->sent_len = 0;
	rx_call_write(c, "x", 1);
	rx_call_end(c);
	rx_endpoint_flush(s->ep, s->now_ns);
	must(network()->sent_len > RX_HEADER_LEN, "no packet");
	rx_header_take(&b, &h);
	s->epoch = h.epoch;
	s->cid = h.cid;
	s->held[s->n_held++] = c;
}

static void begin(struct stage *s)
{
	struct rx_endpoint_opts o = {
		.address.s_addr = htonl(INADDR_LOOPBACK),
		.service = SERVICE,
		.n_conns = 3,
		.n_calls = 5,
		.events = { .user = s, .arrived = arrived, .changed = changed, .debug = debug }
	};
	const struct sockaddr_in at = peer(0);
	struct err e;

	s->now_ns = clock_now_ns();
	must(!rx_endpoint_open(&s->ep, &o, &e), "open");
	s->conn = rx_endpoint_connect(s->ep, &at, SERVICE);
	must(s->conn, "no connection");
	learn(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct stage s = { .script = rbuf_of(data, len) };

	if (len > 600)
		return 0;
	begin(&s);
	play(&s);
	rx_endpoint_close(s.ep);
	return 0;
}
