/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_PENDING_H
#define WATCH_BPF_PENDING_H

/*
 * Requests without an answer of a server whose threads park them (bpf/park.h): where a request is
 * in service in a thread, its connection says so only while it is not parked.
 */

#include "watch/bpf/view.h"

struct bpf_rung;

/* account: a compound's, once for all its messages. */
typedef void bpf_pending_fn(void *user, const struct afs_pending_key *key,
			    const struct afs_pending *p);

/* Whether this is such a server. */
bool bpf_pending_is(const struct bpf_rung *b);

/* Those that wait for something to happen (account_names.idle) are left out. */
void bpf_pending_each(const struct bpf_rung *b, bpf_pending_fn *put, void *user);

/* The same by connection. */
struct bpf_pending_sum {
	uint64_t n, oldest_ns; /* how many, the begin of the oldest; 0: none */
	uint64_t begun_ns;     /* the sum of their begins */
};

/* One for each slot of a connection; free() it. NULL: it is no such server, or no memory. */
struct bpf_pending_sum *bpf_pending_sums(const struct bpf_rung *b);

#endif
