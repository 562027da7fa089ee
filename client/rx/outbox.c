/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gathers the datagrams of an endpoint's calls, and gives them to the kernel together. */
#include "rx/endpoint_priv.h"

#include <errno.h>
#include <sys/socket.h>

static struct rx_datagram *outbox_room(struct rx_endpoint *ep)
{
	return ep->out.used < RX_OUTBOX ? &ep->out.datagram[ep->out.used] : NULL;
}

/* The datagram of outbox_room() is complete. */
static void outbox_put(struct rx_endpoint *ep)
{
	ep->out.order[ep->out.n++] = (uint8_t)ep->out.used++;
}

void rx_outbox_collect(struct rx_endpoint *ep, struct rx_call *c, uint64_t now_ns)
{
	struct rx_datagram *d;

	while ((d = outbox_room(ep)) && rx_call_output(c, d, now_ns))
		outbox_put(ep);
}

void rx_outbox_plain(struct rx_endpoint *ep, struct rx_conn *conn, const struct rx_header *h)
{
	struct rx_datagram *d = outbox_room(ep);
	struct wbuf w;

	if (!d) /* as if it were lost: whoever waits for it asks again */
		return;
	w = wbuf_of(d->head, sizeof(d->head));
	rx_header_put(&w, h);
	d->iov[0] = (struct iovec) { d->head, RX_HEADER_LEN };
	d->n = 1;
	d->len = RX_HEADER_LEN;
	d->lends = NULL;
	d->conn = conn;
	ep->hub.counts.datagrams_sent++;
	outbox_put(ep);
}

void rx_outbox_forget(struct rx_endpoint *ep, const struct rx_call *c, const struct rx_conn *conn)
{
	struct rx_outbox *out = &ep->out;
	const struct rx_datagram *d;
	unsigned int n = 0;

	for (unsigned int i = 0; i < out->n; i++) {
		d = &out->datagram[out->order[i]];
		if ((!c || d->lends != c) && (!conn || d->conn != conn))
			out->order[n++] = out->order[i];
	}
	out->n = n;
}

/* The first n are gone. */
static void outbox_take_off(struct rx_outbox *out, unsigned int n)
{
	for (unsigned int i = n; i < out->n; i++)
		out->order[i - n] = out->order[i];
	out->n -= n;
	if (!out->n)
		out->used = 0;
}

static int give(struct rx_endpoint *ep)
{
	struct mmsghdr m[RX_OUTBOX];
	struct rx_datagram *d;
	struct rx_peer *peer;
	int n;

	for (unsigned int i = 0; i < ep->out.n; i++) {
		d = &ep->out.datagram[ep->out.order[i]];
		peer = d->conn->owner;
		m[i].msg_hdr = (struct msghdr) { .msg_name = &peer->address,
						 .msg_namelen = sizeof(peer->address),
						 .msg_iov = d->iov,
						 .msg_iovlen = d->n };
	}
	n = sendmmsg(ep->fd, m, ep->out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

bool rx_is_refusal(int code)
{
	static const int codes[] = { ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ENETDOWN,
				     EHOSTDOWN,    EACCES,      EPERM,        EINVAL };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == -code)
			return true;
	return false;
}

int rx_outbox_send(struct rx_endpoint *ep)
{
	int n;

	while (ep->out.n) {
		n = give(ep);
		if (n > 0) {
			outbox_take_off(&ep->out, (unsigned int)n);
			continue;
		}
		if (n == -EAGAIN || n == -EBADF || n == -ENOTSOCK || n == -EFAULT)
			return n;
		if (n == -EINTR)
			continue;
		ep->has_errors = true;
		if (rx_is_refusal(n))
			ep->refusal = n;
		if (n != -ECONNREFUSED) /* else it was of an earlier one */
			outbox_take_off(&ep->out, 1);
	}
	ep->out.used = 0;
	return 0;
}
