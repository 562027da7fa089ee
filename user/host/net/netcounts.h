/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_NETCOUNTS_H
#define HOST_NET_NETCOUNTS_H

/* What networks have counted: by namespace, and by interface. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of a process's network namespace, since it was made. */
struct netcounts {
	bool has_tcp;
	uint64_t segments, retransmitted; /* sent; of these, again */
	bool has_fragments;
	/*
	 * IP datagrams of which a fragment did not come: given up, which is 30 s later (60 s with
	 * IPv6), and those that still wait for one.
	 */
	uint64_t given_up, waiting;
};

/* root: "", or where another /proc is. */
void netcounts_read(struct netcounts *out, const char *root, pid_t pid);

/*
 * Network interfaces that have hardware (a virtual one names a speed that limits nothing), by
 * /sys/class/net, of this process's network namespace.
 */
#define LINKS_MAX 32

struct links_entry {
	char name[32];
	uint64_t speed_mbit; /* a second, each way; 0: not known */
	uint64_t received_b, sent_b;
};

struct links {
	size_t n;
	struct links_entry entry[LINKS_MAX];
};

/* root: "", or where another /sys is. */
void links_read(struct links *out, const char *root);

#endif
