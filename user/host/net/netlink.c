/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink by hand: a few requests do not need a library. */

#include "host/net/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

int netlink_open(struct netlink *out, int protocol, unsigned int timeout_ms)
{
	const struct timeval wait = { .tv_sec = timeout_ms / 1000,
				      .tv_usec = timeout_ms % 1000 * 1000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), r = fd < 0 ? -errno : 0;

	*out = (struct netlink) { fd >= 0, fd, timeout_ms ? 0 : MSG_DONTWAIT, 0 };
	if (!r && timeout_ms && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		r = -errno;
	if (r)
		netlink_close(out);
	return r;
}

void netlink_close(struct netlink *n)
{
	if (n->is_open)
		close(n->fd);
	*n = (struct netlink) { 0 };
}

int netlink_ask(struct netlink *n, struct netlink_answer *a, const struct netlink_request *q)
{
	struct nlmsghdr head = {
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(q->len),
		.nlmsg_type = q->type,
		.nlmsg_flags = NLM_F_REQUEST | (q->dump ? NLM_F_DUMP : 0),
		.nlmsg_seq = ++n->seq,
	};
	struct iovec part[] = { { &head, sizeof(head) }, { (void *)q->body, q->len } };
	const struct msghdr msg = { .msg_iov = part, .msg_iovlen = 2 };

	a->dump = q->dump;
	a->taken = false;
	a->left = 0;
	return sendmsg(n->fd, &msg, 0) < 0 ? -errno : 0;
}

static int netlink_receive(struct netlink *n, struct netlink_answer *a)
{
	ssize_t len;

	do
		len = recv(n->fd, a->buf, sizeof(a->buf), n->flags | MSG_TRUNC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if ((size_t)len > sizeof(a->buf))
		return -EMSGSIZE;
	a->at = 0;
	a->left = (size_t)len;
	return len ? 0 : -EPROTO;
}

/* The next message, whoever asked for it; NULL: malformed. */
static const struct nlmsghdr *netlink_take(struct netlink_answer *a)
{
	const struct nlmsghdr *h = (const void *)(a->buf + a->at);
	size_t step;

	if (a->left < sizeof(*h) || h->nlmsg_len < sizeof(*h) || h->nlmsg_len > a->left)
		return NULL;
	step = NLMSG_ALIGN(h->nlmsg_len);
	step = step < a->left ? step : a->left;
	a->at += step;
	a->left -= step;
	a->type = h->nlmsg_type;
	a->body = NLMSG_DATA(h);
	a->len = h->nlmsg_len - NLMSG_HDRLEN;
	return h;
}

/* Both ends of an answer may say why there is no (more of an) answer; 0: they do not. */
static int netlink_code_of(const struct netlink_answer *a)
{
	int code = 0;

	if (a->len >= sizeof(code))
		memcpy(&code, a->body, sizeof(code));
	return code < 0 ? code : 0;
}

int netlink_next(struct netlink *n, struct netlink_answer *a)
{
	const struct nlmsghdr *h;
	int r;

	if (a->taken && !a->dump)
		return 0;
	do {
		r = a->left ? 0 : netlink_receive(n, a);
		if (r)
			return r;
		h = netlink_take(a);
		if (!h)
			return -EPROTO;
		/* Another one's answers: of requests that timed out. */
	} while (h->nlmsg_seq != n->seq);
	a->taken = true;
	r = netlink_code_of(a);
	if (h->nlmsg_type == NLMSG_ERROR)
		return r ? r : -EPROTO;
	return h->nlmsg_type == NLMSG_DONE ? r : 1;
}

void netlink_put(struct netlink_attributes *to, int type, const void *value, size_t len)
{
	const struct nlattr a = { .nla_len = (uint16_t)(NLA_HDRLEN + len),
				  .nla_type = (uint16_t)type };

	memcpy(to->at + to->len, &a, sizeof(a));
	memcpy(to->at + to->len + NLA_HDRLEN, value, len);
	to->len += NLA_HDRLEN + NLA_ALIGN(len);
}

const void *netlink_find(const void *at, size_t len, unsigned int type, size_t *out_len)
{
	const struct rtattr *a = at; /* which is what struct nlattr is */
	int left = (int)len;

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if ((a->rta_type & NLA_TYPE_MASK) != type)
			continue;
		*out_len = RTA_PAYLOAD(a);
		return RTA_DATA(a);
	}
	return NULL;
}

size_t netlink_copy(void *out, size_t out_len, const void *at, size_t len, unsigned int type)
{
	size_t n = 0;
	const void *value = netlink_find(at, len, type, &n);

	n = n < out_len ? n : out_len;
	memset(out, 0, out_len);
	if (value)
		memcpy(out, value, n);
	return n;
}
