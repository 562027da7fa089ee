/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a host name to a connected TCP socket. */
#include "dsi/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* More than any request quantum seen so far; the kernel may reduce it. */
#define WINDOW_LEN (4 << 20)

static const char *connect_hint(int code)
{
	switch (-code) {
	case ECONNREFUSED:
		return " (is the server running, and is this its port?)";
	case ETIMEDOUT:
		return " (host down, or a firewall drops the packets?)";
	case EHOSTUNREACH:
	case ENETUNREACH:
		return " (no route from here)";
	default:
		return "";
	}
}

static int connect_wait(int fd, const struct dsi_opts *opts)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int left_ms = (int)opts->timeout_ms, slice_ms, failure = 0, n;
	socklen_t len = sizeof(failure);

	while (left_ms > 0) {
		slice_ms = left_ms < 250 ? left_ms : 250;
		n = poll(&p, 1, slice_ms);
		if (opts->stop && *opts->stop)
			return -EINTR;
		if (n > 0)
			break;
		left_ms -= slice_ms;
	}
	if (left_ms <= 0)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len);
	return -failure;
}

/*
 * Makes the receive window large enough for bulk replies from the start. Otherwise it grows with
 * what was read, in some runs to less than a reply: then both ends wake each other many times a
 * reply, and runs of the same work differ by factors. Setting a low-water mark enlarges it (Linux
 * 4.18) and, unlike SO_RCVBUF, lets it go on growing; the mark itself is reset.
 */
static void widen_window(int fd)
{
	const int wide = WINDOW_LEN, none = 1;

	if (!setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &wide, sizeof(wide)))
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &none, sizeof(none));
}

static int connect_one(const struct addrinfo *a, const struct dsi_opts *opts)
{
	const int on = 1;
	int fd, r;

	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
	if (fd < 0)
		return -errno;
	widen_window(fd);
	r = connect(fd, a->ai_addr, a->ai_addrlen) < 0 ? -errno : 0;
	if (r == -EINPROGRESS || r == -EINTR)
		r = connect_wait(fd, opts);
	if (!r && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		r = -errno;
	if (!r && fcntl(fd, F_SETFL, 0) < 0)
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int net_connect(const struct dsi_opts *opts, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *a;
	int r;

	r = getaddrinfo(opts->host, opts->port, &hints, &list);
	if (r)
		return err_set(e, -EHOSTUNREACH, "cannot find host %s: %s", opts->host,
			       r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
	r = -EHOSTUNREACH;
	for (a = list; a; a = a->ai_next) {
		r = connect_one(a, opts);
		if (r >= 0 || r == -EINTR)
			break;
	}
	freeaddrinfo(list);
	if (r == -EINTR)
		return err_set(e, r, "interrupted");
	if (r < 0)
		return err_set(e, r, "cannot connect to %s port %s: %s%s", opts->host, opts->port,
			       strerror(-r), connect_hint(r));
	return r;
}
