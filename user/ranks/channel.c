/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages over TCP between ranks. */
#include "ranks/channel.h"

#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define HEAD_LEN 5u
#define READ_LEN 65536u

static void channel_set(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

void channel_init(struct channel *c, int fd)
{
	const struct timeval patience = { .tv_sec = CHANNEL_SILENCE_S };

	*c = (struct channel) { .fd = fd, .len_max = CHANNEL_STRANGER_MAX };
	channel_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	channel_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	channel_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, CHANNEL_SILENCE_S / 4);
	channel_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, CHANNEL_SILENCE_S / 4);
	channel_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	channel_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, CHANNEL_SILENCE_S * 1000);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

void channel_close(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->in);
	*c = (struct channel) { .fd = -1 };
}

static int channel_send_all(int fd, const uint8_t *data, size_t len, int flags)
{
	ssize_t n;

	while (len) {
		n = send(fd, data, len, MSG_NOSIGNAL | flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int channel_send(struct channel *c, uint8_t type, const void *data, size_t len)
{
	uint8_t head[HEAD_LEN];
	struct wbuf b = wbuf_of(head, sizeof(head));
	int r;

	if (c->fd < 0)
		return -ENOTCONN;
	if (len > CHANNEL_MAX)
		return -EMSGSIZE;
	wbuf_u32(&b, (uint32_t)len);
	wbuf_u8(&b, type);
	r = channel_send_all(c->fd, head, sizeof(head), len ? MSG_MORE : 0);
	return r ? r : channel_send_all(c->fd, data, len, 0);
}

/* A whole message, if there is one. 1; 0; negative errno. */
static int channel_complete(struct channel *c, struct message *out)
{
	struct rbuf b;
	uint32_t len;

	if (c->have < HEAD_LEN)
		return 0;
	b = rbuf_of(c->in, HEAD_LEN);
	len = rbuf_u32(&b);
	out->type = rbuf_u8(&b);
	if (len > c->len_max)
		return -EPROTO;
	if (c->have - HEAD_LEN < len)
		return 0;
	out->data = c->in + HEAD_LEN;
	out->len = len;
	c->taken = HEAD_LEN + len;
	return 1;
}

/* Reads what is there. Bytes; 0: nothing; negative errno. */
static ssize_t channel_fill(struct channel *c)
{
	uint8_t *in;
	ssize_t n;

	if (c->room - c->have < READ_LEN) {
		in = realloc(c->in, c->room + c->room / 2 + READ_LEN);
		if (!in)
			return -ENOMEM;
		c->in = in;
		c->room += c->room / 2 + READ_LEN;
	}
	n = recv(c->fd, c->in + c->have, c->room - c->have, MSG_DONTWAIT);
	if (!n)
		return -ECONNRESET;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	c->have += (size_t)n;
	return n;
}

/* 0: there is something to read; -EAGAIN: there is not; -EINTR. */
static int wait_for_bytes(const struct channel *c, uint64_t until_ns)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	uint64_t now_ns = clock_now_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec t = { (time_t)(left_ns / 1000000000u),
				    (long)(left_ns % 1000000000u) };
	int n = ppoll(&p, 1, &t, NULL);

	if (n < 0)
		return -errno;
	return n ? 0 : -EAGAIN;
}

int channel_take(struct channel *c, struct message *out, uint64_t until_ns)
{
	ssize_t n;
	int r;

	if (c->fd < 0)
		return -ENOTCONN;
	c->have -= c->taken;
	if (c->taken && c->have)
		memmove(c->in, c->in + c->taken, c->have);
	c->taken = 0;
	while (!(r = channel_complete(c, out))) {
		n = channel_fill(c);
		if (n < 0)
			return (int)n;
		if (n)
			continue;
		if (!until_ns)
			return 0;
		r = wait_for_bytes(c, until_ns);
		if (r)
			return r == -EAGAIN ? 0 : r;
	}
	return r;
}

int channel_listen(uint16_t *port, struct err *e)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in any4 = { .sin_family = AF_INET };
	struct sockaddr *a = (struct sockaddr *)&any;
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (fd >= 0)
		channel_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (fd < 0 || bind(fd, a, len)) { /* this host has no IPv6 */
		if (fd >= 0)
			close(fd);
		a = (struct sockaddr *)&any4;
		len = sizeof(any4);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || bind(fd, a, len))
			goto failed;
	}
	if (listen(fd, SOMAXCONN) || getsockname(fd, a, &len))
		goto failed;
	*port = ntohs(a->sa_family == AF_INET6 ? any.sin6_port : any4.sin_port);
	return fd;
failed:
	r = err_set(e, -errno, "cannot listen for the other ranks: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return r;
}

int channel_dial(const struct sockaddr_storage *to, uint64_t wait_ns)
{
	socklen_t len = to->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failure = 0;
	socklen_t n = sizeof(failure);
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)to, len) && errno != EINPROGRESS)
		failure = errno;
	else if (poll(&p, 1, (int)(wait_ns / 1000000)) != 1)
		failure = ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &n))
		failure = errno;
	if (!failure && !fcntl(fd, F_SETFL, 0)) /* only reads never wait */
		return fd;
	close(fd);
	return failure ? -failure : -EIO;
}
