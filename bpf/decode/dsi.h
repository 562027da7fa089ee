/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_DECODE_DSI_H
#define AFS_DECODE_DSI_H

/*
 * DSI, the "Data Stream Interface" of AFP over TCP/IP: a 16-byte header, big-endian: flags 1,
 * command 1, id 2, offset or result 4, length 4, reserved 4; the AFP command's number is the first
 * byte after it. Any split of the stream into reads and writes, any number of frames in one.
 *
 * A request begins with the read that completes its header and ends with the write that completes
 * its reply.
 */

#include "bpf/cursor.h"
#include "bpf/operations.h"
#include "bpf/request.h"
#include "bpf/volume.h"

#define DSI_CLOSE   1
#define DSI_COMMAND 2
#define DSI_OPEN    4
#define DSI_TICKLE  5
#define DSI_WRITE   6
#define DSI_LAST    8
#define DSI_HEAD    16

/* AFP results: opened elsewhere, in use, a range that is locked. */
#define AFP_DENY_CONFLICT -5006
#define AFP_FILE_BUSY     -5010
#define AFP_LOCK_CONFLICT -5013

static __always_inline __u16 id_in(const struct afs_flow *f)
{
	return (__u16)f->head[2] << 8 | f->head[3];
}

/*
 * AFP commands that begin with a byte 0 and the number of an open file ("fork"), and the one whose
 * reply has it, after a bitmap of two bytes (AFP reference).
 */
#define DSI_OPENFORK 26
static const __u8 dsi_has_fork[256] = {
	[1] = 1,  /* FPByteRangeLock */
	[4] = 1,  /* FPCloseFork */
	[11] = 1, /* FPFlushFork */
	[14] = 1, /* FPGetForkParms */
	[27] = 1, /* FPRead */
	[31] = 1, /* FPSetForkParms */
	[33] = 1, /* FPWrite */
	[59] = 1, /* FPByteRangeLockExt */
	[60] = 1, /* FPReadExt */
	[61] = 1, /* FPWriteExt */
	[79] = 1, /* FPSyncFork */
};

/* The number at at + 1; 0: not all of it has arrived, or it cannot be read. */
static __always_inline __u16 fork_at(__u64 at, __u64 n)
{
	__u8 bytes[3] = {};

	if (n < sizeof(bytes) || bpf_probe_read_user(bytes, sizeof(bytes), (void *)at))
		return 0;
	return (__u16)bytes[1] << 8 | bytes[2];
}

static __always_inline bool opens_volume(const struct afs_flow *f)
{
	return !f->head[0] && f->head[1] == DSI_COMMAND && f->head[DSI_HEAD] == AFS_OPENVOL;
}

/* Not a reply to the server's attention, a tickle, the end of the session. */
static __always_inline bool is_answered(const struct afs_flow *f)
{
	return !f->head[0] && f->head[1] != DSI_TICKLE && f->head[1] != DSI_CLOSE &&
	       f->head[1] != DSI_LAST;
}

static __always_inline void frame_in(struct afs_stripe *stripe, struct afs_thread *t,
				     struct afs_stream *s, const struct afs_flow *f, __u32 len,
				     __u64 begin_ns)
{
	struct afs_queued q = { .n = 1, .bytes = len + DSI_HEAD };
	const struct afs_cursor *c = &f->cursor;

	if (!is_answered(f))
		return;
	q.id = id_in(f);
	q.account = AFS_ACCOUNT_DSI + f->head[1];
	if (len && (f->head[1] == DSI_COMMAND || f->head[1] == DSI_WRITE)) {
		q.account = f->head[DSI_HEAD];
		/* Whatever a client sends takes no room of its own. */
		if (!setup.spread[f->head[DSI_HEAD]])
			q.account = AFS_ACCOUNT_UNNAMED;
		if (tracing(AFS_TRACE_SMALL) && dsi_has_fork[f->head[DSI_HEAD]])
			q.fork = fork_at(c->at, f->skip < c->left ? f->skip : c->left);
	}
	request_read(stripe, t, s, &q, begin_ns);
}

