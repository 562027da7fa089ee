/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_LOOPBACK_H
#define TESTS_UNIT_LOOPBACK_H

/* A TCP connection over the loopback interface. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum loopback_kind {
	LOOPBACK_V4,
	LOOPBACK_V6,
	LOOPBACK_MAPPED, /* the client speaks IPv4, the server's socket is IPv6 */
};

struct loopback {
	int listener, client, server;        /* server: -1, accept it where it is to be */
	struct sockaddr_storage local, peer; /* as the client sees them */
};

static inline socklen_t loopback_addr(struct sockaddr_storage *out, int family, uint16_t port)
{
	struct sockaddr_in *v4 = (void *)out;
	struct sockaddr_in6 *v6 = (void *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_port = port;
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*v4);
	}
	v6->sin6_port = port;
	v6->sin6_addr = in6addr_loopback;
	return sizeof(*v6);
}

/* false: the kernel does not speak IPv6. */
static inline bool loopback_listen(struct loopback *l, enum loopback_kind kind)
{
	int family = kind == LOOPBACK_V4 ? AF_INET : AF_INET6;
	struct sockaddr_storage at;
	socklen_t len = loopback_addr(&at, family, 0);

	memset(l, 0, sizeof(*l));
	l->server = l->client = -1;
	if (kind == LOOPBACK_MAPPED)
		((struct sockaddr_in6 *)&at)->sin6_addr = in6addr_any;
	l->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return l->listener >= 0 && !bind(l->listener, (void *)&at, len) && !listen(l->listener, 8);
}

/* from: the client's port in the network's order, 0: any. */
static inline bool loopback_connect(struct loopback *l, enum loopback_kind kind, uint16_t from)
{
	int family = kind == LOOPBACK_V6 ? AF_INET6 : AF_INET, on = 1;
	struct sockaddr_storage at, own;
	socklen_t len = sizeof(at), local_len = sizeof(l->local), peer_len = sizeof(l->peer);

	if (getsockname(l->listener, (void *)&at, &len))
		return false;
	len = loopback_addr(&at, family, ((struct sockaddr_in *)&at)->sin_port);
	loopback_addr(&own, family, from);
	l->client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(l->client, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return l->client >= 0 && !bind(l->client, (void *)&own, len) &&
	       !connect(l->client, (void *)&at, len) &&
	       !getsockname(l->client, (void *)&l->local, &local_len) &&
	       !getpeername(l->client, (void *)&l->peer, &peer_len);
}

/* What remains in the kernel of a connection that ends so is nothing. */
static inline void loopback_reset(int *fd)
{
	const struct linger now = { .l_onoff = 1 };

	if (*fd < 0)
		return;
	setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(*fd);
	*fd = -1;
}

static inline void loopback_end(struct loopback *l)
{
	loopback_reset(&l->client);
	loopback_reset(&l->server);
	close(l->listener);
}

#endif
