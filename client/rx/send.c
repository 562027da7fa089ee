/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The half of a call that sends: which packets, when, and when again. How many may be under way is
 * the least of the peer's window, ours, and the congestion window, which begins at one packet.
 */
#include "rx/call_priv.h"

#define WINDOW_BEGIN     1u
#define THRESHOLD_LEAST  2u
#define NEGATIVES        3u /* answers with gaps that mean a loss */
#define CAREFUL_WINDOW   2u /* up to this, each packet asks for an answer */
#define RTO_MORE_NS      200000000u
#define RTO_LAST_MORE_NS 400000000u /* the last packet of a request: its answer is the reply */
#define RTO_MOST_NS      60000000000u
#define BACKOFF_MAX      20u

static struct rx_outgoing *send_packet(const struct rx_sending *s, uint32_t number)
{
	return &s->packet[number % s->room];
}

void rx_send_begin(struct rx_sending *s)
{
	struct rx_outgoing *packet = s->packet;
	unsigned int room = s->room;

	*s = (struct rx_sending) { .first = 1,
				   .next = 1,
				   .open = 1,
				   .room = room,
				   .window = WINDOW_BEGIN,
				   .threshold = room - 1,
				   .due_ns = RX_NEVER,
				   .packet = packet };
	packet[1 % room] = (struct rx_outgoing) { 0 };
}

/* ---- data to be sent ---- */

static bool is_full(const struct rx_outgoing *p, size_t data_len)
{
	return p->len >= data_len || p->n == RX_PIECES;
}

static bool has_next(const struct rx_sending *s)
{
	return s->open + 1 - s->first < s->room;
}

bool rx_send_is_done(const struct rx_sending *s)
{
	return s->ended && s->first > s->open;
}

/* What fills a packet stays open until more comes: it may turn out to be the last one. */
size_t rx_send_write(struct rx_sending *s, const struct rx_conn *conn, const void *data, size_t len)
{
	const size_t data_len = conn->peer.data_len;
	const uint8_t *at = data;
	size_t taken = 0, n;
	struct rx_outgoing *p;

	while (taken < len && !s->ended) {
		p = send_packet(s, s->open);
		if (is_full(p, data_len)) {
			if (!has_next(s))
				break;
			p = send_packet(s, ++s->open);
			*p = (struct rx_outgoing) { 0 };
		}
		n = data_len - p->len < len - taken ? data_len - p->len : len - taken;
		p->piece[p->n++] = (struct iovec) { (void *)(uintptr_t)(at + taken), n };
		p->len = (uint16_t)(p->len + n);
		taken += n;
	}
	return taken;
}

/* ---- the timer ---- */

/* Whether the last packet of all is under way. */
static bool sent_last(const struct rx_sending *s)
{
	return s->ended && s->next > s->open;
}

static uint64_t timer_ns(const struct rx_sending *s, const struct rx_conn *conn)
{
	const struct rx_rtt *rtt = &conn->rtt;
	uint64_t ns = conn->hub->first_rtt_ns;

	if (rtt->n)
		ns = rtt->smooth_ns + 4 * rtt->deviation_ns;
	if (ns < conn->hub->least_rtt_ns)
		ns = conn->hub->least_rtt_ns;
	ns += RTO_MORE_NS;
	if (conn->client && sent_last(s))
		ns += RTO_LAST_MORE_NS;
	for (unsigned int i = 0; i < s->backoff && ns < RTO_MOST_NS; i++)
		ns *= 2;
	return ns < RTO_MOST_NS ? ns : RTO_MOST_NS;
}

static void set_timer(struct rx_sending *s, const struct rx_conn *conn, uint64_t now_ns)
{
	s->due_ns = s->in_flight || s->n_resend ? now_ns + timer_ns(s, conn) : RX_NEVER;
}

/* ---- losses ---- */

static void mark_lost(struct rx_sending *s, struct rx_outgoing *p)
{
	p->resend = true;
	s->n_resend++;
	s->in_flight--;
}

static unsigned int half(unsigned int window)
{
	return window / 2 > THRESHOLD_LEAST ? window / 2 : THRESHOLD_LEAST;
}

void rx_send_timeout(struct rx_sending *s, struct rx_conn *conn, uint64_t now_ns)
{
	struct rx_outgoing *p;

	for (uint32_t i = s->first; i < s->next; i++) {
		p = send_packet(s, i);
		p->resent = false;
		if (!p->there && !p->resend)
			mark_lost(s, p);
	}
	s->threshold = half(s->window);
	s->window = WINDOW_BEGIN;
	s->n_negative = 0;
	s->recovering = false;
	if (s->backoff < BACKOFF_MAX)
		s->backoff++;
	conn->hub->counts.timeouts += s->n_resend != 0;
	set_timer(s, conn, now_ns);
}

