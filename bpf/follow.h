/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_FOLLOW_H
#define AFS_FOLLOW_H

/*
 * Passes the bytes of a client's connection to the decoder that was chosen when the programs were
 * loaded; the code of the others is dead to the verifier. A decoder is an inline function that
 * takes one step through the bytes: a frame, or as much of it as one piece of memory holds.
 */

#include "bpf/request.h"

#define AFS_DECODE
#include "bpf/decoders.h"

/* Frames and pieces of memory that one read or write may touch. */
#define REQUEST_STEPS 4096
#define REQUEST_SOME  64

/* One step; false: that was all. */
static __always_inline bool decode(struct afs_stripe *stripe, struct afs_thread *t,
				   struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
#define X(NAME, name)                                                                              \
	if (setup.decoder == AFS_DECODER_##NAME)                                                   \
		return name##_step(stripe, t, s, way, begin_ns, end_ns);
	AFS_DECODERS(X)
#undef X
	return false;
}

/*
 * A thread returned from a call that moved "total" bytes of its client's connection: the first
 * step, which is the only one in most calls. 1: there is more. Its time until begin_ns is in parts;
 * the call returned at end_ns. A global function, as the next: verified once.
 */
__noinline int follow_first(__u32 slot, __u64 total, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;
	struct afs_stripe *stripe = stripe_here();
	struct afs_datagram *d;
	struct afs_flow *f;

	if (!setup.decoder || !t || !s || !stripe)
		return 0;
	if (datagrams()) {
		d = datagram_of(t);
		if (d && datagram_open(d, t, total))
			return decode(stripe, t, s, way, begin_ns, end_ns);
		AFS_COUNT(shared.lost.steps);
		return 0;
	}
	f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	if (cursor_open(&f->cursor, t, total))
		return decode(stripe, t, s, way, begin_ns, end_ns);
	lose(f);
	return 0;
}

__noinline int follow_next(__u32 slot, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;
	struct afs_stripe *stripe = stripe_here();

	if (!setup.decoder || !t || !s || !stripe)
		return 0;
	return decode(stripe, t, s, way, begin_ns, end_ns);
}

/* A limited number of steps: two nested short loops are verified faster than a long one. */
__noinline int follow_some(__u32 slot, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	for (int i = 0; i < REQUEST_SOME; i++)
		if (!follow_next(slot, way, begin_ns, end_ns))
			return 0;
	return 1;
}

__noinline int follow_rest(__u32 slot, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;

	for (int i = 0; i < REQUEST_STEPS / REQUEST_SOME; i++)
		if (!follow_some(slot, way, begin_ns, end_ns))
			return 0;
	AFS_COUNT(shared.lost.steps);
	if (s && !datagrams())
		lose(way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER]);
	return 0;
}

static __always_inline void follow(const struct afs_thread *t, __u64 total, __u32 way,
				   __u64 begin_ns, __u64 end_ns)
{
	__u32 slot = t->slot;

	if (follow_first(slot, total, way, begin_ns, end_ns))
		follow_rest(slot, way, begin_ns, end_ns);
}

#endif
