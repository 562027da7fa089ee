/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call of Rx: begins, takes packets, becomes due, ends. send.c and receive.c are its two
 * directions.
 */
#include "rx/call_priv.h"

#include <string.h>

#define PING_NS (RX_DEAD_NS / 6) /* of silence */

/* What every peer takes, before it has said more. */
static const struct rx_limits modest = { RX_DATA_LEN, RX_WINDOW_FIRST, 1 };

/* ---- memory ---- */

static size_t call_whole(size_t n)
{
	return (n + 63) / 64 * 64;
}

static size_t outgoing_size(const struct rx_hub *hub)
{
	return call_whole((hub->own.window + 1) * sizeof(struct rx_outgoing));
}

static size_t incoming_size(const struct rx_hub *hub)
{
	return call_whole(hub->own.window * sizeof(struct rx_incoming));
}

/* A peer's packets may be a little longer than ours. */
static size_t room_for_data(const struct rx_hub *hub)
{
	size_t usual = RX_PACKET_LEN - RX_HEADER_LEN;

	return hub->own.data_len > usual ? hub->own.data_len : usual;
}

size_t rx_call_size(const struct rx_hub *hub)
{
	return call_whole(sizeof(struct rx_call)) + outgoing_size(hub) + incoming_size(hub) +
	       call_whole(hub->own.window * room_for_data(hub));
}

struct rx_call *rx_call_init(void *memory, const struct rx_hub *hub)
{
	struct rx_call *c = memory;
	uint8_t *at = (uint8_t *)memory + call_whole(sizeof(*c));

	memset(c, 0, sizeof(*c));
	c->out.packet = (struct rx_outgoing *)at;
	c->out.room = hub->own.window + 1;
	at += outgoing_size(hub);
	c->in.packet = (struct rx_incoming *)at;
	c->in.window = hub->own.window;
	c->in.data = at + incoming_size(hub);
	c->in.data_len = room_for_data(hub);
	return c;
}

void rx_conn_init(struct rx_conn *conn, struct rx_hub *hub, uint32_t epoch, uint32_t cid)
{
	*conn = (struct rx_conn) {
		.hub = hub, .epoch = epoch, .cid = cid & ~RX_CHANNEL_MASK, .peer = modest
	};
	if (hub->own.data_len < conn->peer.data_len)
		conn->peer.data_len = hub->own.data_len;
}

static uint64_t call_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The next ping: after so much silence, and not sooner after the last one. */
static uint64_t ping_due_ns(const struct rx_call *c)
{
	return (c->ping_ns > c->heard_ns ? c->ping_ns : c->heard_ns) + PING_NS;
}

uint64_t rx_call_due_ns(const struct rx_call *c)
{
	uint64_t due_ns;

	if (c->state != RX_CALL_ACTIVE)
		return RX_NEVER;
	due_ns = call_least(c->heard_ns + c->conn->hub->dead_ns, ping_due_ns(c));
	return call_least(due_ns, call_least(c->out.due_ns, c->in.due_ns));
}

/* It may have something to send, and be due sooner. */
static void touch(struct rx_call *c)
{
	rx_hub_enlist(c->conn->hub, c, rx_call_due_ns(c));
}

void rx_call_begin(struct rx_call *c, struct rx_conn *conn, unsigned int channel, uint32_t number,
		   uint64_t now_ns)
{
	c->state = RX_CALL_ACTIVE;
	c->conn = conn;
	c->channel = channel;
	c->number = number;
	c->error = 0;
	c->why = NULL;
	c->aborts = c->abort_now = c->ping_now = false;
	c->ping_serial = 0;
	c->ping_ns = c->heard_ns = now_ns;
	rx_send_begin(&c->out);
	rx_receive_begin(&c->in);
	touch(c);
}

/* ---- what is known of it ---- */

enum rx_call_state rx_call_state(const struct rx_call *c)
{
	return c->state;
}

struct rx_conn *rx_call_conn(const struct rx_call *c)
{
	return c->conn;
}

int32_t rx_call_error(const struct rx_call *c)
{
	return c->error;
}

const char *rx_call_why(const struct rx_call *c)
{
	return c->why;
}

/* ---- its end ---- */

void rx_call_fail(struct rx_call *c, int32_t code, const char *why)
{
	if (c->state != RX_CALL_ACTIVE)
		return;
	c->state = RX_CALL_OVER;
	c->error = code;
	c->why = why;
}

