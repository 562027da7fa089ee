/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rx_calls recv|send BYTES PORT: one call of rxperf to 127.0.0.1 and nothing else, for rx.py. It
 * has the bytes of packets from client/rx/packet.c, but no state machine, no timer beyond one, no
 * report.
 */
#include "rx/packet.h"
#include "rx/perf.h"

#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define BUFFER_LEN (64 * 1024)
#define AGAIN_MS   350
#define TRIES_MAX  40
#define WINDOW     32u
#define JUMBO      4u

struct rx_calls {
	int fd;
	struct rx_header h;
	uint8_t first[RX_PERF_LEN]; /* the call's numbers, before its data */
	size_t first_len;
	uint64_t n;                  /* bytes of the request, with these */
	uint32_t sent, acked, last;  /* packets of the request: from 1 on */
	uint32_t window;             /* that the server takes */
	uint32_t next;               /* packet of the reply that comes next */
	bool have[2 * WINDOW], ends; /* beyond it, by their number; the last one is there */
	uint32_t end;                /* its number */
	unsigned int unacked;
};

static void put_packet(struct rx_calls *c, uint32_t seq)
{
	const uint64_t at = (uint64_t)(seq - 1) * RX_DATA_LEN;
	size_t len = c->n - at < RX_DATA_LEN ? (size_t)(c->n - at) : RX_DATA_LEN;
	uint8_t raw[RX_HEADER_LEN + RX_DATA_LEN] = { 0 };
	struct wbuf b = wbuf_of(raw, sizeof(raw));

	c->h.type = RX_DATA;
	c->h.seq = seq;
	c->h.serial++;
	c->h.flags = RX_FROM_CLIENT | (seq == c->last ? RX_LAST : 0) |
		     (seq % 4 == 0 ? RX_REQUEST_ACK : 0);
	rx_header_put(&b, &c->h);
	if (seq == 1)
		memcpy(raw + RX_HEADER_LEN, c->first, c->first_len);
	send(c->fd, raw, RX_HEADER_LEN + len, 0);
}

static void put_ack(struct rx_calls *c, uint32_t serial, enum rx_ack_reason why)
{
	uint8_t raw[RX_HEADER_LEN + RX_ACK_LEN], have[2 * WINDOW];
	struct rx_ack a = { .first = c->next,
			    .previous = c->next - 1,
			    .serial = serial,
			    .reason = (uint8_t)why,
			    .have = have,
			    .packet_max = RX_PACKET_LEN,
			    .mtu = RX_PACKET_LEN,
			    .window = WINDOW,
			    .datagram_max = JUMBO };
	struct wbuf b = wbuf_of(raw, sizeof(raw));

	for (uint32_t i = 0; i < WINDOW; i++) {
		have[i] = c->have[(c->next + i) % (2 * WINDOW)];
		a.n = have[i] ? (uint8_t)(i + 1) : a.n;
	}
	c->h.type = RX_ACK;
	c->h.seq = 0;
	c->h.serial++;
	c->h.flags = RX_FROM_CLIENT;
	rx_header_put(&b, &c->h);
	rx_ack_put(&b, &a);
	send(c->fd, raw, (size_t)(b.at - raw), 0);
	c->unacked = 0;
}

static void send_more(struct rx_calls *c)
{
	while (c->sent < c->last && c->sent < c->acked + c->window)
		put_packet(c, ++c->sent);
}

static void take_data(struct rx_calls *c, const struct rx_header *h)
{
	const uint32_t ahead = h->seq - c->next;
	const bool old = ahead >= WINDOW;

	c->acked = c->sent = c->last; /* a reply answers all of the request */
	if (!old)
		c->have[h->seq % (2 * WINDOW)] = true;
	if (h->flags & RX_LAST) {
		c->ends = true;
		c->end = h->seq;
	}
	while (c->have[c->next % (2 * WINDOW)]) {
		c->have[c->next % (2 * WINDOW)] = false;
		c->next++;
	}
	if (++c->unacked >= 2 || old || ahead || h->flags & (RX_REQUEST_ACK | RX_LAST))
		put_ack(c, h->serial,
			old     ? RX_ACK_DUPLICATE
			: ahead ? RX_ACK_OUT_OF_ORDER
				: RX_ACK_REQUESTED);
}

