/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_LINK_H
#define AFS_LINK_H

/*
 * CNID connections: which thread of a session asks on one, and which thread of its CNID server
 * answers there. The two ends are matched by a common key, whichever is seen first.
 */

#include "bpf/object.h"
#include "bpf/time.h"

/* What is known of an end. task: as for object_look. */
static __always_inline struct afs_seen *end_at(const struct afs_process *p, __u32 slot, __u64 task,
					       __u32 fd)
{
	struct afs_seen *s = seen_at(p, slot, fd);

	if (s)
		return s;
	if (object_look(slot, task, fd) != AFS_OBJECT_BACKEND)
		return NULL;
	return seen_at(p, slot, fd);
}

/* NULL: no room. */
static __always_inline struct afs_link *link_at(struct afs_seen *s)
{
	const struct afs_link none = {};
	__u64 key = s->link;
	struct afs_link *l = bpf_map_lookup_elem(&link, &key);

	if (!l) {
		if (s->asked)
			AFS_COUNT(shared.lost.links);
		bpf_map_update_elem(&link, &key, &none, BPF_NOEXIST);
		l = bpf_map_lookup_elem(&link, &key);
	}
	if (!l)
		AFS_COUNT(shared.lost.links);
	return l;
}

/*
 * Counts a connection whose questions nobody who is watched reads: it was sent to, then read from,
 * and is sent to again, so that the first question was answered. User space must look for the
 * server, which costs a look at all sessions. To ask with no answer between, as afpd's greeting of
 * cnid_metad does, means nothing.
 */
static __always_inline void link_asked(struct afs_seen *s, const struct afs_link *l, bool reads)
{
	enum { NOT, SENT, READ, AGAIN };

	if (s->asked == NOT || (s->asked == SENT && reads)) {
		s->asked++;
	} else if (s->asked == READ && !reads) {
		s->asked = AGAIN;
		if (!l->server)
			AFS_COUNT(shared.n_unserved);
	}
}

/* A session's thread sends on its CNID connection, or reads from it. */
__noinline int link_ask(__u32 slot, __u64 task, __u32 fd, bool reads)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_process *p = t ? process_of(t) : NULL;
	struct afs_inner *own = inner_at(slot);
	struct afs_seen *s;
	struct afs_link *l;

	if (!t || !p || !own)
		return 0;
	own->link = 0;
	s = end_at(p, t->process, task, fd);
	l = s ? link_at(s) : NULL;
	if (!s || !l)
		return 0;
	link_asked(s, l, reads);
	own->link = s->link;
	if (l->asker != slot + 1 || l->asker_tid != t->tid) {
		l->asker_tid = t->tid;
		l->asker = slot + 1;
	}
	return 0;
}

/*
 * A CNID server's thread closes a connection. One may have handed it to another, as cnid_metad does
 * to cnid_dbd: that one's time is not known before it reads.
 */
__noinline int link_leave(__u32 slot)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot), *asker;
	struct afs_process *p = t ? process_of(t) : NULL;
	struct afs_seen *s;
	struct afs_link *l;
	__u64 key;

	if (!t || !p)
		return 0;
	s = seen_at(p, t->process, t->fd);
	if (!s)
		return 0;
	key = s->link;
	l = bpf_map_lookup_elem(&link, &key);
	if (!l || l->server != slot + 1 || l->server_tid != t->tid)
		return 0;
	l->server = 0;
	asker = thread_at(&l->asker);
	if (asker && asker->tid == l->asker_tid && !asker->ended)
		wait_leave(asker, slot, key);
	return 0;
}

/* A CNID server's thread has read a request: from now on it works for its sender. */
__noinline int link_serve(__u32 slot)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot), *asker;
	struct afs_process *p = t ? process_of(t) : NULL;
	__u32 number = AFS_ACCOUNT_BETWEEN;
	struct afs_seen *s;
	struct afs_link *l;

	if (!t || !p)
		return 0;
	s = end_at(p, t->process, 0, t->fd);
	l = s ? link_at(s) : NULL;
	if (!l)
		return 0;
	if (l->server != slot + 1 || l->server_tid != t->tid) {
		l->server_tid = t->tid;
		l->server = slot + 1;
	}
	asker = thread_at(&l->asker);
	if (asker && (asker->tid != l->asker_tid || asker->ended))
		asker = NULL;
	if (asker) {
		number = asker->account;
		wait_adopt(asker, slot, s->link);
	}
	if (asker && tracing(AFS_TRACE_CALLS))
		t->dsi_id = asker->dsi_id;
	if (number != t->account) {
		thread_account(t, number);
		t->part = part_of(t, state_of(t));
	}
	return 0;
}

#endif
