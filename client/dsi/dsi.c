/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DSI session: sending, waiting, opening, closing. receive.c parses what comes in.
 *
 * While there is nothing to send the session blocks in recv (one call per small reply); else it
 * polls for both directions, so that the two sides cannot wait for each other for ever. It also
 * polls in order to get much of a large reply at once.
 */
#include "dsi/dsi.h"

#include "base/clock.h"
#include "dsi/conn.h"
#include "dsi/net.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLICE_MS        250   /* how soon a stop that came just before a wait is noticed */
#define TICKLE_AFTER_MS 20000 /* afpd wants to hear something every 30 s (tickleval) */
#define STOP_WAIT_MS    5000  /* patience after a stop */
#define CLOSE_WAIT_MS   2000

static bool stopped(const struct dsi *d)
{
	return !d->stop_ignored && d->opts.stop && *d->opts.stop;
}

/*
 * Not if the kernel's buffer is too small (SO_RCVBUF includes its overhead: as much again). Nor on
 * one host, unless TCP is paced: with a large low-water mark TCP acknowledges more often, which on
 * one host costs as much as the wake-ups, and more if both ends share a CPU (measured).
 */
static size_t batch_for(const struct dsi *d)
{
	int room = 0;
	socklen_t len = sizeof(room);

	if (dsi_is_near(d) && !dsi_is_paced(d))
		return 1;
	getsockopt(d->fd, SOL_SOCKET, SO_RCVBUF, &room, &len);
	return (unsigned int)room >= 4 * DSI_BATCH_LEN ? DSI_BATCH_LEN : 1;
}

