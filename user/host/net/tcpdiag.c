/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request and one answer over netlink. The kernel answers within the request: none is waited
 * for, but for a list of connections. Who holds the socket: host/sockets.h.
 */

#include "host/net/tcpdiag.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

/* TCP_ESTABLISHED and TCP_LISTEN of netinet/tcp.h, which linux/tcp.h excludes. */
#define ESTABLISHED 1
#define LISTENS     10

/* Leaves what the kernel says about the socket in a. */
static int tcpdiag_ask(struct tcpdiag *d, struct netlink_answer *a)
{
	const struct inet_diag_req_v2 req = {
		.sdiag_family = d->family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_ext = 1u << (INET_DIAG_INFO - 1) | 1u << (INET_DIAG_SKMEMINFO - 1) |
			     1u << (INET_DIAG_CONG - 1),
		.idiag_states = ~0u,
		.id = d->id,
	};
	const struct netlink_request q = { SOCK_DIAG_BY_FAMILY, false, &req, sizeof(req) };
	int r = netlink_ask(&d->netlink, a, &q);

	if (!r)
		r = netlink_next(&d->netlink, a);
	if (r < 0)
		return r;
	return r && a->type == SOCK_DIAG_BY_FAMILY && a->len >= sizeof(struct inet_diag_msg)
		   ? 0
		   : -EPROTO;
}

/* An attribute of that, as netlink_copy(). */
static size_t copy_attribute(void *out, size_t out_len, const struct netlink_answer *a,
			     unsigned int type)
{
	const struct inet_diag_msg *m = a->body;

	return netlink_copy(out, out_len, m + 1, a->len - sizeof(*m), type);
}

static void set_addr(uint32_t out[static 4], uint8_t family, const struct sockets_addr *from)
{
	bool v4 = family == AF_INET;

	memset(out, 0, sizeof(from->ip));
	memcpy(out, from->ip + (v4 ? 12 : 0), v4 ? 4 : sizeof(from->ip));
}

/* One family's attempt: leaves in d->id how the kernel itself names the socket. */
static int tcpdiag_find(struct tcpdiag *d, uint8_t family, const struct sockets_addr *server,
			const struct sockets_addr *client)
{
	const struct inet_diag_msg *m;
	struct netlink_answer a;
	int r;

	d->family = family;
	set_addr(d->id.idiag_src, family, server);
	set_addr(d->id.idiag_dst, family, client);
	d->id.idiag_cookie[0] = d->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	r = tcpdiag_ask(d, &a);
	if (r)
		return r;
	m = a.body;
	/* Without an exact match the kernel returns one that listens at the server's address. */
	if (m->id.idiag_dport != d->id.idiag_dport)
		return -ENOENT;
	memcpy(d->id.idiag_cookie, m->id.idiag_cookie, sizeof(d->id.idiag_cookie));
	return 0;
}

int tcpdiag_open(struct tcpdiag *out, const struct sockaddr_storage *local,
		 const struct sockaddr_storage *peer)
{
	struct sockets_addr client, server;
	int opened, r = -ENOENT;

	memset(out, 0, sizeof(*out));
	if (!sockets_addr(&client, local) || !sockets_addr(&server, peer))
		return -ENOENT;
	opened = netlink_open(&out->netlink, NETLINK_SOCK_DIAG, 0);
	if (opened)
		return opened;
	out->id.idiag_sport = htons(server.port);
	out->id.idiag_dport = htons(client.port);
	out->id.idiag_if = server.scope ? server.scope : client.scope;
	if (sockets_is_v4(&server))
		r = tcpdiag_find(out, AF_INET, &server, &client);
	if (r)
		r = tcpdiag_find(out, AF_INET6, &server, &client);
	if (r)
		tcpdiag_close(out);
	return r;
}

static void take_memory(struct run_tcp *out, const struct netlink_answer *a)
{
	uint32_t mem[SK_MEMINFO_VARS];

	if (copy_attribute(mem, sizeof(mem), a, INET_DIAG_SKMEMINFO) <=
	    SK_MEMINFO_SNDBUF * sizeof(mem[0]))
		return;
	out->known[TCP_SNDBUF] = out->known[TCP_RCVBUF] = true;
	out->value[TCP_SNDBUF] = mem[SK_MEMINFO_SNDBUF];
	out->value[TCP_RCVBUF] = mem[SK_MEMINFO_RCVBUF];
}

static bool take_info(struct run_tcp *out, const struct netlink_answer *a)
{
	const struct inet_diag_msg *m = a->body;
	struct tcp_info info;
	size_t len = copy_attribute(&info, sizeof(info), a, INET_DIAG_INFO);

	if (!len)
		return false;
	tcp_info_take(out, &info, len);
	out->known[TCP_QUEUE] = out->known[TCP_UNREAD] = true;
	out->value[TCP_QUEUE] = m->idiag_wqueue;
	out->value[TCP_UNREAD] = m->idiag_rqueue;
	return true;
}

/* false: closed, or no process has that socket any more. */
static bool net_tcpdiag_look(struct tcpdiag *d, struct netlink_answer *a)
{
	if (!d->netlink.is_open || tcpdiag_ask(d, a))
		return false;
	/* After its process has closed it, it may remain in the kernel for a while. */
	return ((const struct inet_diag_msg *)a->body)->idiag_inode;
}

