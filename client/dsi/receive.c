/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the stream of received bytes to finished requests.
 *
 *	header ---> reply of a known id ---> payload into the request's buffer ---> done
 *	       ---> tickle, attention, close of the server, at any message boundary
 *	       ---> anything else: protocol error, the session is dead
 *
 * Small replies are parsed out of one receive buffer; the payload of a bulk reply is received
 * where its request wants it. Not for sending or waiting: that is dsi.c.
 */
#include "base/clock.h"
#include "dsi/conn.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>

int dsi_die(struct dsi *d, struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!d->dead) {
		d->dead = code;
		d->why.code = code;
		va_start(ap, fmt);
		vsnprintf(d->why.text, sizeof(d->why.text), fmt, ap);
		va_end(ap);
	}
	return err_set(e, d->dead, "%s", d->why.text);
}

static void take_from_server(struct dsi *d)
{
	if (d->frame.command == DSI_ATTENTION && d->want >= 2)
		d->attention = (uint16_t)(d->other[0] << 8 | d->other[1]);
}

static int end_frame(struct dsi *d, uint64_t now_ns, struct err *e)
{
	struct dsi_request *r = d->to;

	d->in_frame = false;
	if (!r) {
		take_from_server(d);
		if (d->frame.command == DSI_CLOSE)
			return dsi_die(d, e, -ECONNRESET, "%s: the server closed the session%s",
				       d->peer_name,
				       d->attention & 0x8000 ? " (it is shutting down)" : "");
		return 0;
	}
	d->to = NULL;
	r->reply_len = d->got;
	r->t.last_ns = now_ns;
	d->slot[r->id & d->mask] = NULL;
	d->in_flight--;
	if (d->expected == r)
		d->expected = d->slot[(uint16_t)(r->id + 1) & d->mask];
	dsi_queue_put(&d->done, r);
	return 0;
}

static int begin_reply(struct dsi *d, uint64_t now_ns, struct err *e)
{
	const struct dsi_frame *f = &d->frame;
	struct dsi_request *r = d->slot[f->id & d->mask];

	/*
	 * When afpd has no room for a session it answers what it has not read: with an id of its
	 * own choice, as if DSIOpenSession had been asked.
	 */
	if (!d->opened && d->expected && f->command == DSI_OPEN)
		r = d->expected;
	else if (r && (r->id != f->id || r->command != f->command))
		r = NULL;
	if (!r)
		return dsi_die(d, e, -EPROTO,
			       "%s: reply to request %u (DSI command %u), which was never sent",
			       d->peer_name, f->id, f->command);
	if (r->sent < DSI_HEADER_LEN + r->len + r->data_len)
		return dsi_die(d, e, -EPROTO, "%s: reply to request %u before all of it was sent",
			       d->peer_name, f->id);
	if (f->len > r->reply_cap)
		return dsi_die(d, e, -EPROTO, "%s: reply of %u bytes where at most %zu fit",
			       d->peer_name, f->len, r->reply_cap);
	r->result = dsi_result(f->code);
	r->t.first_ns = now_ns;
	d->to = r;
	return 0;
}

static int begin_frame(struct dsi *d, const uint8_t *raw, uint64_t now_ns, struct err *e)
{
	if (dsi_frame_parse(&d->frame, raw))
		return dsi_die(
		    d, e, -EPROTO,
		    "%s: this is not DSI (bytes %02x %02x %02x %02x): is this an AFP server?",
		    d->peer_name, raw[0], raw[1], raw[2], raw[3]);
	d->in_frame = true;
	d->got = 0;
	d->want = d->frame.len;
	d->to = NULL;
	if (d->frame.flag == DSI_REPLY)
		return begin_reply(d, now_ns, e);
	if (d->want > sizeof(d->other))
		return dsi_die(d, e, -EPROTO, "%s: unasked message %u with %u bytes", d->peer_name,
			       d->frame.command, d->frame.len);
	return 0;
}

static uint8_t *payload_at(struct dsi *d)
{
	uint8_t *base = d->to ? d->to->reply : d->other;

	return base + d->got;
}

/* Parses what stands in the receive buffer, as far as it goes. */
static int parse(struct dsi *d, uint64_t now_ns, struct err *e)
{
	size_t n;
	int r = 0;

	while (!r) {
		n = d->rx_end - d->rx_at;
		if (!d->in_frame) {
			if (n < DSI_HEADER_LEN)
				break;
			r = begin_frame(d, d->rx + d->rx_at, now_ns, e);
			d->rx_at += DSI_HEADER_LEN;
			continue;
		}
		if (n > d->want - d->got)
			n = d->want - d->got;
		if (n)
			memcpy(payload_at(d), d->rx + d->rx_at, n);
		d->rx_at += n;
		d->got += n;
		if (d->got < d->want)
			break;
		r = end_frame(d, now_ns, e);
	}
	return r;
}

/*
 * Where the next bytes go: first the rest of a bulk payload, then the buffer. When a bulk
 * reply is expected, no more than a header is read into the buffer, so that its data need not
 * be copied out again.
 */
static int receive_plan(struct dsi *d, struct iovec iov[static 2], size_t *direct)
{
	int n = 0;

	if (d->rx_at) {
		memmove(d->rx, d->rx + d->rx_at, d->rx_end - d->rx_at);
		d->rx_end -= d->rx_at;
		d->rx_at = 0;
	}
	*direct = d->in_frame ? d->want - d->got : 0;
	if (*direct)
		iov[n++] = (struct iovec) { payload_at(d), *direct };
	iov[n] = (struct iovec) { d->rx + d->rx_end, sizeof(d->rx) - d->rx_end };
	if (d->expected && d->expected->reply_cap >= DSI_BULK_LEN)
		iov[n].iov_len = d->rx_end < DSI_HEADER_LEN ? DSI_HEADER_LEN - d->rx_end : 0;
	return n + 1;
}

int dsi_receive(struct dsi *d, int flags, struct err *e)
{
	struct iovec iov[2];
	struct msghdr m = { .msg_iov = iov };
	size_t direct, n;
	ssize_t got;

	m.msg_iovlen = (size_t)receive_plan(d, iov, &direct);
	got = m.msg_iovlen == 1 ? recv(d->fd, iov[0].iov_base, iov[0].iov_len, flags)
				: recvmsg(d->fd, &m, flags);
	if (got < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
			return 0;
		return dsi_die(d, e, -errno, "%s: connection lost: %s", d->peer_name,
			       strerror(errno));
	}
	if (!got)
		return dsi_die(d, e, -ECONNRESET, "%s: the server ended the connection",
			       d->peer_name);
	n = (size_t)got < direct ? (size_t)got : direct;
	d->got += n;
	d->rx_end += (size_t)got - n;
	d->progress_ns = clock_now_ns();
	return parse(d, d->progress_ns, e);
}
