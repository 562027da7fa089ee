/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells threads apart by what they do: in many servers all have the program's name. */
#include "watch/watch_priv.h"

bool watch_drops(const struct watch *w, uint64_t ino, uint64_t *out)
{
	const struct bpf_view *v = w->bpf ? &w->bpf->view : NULL;
	uint32_t n = v && w->bpf->load.drops ? bpf_view_streams(v) : 0;

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

const char *watch_thread_role(const struct watch *w, pid_t tid, uint32_t *at)
{
	const struct bpf_view *v = w->bpf ? &w->bpf->view : NULL;
	uint32_t n = v && AFS_IS_DATAGRAMS(w->t.decoder) ? bpf_view_threads(v) : 0, i;

	for (uint32_t k = 0; k < n; k++) {
		i = (*at + k) % n;
		if (v->thread[i].tid != tid)
			continue;
		*at = i + 1;
		return role_of(&v->thread[i]);
	}
	return NULL;
}