bool tcpdiag_look(struct tcpdiag *d, struct run_tcp *out)
{
	struct run_tcp now = *out;
	struct netlink_answer a;

	if (!net_tcpdiag_look(d, &a))
		return false;
	memset(now.known, 0, sizeof(now.known));
	memset(now.value, 0, sizeof(now.value));
	if (!take_info(&now, &a))
		return false;
	take_memory(&now, &a);
	*out = now;
	return true;
}

/* What the kernel says of a socket that is asked once; false: as in net_tcpdiag_look(). */
static bool look_once(const struct sockets_entry *end, struct netlink_answer *a,
		      struct tcp_info *info)
{
	struct sockaddr_storage far = sockets_sockaddr(&end->remote);
	struct sockaddr_storage near = sockets_sockaddr(&end->local);
	struct tcpdiag d;
	bool known;

	if (tcpdiag_open(&d, &far, &near))
		return false;
	known = net_tcpdiag_look(&d, a) && copy_attribute(info, sizeof(*info), a, INET_DIAG_INFO);
	tcpdiag_close(&d);
	return known;
}

bool tcpdiag_owed(const struct sockets_entry *end, uint64_t bytes, uint32_t *ms)
{
	struct netlink_answer a;
	struct tcp_info info;

	if (!look_once(end, &a, &info))
		return false;
	*ms = info.tcpi_last_data_recv;
	if (info.tcpi_last_data_recv == info.tcpi_last_data_sent)
		return info.tcpi_bytes_received >= bytes;
	return info.tcpi_bytes_received && info.tcpi_last_data_recv < info.tcpi_last_data_sent;
}

bool tcpdiag_silent(const struct sockets_entry *end, uint32_t *ms, uint32_t *unread_bytes)
{
	struct netlink_answer a;
	struct tcp_info info;

	if (!look_once(end, &a, &info))
		return false;
	*ms = info.tcpi_last_data_recv;
	*unread_bytes = ((const struct inet_diag_msg *)a.body)->idiag_rqueue;
	return info.tcpi_bytes_received && info.tcpi_state == ESTABLISHED;
}

bool tcpdiag_carried(const struct sockets_entry *end, uint64_t *read, uint64_t *written)
{
	struct run_tcp tcp = { 0 };
	struct netlink_answer a;
	struct tcp_info info;

	if (!look_once(end, &a, &info) || !take_info(&tcp, &a) || !tcp.known[TCP_BYTES_RECEIVED] ||
	    !tcp.known[TCP_BYTES_ACKED])
		return false;
	*read = tcp.value[TCP_BYTES_RECEIVED] - tcp.value[TCP_UNREAD];
	*written = tcp.value[TCP_BYTES_ACKED] + tcp.value[TCP_QUEUE];
	return true;
}

bool tcpdiag_congestion(struct tcpdiag *d, char out[static TCP_CONGESTION_LEN])
{
	char name[TCP_CONGESTION_LEN] = "";
	struct netlink_answer a;

	if (!net_tcpdiag_look(d, &a) || !copy_attribute(name, sizeof(name) - 1, &a, INET_DIAG_CONG))
		return false;
	memcpy(out, name, sizeof(name));
	return true;
}

void tcpdiag_close(struct tcpdiag *d)
{
	netlink_close(&d->netlink);
	memset(d, 0, sizeof(*d));
}

/* All connections */

struct tcpdiag_list {
	uint16_t port;
	tcpdiag_fn *fn;
	void *arg;
};

static int tcpdiag_take(void *arg, const struct netlink_answer *a)
{
	const struct inet_diag_msg *m = a->body;
	struct run_tcp tcp = { .end = TCP_SERVER };
	const struct tcpdiag_list *l = arg;
	struct sockets_addr far;

	if (a->len < sizeof(*m))
		return -EPROTO;
	if (ntohs(m->id.idiag_sport) != l->port || !take_info(&tcp, a))
		return 0;
	sockets_diag_addr(&far, m->idiag_family, m->id.idiag_dst, m->id.idiag_dport,
			  m->id.idiag_if);
	return l->fn(l->arg, &far, &tcp);
}

static int tcpdiag_list(uint16_t port, unsigned int state, tcpdiag_fn *fn, void *arg)
{
	const struct inet_diag_req_v2 req = {
		.idiag_ext = 1u << (INET_DIAG_INFO - 1),
		.idiag_states = 1u << state,
		.id = { .idiag_sport = htons(port) },
	};
	struct tcpdiag_list list = { port, fn, arg };

	return sockets_each_tcp(&req, tcpdiag_take, &list);
}

int tcpdiag_each(uint16_t port, tcpdiag_fn *fn, void *arg)
{
	return tcpdiag_list(port, ESTABLISHED, fn, arg);
}

/* What is unread of a socket that listens is a number of connections. */
static int add_unaccepted(void *arg, const struct sockets_addr *far, const struct run_tcp *tcp)
{
	uint64_t *n = arg;

	(void)far;
	*n += tcp->value[TCP_UNREAD];
	return 0;
}

int tcpdiag_unaccepted(uint16_t port, uint64_t *n)
{
	*n = 0;
	return tcpdiag_list(port, LISTENS, add_unaccepted, n);
}
