/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question of one connection: the answer has its addresses in both directions. */
#include "host/net/conntrack.h"

#include "host/net/netlink.h"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <string.h>

static void put_tuple(struct netlink_attributes *out, const struct sockets_addr *from,
		      const struct sockets_addr *to)
{
	const uint16_t from_port = htons(from->port), to_port = htons(to->port);
	const uint8_t protocol = IPPROTO_TCP;
	size_t skip = sockets_is_v4(from) ? 12 : 0;
	struct netlink_attributes ip = { 0 }, proto = { 0 }, tuple = { 0 };

	netlink_put(&ip, skip ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, from->ip + skip, 16 - skip);
	netlink_put(&ip, skip ? CTA_IP_V4_DST : CTA_IP_V6_DST, to->ip + skip, 16 - skip);
	netlink_put(&proto, CTA_PROTO_NUM, &protocol, sizeof(protocol));
	netlink_put(&proto, CTA_PROTO_SRC_PORT, &from_port, sizeof(from_port));
	netlink_put(&proto, CTA_PROTO_DST_PORT, &to_port, sizeof(to_port));
	netlink_put(&tuple, NLA_F_NESTED | CTA_TUPLE_IP, ip.at, ip.len);
	netlink_put(&tuple, NLA_F_NESTED | CTA_TUPLE_PROTO, proto.at, proto.len);
	netlink_put(out, NLA_F_NESTED | CTA_TUPLE_ORIG, tuple.at, tuple.len);
}

static const void *conntrack_find_in(const void *list, size_t *len, int type)
{
	return list ? netlink_find(list, *len, (unsigned int)type, len) : NULL;
}

/* One end in the tuple of the other direction. */
static bool conntrack_take_end(struct sockets_addr *out, const struct netlink_answer *a,
			       const int type[static 2])
{
	size_t ip_len = a->len - sizeof(struct nfgenmsg), port_len;
	const void *tuple = conntrack_find_in((const struct nfgenmsg *)a->body + 1, &ip_len,
					      CTA_TUPLE_REPLY);
	const void *ip, *port;
	uint16_t value;

	port_len = ip_len;
	ip = conntrack_find_in(conntrack_find_in(tuple, &ip_len, CTA_TUPLE_IP), &ip_len, type[0]);
	port = conntrack_find_in(conntrack_find_in(tuple, &port_len, CTA_TUPLE_PROTO), &port_len,
				 type[1]);
	if (!ip || !port || (ip_len != 4 && ip_len != 16) || port_len != sizeof(value))
		return false;
	memcpy(&value, port, sizeof(value));
	sockets_diag_addr(out, ip_len == 4 ? AF_INET : AF_INET6, ip, value, 0);
	return true;
}

bool conntrack_look(struct sockets_addr *near, struct sockets_addr *far)
{
	bool v4 = sockets_is_v4(near);
	const int from[] = { v4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, CTA_PROTO_SRC_PORT };
	const int to[] = { v4 ? CTA_IP_V4_DST : CTA_IP_V6_DST, CTA_PROTO_DST_PORT };
	const struct nfgenmsg head = { .nfgen_family = v4 ? AF_INET : AF_INET6 };
	struct sockets_addr client = *near, server = *far;
	struct netlink_attributes body = { .len = sizeof(head) };
	struct netlink_request q = { NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, false, body.at,
				     0 };
	struct netlink_answer a;
	struct netlink n;
	bool ok;

	if (netlink_open(&n, NETLINK_NETFILTER, 0))
		return false;
	memcpy(body.at, &head, sizeof(head));
	put_tuple(&body, near, far);
	q.len = body.len;
	ok = !netlink_ask(&n, &a, &q) && netlink_next(&n, &a) == 1 && a.len >= sizeof(head) &&
	     conntrack_take_end(&server, &a, from) && conntrack_take_end(&client, &a, to) &&
	     !(sockets_same(&client, near) && sockets_same(&server, far));
	netlink_close(&n);
	if (ok) {
		*near = client;
		*far = server;
	}
	return ok;
}
