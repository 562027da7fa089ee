/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generic netlink: what its family is called here, then a request for each reading. */

#include "host/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 1000

/*
 * Offsets in the kernel's struct taskstats, the same in every version but 15, which inserted
 * fields. Not taken from the header, whose version may differ from the kernel's.
 */
#define AT_CPU 72
static const struct {
	size_t at;
	unsigned int since; /* version */
} delays[TASKSTATS_DELAYS] = {
	{ 40, 0 },   /* block I/O */
	{ 56, 0 },   /* pages swapped in */
	{ 320, 0 },  /* reclaim of memory */
	{ 336, 9 },  /* thrashing */
	{ 360, 11 }, /* compaction */
	{ 424, 14 }, /* interrupts */
};

#define VERSION_MOVED 15

/* A question with one attribute. Leaves the attributes of the answer in a->body. */
static int taskstats_ask(struct taskstats_link *l, struct netlink_answer *a, uint8_t command,
			 int type, const void *value, size_t len)
{
	const struct genlmsghdr head = { .cmd = command, .version = 1 };
	struct netlink_attributes body = { .len = sizeof(head) };
	struct netlink_request req = { .type = l->family, .body = body.at };
	int r;

	memcpy(body.at, &head, sizeof(head));
	netlink_put(&body, type, value, len);
	req.len = body.len;
	r = netlink_ask(&l->netlink, a, &req);
	if (!r)
		r = netlink_next(&l->netlink, a);
	if (r <= 0 || a->len < GENL_HDRLEN)
		return r < 0 ? r : -EPROTO;
	a->body = (const char *)a->body + GENL_HDRLEN;
	a->len -= GENL_HDRLEN;
	return 0;
}

static int find_family(struct taskstats_link *l)
{
	struct netlink_answer a;
	int r;

	l->family = GENL_ID_CTRL;
	r = taskstats_ask(l, &a, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
			  sizeof(TASKSTATS_GENL_NAME));
	if (r)
		return r;
	return netlink_copy(&l->family, sizeof(l->family), a.body, a.len, CTRL_ATTR_FAMILY_ID) ==
		       sizeof(l->family)
		   ? 0
		   : -EPROTO;
}

int taskstats_open(struct taskstats_link *out)
{
	int r = netlink_open(&out->netlink, NETLINK_GENERIC, TIMEOUT_MS);
	struct taskstats_delays d;

	if (!r)
		r = find_family(out);
	if (!r)
		r = taskstats_read(out, getpid(), &d);
	if (r)
		taskstats_close(out);
	return r;
}

static uint64_t field(const char *at, size_t len, size_t offset)
{
	uint64_t v = 0;

	if (offset + sizeof(v) <= len)
		memcpy(&v, at + offset, sizeof(v));
	return v;
}

static int taskstats_decode(struct taskstats_delays *out, const char *at, size_t len)
{
	uint16_t version;

	if (len < sizeof(version))
		return -EPROTO;
	memcpy(&version, at, sizeof(version));
	if (version == VERSION_MOVED)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < TASKSTATS_DELAYS; i++) {
		out->known[i] = version >= delays[i].since;
		out->ns[i] = out->known[i] ? field(at, len, delays[i].at) : 0;
	}
	out->cpu_ns = field(at, len, AT_CPU);
	return 0;
}

int taskstats_read(struct taskstats_link *l, pid_t pid, struct taskstats_delays *out)
{
	uint32_t tgid = (uint32_t)pid;
	struct netlink_answer a;
	const void *at;
	size_t len;
	int r = taskstats_ask(l, &a, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_TGID, &tgid,
			      sizeof(tgid));

	if (r)
		return r;
	at = netlink_find(a.body, a.len, TASKSTATS_TYPE_AGGR_TGID, &len);
	if (at)
		at = netlink_find(at, len, TASKSTATS_TYPE_STATS, &len);
	return at ? taskstats_decode(out, at, len) : -EPROTO;
}

void taskstats_close(struct taskstats_link *l)
{
	netlink_close(&l->netlink);
}
