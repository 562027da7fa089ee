/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A UDP socket with Rx on it: its buffers, what is read from it, and when it is due. */
#include "base/clock.h"
#include "rx/endpoint_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define INBOX  32 /* datagrams that are read at a time */
#define ROUNDS 8  /* of them, before others have their turn */

/* ---- opening ---- */

/* What was granted: the kernel reports twice as much as setsockopt() was given. */
static uint32_t granted(int fd, int which)
{
	socklen_t len = sizeof(int);
	int value = 0;

	getsockopt(fd, SOL_SOCKET, which, &value, &len);
	return (uint32_t)value / 2;
}

/* true: only by force. */
static bool set_buffer(int fd, int which, int force, int len)
{
	setsockopt(fd, SOL_SOCKET, which, &len, sizeof(len));
	if (granted(fd, which) >= (uint32_t)len)
		return false;
	return !setsockopt(fd, SOL_SOCKET, force, &len, sizeof(len));
}

static void set_buffers(struct rx_endpoint *ep, unsigned int len)
{
	struct rx_buffers *b = &ep->buffers;

	b->asked_len = len;
	if (len) {
		b->forced = set_buffer(ep->fd, SO_RCVBUF, SO_RCVBUFFORCE, (int)len);
		set_buffer(ep->fd, SO_SNDBUF, SO_SNDBUFFORCE, (int)len);
	}
	b->received_len = granted(ep->fd, SO_RCVBUF);
	b->sent_len = granted(ep->fd, SO_SNDBUF);
}

static int open_socket(struct rx_endpoint *ep, const struct rx_endpoint_opts *o, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = o->address,
				  .sin_port = htons(o->port) };
	socklen_t len = sizeof(at);

	ep->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ep->fd < 0)
		return err_set(e, -errno, "cannot make a UDP socket: %s", strerror(errno));
	if (bind(ep->fd, (struct sockaddr *)&at, len) ||
	    getsockname(ep->fd, (struct sockaddr *)&at, &len))
		return err_set(e, -errno, "cannot bind to UDP port %u: %s%s", o->port,
			       strerror(errno),
			       errno == EADDRINUSE ? " (another server is running there)" : "");
	ep->port = ntohs(at.sin_port);
	set_buffers(ep, o->buffer_len);
	return 0;
}

/* The longest datagram that the peers may send. */
static size_t longest(const struct rx_limits *own)
{
	size_t jumbo = RX_PACKET_LEN + (own->datagram - 1) * (size_t)(RX_DATA_LEN + RX_JUMBO_LEN);
	size_t one = RX_HEADER_LEN + own->data_len;

	return ((jumbo > one ? jumbo : one) + 63) / 64 * 64;
}

static int open_inbox(struct rx_endpoint *ep, const struct rx_endpoint_opts *o, struct err *e)
{
	struct rx_inbox *in = &ep->in;

	in->each = longest(&ep->hub.own);
	in->room = INBOX;
	in->bytes = o->scratch;
	if (!o->scratch)
		in->bytes = ep->own_bytes = malloc(INBOX * in->each);
	else if (o->scratch_len / in->each < INBOX)
		in->room = (unsigned int)(o->scratch_len / in->each);
	in->len = calloc(INBOX, sizeof(*in->len));
	in->from = calloc(INBOX, sizeof(*in->from));
	if (!in->room)
		return err_set(e, -EINVAL, "the packets are too long for the memory given");
	return in->bytes && in->len && in->from ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static bool are_possible(const struct rx_limits *l)
{
	return l->data_len >= 64 && l->data_len <= 65000 && l->window >= 1 &&
	       l->window <= RX_WINDOW_MAX && l->datagram >= 1 && l->datagram <= RX_JUMBO_MAX;
}

int rx_endpoint_open(struct rx_endpoint **out, const struct rx_endpoint_opts *o, struct err *e)
{
	const struct rx_limits usual = RX_LIMITS_USUAL, *own = o->own.window ? &o->own : &usual;
	struct rx_endpoint *ep = calloc(1, sizeof(*ep));
	int r;

	*out = NULL;
	if (!ep)
		return err_set(e, -ENOMEM, "out of memory");
	ep->fd = -1;
	ep->service = o->service;
	ep->events = o->events;
	rx_hub_init(&ep->hub, own);
	if (o->first_rtt_ns)
		ep->hub.first_rtt_ns = o->first_rtt_ns;
	if (o->dead_ns)
		ep->hub.dead_ns = o->dead_ns;
	if (o->least_rtt_ns)
		ep->hub.least_rtt_ns = o->least_rtt_ns;
	r = are_possible(own) ? 0 : err_set(e, -EINVAL, "impossible window or length of packets");
	r = r ? r : open_socket(ep, o, e);
	r = r ? r : open_inbox(ep, o, e);
	r = r ? r : rx_peers_init(ep, o, e);
	if (r)
		rx_endpoint_close(ep);
	else
		*out = ep;
	return r;
}

void rx_endpoint_close(struct rx_endpoint *ep)
{
	if (!ep)
		return;
	if (ep->fd >= 0)
		close(ep->fd);
	rx_peers_fini(ep);
	free(ep->own_bytes);
	free(ep->in.len);
	free(ep->in.from);
	free(ep);
}

/* ---- what is known of it ---- */

uint16_t rx_endpoint_port(const struct rx_endpoint *ep)
{
	return ep->port;
}

struct rx_hub *rx_endpoint_hub(struct rx_endpoint *ep)
{
	return &ep->hub;
}

struct rx_buffers rx_endpoint_buffers(const struct rx_endpoint *ep)
{
	return ep->buffers;
}

bool rx_endpoint_drops(struct rx_endpoint *ep, uint64_t *out)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(ep->fd, SOL_SOCKET, SO_MEMINFO, info, &len) ||
	    len <= SK_MEMINFO_DROPS * sizeof(info[0]))
		return false;
	*out = info[SK_MEMINFO_DROPS];
	return true;
}

