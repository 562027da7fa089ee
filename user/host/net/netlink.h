/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_NETLINK_H
#define HOST_NET_NETLINK_H

/*
 * Questions to the kernel over netlink, one at a time: ask, then take each message of the answer.
 * Functions that return int return 0 or a negative errno, unless they say more.
 */

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All 0: closed. For one thread. */
struct netlink {
	bool is_open;
	int fd;
	int flags; /* of recv() */
	uint32_t seq;
};

/*
 * protocol: NETLINK_SOCK_DIAG, ... timeout_ms: how long to wait for a message of an answer; 0:
 * never, for answers that the kernel makes while it is asked, as it does without a dump.
 */
int netlink_open(struct netlink *out, int protocol, unsigned int timeout_ms);
void netlink_close(struct netlink *n); /* may be closed already */

struct netlink_request {
	uint16_t type;
	bool dump; /* all there are, not one */
	const void *body;
	size_t len;
};

/* A message of an answer, in room of the caller. */
struct netlink_answer {
	uint16_t type;
	const void *body; /* len bytes in buf, aligned to 4; until the next call */
	size_t len;
	bool dump, taken; /* the rest is netlink.c's */
	size_t at, left;
	char buf[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
};

/* Sends a request; what has not been taken of an earlier answer is dropped. */
int netlink_ask(struct netlink *n, struct netlink_answer *a, const struct netlink_request *q);

/*
 * Takes the next message of the answer. 1: here it is; 0: there are no more; -ETIMEDOUT: none came;
 * -EPROTO: malformed; or what the kernel answers instead.
 */
int netlink_next(struct netlink *n, struct netlink_answer *a);

/* Attributes one after the other, behind what a request begins with. */
struct netlink_attributes {
	size_t len;
	char at[128];
};

/* Adds one, for which there must be room. */
void netlink_put(struct netlink_attributes *to, int type, const void *value, size_t len);

/*
 * The value of an attribute in a list of them, len bytes at "at", as a message's body or another
 * attribute holds it; NULL: not there. Need not be aligned.
 */
const void *netlink_find(const void *at, size_t len, unsigned int type, size_t *out_len);
/* The same as a copy, cut to fit or filled up with 0. How many bytes of it are there; 0: none. */
size_t netlink_copy(void *out, size_t out_len, const void *at, size_t len, unsigned int type);

#endif