/* Packets before one that is there are taken for lost, each once in a recovery. */
static void mark_gaps(struct rx_sending *s, uint32_t highest)
{
	struct rx_outgoing *p;

	for (uint32_t i = s->first; i < highest; i++) {
		p = send_packet(s, i);
		if (!p->there && !p->resend && !p->resent)
			mark_lost(s, p);
	}
}

static bool send_has_gap(const struct rx_sending *s, uint32_t highest)
{
	for (uint32_t i = s->first; i < highest; i++)
		if (!send_packet(s, i)->there)
			return true;
	return false;
}

/* highest: the highest packet that is there; 0: none beyond the first. */
static void look_for_loss(struct rx_sending *s, struct rx_conn *conn, uint32_t highest)
{
	if (s->recovering && s->first >= s->recover_to)
		s->recovering = false;
	if (!send_has_gap(s, highest)) {
		s->n_negative = 0;
		return;
	}
	if (!s->recovering && ++s->n_negative >= NEGATIVES) {
		s->recovering = true;
		s->recover_to = s->next;
		s->n_negative = 0;
		s->window = s->threshold = half(s->window);
		for (uint32_t i = s->first; i < s->next; i++)
			send_packet(s, i)->resent = false;
		conn->hub->counts.recoveries++;
	}
	if (s->recovering)
		mark_gaps(s, highest);
}

/* ---- answers ---- */

/* The peer has p. */
static unsigned int send_take_off(struct rx_sending *s, struct rx_outgoing *p)
{
	if (p->there)
		return 0;
	if (p->resend)
		s->n_resend--;
	else
		s->in_flight--;
	p->there = true;
	p->resend = false;
	return 1;
}

static void send_forget(struct rx_sending *s, struct rx_outgoing *p)
{
	if (!p->there)
		return;
	p->there = false;
	p->resend = true;
	s->n_resend++;
}

static void send_measure(const struct rx_sending *s, struct rx_conn *conn, const struct rx_ack *a,
			 uint64_t now_ns)
{
	if (!a->serial || a->reason == RX_ACK_DELAY)
		return;
	for (uint32_t i = s->first; i < s->next; i++) {
		if (send_packet(s, i)->serial != a->serial)
			continue;
		if (!send_packet(s, i)->there)
			rx_rtt_add(conn, now_ns - send_packet(s, i)->sent_ns);
		return;
	}
}

static void grow(struct rx_sending *s, unsigned int n)
{
	const unsigned int most = s->room - 1;

	if (s->recovering)
		return;
	for (; n && s->window < s->threshold; n--)
		s->window++;
	s->grown += n;
	while (s->grown >= s->window) {
		s->grown -= s->window;
		s->window++;
	}
	if (s->window > most)
		s->window = most;
}

/* What the list says of each packet. Returns how many are newly there. */
static unsigned int send_take_list(struct rx_sending *s, const struct rx_ack *a, uint32_t *highest)
{
	struct rx_outgoing *p;
	unsigned int n = 0;

	for (uint32_t i = 0; i < a->n && a->first + i < s->next; i++) {
		p = send_packet(s, a->first + i);
		if (a->have[i]) {
			*highest = a->first + i;
			n += send_take_off(s, p);
		} else {
			send_forget(s, p);
		}
	}
	return n;
}

void rx_send_answer(struct rx_sending *s, struct rx_conn *conn, const struct rx_ack *a,
		    uint32_t serial, uint64_t now_ns)
{
	bool old = s->answer && (int32_t)(serial - s->answer) < 0;
	uint32_t highest = 0;
	unsigned int n = 0;

	if (a->first < s->first || a->first > s->next)
		return;
	send_measure(s, conn, a, now_ns);
	for (; s->first < a->first; s->first++)
		n += send_take_off(s, send_packet(s, s->first));
	if (!old) {
		s->answer = serial;
		n += send_take_list(s, a, &highest);
		look_for_loss(s, conn, highest);
	}
	grow(s, n);
	if (n)
		s->backoff = 0;
	if (n || s->due_ns == RX_NEVER || (!s->in_flight && !s->n_resend))
		set_timer(s, conn, now_ns);
}

void rx_send_confirm(struct rx_sending *s)
{
	for (; s->first < s->next; s->first++)
		send_take_off(s, send_packet(s, s->first));
	s->due_ns = RX_NEVER;
}

void rx_send_stop(struct rx_sending *s)
{
	s->ended = true;
	s->open = s->next - 1;
}

/* ---- output ---- */

struct rx_header rx_send_header(struct rx_call *c, uint8_t type, uint8_t flags)
{
	struct rx_conn *conn = c->conn;

	if (conn->client)
		flags |= RX_FROM_CLIENT;
	return (struct rx_header) { .epoch = conn->epoch,
				    .cid = conn->cid | c->channel,
				    .call = c->number,
				    .serial = ++conn->serial,
				    .type = type,
				    .flags = flags,
				    .service = conn->service };
}

