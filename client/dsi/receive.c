/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the stream of received bytes to finished requests.
 *
 *	header ---> reply of a known id ---> payload into the request's buffer ---> done
 *	       ---> tickle, attention, close of the server, at any message boundary
 *	       ---> anything else: protocol error, the session is dead
 *
 * One call reads into up to three pieces: the rest of a header, the buffer for bulk data, and the
 * receive buffer, from which small replies are parsed. Before the header is known, the buffer is
 * that of the request whose reply comes next if replies keep their order: then a whole reply takes
 * one call and is not copied. If something else comes, the bytes are moved to where they belong.
 * Bulk data that is not needed is dropped in the kernel: that saves the copy, but needs one call
 * more for the header. dsi.c sends and waits.
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

/* The request after r, the oldest, in the order of submission that is still in flight. */
static struct dsi_request *next_in_flight(const struct dsi *d, const struct dsi_request *r)
{
	uint16_t id = r->id;

	const struct dsi_request *next;

	while (d->in_flight) {
		next = d->slot[++id & d->mask];
		if (next && next->id == id)
			return d->slot[id & d->mask];
	}
	return NULL;
}

static void note_answer(struct dsi *d, const struct dsi_request *r, uint64_t now_ns)
{
	if (d->expected != r) {
		d->overtaken = true;
		return;
	}
	d->expected = next_in_flight(d, r);
	d->overtaken = false;
	d->progress_ns = now_ns;
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
	note_answer(d, r, now_ns);
	dsi_queue_put(&d->done, r);
	return 0;
}

static int begin_reply(struct dsi *d, struct err *e)
{
	const struct dsi_frame *f = &d->frame;
	struct dsi_request *r = d->slot[f->id & d->mask];

	/*
	 * If afpd has no room for a session it answers before reading the request: with an id of
	 * its own choice, as a reply to DSIOpenSession.
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
	if (r == d->expected)
		d->progress_ns = d->head_ns;
	r->result = dsi_result(f->code);
	r->t.first_ns = d->head_ns;
	d->to = r;
	return 0;
}

static int begin_frame(struct dsi *d, struct err *e)
{
	const uint8_t *raw = d->head;

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
		return begin_reply(d, e);
	if (d->want > sizeof(d->other))
		return dsi_die(d, e, -EPROTO, "%s: unexpected message %u with %u bytes",
			       d->peer_name, d->frame.command, d->frame.len);
	return 0;
}

static uint8_t *payload_at(struct dsi *d)
{
	uint8_t *base = d->to ? d->to->reply : d->other;

	return base + d->got;
}

/* n more bytes of the header were received. */
static int extend_header(struct dsi *d, size_t n, uint64_t now_ns, struct err *e)
{
	int r;

	if (!d->head_len)
		d->head_ns = now_ns;
	d->head_len += n;
	if (d->head_len < DSI_HEADER_LEN)
		return 0;
	d->head_len = 0;
	r = begin_frame(d, e);
	return r || d->want ? r : end_frame(d, now_ns, e);
}

/* n more bytes of the payload were received. */
static int extend_payload(struct dsi *d, size_t n, uint64_t now_ns, struct err *e)
{
	d->got += n;
	if (d->to && d->to == d->expected)
		d->progress_ns = now_ns;
	return d->got == d->want ? end_frame(d, now_ns, e) : 0;
}

/*
 * Moves the next bytes of the stream, now at *at, to where they belong, unless they are there. They
 * may be in the buffer to which some of them belong: no byte moves upwards in it, as only a header
 * can come before those at its begin.
 */
static int feed(struct dsi *d, const uint8_t *at, size_t len, uint64_t now_ns, struct err *e)
{
	uint8_t *to;
	size_t n;
	int r = 0;

	for (; len && !r; at += n, len -= n) {
		n = d->in_frame ? d->want - d->got : DSI_HEADER_LEN - d->head_len;
		if (n > len)
			n = len;
		to = d->in_frame ? payload_at(d) : d->head + d->head_len;
		if (to != at)
			memmove(to, at, n);
		r = d->in_frame ? extend_payload(d, n, now_ns, e) : extend_header(d, n, now_ns, e);
	}
	return r;
}

static bool has_room(const struct dsi_request *r, size_t len)
{
	return r && r->reply_cap >= len;
}

/*
 * Where to receive the next bytes; returns the number of pieces. After the reply that is being
 * received, or comes next, there is room for many small ones; if a bulk reply follows, only for its
 * header, so that its data need not be copied again.
 */
static size_t receive_plan(struct dsi *d, struct iovec iov[static 3])
{
	struct dsi_request *r = d->in_frame && d->to ? d->to : d->expected;
	bool more = r && has_room(d->slot[(uint16_t)(r->id + 1) & d->mask], DSI_BULK_LEN);
	size_t n = 0;

	if (!d->in_frame && has_room(r, DSI_BULK_LEN) && r->discard) {
		iov[0] = (struct iovec) { d->head + d->head_len, DSI_HEADER_LEN - d->head_len };
		return 1;
	}
	if (d->in_frame) {
		iov[n++] = (struct iovec) { payload_at(d), d->want - d->got };
	} else if (has_room(r, DSI_GUESS_LEN)) {
		iov[n++] = (struct iovec) { d->head + d->head_len, DSI_HEADER_LEN - d->head_len };
		iov[n++] = (struct iovec) { r->reply, r->reply_cap };
	}
	iov[n] = (struct iovec) { d->rx, n && more ? DSI_HEADER_LEN : DSI_SCRATCH_LEN };
	return n + 1;
}

/* Bytes of the current payload that the kernel should drop. */
static size_t unwanted(const struct dsi *d)
{
	size_t left = d->want - d->got;

	return d->in_frame && d->to && d->to->discard && left >= DSI_BULK_LEN ? left : 0;
}

int dsi_receive(struct dsi *d, int flags, struct err *e)
{
	struct iovec iov[3];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = receive_plan(d, iov) };
	size_t n, drop = unwanted(d);
	ssize_t got;
	int r = 0;

	if (drop)
		got = recv(d->fd, payload_at(d), drop, flags | MSG_TRUNC); /* TCP only drops */
	else if (m.msg_iovlen == 1)
		got = recv(d->fd, iov[0].iov_base, iov[0].iov_len, flags);
	else
		got = recvmsg(d->fd, &m, flags);
	if (got < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
			return 0;
		return dsi_die(d, e, -errno, "%s: connection lost: %s", d->peer_name,
			       strerror(errno));
	}
	if (!got)
		return dsi_die(d, e, -ECONNRESET, "%s: the server ended the connection",
			       d->peer_name);
	d->heard_ns = clock_now_ns();
	if (drop)
		return extend_payload(d, (size_t)got, d->heard_ns, e);
	for (size_t i = 0, left = (size_t)got; left && !r; i++, left -= n) {
		n = left < iov[i].iov_len ? left : iov[i].iov_len;
		r = feed(d, iov[i].iov_base, n, d->heard_ns, e);
	}
	return r;
}
