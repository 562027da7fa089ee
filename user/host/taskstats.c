/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generic netlink by hand: two requests do not need a library. */

#include "host/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPLY_MAX 4096

/*
 * Offsets in the kernel's struct taskstats, the same in every version but 15, which inserted
 * fields. Not taken from the header, whose version may differ from the kernel's.
 */
enum {
	AT_SLICES = 16,
	AT_BLKIO = 40,
	AT_SWAPIN = 56,
	AT_CPU = 72,
	AT_FREEPAGES = 320,
	AT_THRASHING = 336, /* version 9 */
	AT_COMPACT = 360,   /* version 11 */
	AT_IRQ = 424,       /* version 14 */
};

#define VERSION_MOVED 15

struct taskstats_link {
	int fd;
	uint16_t family;
	uint32_t seq;
};

struct taskstats_request {
	struct nlmsghdr head;
	struct genlmsghdr gen;
	struct nlattr attr;
	char value[64];
};

/* The attributes of a reply. */
struct reply {
	const char *at;
	size_t len;
	union {
		struct nlmsghdr head;
		char text[REPLY_MAX];
	} buf;
};

static int ask(struct taskstats_link *l, struct taskstats_request *q, const void *value, size_t len)
{
	q->head.nlmsg_flags = NLM_F_REQUEST;
	q->head.nlmsg_seq = ++l->seq;
	q->gen.version = 1;
	q->attr.nla_len = (uint16_t)(NLA_HDRLEN + len);
	memcpy(q->value, value, len);
	q->head.nlmsg_len = (uint32_t)(offsetof(struct taskstats_request, value) + NLA_ALIGN(len));
	if (send(l->fd, q, q->head.nlmsg_len, 0) < 0)
		return -errno;
	return 0;
}

static int hear(struct taskstats_link *l, struct reply *r)
{
	const struct nlmsghdr *h = &r->buf.head;
	const struct nlmsgerr *refused;
	ssize_t n;

	do {
		n = recv(l->fd, r->buf.text, sizeof(r->buf.text), 0);
		if (n < 0)
			return -errno;
		if (!NLMSG_OK(h, (size_t)n))
			return -EPROTO;
	} while (h->nlmsg_seq != l->seq);
	if (h->nlmsg_type == NLMSG_ERROR) {
		refused = NLMSG_DATA(h);
		return refused->error ? refused->error : -EPROTO;
	}
	if (h->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
		return -EPROTO;
	r->at = (const char *)NLMSG_DATA(h) + GENL_HDRLEN;
	r->len = h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	return 0;
}

/* The value of an attribute in a list of them; NULL: not there. */
static const char *find(const char *at, size_t len, unsigned int type, size_t *out_len)
{
	struct nlattr a;

	while (len >= NLA_HDRLEN) {
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > len)
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type) {
			*out_len = a.nla_len - NLA_HDRLEN;
			return at + NLA_HDRLEN;
		}
		if ((size_t)NLA_ALIGN(a.nla_len) > len)
			return NULL;
		at += NLA_ALIGN(a.nla_len);
		len -= NLA_ALIGN(a.nla_len);
	}
	return NULL;
}

static int find_family(struct taskstats_link *l)
{
	struct taskstats_request q = {
		.head = { .nlmsg_type = GENL_ID_CTRL },
		.gen = { .cmd = CTRL_CMD_GETFAMILY },
		.attr = { .nla_type = CTRL_ATTR_FAMILY_NAME },
	};
	struct reply a;
	const char *id;
	size_t len;
	int r = ask(l, &q, TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME));

	if (!r)
		r = hear(l, &a);
	if (r)
		return r;
	id = find(a.at, a.len, CTRL_ATTR_FAMILY_ID, &len);
	if (!id || len < sizeof(l->family))
		return -EPROTO;
	memcpy(&l->family, id, sizeof(l->family));
	return 0;
}

int taskstats_open(struct taskstats_link **out)
{
	struct taskstats_link *l = calloc(1, sizeof(*l));
	struct taskstats_delays d;
	int r;

	if (!l)
		return -ENOMEM;
	l->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	r = l->fd < 0 ? -errno : find_family(l);
	if (!r)
		r = taskstats_read(l, getpid(), &d);
	if (r) {
		taskstats_close(l);
		return r;
	}
	*out = l;
	return 0;
}

static uint64_t field(const char *at, size_t len, size_t offset)
{
	uint64_t v = 0;

	if (offset + sizeof(v) <= len)
		memcpy(&v, at + offset, sizeof(v));
	return v;
}

static int decode(struct taskstats_delays *out, const char *at, size_t len)
{
	uint16_t version;

	if (len < sizeof(version))
		return -EPROTO;
	memcpy(&version, at, sizeof(version));
	if (version == VERSION_MOVED)
		return -EOPNOTSUPP;
	out->version = version;
	out->blkio_ns = field(at, len, AT_BLKIO);
	out->swapin_ns = field(at, len, AT_SWAPIN);
	out->freepages_ns = field(at, len, AT_FREEPAGES);
	out->thrashing_ns = version >= 9 ? field(at, len, AT_THRASHING) : 0;
	out->compact_ns = version >= 11 ? field(at, len, AT_COMPACT) : 0;
	out->irq_ns = version >= 14 ? field(at, len, AT_IRQ) : 0;
	out->cpu_ns = field(at, len, AT_CPU);
	out->slices = field(at, len, AT_SLICES);
	return 0;
}

int taskstats_read(struct taskstats_link *l, pid_t pid, struct taskstats_delays *out)
{
	struct taskstats_request q = {
		.head = { .nlmsg_type = l->family },
		.gen = { .cmd = TASKSTATS_CMD_GET },
		.attr = { .nla_type = TASKSTATS_CMD_ATTR_TGID },
	};
	uint32_t tgid = (uint32_t)pid;
	struct reply a;
	const char *at;
	size_t len;
	int r = ask(l, &q, &tgid, sizeof(tgid));

	if (!r)
		r = hear(l, &a);
	if (r)
		return r;
	at = find(a.at, a.len, TASKSTATS_TYPE_AGGR_TGID, &len);
	if (at)
		at = find(at, len, TASKSTATS_TYPE_STATS, &len);
	return at ? decode(out, at, len) : -EPROTO;
}

void taskstats_close(struct taskstats_link *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}