/* ---- going on ---- */

void rx_endpoint_wait(const struct rx_endpoint *ep, struct io_wait *w)
{
	*w = (struct io_wait) { ep->fd, POLLIN, ep->hub.due_ns };
	if (ep->out.n)
		w->events |= POLLOUT;
	else if (ep->hub.ready || ep->has_errors)
		w->due_ns = 0;
}

/* Each error of the kernel about what was sent is in a queue, which would wake for ever. */
static void empty_errors(int fd)
{
	struct msghdr m;
	char room[256];

	do
		m = (struct msghdr) { .msg_control = room, .msg_controllen = sizeof(room) };
	while (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0);
}

int rx_endpoint_fetch(struct rx_endpoint *ep)
{
	struct rx_inbox *in = &ep->in;
	struct mmsghdr m[INBOX];
	struct iovec iov[INBOX];
	int n;

	for (unsigned int i = 0; i < in->room; i++) {
		iov[i] = (struct iovec) { in->bytes + i * in->each, in->each };
		m[i].msg_hdr = (struct msghdr) { .msg_name = &in->from[i],
						 .msg_namelen = sizeof(in->from[i]),
						 .msg_iov = &iov[i],
						 .msg_iovlen = 1 };
	}
	n = recvmmsg(ep->fd, m, in->room, MSG_DONTWAIT, NULL);
	in->n = n > 0 ? (unsigned int)n : 0;
	for (unsigned int i = 0; i < in->n; i++)
		in->len[i] = m[i].msg_len;
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	if (errno == EBADF || errno == ENOTSOCK || errno == EFAULT)
		return -errno;
	if (rx_is_refusal(-errno))
		ep->refusal = -errno;
	ep->has_errors = true;
	return 0;
}

void rx_endpoint_take(struct rx_endpoint *ep, uint64_t now_ns)
{
	for (unsigned int i = 0; i < ep->in.n; i++)
		rx_peers_datagram(ep, &ep->in.from[i], ep->in.bytes + i * ep->in.each,
				  ep->in.len[i], now_ns);
	ep->in.n = 0;
	if (ep->has_errors)
		empty_errors(ep->fd);
	if (ep->refusal)
		rx_peers_refused(ep, ep->refusal);
	ep->has_errors = false;
	ep->refusal = 0;
}

void rx_endpoint_time(struct rx_endpoint *ep, uint64_t now_ns)
{
	struct rx_call *c;
	uint64_t due_ns;

	if (now_ns < ep->hub.due_ns)
		return;
	ep->hub.due_ns = RX_NEVER;
	for (unsigned int i = 0; i < ep->n_made; i++) {
		c = ep->call[i];
		if (rx_call_due_ns(c) <= now_ns) {
			rx_call_time(c, now_ns);
			if (c->held && ep->events.changed)
				ep->events.changed(ep->events.user, c);
		}
		due_ns = rx_call_due_ns(c);
		if (due_ns < ep->hub.due_ns)
			ep->hub.due_ns = due_ns;
	}
}

int rx_endpoint_flush(struct rx_endpoint *ep, uint64_t now_ns)
{
	struct rx_call *c;
	int r;

	for (;;) {
		while (ep->out.used < RX_OUTBOX && (c = rx_hub_ready(&ep->hub))) {
			rx_outbox_collect(ep, c, now_ns);
			if (ep->out.used == RX_OUTBOX) /* it may have more */
				rx_hub_enlist(&ep->hub, c, RX_NEVER);
		}
		if (!ep->out.n)
			return 0;
		r = rx_outbox_send(ep);
		if (r)
			return r;
	}
}

/* Each round has its own time: what is sent in one may be confirmed in the next. */
int rx_endpoint_advance(struct rx_endpoint *ep, uint64_t now_ns, struct err *e)
{
	const uint64_t begun_ns = clock_now_ns(), given_ns = now_ns;
	int n, r;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		n = rx_endpoint_fetch(ep);
		now_ns = given_ns + (clock_now_ns() - begun_ns);
		if (n < 0)
			return err_set(e, n, "cannot receive from the UDP socket: %s",
				       strerror(-n));
		rx_endpoint_take(ep, now_ns);
		r = rx_endpoint_flush(ep, now_ns);
		if (r && r != -EAGAIN)
			return err_set(e, r, "cannot send to the UDP socket: %s", strerror(-r));
		if ((unsigned int)n < ep->in.room)
			break;
	}
	rx_endpoint_time(ep, now_ns);
	r = rx_endpoint_flush(ep, now_ns);
	return r && r != -EAGAIN ? err_set(e, r, "cannot send to the UDP socket: %s", strerror(-r))
				 : 0;
}