static __always_inline void frame_out(struct afs_stripe *stripe, struct afs_thread *t,
				      struct afs_stream *s, struct afs_flow *f, __u32 len,
				      __u64 now)
{
	f->answers = 0;
	f->fork = 0;
	if (f->head[0] != 1)
		return;
	f->result = (__s32)be32(f->head + 4);
	f->bytes = len + DSI_HEAD;
	/* A server that is full answers it before it has read all of it: it never begins. */
	if (f->head[1] == DSI_OPEN && f->result)
		s->refused++;
	if (f->result == AFP_DENY_CONFLICT || f->result == AFP_FILE_BUSY ||
	    f->result == AFP_LOCK_CONFLICT)
		s->denied++;
	reply_begin(stripe, t, s, f, id_in(f), now);
}

/* Whether a header can begin like this. */
static __always_inline bool is_begin(const __u8 *head, __u32 have)
{
	return head[0] <= 1 && (have < 2 || (head[1] && head[1] <= DSI_LAST && head[1] != 7));
}

/* Reads header bytes; false: not a header, or not readable. */
static __always_inline bool take_head(struct afs_flow *f, struct afs_cursor *c, int way, __u32 *len)
{
	__u32 want = way == TO_SERVER ? DSI_HEAD + 1 : DSI_HEAD, have = f->have & 31, n, extra;
	__u8 head[32] = {};

	n = want - have;
	if (n > c->left)
		n = c->left;
	n &= 31;
	if (!have) {
		/* Via the stack: the kernel's check of a copy's destination is fastest there. */
		if (bpf_probe_read_user(head, n, (void *)c->at))
			return false;
		__builtin_memcpy(f->head, head, sizeof(f->head));
	} else if (have + n > sizeof(f->head) ||
		   bpf_probe_read_user(f->head + have, n, (void *)c->at)) {
		return false;
	}
	have += n;
	*len = 0;
	if (have < DSI_HEAD) {
		if (f->lost && !is_begin(f->head, have))
			return false;
		f->have = have;
		advance(c, n);
		return true;
	}
	/* Stricter while looking for one. */
	if (!is_begin(f->head, DSI_HEAD) || (f->lost && (be32(f->head + 12) || f->head[8])))
		return false;
	*len = be32(f->head + 8);
	/* The byte after the header belongs to this frame only if the frame is not empty. */
	extra = have - DSI_HEAD;
	if (extra && !*len) {
		n -= extra;
		have = DSI_HEAD;
		extra = 0;
	}
	advance(c, n);
	f->have = way == TO_SERVER && *len && !extra ? have : AFS_IN_FRAME;
	f->skip = *len - extra;
	return true;
}

/* The frame's end was passed: true when it answers the request in service. */
static __always_inline bool frame_end(struct afs_flow *f, int way)
{
	bool answers = way == FROM_SERVER && f->answers;

	f->have = 0;
	f->frames++;
	f->answers = 0;
	return answers;
}

/* If only slow requests make records the name is kept until it is known whether this is one. */
static __always_inline void frame_named(struct afs_stripe *stripe, const struct afs_thread *t,
					struct afs_stream *s, const struct afs_flow *f, __u64 now)
{
	const struct afs_cursor *c = &f->cursor;
	const __u8 *head = f->head;
	__u64 n = f->skip < c->left ? f->skip : c->left;

	if (head[0] || (head[1] != DSI_COMMAND && head[1] != DSI_WRITE) ||
	    !afs_path_at[head[DSI_HEAD]])
		return;
	if (setup.over_ns)
		named_read(&s->named, t, id_in(f), head[DSI_HEAD], c->at, n, now);
	else
		trace_named(stripe, t, NULL, id_in(f), head[DSI_HEAD], c->at, n, now);
}

/* Bytes of each AFP request after its number, and of each reply, that records of operations need.
 */
static const __u8 dsi_captured[256] = {
#define X(number, request, reply, layout, reply_layout) [number] = (request),
	AFS_OPERATIONS(X)
#undef X
};
static const __u8 dsi_captured_reply[256] = {
#define X(number, request, reply, layout, reply_layout) [number] = (reply),
	AFS_OPERATIONS(X)
#undef X
};

