/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_RX_WIRE_H
#define UNIT_RX_WIRE_H

/*
 * Two ends of one call of Rx, and a wire between them that loses, repeats and delays datagrams by a
 * seed. Time is simulated: it goes on to whatever comes next.
 */

#include "rx/call.h"
#include "unit/rx_inside.h"
#include "work/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WIRE_MAX      4096
#define WIRE_DATAGRAM (RX_JUMBO_MAX * (RX_PACKET_LEN + RX_JUMBO_LEN))
#define WIRE_MS       1000000ull
#define WIRE_S        (1000 * WIRE_MS)

struct wire_opts {
	double loss, repeat; /* shares of the datagrams */
	uint64_t delay_ns, jitter_ns;
	long seed;
	struct rx_limits limits[2];
	unsigned int read_ns; /* how long a reader waits before it reads */
};

struct wire_datagram {
	uint64_t due_ns;
	size_t len;
	uint8_t *bytes;
};

/* One end: what it sends, and how much of what it expects it has read. */
struct wire_end {
	struct rx_hub hub;
	struct rx_conn conn;
	struct rx_call *call;
	const uint8_t *data;
	size_t len, written, expected, got;
	uint64_t seed; /* of the pattern that it expects */
	uint64_t read_ns;
	bool replies;    /* sends only after it has read everything */
	bool deaf, dumb; /* nothing reaches it, nothing leaves it */
	size_t n;
	struct wire_datagram in[WIRE_MAX];
};

struct wire {
	struct wire_opts o;
	unsigned short random[3];
	uint64_t now_ns, lost, repeated;
	struct wire_end end[2]; /* client, server */
};

static inline double wire_random(struct wire *w)
{
	return erand48(w->random);
}

static inline struct wire *wire_new(const struct wire_opts *o)
{
	struct wire *w = calloc(1, sizeof(*w));

	w->o = *o;
	w->now_ns = 1000 * WIRE_S;
	w->random[0] = (unsigned short)o->seed;
	for (int i = 0; i < 2; i++) {
		struct wire_end *e = &w->end[i];
		const struct rx_limits usual = RX_LIMITS_USUAL;

		rx_hub_init(&e->hub, o->limits[i].window ? &o->limits[i] : &usual);
		rx_conn_init(&e->conn, &e->hub, 0x81234567, 0x4444);
		e->conn.client = !i;
		e->conn.service = 147;
		e->replies = i;
		e->call = rx_call_init(malloc(rx_call_size(&e->hub)), &e->hub);
	}
	return w;
}

static inline void wire_free(struct wire *w)
{
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < w->end[i].n; k++)
			free(w->end[i].in[k].bytes);
		free(w->end[i].call);
	}
	free(w);
}

static inline void wire_deliver(struct wire *w, struct wire_end *to, const struct rx_datagram *d)
{
	struct wire_datagram *x = &to->in[to->n++];

	assert_true(to->n < WIRE_MAX);
	*x = (struct wire_datagram) { .due_ns = w->now_ns + w->o.delay_ns,
				      .bytes = malloc(d->len) };
	x->due_ns += (uint64_t)(wire_random(w) * (double)w->o.jitter_ns);
	for (unsigned int i = 0; i < d->n; i++) {
		memcpy(x->bytes + x->len, d->iov[i].iov_base, d->iov[i].iov_len);
		x->len += d->iov[i].iov_len;
	}
	assert_int_equal(x->len, d->len);
	assert_true(x->len <= WIRE_DATAGRAM);
}

static inline void wire_output(struct wire *w, int i)
{
	struct wire_end *e = &w->end[i], *to = &w->end[!i];
	struct rx_datagram d;
	struct rx_call *c;

	while ((c = rx_hub_ready(&e->hub))) {
		while (rx_call_output(c, &d, w->now_ns)) {
			if (e->dumb || to->deaf || wire_random(w) < w->o.loss) {
				w->lost++;
				continue;
			}
			wire_deliver(w, to, &d);
			if (wire_random(w) < w->o.repeat) {
				w->repeated++;
				wire_deliver(w, to, &d);
			}
		}
	}
}

