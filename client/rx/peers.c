/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections and calls of an endpoint: which a packet is for, and which begin with it. */
#include "rx/endpoint_priv.h"

#include "base/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define ANY_ADDRESS   0x80000000u /* of an epoch: address and port do not identify a peer */
#define NOT_IN_EPOCHS 0x40000000u

/* ---- tables ---- */

int rx_peers_init(struct rx_endpoint *ep, const struct rx_endpoint_opts *o, struct err *e)
{
	uint32_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_set(e, -errno, "cannot get random numbers: %s", strerror(errno));
	ep->epoch = (random[0] | ANY_ADDRESS) & ~NOT_IN_EPOCHS;
	ep->next_cid = random[1] & ~RX_CHANNEL_MASK;
	ep->n_peers = o->n_conns ? o->n_conns : 1;
	ep->n_calls = o->n_calls ? o->n_calls : RX_CHANNELS;
	for (ep->n_hash = 1; ep->n_hash < ep->n_peers; ep->n_hash *= 2)
		;
	ep->call_size = rx_call_size(&ep->hub);
	ep->memory_len = ep->call_size * ep->n_calls;
	ep->peer = calloc(ep->n_peers, sizeof(*ep->peer));
	ep->hash = calloc(ep->n_hash, sizeof(struct rx_peer *));
	ep->call = calloc(ep->n_calls, sizeof(struct rx_call *));
	/* of calls that are never made nothing is used */
	ep->memory = mmap(NULL, ep->memory_len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ep->memory == MAP_FAILED)
		ep->memory = NULL;
	if (!ep->peer || !ep->hash || !ep->call || !ep->memory)
		return err_set(e, -ENOMEM, "out of memory");
	for (unsigned int i = ep->n_peers; i-- > 0;) {
		ep->peer[i].next = ep->free_peer;
		ep->free_peer = &ep->peer[i];
	}
	return 0;
}

void rx_peers_fini(struct rx_endpoint *ep)
{
	if (ep->memory)
		munmap(ep->memory, ep->memory_len);
	free(ep->peer);
	free(ep->hash);
	free(ep->call);
}

/* Both sides of one connection may be here. */
static struct rx_peer **bucket(const struct rx_endpoint *ep, uint32_t epoch, uint32_t cid,
			       bool client)
{
	uint32_t x = (epoch ^ cid / RX_CHANNELS) * 2 + client;

	x *= 0x9e3779b1u;
	return &ep->hash[(x >> 8) & (ep->n_hash - 1)];
}

