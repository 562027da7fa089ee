/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_NET_NETCOUNTS_H
#define HOST_NET_NETCOUNTS_H

/* What a process's network namespace has counted since it was made. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
