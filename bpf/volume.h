/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_VOLUME_H
#define AFS_VOLUME_H

/* Which volumes a session opened: the bytes of FPOpenVol, kept if its reply is success. */

#include "bpf/maps.h"

/* Copies the volume's name in two parts, but never what follows it. */
static __always_inline bool volume_part(struct afs_openvol *o, __u64 at, __u64 *n)
{
	__u32 have = o->have & (AFS_OPENVOL_LEN - 1), want = AFS_OPENVOL_AT + 1, some;

	if (have >= want)
		want += o->bytes[AFS_OPENVOL_AT];
	if (want > AFS_OPENVOL_LEN - 1)
		want = AFS_OPENVOL_LEN - 1;
	some = have < want ? want - have : 0;
	if (some > *n)
		some = *n;
	some &= AFS_OPENVOL_LEN - 1;
	if (some && bpf_probe_read_user(o->bytes + have, some, (void *)at))
		return false;
	o->have = have + some;
	*n = some;
	return true;
}

static __always_inline struct afs_openvol *opening_of(struct afs_stream *s, __u32 id)
{
	return &s->opening[id % AFS_N_OPENVOL];
}

/* The next n bytes of request id are at "at". */
__noinline int volume_bytes(__u32 handle, __u32 id, __u64 at, __u64 n)
{
	struct afs_stream *s = stream_at(handle);
	struct afs_openvol *o;
	__u64 more = n;

	if (!s)
		return 0;
	o = opening_of(s, id);
	if (o->request != id + 1)
		return 0;
	if (!volume_part(o, at, &n)) {
		o->request = 0;
		return 0;
	}
	more -= n;
	if (!volume_part(o, at + n, &more))
		o->request = 0;
	return 0;
}

static __always_inline bool volumes_equal(const struct afs_openvol *a, const struct afs_openvol *b)
{
	__u64 differ = 0;

	barrier(); /* keeps the compiler from saving all words of a on the stack */
	for (int i = 0; i < AFS_OPENVOL_LEN / 8; i++)
		differ |= a->word[i] ^ b->word[i];
	return !differ;
}

/* The server opened the volume that request id names. */
__noinline int volume_opened(__u32 handle, __u32 id)
{
	struct afs_stream *s = stream_at(handle);
	struct afs_openvol *o;

	if (!s)
		return 0;
	o = opening_of(s, id);
	if (o->request != id + 1 || o->have <= AFS_OPENVOL_AT) {
		s->more_volumes++;
		return 0;
	}
	o->request = 0;
	for (int i = 0; i < AFS_OPENVOL_AT; i++)
		o->bytes[i] = 0;
	for (__u32 i = 0; i < AFS_N_VOLUMES; i++) {
		if (i >= s->n_volumes) {
			s->volume[i] = *o;
			s->n_volumes = i + 1;
			return 0;
		}
		if (volumes_equal(&s->volume[i], o))
			return 0;
	}
	s->more_volumes++;
	return 0;
}

#endif
