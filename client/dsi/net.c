/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a host name to a connected TCP socket. */
#include "dsi/net.h"

#include "base/clock.h"
#include "dsi/sources.h"

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
	case EADDRNOTAVAIL:
		return " (all ports of this host's address are in use towards this server, and stay so "
		       "for a minute after a connection: --source ADDRESS,ADDRESS, or more ports by "
		       "sysctl net.ipv4.ip_local_port_range)";
	case EAFNOSUPPORT:
		return " (--source has no address of this server's family, IPv4 or IPv6)";
	default:
		return "";
	}
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

static void close_one(struct net_dial *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* Begins to connect from the source whose turn it is in this. */
static int begin_from(struct net_dial *n, const struct sources *sources, unsigned int turn)
{
	const struct addrinfo *a = n->at;
	int r;

	n->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
	if (n->fd < 0)
		return -errno;
	widen_window(n->fd);
	r = sources_bind(sources, turn, n->fd, a->ai_family);
	if (r)
		return r;
	if (!connect(n->fd, a->ai_addr, a->ai_addrlen) || errno == EINPROGRESS || errno == EINTR)
		return 0;
	return -errno;
}

/*
 * Begins to connect to n->at, from the first source in turn that has a port left. 0: n->fd is
 * connected, or will be; negative errno: it cannot be.
 */
static int begin_one(struct net_dial *n, const struct dsi_opts *opts)
{
	unsigned int tries = opts->sources ? sources_of(opts->sources, n->at->ai_family) : 0, i = 0;
	int r;

	n->due_ns = clock_now_ns() + n->timeout_ns;
	do {
		close_one(n);
		r = begin_from(n, opts->sources, opts->number + i);
	} while (r == -EADDRNOTAVAIL && ++i < tries);
	return r;
}

/* Begins with n->at or, where that fails at once, with one after it. */
static void net_begin(struct net_dial *n, const struct dsi_opts *opts)
{
	for (; n->at; n->at = n->at->ai_next) {
		n->failure = begin_one(n, opts);
		if (!n->failure)
			return;
		close_one(n);
	}
}

int net_dial(struct net_dial *n, const struct dsi_opts *opts, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int r = 0;

	*n = (struct net_dial) { .at = opts->address,
				 .fd = -1,
				 .failure = -EHOSTUNREACH,
				 .timeout_ns = opts->timeout_ms * 1000000ull };
	if (!n->at)
		r = getaddrinfo(opts->host, opts->port, &hints, &n->own);
	if (r)
		return err_set(e, -EHOSTUNREACH, "cannot find host %s: %s", opts->host,
			       r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
	n->at = n->own ? n->own : n->at;
	net_begin(n, opts);
	return 0;
}

/* Whether the address being tried has answered: 0, -EINPROGRESS, or why it cannot be reached. */
static int net_look(const struct net_dial *n)
{
	struct pollfd p = { .fd = n->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int failure = 0;

	if (poll(&p, 1, 0) > 0) {
		getsockopt(n->fd, SOL_SOCKET, SO_ERROR, &failure, &len);
		return -failure;
	}
	return clock_now_ns() < n->due_ns ? -EINPROGRESS : -ETIMEDOUT;
}

static int net_prepare(int fd)
{
	const int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    fcntl(fd, F_SETFL, 0) < 0)
		return -errno;
	return 0;
}

int net_dial_advance(struct net_dial *n, const struct dsi_opts *opts, struct err *e)
{
	int fd;

	while (n->at) {
		n->failure = net_look(n);
		if (n->failure == -EINPROGRESS)
			return -EINPROGRESS;
		if (!n->failure)
			n->failure = net_prepare(n->fd);
		if (!n->failure) {
			fd = n->fd;
			n->fd = -1;
			return fd;
		}
		close_one(n);
		n->at = n->at->ai_next;
		net_begin(n, opts);
	}
	return err_set(e, n->failure, "cannot connect to %s port %s: %s%s", opts->host, opts->port,
		       strerror(-n->failure), connect_hint(n->failure));
}

void net_dial_end(struct net_dial *n)
{
	close_one(n);
	if (n->own)
		freeaddrinfo(n->own);
	n->own = NULL;
	n->at = NULL;
}