static bool is_same_address(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

static struct rx_peer *find_peer(const struct rx_endpoint *ep, const struct rx_header *h,
				 const struct sockaddr_in *from)
{
	bool client = !(h->flags & RX_FROM_CLIENT);
	uint32_t cid = h->cid & ~RX_CHANNEL_MASK;
	struct rx_peer *p = *bucket(ep, h->epoch, cid, client);

	for (; p; p = p->next)
		if (p->conn.epoch == h->epoch && p->conn.cid == cid && p->conn.client == client &&
		    (h->epoch & ANY_ADDRESS || is_same_address(&p->address, from)))
			return p;
	return NULL;
}

static bool peers_is_busy(const struct rx_peer *p)
{
	for (unsigned int i = 0; i < RX_CHANNELS; i++)
		if (p->call[i] && (p->call[i]->held || p->call[i]->state == RX_CALL_ACTIVE))
			return true;
	return false;
}

static void unhash(struct rx_endpoint *ep, struct rx_peer *p)
{
	struct rx_peer **at = bucket(ep, p->conn.epoch, p->conn.cid, p->conn.client);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

/* A call that nobody needs; its peer forgets it. NULL: there is none. */
static struct rx_call *take_over(struct rx_endpoint *ep)
{
	struct rx_call *c;
	struct rx_peer *p;

	for (unsigned int i = 0; i < ep->n_made; i++) {
		c = ep->call[i];
		if (c->held || c->state == RX_CALL_ACTIVE || c->is_ready)
			continue;
		p = c->conn ? c->conn->owner : NULL;
		if (p && p->call[c->channel] == c)
			p->call[c->channel] = NULL;
		return c;
	}
	return NULL;
}

static struct rx_call *new_call(struct rx_endpoint *ep)
{
	struct rx_call *c;

	if (ep->n_made == ep->n_calls)
		return take_over(ep);
	c = rx_call_init(ep->memory + ep->n_made * ep->call_size, &ep->hub);
	ep->call[ep->n_made++] = c;
	return c;
}

/* The peer's connection that has been unused for longest; NULL: all are in use. */
static struct rx_peer *oldest(struct rx_endpoint *ep)
{
	struct rx_peer *found = NULL, *p;

	for (unsigned int i = 0; i < ep->n_peers; i++) {
		p = &ep->peer[i];
		if (!p->conn.client && !peers_is_busy(p) && (!found || p->used_ns < found->used_ns))
			found = p;
	}
	return found;
}

/* What is left of a connection that is not kept any more. */
static void peers_forget(struct rx_endpoint *ep, struct rx_peer *p)
{
	struct rx_call *c;

	unhash(ep, p);
	rx_outbox_forget(ep, NULL, &p->conn);
	for (unsigned int i = 0; i < RX_CHANNELS; i++) {
		c = p->call[i];
		if (!c)
			continue;
		c->conn = NULL;
		c->state = RX_CALL_IDLE;
	}
}

static struct rx_peer *new_peer(struct rx_endpoint *ep, const struct sockaddr_in *address,
				uint32_t epoch, uint32_t cid, bool client)
{
	struct rx_peer *p = ep->free_peer, **at;

	if (p)
		ep->free_peer = p->next;
	else
		p = oldest(ep);
	if (!p)
		return NULL;
	if (p->used)
		peers_forget(ep, p);
	*p = (struct rx_peer) { .ep = ep, .address = *address, .used = true };
	rx_conn_init(&p->conn, &ep->hub, epoch, cid);
	p->conn.owner = p;
	p->conn.client = client;
	at = bucket(ep, epoch, p->conn.cid, client);
	p->next = *at;
	*at = p;
	return p;
}

/* ---- client ---- */

struct rx_conn *rx_endpoint_connect(struct rx_endpoint *ep, const struct sockaddr_in *to,
				    uint16_t service)
{
	const int on = 1;
	struct rx_peer *p = new_peer(ep, to, ep->epoch, ep->next_cid, true);

	if (!p)
		return NULL;
	p->conn.service = service;
	ep->next_cid += RX_CHANNELS;
	if (!ep->hears)
		ep->hears = !setsockopt(ep->fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	return &p->conn;
}

struct rx_call *rx_endpoint_begin(struct rx_endpoint *ep, struct rx_conn *conn, uint64_t now_ns)
{
	struct rx_peer *p = conn->owner;
	struct rx_call *c;

	for (unsigned int i = 0; i < RX_CHANNELS; i++) {
		c = p->call[i];
		if (c && (c->held || c->state == RX_CALL_ACTIVE))
			continue;
		c = p->call[i] = c ? c : new_call(ep);
		if (!c)
			return NULL;
		rx_call_begin(c, conn, i, ++p->number[i], now_ns);
		c->held = true;
		c->user = NULL;
		return c;
	}
	return NULL;
}

int rx_endpoint_ask(struct rx_endpoint *ep, const struct sockaddr_in *to, uint32_t number,
		    enum rx_packet_type type, struct rbuf payload)
{
	const struct rx_header h = { .call = number,
				     .serial = 1,
				     .type = (uint8_t)type,
				     .flags = RX_FROM_CLIENT | RX_LAST };
	uint8_t data[RX_HEADER_LEN + RX_DATA_LEN];
	struct wbuf w = wbuf_of(data, sizeof(data));

	rx_header_put(&w, &h);
	wbuf_bytes(&w, payload.at, rbuf_left(&payload));
	if (w.bad)
		return -EMSGSIZE;
	ep->hub.counts.datagrams_sent++;
	if (sendto(ep->fd, data, (size_t)(w.at - data), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)to, sizeof(*to)) >= 0)
		return 0;
	if (rx_is_refusal(-errno))
		ep->refused = -errno;
	return errno == EAGAIN || rx_is_refusal(-errno) ? 0 : -errno;
}

const char *rx_endpoint_refused(const struct rx_endpoint *ep)
{
	if (!ep->refused)
		return NULL;
	return ep->refused == -ECONNREFUSED ? "nobody listens on this port"
					    : kernel_why(-ep->refused);
}

/* ---- both ---- */

const struct sockaddr_in *rx_endpoint_peer(const struct rx_conn *conn)
{
	return &((const struct rx_peer *)conn->owner)->address;
}

void rx_endpoint_set_user(struct rx_call *c, void *user)
{
	c->user = user;
}

void *rx_endpoint_user(const struct rx_call *c)
{
	return c->user;
}

void rx_endpoint_release(struct rx_endpoint *ep, struct rx_call *c)
{
	c->held = false;
	c->user = NULL;
	if (c->state == RX_CALL_ACTIVE && c->conn->client)
		rx_call_abort(c, RX_USER_ABORT);
	if (c->state != RX_CALL_ACTIVE)
		rx_outbox_forget(ep, c, NULL);
}

/* ---- packets ---- */

static void peers_tell(struct rx_endpoint *ep, struct rx_call *c)
{
	if (c->held && ep->events.changed)
		ep->events.changed(ep->events.user, c);
}

static void say_busy(struct rx_peer *p, const struct rx_header *to)
{
	struct rx_header h = *to;

	h.seq = 0;
	h.serial = ++p->conn.serial;
	h.type = RX_BUSY;
	h.flags = 0;
	rx_outbox_plain(p->ep, &p->conn, &h);
}

/*
 * A call that begins with this packet, or NULL. One before it on the channel is over: its client
 * does not wait for it any more.
 */
static struct rx_call *peers_begin_call(struct rx_peer *p, const struct rx_header *h,
					uint64_t now_ns)
{
	unsigned int channel = h->cid & RX_CHANNEL_MASK;
	struct rx_call *c = p->call[channel];

	if (h->type != RX_DATA || !h->seq || h->seq > p->ep->hub.own.window ||
	    h->call <= p->number[channel])
		return NULL;
	if (c && c->held && c->state == RX_CALL_OVER)
		c = NULL; /* it is its user's alone now */
	if (c && c->held) {
		rx_call_fail(c, RX_CALL_DEAD, "the client has begun another call");
		peers_tell(p->ep, c);
		say_busy(p, h);
		return NULL;
	}
	c = p->call[channel] = c ? c : new_call(p->ep);
	if (!c)
		return NULL;
	p->number[channel] = h->call;
	p->conn.service = h->service;
	rx_outbox_forget(p->ep, c, NULL);
	rx_call_begin(c, &p->conn, channel, h->call, now_ns);
	return c;
}

/* The user gets it, or it is refused. */
static void peers_hand_over(struct rx_endpoint *ep, struct rx_call *c)
{
	c->held = true;
	c->user = NULL;
	if (c->conn->service == ep->service && ep->events.arrived &&
	    ep->events.arrived(ep->events.user, c))
		return;
	c->held = false;
	rx_call_abort(c, RX_INVALID_OPERATION);
}

/* About all calls of a connection. */
static void take_for_all(struct rx_peer *p, const struct rx_header *h, struct rbuf payload,
			 uint64_t now_ns)
{
	if (h->type != RX_ABORT && h->type != RX_CHALLENGE)
		return;
	for (unsigned int i = 0; i < RX_CHANNELS; i++) {
		if (!p->call[i] || p->call[i]->state != RX_CALL_ACTIVE)
			continue;
		rx_call_packet(p->call[i], h, payload, now_ns);
		peers_tell(p->ep, p->call[i]);
	}
}

static void take_packet(struct rx_peer *p, const struct rx_header *h, struct rbuf payload,
			uint64_t now_ns)
{
	struct rx_call *c = p->call[h->cid & RX_CHANNEL_MASK];
	bool begins = false;

	p->heard = true;
	p->used_ns = now_ns;
	if (!h->call) {
		take_for_all(p, h, payload, now_ns);
		return;
	}
	if (!c || c->state == RX_CALL_IDLE || h->call != c->number) {
		c = p->conn.client ? NULL : peers_begin_call(p, h, now_ns);
		begins = c != NULL;
	}
	if (!c) {
		p->ep->hub.counts.strange++;
		return;
	}
	rx_call_packet(c, h, payload, now_ns);
	if (begins)
		peers_hand_over(p->ep, c);
	else
		peers_tell(p->ep, c);
}

/* VERSION and DEBUG have no connection: answered at once, as far as the kernel takes it. */
static bool answer_apart(struct rx_endpoint *ep, const struct rx_header *h, struct rbuf payload,
			 const struct sockaddr_in *to)
{
	uint8_t reply[RX_HEADER_LEN + RX_DATA_LEN] = { 0 };
	struct wbuf w = wbuf_of(reply, sizeof(reply));
	struct rx_header back = *h;
	size_t len = RX_VERSION_LEN;

	if (h->type != RX_VERSION && h->type != RX_DEBUG)
		return false;
	if (!(h->flags & RX_FROM_CLIENT)) {
		if (ep->events.answered)
			ep->events.answered(ep->events.user, h, payload);
		return true;
	}
	back.flags = 0;
	rx_header_put(&w, &back);
	if (h->type == RX_VERSION)
		memcpy(w.at, "afpscope", sizeof("afpscope"));
	else
		len = ep->events.debug ? ep->events.debug(ep->events.user, payload, w.at) : 0;
	if (len)
		sendto(ep->fd, reply, RX_HEADER_LEN + len, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (const struct sockaddr *)to, sizeof(*to));
	return true;
}

void rx_peers_datagram(struct rx_endpoint *ep, const struct sockaddr_in *from, const uint8_t *bytes,
		       size_t len, uint64_t now_ns)
{
	struct rx_peer *p;
	struct rx_parts parts;
	struct rx_header h;
	struct rbuf payload;

	ep->hub.counts.datagrams_received++;
	if (rx_parts_begin(&parts, bytes, len) || parts.h.security) {
		ep->hub.counts.strange++;
		return;
	}
	if (answer_apart(ep, &parts.h, parts.b, from))
		return;
	p = find_peer(ep, &parts.h, from);
	if (!p && parts.h.flags & RX_FROM_CLIENT && parts.h.type == RX_DATA && parts.h.call &&
	    ep->service)
		p = new_peer(ep, from, parts.h.epoch, parts.h.cid, false);
	if (!p) {
		ep->hub.counts.strange++;
		return;
	}
	while (rx_parts_next(&parts, &h, &payload))
		take_packet(p, &h, payload, now_ns);
	/* what is to be answered at once is */
	if (p->call[parts.h.cid & RX_CHANNEL_MASK])
		rx_outbox_collect(ep, p->call[parts.h.cid & RX_CHANNEL_MASK], now_ns);
}

void rx_peers_refused(struct rx_endpoint *ep, int code)
{
	struct rx_call *c;
	struct rx_peer *p;

	ep->refused = code;
	for (unsigned int i = 0; i < ep->n_made; i++) {
		c = ep->call[i];
		p = c->conn ? c->conn->owner : NULL;
		if (c->state != RX_CALL_ACTIVE || !c->conn->client || p->heard)
			continue;
		rx_call_fail(c, RX_CALL_DEAD, rx_endpoint_refused(ep));
		peers_tell(ep, c);
	}
}