/* The AFP request that the frame is, or that it answers; AFS_ACCOUNT_DSI + n: none of AFP. */
static __always_inline __u32 capture_command(const struct afs_stream *s, const struct afs_flow *f,
					     __u32 part)
{
	if (part == AFS_CAPTURED_REPLY)
		return reply_account(s);
	if (f->bytes > DSI_HEAD && (f->head[1] == DSI_COMMAND || f->head[1] == DSI_WRITE))
		return f->head[DSI_HEAD];
	return AFS_ACCOUNT_DSI + f->head[1];
}

/* How many of n bytes from "at" on of a command's or a reply's are wanted. */
static __always_inline __u64 capture_want(__u32 command, __u32 part, __u32 at, __u64 n)
{
	__u32 want;

	if (command >= AFS_ACCOUNT_DSI)
		return 0;
	want = part == AFS_CAPTURED_REPLY ? dsi_captured_reply[command & 255]
					  : dsi_captured[command & 255];
	if (want == AFS_COPY_NAMES)
		want = AFS_COMMAND_LEN;
	if (want == AFS_COPY_BEGIN)
		want = AFS_NAMED_LEN;
	if (at >= want)
		return 0;
	return n < want - at ? n : want - at;
}

/* The user that the thread which runs works as: of a session that is older than the watch no call
 * has told it. */
static __always_inline __u32 user_here(const struct afs_thread *t)
{
	const struct task_struct___afs *task = current_task();
	const struct afs_process *p = process_of(t);

	if (p && p->uid)
		return p->uid;
	return bpf_core_field_exists(task->cred) ? BPF_CORE_READ(task, cred, euid.val) : 0;
}

static __always_inline void capture_fill(struct afs_captured_head *h, const struct afs_thread *t,
					 const struct afs_stream *s, const struct afs_flow *f,
					 __u32 part, __u64 now)
{
	h->timestamp = now;
	h->session = t->session;
	h->seq = s->begun - 1;
	h->user = user_here(t);
	h->len = f->bytes - DSI_HEAD;
	h->port = s->port;
	h->dsi_id = id_in(f);
	h->part = part;
	h->found = !!s->found;
	h->spare = 0;
}

/* Copies n bytes, at most "room", from "from" on. */
static __always_inline void capture_copy(struct afs_captured_head *h, __u8 *bytes, __u64 room,
					 __u32 command, __u32 at, __u64 from, __u64 n)
{
	h->command = command;
	h->at = at;
	/* Compare in the register that is passed: verifiers up to 6.1 need that. */
	asm volatile("" : "+r"(n));
	if (n > room)
		n = room;
	h->n = bpf_probe_read_user(bytes, n, (void *)from) ? 0 : n;
}

#define CAPTURE_RECORD(of, room)                                                                   \
	({                                                                                         \
		RECORD(of) * e_;                                                                   \
		if (RECORD_BEGIN(stripe, e_, AFS_STREAM_OPERATIONS)) {                             \
			capture_fill(&e_->r.head, t, s, f, part, now);                             \
			capture_copy(&e_->r.head, e_->r.bytes, room, command, at, f->cursor.at,    \
				     n);                                                           \
			batch_trim(stripe, &e_->head, ((room)-n) & ~7u);                           \
			RECORD_END(stripe, e_);                                                    \
		}                                                                                  \
		e_;                                                                                \
	})

/*
 * Of a request, or of the reply to one, the next n bytes are at the cursor; those that an operation
 * needs are told to user space, and every request, even if none of its bytes is. The record of a
 * name is made of the same bytes.
 */
__noinline int capture(__u32 slot, __u32 part, __u64 n, __u64 now)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;
	struct afs_stripe *stripe = stripe_here();
	const struct afs_flow *f;
	__u32 command, at;
	bool told;

	if (!tracing(AFS_TRACE_REPLAYABLE) || !t || !s || !stripe)
		return 0;
	f = part == AFS_CAPTURED_REPLY ? &s->flow[FROM_SERVER] : &s->flow[TO_SERVER];
	command = capture_command(s, f, part);
	at = f->bytes - DSI_HEAD - f->skip;
	if (part != AFS_CAPTURED_REPLY && at)
		at--;
	n = capture_want(command, part, at, n);
	if (!n && part != AFS_CAPTURED_BEGIN)
		return 0;
	told = n <= AFS_SMALL_LEN ? !!CAPTURE_RECORD(afs_captured_small, AFS_SMALL_LEN)
				  : !!CAPTURE_RECORD(afs_captured, AFS_COMMAND_LEN);
	if (part != AFS_CAPTURED_BEGIN || command >= AFS_ACCOUNT_DSI || !afs_path_at[command & 255])
		return 0;
	if (!told)
		AFS_COUNT(shared.lost.records[AFS_STREAM_NAMES]);
	else if (setup.batch)
		stripe->batch_n[AFS_STREAM_NAMES]++;
	return 0;
}