/* A ping, by which a server asks whether its client is there, is answered. */
static void take_ack(struct rx_calls *c, const struct rx_header *h, struct rbuf b)
{
	struct rx_ack a;

	if (rx_ack_parse(&a, b))
		return;
	if (a.reason == RX_ACK_PING)
		put_ack(c, h->serial, RX_ACK_PING_RESPONSE);
	if (a.first <= c->acked + 1 || c->acked == c->last)
		return;
	c->acked = a.first - 1 < c->last ? a.first - 1 : c->last;
	c->sent = c->sent < c->acked ? c->acked : c->sent;
	c->window = a.window && a.window < WINDOW ? a.window : WINDOW;
	send_more(c);
}

static void take_datagram(struct rx_calls *c, const uint8_t *raw, size_t len)
{
	struct rx_parts p;
	struct rx_header h;
	struct rbuf data;

	if (rx_parts_begin(&p, raw, len))
		return;
	while (rx_parts_next(&p, &h, &data)) {
		if (h.type == RX_ABORT)
			errx(1, "the server ended the call");
		if (h.call != c->h.call)
			continue;
		if (h.type == RX_DATA)
			take_data(c, &h);
		else if (h.type == RX_ACK)
			take_ack(c, &h, data);
	}
}

static void do_call(struct rx_calls *c)
{
	static uint8_t raw[65536];
	struct pollfd w = { .fd = c->fd, .events = POLLIN };
	unsigned int tries = 0;
	ssize_t n;

	send_more(c);
	while (!c->ends || c->next <= c->end) {
		n = recv(c->fd, raw, sizeof(raw), MSG_DONTWAIT);
		if (n >= 0) {
			tries = 0;
			take_datagram(c, raw, (size_t)n);
		} else if (poll(&w, 1, AGAIN_MS) == 0) {
			if (++tries > TRIES_MAX)
				errx(1, "no answer");
			if (c->acked < c->last)
				put_packet(c, c->acked + 1);
			else
				put_ack(c, 0, RX_ACK_DELAY);
		}
	}
}

int main(int argc, char **argv)
{
	const int len = BUFFER_LEN;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct rx_calls c = { .window = 16, .next = 1 };
	struct rx_perf call = { .version = RX_PERF_VERSION,
				.read_len = RX_PERF_CHUNK,
				.write_len = RX_PERF_CHUNK };
	struct wbuf b = wbuf_of(c.first, sizeof(c.first));

	if (argc != 4)
		errx(2, "usage: rx_calls recv|send BYTES PORT");
	call.command = strcmp(argv[1], "send") ? RX_PERF_RECV : RX_PERF_SEND;
	call.n = (uint32_t)strtoul(argv[2], NULL, 10);
	to.sin_port = htons((uint16_t)atoi(argv[3]));
	rx_perf_put(&b, &call);
	c.first_len = (size_t)(b.at - c.first);
	c.n = c.first_len + (call.command == RX_PERF_SEND ? call.n : 0);
	c.last = (uint32_t)((c.n + RX_DATA_LEN - 1) / RX_DATA_LEN);
	if (getrandom(&c.h, 8, 0) != 8) /* epoch and connection */
		err(1, "getrandom");
	c.h.epoch |= 0x80000000u;
	c.h.cid &= ~RX_CHANNEL_MASK;
	c.h.call = 1;
	c.h.service = RX_PERF_SERVICE;
	c.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len));
	if (c.fd < 0 || connect(c.fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "UDP");
	do_call(&c);
	return 0;
}
