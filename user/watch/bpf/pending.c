/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/bpf/pending.h"

#include "watch/bpf/rung.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#define PENDING_SOME 256

bool bpf_pending_is(const struct bpf_rung *b)
{
	return b->load.setup->parks;
}

/* false: a message of a compound that is not its last, or one that waits for something. */
static bool pending_counts(const struct bpf_rung *b, struct afs_pending *p)
{
	if (p->account & AFS_PENDING_MEMBER) {
		if (!p->chain)
			return false;
		p->account = (__u16)(p->chain - 1);
	}
	for (int i = 0; i < AFS_N_IDLE; i++)
		if (p->account && p->account == b->load.setup->idle[i])
			return false;
	return true;
}

void bpf_pending_each(const struct bpf_rung *b, bpf_pending_fn *put, void *user)
{
	int fd = bpf_object__find_map_fd_by_name(b->load.object, "pending"), r;
	struct afs_pending_key key[PENDING_SOME];
	struct afs_pending p[PENDING_SOME];
	__u32 at = 0, n;
	void *in = NULL;

	if (!bpf_pending_is(b) || fd < 0)
		return;
	do {
		n = PENDING_SOME;
		r = bpf_map_lookup_batch(fd, in, &at, key, p, &n, NULL);
		if (r && r != -ENOENT)
			return;
		for (__u32 i = 0; i < n; i++)
			if (pending_counts(b, &p[i]))
				put(user, &key[i], &p[i]);
		in = &at;
	} while (!r);
}

struct pending_sums {
	const struct bpf_view *v;
	struct bpf_pending_sum *of;
};

static void pending_add(void *user, const struct afs_pending_key *key, const struct afs_pending *p)
{
	const struct pending_sums *s = user;
	uint32_t slot = AFS_CLIENT_SLOT(key->stream);
	struct bpf_pending_sum *to = &s->of[slot];

	if (s->v->stream[slot].handle != key->stream)
		return;
	if (!to->n++ || p->ns < to->oldest_ns)
		to->oldest_ns = p->ns;
	to->begun_ns += p->ns;
}

struct bpf_pending_sum *bpf_pending_sums(const struct bpf_rung *b)
{
	struct pending_sums s = { .v = &b->view };

	if (!bpf_pending_is(b))
		return NULL;
	s.of = calloc(AFS_N_CLIENTS, sizeof(*s.of));
	if (s.of)
		bpf_pending_each(b, pending_add, &s);
	return s.of;
}
