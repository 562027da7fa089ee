/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/connections.h"

#include "host/tcpdiag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kernel lists them in the same order again and again: looks first after the last one. */
static struct connection *find(struct connections *c, const struct sockets_addr *client)
{
	for (size_t i = 0; i < c->n; i++) {
		struct connection *one = &c->connection[(c->at + i) % c->n];

		if (one->client.port != client->port ||
		    memcmp(one->client.ip, client->ip, sizeof(client->ip)) != 0)
			continue;
		c->at += i + 1;
		return one;
	}
	return NULL;
}

/* A total that is smaller than before belongs to a later connection from the same address. */
static bool is_another(const struct run_tcp *before, const struct run_tcp *now)
{
	return now->value[TCP_SEGS_OUT] < before->value[TCP_SEGS_OUT];
}

static int take(void *arg, const struct sockets_addr *client, const struct run_tcp *tcp)
{
	struct connections *c = arg;
	struct connection *more, *known = find(c, client);

	if (!known) {
		more = realloc(c->connection, (c->n + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->connection = more;
		known = &more[c->n++];
		*known = (struct connection) { .client = *client };
		if (!c->n_looks)
			known->first = *tcp;
	} else if (is_another(&known->last, tcp)) {
		memset(&known->first, 0, sizeof(known->first));
	}
	known->last = *tcp;
	return 0;
}

void connections_look(struct connections *c)
{
	for (size_t i = 0; i < c->n_ports && !c->failed; i++)
		c->failed = tcpdiag_each(c->port[i], take, c) != 0;
	c->n_looks++;
}

void connections_begin(struct connections *out, const struct servers_entry *server)
{
	*out = (struct connections) { .n_ports = server->elsewhere ? 0 : server->n_ports };
	memcpy(out->port, server->port, sizeof(out->port));
	connections_look(out);
}

/* "192.0.2.1:50000" or "[2001:db8::1]:50000"; false: neither. */
static bool parse(struct sockets_addr *out, const char *text)
{
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in6 *v6 = (void *)&addr;
	struct sockaddr_in *v4 = (void *)&addr;
	char ip[INET6_ADDRSTRLEN + 1];
	const char *colon = strrchr(text, ':');
	bool brackets = *text == '[';
	size_t len;

	len = colon ? (size_t)(colon - text) - 2 * brackets : sizeof(ip);
	if (len >= sizeof(ip))
		return false;
	memcpy(ip, text + brackets, len);
	ip[len] = '\0';
	addr.ss_family = brackets ? AF_INET6 : AF_INET;
	v4->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	return inet_pton(addr.ss_family, ip,
			 brackets ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) == 1 &&
	       sockets_addr(out, &addr);
}

static uint64_t grown(const struct connection *c, enum run_tcp_value which)
{
	return c->last.value[which] - c->first.value[which];
}

static void note(struct run_session_tcp *out, const struct connection *c)
{
	static const enum run_tcp_value needed[] = { TCP_MIN_RTT, TCP_SEGS_OUT, TCP_RETRANS_TOTAL,
						     TCP_RWND_LIMITED };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!c->last.known[needed[i]])
			return;
	*out = (struct run_session_tcp) {
		.known = true,
		.min_rtt_ns = 1000 * c->last.value[TCP_MIN_RTT],
		.segments = grown(c, TCP_SEGS_OUT),
		.retransmitted = grown(c, TCP_RETRANS_TOTAL),
		.window_ns = 1000 * grown(c, TCP_RWND_LIMITED),
	};
}

void connections_note(struct connections *c, struct run *r)
{
	struct sockets_addr client;

	for (size_t i = 0; i < r->n_sessions && !c->failed; i++) {
		const struct run_session *s = &r->session[i];
		const struct connection *its = NULL;

		if (s->address && parse(&client, s->address))
			its = find(c, &client);
		if (its)
			note(&r->session[i].tcp, its);
	}
}

void connections_fini(struct connections *c)
{
	free(c->connection);
	*c = (struct connections) { 0 };
}