/* What the user of a call does. */
static inline void wire_use(struct wire *w, struct wire_end *e)
{
	const void *at;
	size_t len;

	while (e->read_ns <= w->now_ns && (at = rx_call_peek(e->call, &len))) {
		assert_true(len > 0 && e->got + len <= e->expected);
		assert_int_equal(pattern_check(at, len, e->got, e->seed), len);
		e->got += len;
		rx_call_skip(e->call, len, w->now_ns);
		e->read_ns = w->now_ns + w->o.read_ns;
	}
	if (rx_call_state(e->call) != RX_CALL_ACTIVE || e->written > e->len ||
	    (e->replies && !rx_inside_is_read(e->call)))
		return;
	e->written += rx_call_write(e->call, e->data + e->written, e->len - e->written);
	if (e->written < e->len)
		return;
	rx_call_end(e->call);
	e->written = e->len + 1;
}

static inline void wire_take(struct wire *w, struct wire_end *e, size_t k)
{
	struct wire_datagram x = e->in[k];
	struct rx_header h;
	struct rx_parts p;
	struct rbuf data;

	e->in[k] = e->in[--e->n];
	e->hub.counts.datagrams_received++;
	assert_int_equal(rx_parts_begin(&p, x.bytes, x.len), 0);
	while (rx_parts_next(&p, &h, &data)) {
		assert_int_equal(h.epoch, 0x81234567);
		assert_int_equal(h.cid, 0x4444);
		assert_int_equal(h.service, 147);
		assert_int_equal(!!(h.flags & RX_FROM_CLIENT), !e->conn.client);
		rx_call_packet(e->call, &h, data, w->now_ns);
	}
	free(x.bytes);
}

/* Does what is to be done next; false: nothing ever will be. */
static inline bool wire_step(struct wire *w)
{
	uint64_t due_ns = UINT64_MAX, call_ns;
	struct wire_end *at = NULL;
	size_t k = 0;

	for (int i = 0; i < 2; i++) {
		struct wire_end *e = &w->end[i];
		size_t len;

		for (size_t n = 0; n < e->n; n++) {
			if (e->in[n].due_ns >= due_ns)
				continue;
			due_ns = e->in[n].due_ns;
			at = e;
			k = n;
		}
		call_ns = rx_call_due_ns(e->call);
		if (rx_call_peek(e->call, &len) && e->read_ns < call_ns)
			call_ns = e->read_ns;
		if (call_ns < due_ns) {
			due_ns = call_ns;
			at = NULL;
		}
	}
	if (due_ns == UINT64_MAX)
		return false;
	w->now_ns = due_ns > w->now_ns ? due_ns : w->now_ns;
	if (at)
		wire_take(w, at, k);
	for (int i = 0; i < 2; i++) {
		if (rx_call_due_ns(w->end[i].call) <= w->now_ns)
			rx_call_time(w->end[i].call, w->now_ns);
		wire_use(w, &w->end[i]);
		wire_output(w, i);
	}
	return true;
}

/* The call begins; what each side sends is a pattern, of which the other checks every byte. */
static inline void wire_begin(struct wire *w, const uint8_t *request, size_t request_len,
			      const uint8_t *reply, size_t reply_len)
{
	struct wire_end *client = &w->end[0], *server = &w->end[1];

	client->data = request;
	client->len = server->expected = request_len;
	server->data = reply;
	server->len = client->expected = reply_len;
	server->seed = 1;
	client->seed = 2;
	for (int i = 0; i < 2; i++) {
		w->end[i].written = w->end[i].got = 0;
		w->end[i].read_ns = 0;
		rx_call_begin(w->end[i].call, &w->end[i].conn, 0, w->end[i].call->number + 1,
			      w->now_ns);
	}
	wire_use(w, client);
	wire_output(w, 0);
}

/* To the end of both sides, within so long. */
static inline void wire_run(struct wire *w, uint64_t most_ns)
{
	uint64_t end_ns = w->now_ns + most_ns;

	while (rx_call_state(w->end[0].call) != RX_CALL_OVER ||
	       rx_call_state(w->end[1].call) != RX_CALL_OVER) {
		assert_true(wire_step(w));
		assert_true(w->now_ns < end_ns);
	}
}

#endif
