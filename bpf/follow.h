/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_FOLLOW_H
#define AFS_FOLLOW_H

/*
 * Passes the bytes of a client's connection to the decoder that was chosen when the programs were
 * loaded; the code of the others is dead to the verifier. A decoder is an inline function that
 * takes one step through the bytes: a frame, or as much of it as one piece of memory holds.
 */

#include "bpf/request.h"

/* What a step says. */
#define FOLLOW_MORE     1 /* there are more bytes */
#define FOLLOW_ANSWERED 2 /* dsi_answered() is to follow */

#define AFS_DECODE
#include "bpf/decoders.h"

/* Frames and pieces of memory that one read or write may touch. */
#define REQUEST_STEPS 4096
#define REQUEST_SOME  64

/* A thread's call has moved "total" bytes of its client's connection. 0: they cannot be read. */
__noinline int follow_open(__u32 slot, __u64 total, __u32 way)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;
	struct afs_datagram *d;
	struct afs_flow *f;

	if (!setup.decoder || !t || !s)
		return 0;
	if (datagrams()) {
		d = datagram_of(t);
		if (d && datagram_open(d, t, total))
			return 1;
		AFS_COUNT(shared.lost.steps);
		return 0;
	}
	f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	if (cursor_open(&f->cursor, t, total, NULL))
		return 1;
	lose(f);
	return 0;
}

/*
 * One step of a decoder through them: FOLLOW_ bits. The thread's time until begin_ns is in
 * parts; the call returned at end_ns. Each decoder has a function, and so a stack frame, of its
 * own: Linux 5.10 adds up the frames of all that can be called, 512 bytes at most.
 */
#define X(NAME, name)                                                                              \
	__noinline int name##_follow(__u32 slot, __u32 way, __u64 begin_ns, __u64 end_ns)          \
	{                                                                                          \
		struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);                        \
		struct afs_stream *s = t ? stream_at(t->stream) : NULL;                            \
		struct afs_stripe *stripe = stripe_here();                                         \
                                                                                                   \
		if (setup.decoder != AFS_DECODER_##NAME || !t || !s || !stripe)                    \
			return 0;                                                                  \
		return name##_step(stripe, t, s, way, begin_ns, end_ns);                           \
	}
AFS_DECODERS(X)
#undef X

/*
 * The end of a DSI request has a function of its own, beside the step and not in it: what each
 * needs of the stack is not added up.
 */
static __always_inline bool follow_next(__u32 slot, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	int said = 0;

#define X(NAME, name)                                                                              \
	if (setup.decoder == AFS_DECODER_##NAME)                                                   \
		said = name##_follow(slot, way, begin_ns, end_ns);
	AFS_DECODERS(X)
#undef X
	if (setup.decoder == AFS_DECODER_DSI && said & FOLLOW_ANSWERED)
		dsi_answered(slot, end_ns);
	return said & FOLLOW_MORE;
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

/* Most calls need one step. */
static __always_inline void follow(const struct afs_thread *t, __u64 total, __u32 way,
				   __u64 begin_ns, __u64 end_ns)
{
	__u32 slot = t->slot;

	if (follow_open(slot, total, way) && follow_next(slot, way, begin_ns, end_ns))
		follow_rest(slot, way, begin_ns, end_ns);
}

#endif