int dsi_connect(struct dsi **out, const struct dsi_opts *opts, struct err *e)
{
	const struct timeval slice = { .tv_usec = SLICE_MS * 1000 };
	struct dsi *d;
	size_t n = 1;
	int r;

	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	d->fd = -1;
	d->opts = *opts;
	dsi_queue_init(&d->queued);
	dsi_queue_init(&d->done);
	snprintf(d->peer_name, sizeof(d->peer_name), "%s port %s", opts->host, opts->port);
	while (n < opts->window + 1u)
		n *= 2;
	d->mask = n - 1;
	d->slot = calloc(n, sizeof(struct dsi_request *));
	if (!d->slot) {
		r = err_set(e, -ENOMEM, "out of memory");
		goto fail;
	}
	r = net_connect(opts, e);
	if (r < 0)
		goto fail;
	d->fd = r;
	setsockopt(d->fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
	d->batch = batch_for(d);
	d->low_mark = 1;
	d->progress_ns = d->heard_ns = d->last_sent_ns = clock_now_ns();
	*out = d;
	return 0;
fail:
	dsi_close(d);
	return r;
}

static size_t request_len(const struct dsi_request *r)
{
	return DSI_HEADER_LEN + r->len + r->data_len;
}

/* Sending has failed. Reads what the server sent before, which may say why. */
static int lost(struct dsi *d, struct err *e, int failure)
{
	uint64_t before_ns;

	do {
		before_ns = d->heard_ns;
		dsi_receive(d, MSG_DONTWAIT, e);
	} while (!d->dead && d->heard_ns != before_ns);
	return dsi_die(d, e, -failure, "%s: connection lost: %s", d->peer_name, strerror(failure));
}

/* The next bytes of r to send in one call; apart: leave much data to the next call. */
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
	do {
		m = next_part(r, d->in_flight == 1, iov);
		n = m.msg_iovlen == 1 ? send(d->fd, iov[0].iov_base, iov[0].iov_len, flags)
				      : sendmsg(d->fd, &m, flags);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return -EAGAIN;
		if (n < 0)
			return lost(d, e, errno);
		r->sent += (size_t)n;
		d->in_request = r->sent < request_len(r);
		d->last_sent_ns = clock_now_ns();
		if (!d->overtaken)
			d->progress_ns = d->last_sent_ns;
	} while (r->sent == DSI_HEADER_LEN + r->len && r->data_len);
	if (r->sent < request_len(r))
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
	if (stopped(d))
		return err_set(e, -EINTR, "interrupted");
	if (d->in_flight >= d->opts.window || d->slot[d->next_id & d->mask])
		return -EAGAIN;
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

	if (d->queued.head || now_ns - d->last_sent_ns < TICKLE_AFTER_MS * 1000000ull)
		return;
	if (ioctl(d->fd, SIOCOUTQ, &unread) || unread)
		return;
	dsi_frame_put(raw, &f);
	if (send(d->fd, raw, sizeof(raw), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(raw))
		d->last_sent_ns = now_ns;
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

	if (now_ns - d->progress_ns > patience_ms(d) * 1000000ull)
		return dsi_die(d, e, -ETIMEDOUT,
			       "%s: no answer for %u s (%u requests in flight%s); see --timeout",
			       d->peer_name, patience_ms(d) / 1000, d->in_flight, instead(d));
	if (stopped(d))
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

/* Waits at most SLICE_MS until bytes can be sent or received, and does so, however few. */
static int work(struct dsi *d, struct err *e)
{
	struct pollfd p = { .fd = d->fd, .events = d->queued.head ? POLLIN | POLLOUT : POLLIN };
	uint64_t before_ns = d->progress_ns;
	int r;

	set_low_mark(d, worth_a_wake(d));
	if (!d->queued.head && d->low_mark == 1) {
		r = dsi_receive(d, 0, e);
	} else {
		if (poll(&p, 1, SLICE_MS) <= 0)
			p.revents = POLLIN;
		r = p.revents & (POLLIN | POLLERR | POLLHUP) ? dsi_receive(d, MSG_DONTWAIT, e) : 0;
		if (!r && p.revents & POLLOUT)
			r = send_queued(d, e);
	}
	if (!r && (d->progress_ns == before_ns || stopped(d)))
		r = check_wait(d, e);
	return r;
}

int dsi_reap(struct dsi *d, struct dsi_request **out, struct err *e)
{
	int r;

	while (!d->done.head) {
		if (d->dead)
			return err_set(e, d->dead, "%s", d->why.text);
		if (!d->in_flight)
			return -ENOENT;
		r = work(d, e);
		if (r && !d->done.head)
			return r;
	}
	*out = dsi_queue_take(&d->done);
	d->lent--;
	return 0;
}

int dsi_idle(struct dsi *d, uint64_t ns, struct err *e)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	const struct timespec wait = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	if (d->dead)
		return err_set(e, d->dead, "%s", d->why.text);
	tickle(d, clock_now_ns());
	set_low_mark(d, 1);
	if (ppoll(&p, 1, &wait, NULL) <= 0)
		return 0;
	return dsi_receive(d, MSG_DONTWAIT, e);
}

unsigned int dsi_lent(const struct dsi *d)
{
	return d->lent;
}

static int one_exchange(struct dsi *d, struct dsi_request *r, struct err *e)
{
	struct dsi_request *back;
	int rc = dsi_submit(d, r, e);

	return rc ? rc : dsi_reap(d, &back, e);
}

/* Checks the answer to the first request: whether the server accepts the session. */
static int check_welcome(struct dsi *d, const struct dsi_request *r, struct err *e)
{
	if (!r->result)
		return 0;
	return dsi_die(d, e, -EBUSY, "%s: the server refuses the session (DSI %d%s)", d->peer_name,
		       r->result, r->result == -1071 ? ": busy, \"max connections\" reached" : "");
}

int dsi_status(struct dsi *d, void *out, size_t *len, struct err *e)
{
	struct dsi_request r = { .command = DSI_STATUS, .reply = out, .reply_cap = *len };
	int rc = one_exchange(d, &r, e);

	*len = r.reply_len;
	return rc ? rc : check_welcome(d, &r, e);
}

static uint32_t parse_quantum(const uint8_t *reply, size_t len)
{
	struct rbuf b = rbuf_of(reply, len);
	uint32_t quantum = 0;
	uint8_t type, n;

	while (rbuf_left(&b)) {
		type = rbuf_u8(&b);
		n = rbuf_u8(&b);
		if (type == 0 && n == 4)
			quantum = rbuf_u32(&b);
		else
			rbuf_bytes(&b, n);
	}
	return quantum;
}

int dsi_open(struct dsi *d, struct err *e)
{
	/* one option: attention quantum (type 1), 4 bytes, value 2 */
	static const uint8_t option[] = { 1, 4, 0, 0, 0, 2 };
	uint8_t reply[256];
	struct dsi_request r = { .command = DSI_OPEN,
				 .len = sizeof(option),
				 .reply = reply,
				 .reply_cap = sizeof(reply) };
	int rc;

	memcpy(r.wire + DSI_HEADER_LEN, option, sizeof(option));
	rc = one_exchange(d, &r, e);
	if (!rc)
		rc = check_welcome(d, &r, e);
	if (rc)
		return rc;
	d->quantum = parse_quantum(reply, r.reply_len);
	if (d->quantum < 32)
		return dsi_die(d, e, -EPROTO, "%s: the server offers a request quantum of %u bytes",
			       d->peer_name, d->quantum);
	d->opened = true;
	return 0;
}

uint32_t dsi_quantum(const struct dsi *d)
{
	return d->quantum;
}

void dsi_ignore_stop(struct dsi *d)
{
	d->stop_ignored = true;
}

/* The host's part of an address; *len: its bytes, 0 where it has none. */
static const void *host_of(const struct sockaddr_storage *a, size_t *len)
{
	if (a->ss_family == AF_INET) {
		*len = sizeof(struct in_addr);
		return &((const struct sockaddr_in *)a)->sin_addr;
	}
	*len = a->ss_family == AF_INET6 ? sizeof(struct in6_addr) : 0;
	return &((const struct sockaddr_in6 *)a)->sin6_addr;
}

bool dsi_is_near(const struct dsi *d)
{
	struct sockaddr_storage local, peer;
	const void *own, *other;
	size_t len, n;

	dsi_ends(d, &local, &peer);
	own = host_of(&local, &len);
	other = host_of(&peer, &n);
	return len && len == n && !memcmp(own, other, len);
}

uint16_t dsi_attention(const struct dsi *d)
{
	return d->attention;
}

void dsi_ends(const struct dsi *d, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	socklen_t len = sizeof(*local);

	memset(local, 0, sizeof(*local));
	memset(peer, 0, sizeof(*peer));
	getsockname(d->fd, (struct sockaddr *)local, &len);
	len = sizeof(*peer);
	getpeername(d->fd, (struct sockaddr *)peer, &len);
}

/* A socket option that is a number. */
static void take_option(const struct dsi *d, struct run_tcp *out, enum run_tcp_value which,
			const int option[2])
{
	int value = 0;
	socklen_t len = sizeof(value);

	out->known[which] = !getsockopt(d->fd, option[0], option[1], &value, &len) && value > 0;
	if (out->known[which])
		out->value[which] = (uint64_t)value;
}

bool dsi_tcp(const struct dsi *d, struct run_tcp *out)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(out->known, 0, sizeof(out->known));
	out->t_ns = clock_now_ns();
	if (getsockopt(d->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	tcp_info_take(out, &info, len);
	take_option(d, out, TCP_SNDBUF, (const int[]) { SOL_SOCKET, SO_SNDBUF });
	take_option(d, out, TCP_RCVBUF, (const int[]) { SOL_SOCKET, SO_RCVBUF });
	take_option(d, out, TCP_MSS, (const int[]) { IPPROTO_TCP, TCP_MAXSEG });
	return true;
}

bool dsi_congestion(const struct dsi *d, char out[static TCP_CONGESTION_LEN])
{
	socklen_t len = TCP_CONGESTION_LEN - 1;

	memset(out, 0, TCP_CONGESTION_LEN);
	return !getsockopt(d->fd, IPPROTO_TCP, TCP_CONGESTION, out, &len) && *out;
}

bool dsi_is_paced(const struct dsi *d)
{
	char congestion[TCP_CONGESTION_LEN];

	return dsi_congestion(d, congestion) && tcp_is_paced(congestion);
}

static void say_goodbye(struct dsi *d)
{
	const struct dsi_frame f = { .flag = DSI_REQUEST, .command = DSI_CLOSE, .id = d->next_id };
	uint8_t raw[DSI_HEADER_LEN];
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	uint64_t end_ns = clock_now_ns() + CLOSE_WAIT_MS * 1000000ull;

	dsi_frame_put(raw, &f);
	if (d->opened && send(d->fd, raw, sizeof(raw), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
	shutdown(d->fd, SHUT_WR);
	while (clock_now_ns() < end_ns) {
		if (poll(&p, 1, SLICE_MS) > 0 &&
		    recv(d->fd, d->rx, sizeof(d->rx), MSG_DONTWAIT) <= 0)
			break;
	}
}

/*
 * Whether to send DSICloseSession, also after an error: without it afpd keeps the session, and its
 * open files, for up to a day. Not in the middle of a request, where it would be taken for data.
 */
static bool may_say_goodbye(const struct dsi *d)
{
	return !d->dead || ((d->dead == -EPROTO || d->dead == -ETIMEDOUT) && !d->in_request);
}

void dsi_close(struct dsi *d)
{
	if (!d)
		return;
	if (d->fd >= 0) {
		if (may_say_goodbye(d))
			say_goodbye(d);
		close(d->fd);
	}
	free(d->slot);
	free(d);
}
