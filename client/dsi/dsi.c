/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DSI session: sending, waiting, going on. session.c opens and ends it, link.c does its steps,
 * receive.c parses what comes in.
 *
 * dsi_wait() and dsi_advance() never wait. A caller that may wait uses dsi_work(): while there is
 * nothing to send it blocks in recv (one call per small reply); else it polls for both directions,
 * so that the two sides cannot wait for each other for ever. It also polls in order to get much of
 * a large reply at once.
 */
#include "dsi/dsi.h"

#include "base/clock.h"
#include "dsi/conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#define TICKLE_AGAIN_NS 1000000000ull /* where it could not be sent */
#define STOP_WAIT_MS    5000          /* patience after a stop */

static size_t dsi_request_len(const struct dsi_request *r)
{
	return DSI_HEADER_LEN + r->len + r->data_len;
}

/* Sending has failed. Reads what the server sent before, which may say why. */
static int dsi_lost(struct dsi *d, struct err *e, int failure)
{
	uint64_t before_ns;

	do {
		before_ns = d->heard_ns;
		dsi_receive(d, MSG_DONTWAIT, e);
	} while (!d->dead && d->heard_ns != before_ns);
	return dsi_die(d, e, -failure, "%s: connection lost: %s", d->peer_name, strerror(failure));
}

/* The next bytes of r to send in one call; apart: where there is much data, only header and
 * command now. */
static struct msghdr next_part(struct dsi_request *r, bool apart, struct iovec iov[2])
{
	size_t head = DSI_HEADER_LEN + r->len, data_sent = r->sent > head ? r->sent - head : 0;
	struct msghdr m = { .msg_iov = iov };

	if (r->sent < head)
		iov[m.msg_iovlen++] = (struct iovec) { r->wire + r->sent, head - r->sent };
	if (r->data_len && !(apart && r->sent < head && r->data_len >= DSI_APART_LEN))
		iov[m.msg_iovlen++] = (struct iovec) { (uint8_t *)(uintptr_t)r->data + data_sent,
						       r->data_len - data_sent };
	return m;
}

/*
 * 0 when the kernel took all of r, -EAGAIN when not. One call; two for much data if the server is
 * idle: then it wakes and reads the command while the data is still being copied.
 */
static int send_one(struct dsi *d, struct dsi_request *r, struct err *e)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	struct iovec iov[2];
	struct msghdr m;
	ssize_t n;

	if (!r->t.begun_ns)
		r->t.begun_ns = clock_now_ns();
	if (!d->in_request)
		dsi_mark_message(d->mark, DSI_HEADER_LEN + r->len, r->data_len);
	do {
		m = next_part(r, d->in_flight == 1, iov);
		n = m.msg_iovlen == 1 ? send(d->fd, iov[0].iov_base, iov[0].iov_len, flags)
				      : sendmsg(d->fd, &m, flags);
		if (n < 0 && !r->sent)
			dsi_mark_none(d->mark);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return -EAGAIN;
		if (n < 0)
			return dsi_lost(d, e, errno);
		r->sent += (size_t)n;
		d->in_request = r->sent < dsi_request_len(r);
		d->last_sent_ns = clock_now_ns();
		if (!d->overtaken)
			d->progress_ns = d->last_sent_ns;
	} while (r->sent == DSI_HEADER_LEN + r->len && r->data_len);
	if (r->sent < dsi_request_len(r))
		return -EAGAIN;
	r->t.sent_ns = d->last_sent_ns;
	return 0;
}

static int send_queued(struct dsi *d, struct err *e)
{
	int r = 0;

	while (d->queued.head && !r) {
		r = send_one(d, d->queued.head, e);
		if (!r)
			dsi_queue_take(&d->queued);
	}
	return r == -EAGAIN ? 0 : r;
}

