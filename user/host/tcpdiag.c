/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and one answer over netlink. The kernel answers within send(), so receiving never
 * waits. Who holds the socket: host/sockets.h.
 */

#include "host/tcpdiag.h"

#include "host/sockets.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPLY_MAX 4096

union reply {
	struct nlmsghdr head;
	char text[REPLY_MAX];
};

static int hear(struct tcpdiag *d, union reply *r)
{
	const struct nlmsghdr *h = &r->head;
	ssize_t n;
	int code;

	do {
		n = recv(d->fd, r->text, sizeof(r->text), MSG_DONTWAIT);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n >= 0 && !NLMSG_OK(h, (size_t)n))
			return -EPROTO;
	} while (n < 0 || h->nlmsg_seq != d->seq);
	if (h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof(code))) {
		memcpy(&code, NLMSG_DATA(h), sizeof(code));
		return code ? code : -EPROTO;
	}
	if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
		return -EPROTO;
	return 0;
}

static int ask(struct tcpdiag *d, union reply *r)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 req;
	} msg = {
		.h = { .nlmsg_len = sizeof(msg),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST,
		       .nlmsg_seq = ++d->seq },
		.req = { .sdiag_family = d->family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_ext = 1u << (INET_DIAG_INFO - 1) | 1u << (INET_DIAG_SKMEMINFO - 1) |
				      1u << (INET_DIAG_CONG - 1),
			 .idiag_states = ~0u,
			 .id = d->id },
	};

	if (send(d->fd, &msg, sizeof(msg), 0) < 0)
		return -errno;
	return hear(d, r);
}

static void set_addr(uint32_t out[static 4], uint8_t family, const struct sockets_addr *from)
{
	if (family == AF_INET)
		memcpy(out, from->ip + 12, 4);
	else
		memcpy(out, from->ip, sizeof(from->ip));
}

/* A link-local address is valid on one interface only. */
static uint32_t interface_of(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *v6 = (const void *)addr;

	if (addr->ss_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		return 0;
	return v6->sin6_scope_id;
}

/* One family's attempt: leaves in d->id how the kernel itself names the socket. */
static int find(struct tcpdiag *d, uint8_t family, const struct sockets_addr *server,
		const struct sockets_addr *client)
{
	const struct inet_diag_msg *m;
	union reply reply;
	int r;

	d->family = family;
	memset(d->id.idiag_src, 0, sizeof(d->id.idiag_src));
	memset(d->id.idiag_dst, 0, sizeof(d->id.idiag_dst));
	set_addr(d->id.idiag_src, family, server);
	set_addr(d->id.idiag_dst, family, client);
	d->id.idiag_cookie[0] = d->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	r = ask(d, &reply);
	if (r)
		return r;
	m = NLMSG_DATA(&reply.head);
	/* Without an exact match the kernel returns a socket that listens at the server's address.
	 */
	if (m->id.idiag_dport != d->id.idiag_dport)
		return -ENOENT;
	memcpy(d->id.idiag_cookie, m->id.idiag_cookie, sizeof(d->id.idiag_cookie));
	return 0;
}

int tcpdiag_open(struct tcpdiag *out, const struct sockaddr_storage *local,
		 const struct sockaddr_storage *peer)
{
	struct sockets_addr client, server;
	int r = -ENOENT;

	memset(out, 0, sizeof(*out));
	if (!sockets_addr(&client, local) || !sockets_addr(&server, peer))
		return -ENOENT;
	out->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (out->fd < 0)
		return -errno;
	out->is_open = true;
	out->id.idiag_sport = htons(server.port);
	out->id.idiag_dport = htons(client.port);
	out->id.idiag_if = interface_of(peer);
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)server.ip))
		r = find(out, AF_INET, &server, &client);
	if (r)
		r = find(out, AF_INET6, &server, &client);
	if (r)
		tcpdiag_close(out);
	return r;
}

static void take_memory(struct run_tcp *out, const struct rtattr *a)
{
	uint32_t mem[SK_MEMINFO_VARS] = {};

	if (RTA_PAYLOAD(a) <= SK_MEMINFO_SNDBUF * sizeof(mem[0]))
		return;
	memcpy(mem, RTA_DATA(a), RTA_PAYLOAD(a) < sizeof(mem) ? RTA_PAYLOAD(a) : sizeof(mem));
	out->known[TCP_SNDBUF] = out->known[TCP_RCVBUF] = true;
	out->value[TCP_SNDBUF] = mem[SK_MEMINFO_SNDBUF];
	out->value[TCP_RCVBUF] = mem[SK_MEMINFO_RCVBUF];
}

static bool take_info(struct run_tcp *out, const struct rtattr *a)
{
	struct tcp_info info = {};
	size_t len = RTA_PAYLOAD(a) < sizeof(info) ? RTA_PAYLOAD(a) : sizeof(info);

	memcpy(&info, RTA_DATA(a), len);
	tcp_info_take(out, &info, len);
	return len > 0;
}

/* false: closed, or no process has that socket any more. */
static bool look(struct tcpdiag *d, union reply *out)
{
	if (!d->is_open || ask(d, out))
		return false;
	/* After its process has closed it, it may remain in the kernel for a while. */
	return ((const struct inet_diag_msg *)NLMSG_DATA(&out->head))->idiag_inode;
}

static const struct rtattr *first_of(const union reply *r, int *left)
{
	const struct inet_diag_msg *m = NLMSG_DATA(&r->head);

	*left = (int)(r->head.nlmsg_len - NLMSG_LENGTH(sizeof(*m)));
	return (const void *)(m + 1);
}

bool tcpdiag_look(struct tcpdiag *d, struct run_tcp *out)
{
	struct run_tcp now = *out;
	const struct rtattr *a;
	union reply reply;
	bool found = false;
	int left;

	if (!look(d, &reply))
		return false;
	memset(now.known, 0, sizeof(now.known));
	memset(now.value, 0, sizeof(now.value));
	for (a = first_of(&reply, &left); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == INET_DIAG_INFO)
			found = take_info(&now, a);
		else if (a->rta_type == INET_DIAG_SKMEMINFO)
			take_memory(&now, a);
	}
	if (found)
		*out = now;
	return found;
}

bool tcpdiag_congestion(struct tcpdiag *d, char out[static TCP_CONGESTION_LEN])
{
	const struct rtattr *a;
	union reply reply;
	int left;

	if (!look(d, &reply))
		return false;
	for (a = first_of(&reply, &left); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != INET_DIAG_CONG)
			continue;
		snprintf(out, TCP_CONGESTION_LEN, "%.*s", (int)RTA_PAYLOAD(a),
			 (const char *)RTA_DATA(a));
		return true;
	}
	return false;
}

void tcpdiag_close(struct tcpdiag *d)
{
	if (d->is_open)
		close(d->fd);
	memset(d, 0, sizeof(*d));
}