/* n bytes of a frame are next; begins: it has just begun. */
static __always_inline void frame_capture(const struct afs_thread *t, const struct afs_flow *f,
					  int way, bool begins, __u64 n, __u64 now)
{
	/* Most bytes are data, far behind what is wanted. */
	if (!begins && f->bytes - f->skip > DSI_HEAD + 1 + AFS_COMMAND_LEN)
		return;
	if (way == TO_SERVER ? is_answered(f) : f->answers)
		capture(t->slot,
			way != TO_SERVER ? AFS_CAPTURED_REPLY
			: begins         ? AFS_CAPTURED_BEGIN
					 : AFS_CAPTURED_MORE,
			n, now);
}

/* A request was answered. Before it ends: which volume it opened. */
__noinline int dsi_answered(__u32 slot, __u64 now)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_at(t->stream) : NULL;
	struct afs_stripe *stripe = stripe_here();
	const struct afs_flow *f;

	if (setup.decoder != AFS_DECODER_DSI || !t || !s || !stripe)
		return 0;
	f = &s->flow[FROM_SERVER];
	if (reply_account(s) == AFS_OPENVOL && !f->result)
		volume_opened(s->handle, id_in(f));
	reply_end(stripe, t, s, id_in(f), now);
	return 0;
}

/*
 * One step through the bytes that a call moved: a frame, or as much of it as one piece of memory
 * holds. Returns FOLLOW_ bits.
 */
static __always_inline int dsi_step(struct afs_stripe *stripe, struct afs_thread *t,
				    struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	struct afs_cursor *c = &f->cursor;
	bool begins = false;
	__u32 len;
	__u64 n;

	if (f->have != AFS_IN_FRAME) {
		if ((!c->left && !next_piece(c)) || !take_head(f, c, way, &len)) {
			lose(f);
			return 0;
		}
		if (f->have != AFS_IN_FRAME)
			return !!c->total;
		f->lost = 0;
		if (way == TO_SERVER && tracing(AFS_TRACE_NAMES) &&
		    !tracing(AFS_TRACE_REPLAYABLE) && len)
			frame_named(stripe, t, s, f, end_ns);
		if (way == TO_SERVER && len && opens_volume(f))
			*opening_of(s, id_in(f)) = (struct afs_openvol) { .request = id_in(f) + 1 };
		if (way == TO_SERVER)
			frame_in(stripe, t, s, f, len, begin_ns);
		else
			frame_out(stripe, t, s, f, len, end_ns);
		begins = true;
		if (way == TO_SERVER && tracing(AFS_TRACE_REPLAYABLE))
			f->bytes = len + DSI_HEAD;
	}
	if (t->data == AFS_DATA_FILE)
		c->left = c->total;
	if (f->skip && !c->left && c->total && !next_piece(c)) {
		lose(f);
		return 0;
	}
	n = f->skip < c->left ? f->skip : c->left;
	if (way == TO_SERVER && n && opens_volume(f))
		volume_bytes(s->handle, id_in(f), c->at, n);
	if (way == FROM_SERVER && tracing(AFS_TRACE_SMALL) && n > 3 &&
	    f->skip + DSI_HEAD == f->bytes && f->answers && reply_account(s) == DSI_OPENFORK)
		f->fork = fork_at(c->at + 1, n - 1);
	if (tracing(AFS_TRACE_REPLAYABLE))
		frame_capture(t, f, way, begins, n, end_ns);
	advance(c, n);
	f->skip -= n;
	if (!f->skip && frame_end(f, way))
		return c->total ? FOLLOW_ANSWERED | FOLLOW_MORE : FOLLOW_ANSWERED;
	return !!c->total;
}

#endif