int dsi_submit(struct dsi *d, struct dsi_request *r, struct err *e)
{
	struct dsi_frame f = { .flag = DSI_REQUEST, .command = r->command };

	if (d->dead)
		return err_set(e, d->dead, "%s", d->why.text);
	if (dsi_stopped(d))
		return err_set(e, -EINTR, "interrupted");
	if (d->in_flight >= d->opts.window)
		return -EAGAIN;
	while (d->slot[d->next_id & d->mask])
		d->next_id++; /* of one that younger ones have overtaken; there are more slots */
	r->id = d->next_id++;
	r->sent = 0;
	f.id = r->id;
	f.code = r->command == DSI_WRITE ? (uint32_t)r->len : 0;
	f.len = (uint32_t)(r->len + r->data_len);
	dsi_frame_put(r->wire, &f);
	r->t = (struct dsi_times) { .queued_ns = clock_now_ns() };
	d->lent++;
	d->slot[r->id & d->mask] = r;
	if (!d->in_flight++) {
		d->expected = r;
		d->progress_ns = r->t.queued_ns;
	}
	dsi_queue_put(&d->queued, r);
	if (d->queued.head != r)
		return 0;
	r->t.begun_ns = r->t.queued_ns;
	return send_queued(d, e);
}

/*
 * Sends a tickle, unless the server has not read everything yet: then it does not wait for us, and
 * the kernel might accept only a part of the 16 bytes.
 */
static void tickle(struct dsi *d, uint64_t now_ns)
{
	const struct dsi_frame f = { .flag = DSI_REQUEST, .command = DSI_TICKLE };
	uint8_t raw[DSI_HEADER_LEN];
	int unread = 0;

	if (d->tickle_ns < d->last_sent_ns + d->tickle_after_ns)
		d->tickle_ns = d->last_sent_ns + d->tickle_after_ns;
	if (now_ns < d->tickle_ns)
		return;
	d->tickle_ns = now_ns + TICKLE_AGAIN_NS;
	if (d->queued.head || ioctl(d->fd, SIOCOUTQ, &unread) || unread)
		return;
	dsi_frame_put(raw, &f);
	dsi_mark_message(d->mark, sizeof(raw), 0);
	if (send(d->fd, raw, sizeof(raw), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(raw))
		d->last_sent_ns = now_ns;
	else
		dsi_mark_none(d->mark);
}

/* How long a request may make no progress: not long after a stop. */
static unsigned int patience_ms(const struct dsi *d)
{
	bool stop = d->opts.stop && *d->opts.stop;

	return stop && d->opts.timeout_ms > STOP_WAIT_MS ? STOP_WAIT_MS : d->opts.timeout_ms;
}

/* For messages: what the server does instead of answering the oldest request. */
static const char *instead(const struct dsi *d)
{
	if (d->overtaken)
		return "; younger ones were answered";
	return d->heard_ns > d->progress_ns ? "; the server still sends tickles" : "";
}

static int check_wait(struct dsi *d, struct err *e)
{
	uint64_t now_ns = clock_now_ns();

	if (d->in_flight && now_ns - d->progress_ns > patience_ms(d) * 1000000ull)
		return dsi_die(d, e, -ETIMEDOUT,
			       "%s: no answer for %u s (%u requests in flight%s); see --timeout",
			       d->peer_name, patience_ms(d) / 1000, d->in_flight, instead(d));
	if (dsi_stopped(d))
		return err_set(e, -EINTR, "interrupted");
	tickle(d, now_ns);
	return 0;
}

/*
 * How many bytes to wait for. While more than one reply is to come the server goes on without us,
 * and waking once for many bytes saves switches (tests/bench/bench.py speed-peer speed-cpu); a
 * single reply is read at once, as the server waits for us.
 */
static size_t worth_a_wake(const struct dsi *d)
{
	size_t left = d->in_frame && d->to ? d->want - d->got : 0;

	if (d->in_flight < 2 || left < DSI_BATCH_MIN_LEN)
		return 1;
	return left < d->batch ? left : d->batch;
}

/* With fewer bytes than this poll does not report POLLIN. */
static void set_low_mark(struct dsi *d, size_t mark)
{
	const int value = (int)mark;

	if (mark != d->low_mark &&
	    !setsockopt(d->fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value)))
		d->low_mark = mark;
}