/* After the last packet that may be sent now. */
static uint32_t ready_end(const struct rx_sending *s, const struct rx_conn *conn)
{
	const unsigned int own = s->room - 1;
	unsigned int window = conn->peer.window < own ? conn->peer.window : own;
	uint32_t end = s->ended ? s->open + 1 : s->open;

	return end - s->first < window ? end : s->first + window;
}

static uint8_t flags_of(const struct rx_sending *s, uint32_t number, bool again)
{
	uint8_t flags = 0;

	if (again || s->window <= CAREFUL_WINDOW)
		flags |= RX_REQUEST_ACK;
	if (s->ended && number == s->open)
		flags |= RX_LAST;
	else if (number + 1 < s->open)
		flags |= RX_MORE;
	return flags;
}

/* The pieces of a packet behind what is in out, and the packet under way. */
static void put_packet(struct rx_call *c, uint32_t number, struct rx_datagram *out, uint64_t now_ns)
{
	struct rx_sending *s = &c->out;
	struct rx_outgoing *p = send_packet(s, number);
	struct rx_counts *counts = &c->conn->hub->counts;

	for (uint8_t i = 0; i < p->n; i++)
		out->iov[out->n++] = p->piece[i];
	out->len += p->len;
	out->lends = c;
	p->sent_ns = now_ns;
	p->serial = c->conn->serial;
	s->in_flight++;
	counts->data_sent++;
	counts->bytes_sent += p->len;
	if (s->due_ns == RX_NEVER)
		set_timer(s, c->conn, now_ns);
}

static void put_header(struct rx_datagram *out, const struct rx_header *h)
{
	struct wbuf w = wbuf_of(out->head, sizeof(out->head));

	rx_header_put(&w, h);
	out->iov[0] = (struct iovec) { out->head, RX_HEADER_LEN };
	out->n = 1;
	out->len = RX_HEADER_LEN;
}

static void send_again(struct rx_call *c, struct rx_datagram *out, uint64_t now_ns)
{
	struct rx_sending *s = &c->out;
	struct rx_header h;
	uint32_t i = s->first;

	while (!send_packet(s, i)->resend)
		i++;
	send_packet(s, i)->resend = false;
	send_packet(s, i)->resent = true;
	s->n_resend--;
	h = rx_send_header(c, RX_DATA, flags_of(s, i, true));
	h.seq = i;
	put_header(out, &h);
	put_packet(c, i, out, now_ns);
	c->conn->hub->counts.resent++;
}

/* How many packets from s->next may share a datagram: all but the last are full. */
static unsigned int jumbo_n(const struct rx_call *c, uint32_t end)
{
	const struct rx_sending *s = &c->out;
	const struct rx_limits *own = &c->conn->hub->own, *peer = &c->conn->peer;
	unsigned int most = own->datagram < peer->datagram ? own->datagram : peer->datagram, n = 1;

	if (most > RX_JUMBO_MAX)
		most = RX_JUMBO_MAX;
	while (n < most && s->next + n < end && s->in_flight + n < s->window &&
	       send_packet(s, s->next + n - 1)->len == RX_DATA_LEN &&
	       send_packet(s, s->next + n)->len <= RX_DATA_LEN)
		n++;
	return n;
}

static void send_new(struct rx_call *c, struct rx_datagram *out, uint32_t end, uint64_t now_ns)
{
	struct rx_sending *s = &c->out;
	unsigned int n = jumbo_n(c, end);
	struct wbuf w = wbuf_of(out->head + RX_HEADER_LEN, sizeof(out->head) - RX_HEADER_LEN);
	struct rx_header h;
	uint8_t *at;

	for (unsigned int i = 0; i < n; i++) {
		h = rx_send_header(c, RX_DATA, flags_of(s, s->next, false));
		h.seq = s->next++;
		if (i + 1 < n)
			h.flags = (uint8_t)((h.flags & ~RX_REQUEST_ACK) | RX_JUMBO);
		at = w.at;
		if (i) {
			rx_jumbo_put(&w, &h);
			out->iov[out->n++] = (struct iovec) { at, RX_JUMBO_LEN };
			out->len += RX_JUMBO_LEN;
		} else {
			put_header(out, &h);
		}
		put_packet(c, h.seq, out, now_ns);
	}
}

bool rx_send_output(struct rx_call *c, struct rx_datagram *out, uint64_t now_ns)
{
	struct rx_sending *s = &c->out;
	uint32_t end = ready_end(s, c->conn);

	if (s->in_flight >= s->window)
		return false;
	if (s->n_resend)
		send_again(c, out, now_ns);
	else if (s->next < end)
		send_new(c, out, end, now_ns);
	else
		return false;
	return true;
}
