/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells threads apart by what they do: in many servers all have the program's name. */
#include "watch/bpf/datagrams.h"

bool datagrams_drops(const struct bpf_view *v, uint64_t ino, uint64_t *out)
{
	uint32_t n = bpf_view_streams(v);

	for (uint32_t i = 0; i < n; i++) {
		if (v->stream[i].ino != ino)
			continue;
		*out = __atomic_load_n(&v->stream[i].drops, __ATOMIC_RELAXED);
		return true;
	}
	return false;
}

/* Who sends, but nothing for the first time, only repeats and acknowledges. */
static const char *role_of(const struct afs_thread *t)
{
	if (t->received)
		return "listener";
	if (t->replied)
		return "worker";
	return t->sent ? "event thread" : NULL;
}

const char *datagrams_role(const struct bpf_view *v, pid_t tid, uint32_t *at)
{
	uint32_t n = bpf_view_threads(v), i;

	for (uint32_t k = 0; k < n; k++) {
		i = (*at + k) % n;
		if (v->thread[i].tid != tid)
			continue;
		*at = i + 1;
		return role_of(&v->thread[i]);
	}
	return NULL;
}