void rx_call_abort(struct rx_call *c, int32_t code)
{
	if (c->state != RX_CALL_ACTIVE)
		return;
	rx_call_fail(c, code, NULL);
	c->aborts = c->abort_now = true;
	touch(c);
}

/* All was read and confirmed. */
static void look_for_end(struct rx_call *c)
{
	if (c->state != RX_CALL_ACTIVE)
		return;
	if (c->conn->client && rx_receive_is_read(&c->in)) {
		c->state = RX_CALL_OVER;
		if (!c->in.reason)
			c->in.reason = RX_ACK_DELAY;
	} else if (!c->conn->client && rx_send_is_done(&c->out)) {
		c->state = RX_CALL_OVER;
	}
}

/* ---- its streams ---- */

size_t rx_call_write(struct rx_call *c, const void *data, size_t len)
{
	size_t n;

	if (c->state != RX_CALL_ACTIVE)
		return 0;
	n = rx_send_write(&c->out, c->conn, data, len);
	if (n)
		touch(c);
	return n;
}

void rx_call_end(struct rx_call *c)
{
	c->out.ended = true;
	touch(c);
}

const void *rx_call_peek(const struct rx_call *c, size_t *len)
{
	return c->state == RX_CALL_ACTIVE ? rx_receive_peek(&c->in, len) : NULL;
}

void rx_call_skip(struct rx_call *c, size_t len, uint64_t now_ns)
{
	rx_receive_skip(&c->in, len, now_ns);
	look_for_end(c);
	touch(c);
}

/* ---- packets ---- */

/* What an ACK says about the peer itself, within what we can do. */
static void take_limits(struct rx_conn *conn, const struct rx_ack *a)
{
	const struct rx_limits *own = &conn->hub->own;
	struct rx_limits *peer = &conn->peer;
	size_t data_len = RX_PACKET_LEN - RX_HEADER_LEN;

	if (!a->window)
		return;
	peer->window = a->window < RX_WINDOW_MAX ? a->window : RX_WINDOW_MAX;
	peer->datagram = a->datagram_max ? a->datagram_max : 1;
	if (a->packet_max >= RX_HEADER_LEN + 64)
		data_len = a->packet_max - RX_HEADER_LEN;
	peer->data_len = data_len < own->data_len ? data_len : own->data_len;
}

static void take_ack(struct rx_call *c, const struct rx_header *h, struct rbuf payload,
		     uint64_t now_ns)
{
	struct rx_ack a;

	if (rx_ack_parse(&a, payload)) {
		c->conn->hub->counts.strange++;
		return;
	}
	c->conn->hub->counts.acks_received++;
	take_limits(c->conn, &a);
	if (a.reason == RX_ACK_PING_RESPONSE && c->ping_serial && a.serial == c->ping_serial) {
		rx_rtt_add(c->conn, now_ns - c->ping_ns);
		c->ping_serial = 0;
	}
	if (c->state == RX_CALL_ACTIVE)
		rx_send_answer(&c->out, c->conn, &a, h->serial, now_ns);
	if (h->flags & RX_REQUEST_ACK) {
		c->in.reason = RX_ACK_PING_RESPONSE;
		c->in.serial = h->serial;
	}
}

static void call_take_data(struct rx_call *c, const struct rx_header *h, struct rbuf payload,
			   uint64_t now_ns)
{
	if (c->state == RX_CALL_ACTIVE && c->conn->client) {
		/* who replies has what it needs of the request */
		rx_send_confirm(&c->out);
		rx_send_stop(&c->out);
	}
	rx_receive_data(c, h, payload, now_ns);
}

static void take_abort(struct rx_call *c, struct rbuf payload)
{
	int32_t code;

	if (rx_abort_parse(&code, payload)) {
		c->conn->hub->counts.strange++;
		return;
	}
	c->conn->hub->counts.aborts_received++;
	rx_call_fail(c, code ? code : RX_USER_ABORT, NULL);
}