void dsi_wait(struct dsi *d, struct io_wait *w)
{
	uint64_t end_ns = d->progress_ns + patience_ms(d) * 1000000ull;

	*w = (struct io_wait) { d->fd, POLLIN, UINT64_MAX };
	if (d->finished) {
		w->fd = -1;
	} else if (d->end_ns) {
		w->due_ns = d->end_ns;
	} else if (d->dead) {
		*w = (struct io_wait) { -1, 0, 0 };
	} else if (d->fd < 0) {
		*w = (struct io_wait) { d->dial.fd, POLLOUT, d->dial.due_ns };
	} else {
		set_low_mark(d, worth_a_wake(d));
		if (d->queued.head)
			w->events |= POLLOUT;
		w->due_ns = d->last_sent_ns + d->tickle_after_ns;
		if (w->due_ns < d->tickle_ns)
			w->due_ns = d->tickle_ns;
		if (d->in_flight && w->due_ns > end_ns)
			w->due_ns = end_ns;
		if (d->low_mark > 1 && w->due_ns > clock_now_ns() + DSI_SLICE_NS)
			w->due_ns = clock_now_ns() + DSI_SLICE_NS;
	}
}

/* The bytes that can be moved now, and deadlines. before_ns: the progress before. */
static int dsi_transfer(struct dsi *d, short events, uint64_t before_ns, struct err *e)
{
	int r = 0;

	/* where much is waited for, the time also takes what there is */
	if (events & (POLLIN | POLLERR | POLLHUP) || (!events && d->low_mark > 1))
		r = dsi_receive(d, MSG_DONTWAIT, e);
	if (!r && events & POLLOUT)
		r = send_queued(d, e);
	if (d->greeting && d->done.head == &d->greeting->r)
		r = dsi_take_greeting(d, e);
	if (!r && (d->progress_ns == before_ns || dsi_stopped(d)))
		r = check_wait(d, e);
	return r;
}

int dsi_advance(struct dsi *d, short events, struct err *e)
{
	if (d->end_ns || (d->fd < 0 && !d->dead))
		return dsi_link_advance(d, e);
	if (d->dead)
		return err_set(e, d->dead, "%s", d->why.text);
	return dsi_transfer(d, events, d->progress_ns, e);
}

int dsi_work(struct dsi *d, uint64_t ns, struct err *e)
{
	uint64_t before_ns = d->progress_ns;
	struct io_wait w;
	int r;

	dsi_wait(d, &w);
	if (d->in_flight && !d->queued.head && d->low_mark == 1 && ns >= DSI_SLICE_NS &&
	    !d->end_ns && !d->dead) {
		r = dsi_receive(d, 0, e);
		return r ? r : dsi_transfer(d, 0, before_ns, e);
	}
	return dsi_advance(d, io_wait(&w, ns), e);
}

struct dsi_request *dsi_take(struct dsi *d)
{
	struct dsi_request *r = dsi_queue_take(&d->done);

	d->lent -= r != NULL;
	return r;
}

int dsi_reap(struct dsi *d, struct dsi_request **out, struct err *e)
{
	int r;

	while (!(*out = dsi_take(d))) {
		if (d->dead)
			return err_set(e, d->dead, "%s", d->why.text);
		if (!d->in_flight)
			return -ENOENT;
		r = dsi_work(d, DSI_SLICE_NS, e);
		if (r && !d->done.head)
			return r;
	}
	return 0;
}

unsigned int dsi_lent(const struct dsi *d)
{
	return d->lent;
}

uint32_t dsi_quantum(const struct dsi *d)
{
	return d->quantum;
}

void dsi_ignore_stop(struct dsi *d)
{
	d->stop_ignored = true;
}
