/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/connections.h"

#include "base/clock.h"
#include "base/vec.h"
#include "host/net/tcpdiag.h"

#include <errno.h>
#include <string.h>

/* The kernel lists them in the same order again and again: looks first after the last one. */
static struct connection *attach_connections_find(struct connections *c,
						  const struct sockets_addr *client)
{
	for (size_t i = 0; i < c->n; i++) {
		struct connection *one = &c->connection[(c->at + i) % c->n];

		if (!sockets_same(&one->client, client))
			continue;
		c->at += i + 1;
		return one;
	}
	return NULL;
}

/* A total that is smaller than before belongs to a later connection from the same address. */
static bool attach_connections_is_another(const struct run_tcp *before, const struct run_tcp *now)
{
	return now->value[TCP_SEGS_OUT] < before->value[TCP_SEGS_OUT];
}

static void keep_most(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

static void add_queues(struct connection *c, const struct run_tcp *now)
{
	c->n_looks++;
	c->queue_sum += now->value[TCP_QUEUE];
	c->unsent_sum += now->value[TCP_UNSENT];
	keep_most(&c->queue_max, now->value[TCP_QUEUE]);
	keep_most(&c->unsent_max, now->value[TCP_UNSENT]);
	keep_most(&c->unread_max, now->value[TCP_UNREAD]);
}

/* For how long the client keeps its window closed and takes nothing at all. */
static void add_still(struct connection *c, const struct run_tcp *now)
{
	if (now->value[TCP_BYTES_ACKED] != c->last.value[TCP_BYTES_ACKED])
		c->still = 0;
	else
		c->still += now->value[TCP_RWND_LIMITED] - c->last.value[TCP_RWND_LIMITED];
	keep_most(&c->still_max, c->still);
}

/* A place for a new one: where there are very many, that of the one that ended first; else NULL. */
static struct connection *attach_connections_place(struct connections *c)
{
	struct connection *first = c->connection;

	if (c->n < CONNECTIONS_MAX)
		return VEC_ADD(c->connection, c->n);
	for (size_t i = 0; i < c->n; i++)
		first = c->connection[i].look < first->look ? &c->connection[i] : first;
	return first->look < c->n_looks ? first : NULL;
}

static int attach_connections_take(void *arg, const struct sockets_addr *client,
				   const struct run_tcp *tcp)
{
	struct connections *c = arg;
	struct connection *known = attach_connections_find(c, client);

	if (!known) {
		known = attach_connections_place(c);
		if (!known)
			return c->n < CONNECTIONS_MAX ? -ENOMEM : 0;
		*known = (struct connection) { .client = *client };
		if (!c->n_looks)
			known->first = *tcp;
	} else if (attach_connections_is_another(&known->last, tcp)) {
		*known = (struct connection) { .client = *client };
	} else {
		add_still(known, tcp);
	}
	known->look = c->n_looks;
	known->last = *tcp;
	add_queues(known, tcp);
	return 0;
}

static void attach_connections_look_unaccepted(struct connections *c)
{
	uint64_t n, now_ns = clock_now_ns();

	c->unaccepted = 0;
	for (size_t i = 0; i < c->n_ports && !c->failed; i++) {
		c->failed = tcpdiag_unaccepted(c->port[i], &n) != 0;
		c->unaccepted += n;
	}
	if (!c->unaccepted)
		c->unaccepted_ns = 0;
	else if (!c->unaccepted_ns)
		c->unaccepted_ns = now_ns;
}

void connections_look(struct connections *c)
{
	for (size_t i = 0; i < c->n_ports && !c->failed; i++)
		c->failed = tcpdiag_each(c->port[i], attach_connections_take, c) != 0;
	attach_connections_look_unaccepted(c);
	c->n_looks++;
}

void connections_begin(struct connections *out, const struct servers_entry *server)
{
	*out = (struct connections) { .n_ports = server->elsewhere ? 0 : server->n_ports };
	memcpy(out->port, server->port, sizeof(out->port));
	connections_look(out);
}

static uint64_t attach_connections_grown(const struct connection *c, enum run_tcp_value which)
{
	return c->last.value[which] - c->first.value[which];
}

static void attach_connections_note(struct run_session_tcp *out, const struct connection *c)
{
	static const enum run_tcp_value needed[] = { TCP_MIN_RTT, TCP_SEGS_OUT, TCP_RETRANS_TOTAL,
						     TCP_RWND_LIMITED, TCP_SNDBUF_LIMITED };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!c->last.known[needed[i]])
			return;
	*out = (struct run_session_tcp) {
		.known = true,
		.rtt_ns = 1000 * c->last.value[TCP_RTT],
		.min_rtt_ns = 1000 * c->last.value[TCP_MIN_RTT],
		.segments = attach_connections_grown(c, TCP_SEGS_OUT),
		.retransmitted = attach_connections_grown(c, TCP_RETRANS_TOTAL),
		.acked = attach_connections_grown(c, TCP_BYTES_ACKED),
		.received = attach_connections_grown(c, TCP_BYTES_RECEIVED),
		.busy_ns = 1000 * attach_connections_grown(c, TCP_BUSY),
		.window_ns = 1000 * attach_connections_grown(c, TCP_RWND_LIMITED),
		.still_ns = 1000 * c->still_max,
		.buffer_ns = 1000 * attach_connections_grown(c, TCP_SNDBUF_LIMITED),
		.rate = c->last.value[TCP_DELIVERY_RATE],
		.n_looks = c->n_looks,
		.queue_mean = c->queue_sum / c->n_looks,
		.queue_max = c->queue_max,
		.unsent_mean = c->unsent_sum / c->n_looks,
		.unsent_max = c->unsent_max,
		.unread_max = c->unread_max,
	};
}

void connections_note(struct connections *c, struct run *r)
{
	struct sockets_addr client;

	if (c->n_ports && !c->failed)
		r->unaccepted = (struct run_unaccepted) { true, c->unaccepted, c->unaccepted_ns };
	for (size_t i = 0; i < r->n_sessions && !c->failed; i++) {
		const struct run_session *s = &r->session[i];
		const struct connection *its = NULL;

		if (s->address && sockets_addr_parse(&client, s->address))
			its = attach_connections_find(c, &client);
		if (its)
			attach_connections_note(&r->session[i].tcp, its);
	}
}

void connections_fini(struct connections *c)
{
	free(c->connection);
	*c = (struct connections) { 0 };
}
