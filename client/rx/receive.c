/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The half of a call that receives: keeps packets until they are read in their order, and says what
 * has come: at once what is unusual or asked for, else every second packet, else after a while.
 */
#include "rx/call_priv.h"

#include <string.h>

#define EACH             2u /* packets that are answered together */
#define READ_EACH        3u
#define DELAY_NS         100000000u
#define DELAY_OF_LAST_NS 400000000u /* of a reply: the client's own end comes sooner */

static struct rx_incoming *rx_receive_packet(const struct rx_receiving *r, uint32_t number)
{
	return &r->packet[number % r->window];
}

void rx_receive_begin(struct rx_receiving *r)
{
	*r = (struct rx_receiving) { .read = 1,
				     .next = 1,
				     .end = 1,
				     .due_ns = RX_NEVER,
				     .window = r->window,
				     .data_len = r->data_len,
				     .packet = r->packet,
				     .data = r->data };
	memset(r->packet, 0, r->window * sizeof(*r->packet));
}

/* ---- answers ---- */

/* An ACK is to be sent now. The first of several reasons is given, unless a later one asks. */
static void rx_receive_answer(struct rx_receiving *r, uint8_t reason, uint32_t serial)
{
	if (r->reason && reason != RX_ACK_REQUESTED)
		return;
	r->reason = reason;
	r->serial = serial;
}

static void answer_later(struct rx_receiving *r, uint64_t due_ns)
{
	if (due_ns < r->due_ns)
		r->due_ns = due_ns;
}

void rx_receive_said(struct rx_receiving *r)
{
	r->reason = 0;
	r->serial = 0;
	r->n_new = r->n_read = 0;
	r->due_ns = RX_NEVER;
}

struct rx_ack rx_receive_ack(struct rx_receiving *r, uint8_t reason, uint8_t *have)
{
	uint32_t n = r->end - r->read;

	for (uint32_t i = 0; i < n; i++)
		have[i] = rx_receive_packet(r, r->read + i)->there;
	return (struct rx_ack) { .first = r->read,
				 .previous = r->previous,
				 .reason = reason,
				 .n = (uint8_t)n,
				 .have = have };
}

/* ---- reading ---- */

/* Goes on to the next packet with something in it. */
static void pass_empty(struct rx_receiving *r)
{
	struct rx_incoming *p;

	for (; r->read < r->next; r->read++) {
		p = rx_receive_packet(r, r->read);
		if (r->offset < p->len)
			return;
		p->there = false;
		r->offset = 0;
		r->n_read++;
	}
}

const void *rx_receive_peek(const struct rx_receiving *r, size_t *len)
{
	if (r->read == r->next)
		return NULL;
	*len = rx_receive_packet(r, r->read)->len - r->offset;
	return r->data + r->read % r->window * r->data_len + r->offset;
}

void rx_receive_skip(struct rx_receiving *r, size_t len, uint64_t now_ns)
{
	r->offset += len;
	pass_empty(r);
	if (r->n_read >= READ_EACH)
		rx_receive_answer(r, RX_ACK_IDLE, 0);
	else if (r->n_read)
		answer_later(r, now_ns + DELAY_NS);
}

bool rx_receive_is_read(const struct rx_receiving *r)
{
	return r->last && r->read > r->last;
}

/* ---- packets ---- */

/* Whether a packet cannot be of this stream, as far as that is known. */
static bool is_strange(const struct rx_receiving *r, const struct rx_header *h, size_t len)
{
	bool last = h->flags & RX_LAST;

	if (!h->seq || len > r->data_len || (r->last && h->seq > r->last))
		return true;
	return last && ((r->last && h->seq != r->last) || h->seq + 1 < r->end);
}

static bool rx_receive_is_there(const struct rx_receiving *r, uint32_t number)
{
	return number < r->next || (number < r->end && rx_receive_packet(r, number)->there);
}

static void rx_receive_keep(struct rx_receiving *r, const struct rx_header *h,
			    const struct rbuf *payload)
{
	size_t len = rbuf_left(payload);
	struct rx_incoming *p;

	p = rx_receive_packet(r, h->seq);
	p->there = true;
	p->len = (uint16_t)len;
	if (len)
		memcpy(r->data + h->seq % r->window * r->data_len, payload->at, len);
	r->previous = h->seq;
	if (h->flags & RX_LAST)
		r->last = h->seq;
	if (h->seq >= r->end)
		r->end = h->seq + 1;
	while (r->next < r->end && rx_receive_packet(r, r->next)->there)
		r->next++;
}

/* How a packet that has come in its order is answered. */
static void answer_usual(struct rx_receiving *r, const struct rx_header *h, bool client,
			 uint64_t now_ns)
{
	r->n_new++;
	if (h->flags & RX_REQUEST_ACK)
		rx_receive_answer(r, RX_ACK_REQUESTED, h->serial);
	else if (r->n_new >= EACH)
		rx_receive_answer(r, RX_ACK_IDLE, h->serial);
	else if (client && h->flags & RX_LAST)
		answer_later(r, now_ns + DELAY_OF_LAST_NS);
	else
		answer_later(r, now_ns + DELAY_NS);
}

void rx_receive_data(struct rx_call *c, const struct rx_header *h, struct rbuf payload,
		     uint64_t now_ns)
{
	struct rx_counts *counts = &c->conn->hub->counts;
	struct rx_receiving *r = &c->in;
	bool in_order = h->seq == r->next;

	if (is_strange(r, h, rbuf_left(&payload))) {
		counts->strange++;
		return;
	}
	counts->data_received++;
	if (rx_receive_is_there(r, h->seq)) {
		counts->duplicates++;
		rx_receive_answer(r, RX_ACK_DUPLICATE, h->serial);
		return;
	}
	if (h->seq - r->read >= r->window) {
		counts->beyond_window++;
		rx_receive_answer(r, RX_ACK_EXCEEDS_WINDOW, h->serial);
		return;
	}
	counts->bytes_received += rbuf_left(&payload);
	rx_receive_keep(r, h, &payload);
	if (in_order) {
		answer_usual(r, h, c->conn->client, now_ns);
		pass_empty(r);
		return;
	}
	counts->out_of_order++;
	rx_receive_answer(r, RX_ACK_OUT_OF_ORDER, h->serial);
}
