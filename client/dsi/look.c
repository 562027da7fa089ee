/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a session's connection. */
#include "base/clock.h"
#include "dsi/conn.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

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
static void look_take_option(const struct dsi *d, struct run_tcp *out, enum run_tcp_value which,
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
	look_take_option(d, out, TCP_SNDBUF, (const int[]) { SOL_SOCKET, SO_SNDBUF });
	look_take_option(d, out, TCP_RCVBUF, (const int[]) { SOL_SOCKET, SO_RCVBUF });
	look_take_option(d, out, TCP_MSS, (const int[]) { IPPROTO_TCP, TCP_MAXSEG });
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