void rx_call_packet(struct rx_call *c, const struct rx_header *h, struct rbuf payload,
		    uint64_t now_ns)
{
	c->heard_ns = now_ns;
	if (c->aborts && h->type != RX_ABORT) {
		c->abort_now = true;
		touch(c);
		return;
	}
	switch (h->type) {
	case RX_DATA:
		call_take_data(c, h, payload, now_ns);
		break;
	case RX_ACK:
		take_ack(c, h, payload, now_ns);
		break;
	case RX_ACKALL:
		rx_send_confirm(&c->out);
		break;
	case RX_ABORT:
		take_abort(c, payload);
		break;
	case RX_BUSY:
		c->conn->hub->counts.busy_received++;
		break;
	case RX_CHALLENGE:
		rx_call_fail(c, RX_PROTOCOL_ERROR,
			     "the server asks who the client is; only calls without security are "
			     "supported");
		break;
	default:
		c->conn->hub->counts.strange++;
	}
	look_for_end(c);
	touch(c);
}

/* ---- time ---- */

void rx_call_time(struct rx_call *c, uint64_t now_ns)
{
	struct rx_hub *hub = c->conn->hub;

	if (c->state != RX_CALL_ACTIVE)
		return;
	if (now_ns >= c->heard_ns + hub->dead_ns) {
		rx_call_fail(c, RX_CALL_DEAD, NULL);
		c->aborts = true;
		hub->counts.dead++;
		return;
	}
	if (now_ns >= c->in.due_ns) {
		c->in.due_ns = RX_NEVER;
		if (!c->in.reason)
			c->in.reason = RX_ACK_DELAY;
	}
	if (now_ns >= c->out.due_ns)
		rx_send_timeout(&c->out, c->conn, now_ns);
	if (now_ns >= ping_due_ns(c)) {
		c->ping_now = true;
		c->ping_ns = now_ns;
	}
	touch(c);
}

/* ---- output ---- */

/* A datagram of one packet without data. */
static struct wbuf begin_plain(struct rx_datagram *out, const struct rx_header *h)
{
	struct wbuf w = wbuf_of(out->head, sizeof(out->head));

	rx_header_put(&w, h);
	return w;
}

static void end_plain(struct rx_datagram *out, const struct wbuf *w)
{
	out->len = (size_t)(w->at - out->head);
	out->iov[0] = (struct iovec) { out->head, out->len };
	out->n = 1;
}

static void put_abort(struct rx_call *c, struct rx_datagram *out)
{
	const struct rx_header h = rx_send_header(c, RX_ABORT, 0);
	struct wbuf w = begin_plain(out, &h);

	rx_abort_put(&w, c->error);
	end_plain(out, &w);
	c->abort_now = false;
}

static void put_ack(struct rx_call *c, struct rx_datagram *out, uint8_t reason, uint32_t serial)
{
	const struct rx_limits *own = &c->conn->hub->own;
	uint8_t have[RX_ACK_MAX];
	struct rx_ack a = rx_receive_ack(&c->in, reason, have);
	uint8_t flags = RX_SLOW_START | (reason == RX_ACK_PING ? RX_REQUEST_ACK : 0);
	const struct rx_header h = rx_send_header(c, RX_ACK, flags);
	struct wbuf w = begin_plain(out, &h);

	a.serial = serial;
	a.packet_max = (uint32_t)(c->in.data_len + RX_HEADER_LEN);
	a.mtu = a.packet_max;
	a.window = own->window;
	a.datagram_max = own->datagram;
	rx_ack_put(&w, &a);
	end_plain(out, &w);
	rx_receive_said(&c->in);
	c->conn->hub->counts.acks_sent++;
}

static void put_ping(struct rx_call *c, struct rx_datagram *out, uint64_t now_ns)
{
	put_ack(c, out, RX_ACK_PING, 0);
	c->ping_now = false;
	c->ping_serial = c->conn->serial;
	c->ping_ns = now_ns;
	c->conn->hub->counts.pings_sent++;
}

bool rx_call_output(struct rx_call *c, struct rx_datagram *out, uint64_t now_ns)
{
	bool some = true;

	if (c->state == RX_CALL_IDLE)
		return false;
	out->lends = NULL;
	out->conn = c->conn;
	if (c->abort_now)
		put_abort(c, out);
	else if (c->in.reason)
		put_ack(c, out, c->in.reason, c->in.serial);
	else if (c->state == RX_CALL_ACTIVE && rx_send_output(c, out, now_ns))
		/* a reply says that the request is there */
		rx_receive_said(&c->in);
	else if (c->state == RX_CALL_ACTIVE && c->ping_now)
		put_ping(c, out, now_ns);
	else
		some = false;
	c->conn->hub->counts.datagrams_sent += some;
	return some;
}
