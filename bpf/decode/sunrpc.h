/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_DECODE_SUNRPC_H
#define AFS_DECODE_SUNRPC_H

/*
 * SunRPC over TCP (RFC 5531, RFC 4506), all numbers big-endian. A record is one or more fragments,
 * each after a mark of 4 bytes: the highest bit is set in the last one, the others are its length.
 *
 *   call   xid 4, 0, version 2, program 4, its version 4, procedure 4, ...
 *   reply  xid 4, 1, 0 (accepted), verifier: flavor 4, length 4, bytes; status 4, results
 *   reply  xid 4, 1, 1 (denied), status 4, ...
 *
 * Any split of the stream into reads and writes, any number of fragments and of records in one.
 * Replies come in any order. A request begins with the read that completes the header of its call,
 * of NFS what says which it is (bpf/decode/nfs.h), and ends with the write that completes its
 * reply. Calls of the server to the client are passed over.
 */

#include "bpf/cursor.h"
#include "bpf/decode/nfs.h"
#include "bpf/park.h"
#include "bpf/programs.h"

#define RPC_LAST     0x80000000u
#define RPC_CALL     0
#define RPC_REPLY    1
#define RPC_VERSION  2
#define RPC_CALL_LEN 24 /* to the end of the procedure's number */
#define RPC_DENY_LEN 16 /* to the end of the status */
#define RPC_VERF_END 20 /* to the end of the verifier's length */
#define RPC_DONE_LEN 24 /* to the end of the status, without the verifier's bytes */
#define RPC_HEAD     32 /* and the first two words of the results */

/* Longer ones are not believed. */
#define RPC_LEN_MAX  (1u << 30)
#define RPC_VERF_MAX 400 /* RFC 5531 */

static __always_inline __u32 rpc_xid(const struct afs_flow *f)
{
	return be32(f->head);
}

static __always_inline bool rpc_is(const struct afs_flow *f, __u32 type)
{
	return be32(f->head + 4) == type;
}

static __always_inline bool rpc_is_denied(const struct afs_flow *f)
{
	return be32(f->head + 8) == 1;
}

/* Bytes of the verifier in a reply. */
static __always_inline __u32 rpc_verifier(const struct afs_flow *f)
{
	return (be32(f->head + 16) + 3) & ~3u;
}

/* Whether a mark can be right; stricter while looking for one. */
static __always_inline bool rpc_is_mark(const struct afs_flow *f, __u32 mark)
{
	__u32 len = mark & ~RPC_LAST;

	if (len > RPC_LEN_MAX)
		return false;
	return !f->lost || (mark & RPC_LAST && len >= RPC_DENY_LEN);
}

/* Whether the bytes so far can be the begin of a header. */
static __always_inline bool rpc_is_head(const struct afs_flow *f, int way)
{
	__u32 type = be32(f->head + 4);

	if (f->have < 8)
		return true;
	if (type > RPC_REPLY || (f->lost && type != (way == TO_SERVER ? RPC_CALL : RPC_REPLY)))
		return false;
	if (f->have < 12)
		return true;
	if (type == RPC_REPLY && be32(f->head + 8) > 1)
		return false;
	if (type == RPC_CALL && be32(f->head + 8) != RPC_VERSION)
		return false;
	if (f->have < RPC_VERF_END)
		return true;
	if (type == RPC_REPLY)
		return rpc_is_denied(f) || be32(f->head + 16) <= RPC_VERF_MAX;
	return !f->lost || way == FROM_SERVER || afs_rpc_is_known(be32(f->head + 12));
}

/* The result of a reply of which "have" bytes are in the head; its request is in f->pending. */
static __always_inline __s32 rpc_result(const struct afs_flow *f)
{
	enum afs_rpc_results results = afs_rpc_results_of(f->pending.account);
	__u32 status, value;

	if (rpc_is_denied(f))
		return AFS_RPC_DENIED(be32(f->head + 12));
	status = be32(f->head + RPC_VERF_END);
	if (status)
		return AFS_RPC_ACCEPTED(status);
	value = be32(f->head + RPC_DONE_LEN);
	if (results == AFS_RPC_STATUS && f->have >= RPC_DONE_LEN + 4)
		return (__s32)value;
	if (f->have < RPC_HEAD || results != AFS_RPC_ERRNO || (__s32)value >= 0)
		return 0;
	return (__s32)be32(f->head + RPC_DONE_LEN + 4);
}

/* The header of a call is complete. */
static __always_inline void rpc_call(struct afs_stripe *stripe, struct afs_thread *t,
				     struct afs_stream *s, const struct afs_flow *f, __u64 begin_ns)
{
	const struct afs_pending p = {
		.ns = begin_ns,
		.bytes = f->bytes,
		.account = nfs_account(f),
	};

	pending_begin(stripe, s, &p, rpc_xid(f));
	if (setup.parks)
		park_here(stripe, t, s, rpc_xid(f), p.account, true);
}

/* Whether the header is long enough: "ended": there is no more of the record. */
static __always_inline bool rpc_is_complete(const struct afs_flow *f, bool ended)
{
	if (f->have < 8)
		return false;
	if (rpc_is(f, RPC_CALL))
		return f->have >= RPC_CALL_LEN &&
		       (ended || !nfs_is_call(f) || NFS_AT(f) == NFS_AT_END);
	if (f->have >= RPC_HEAD)
		return true;
	return ended && f->have >= (rpc_is_denied(f) ? RPC_DENY_LEN : RPC_DONE_LEN);
}

/* Reads bytes of a mark; false: not readable, or not a mark. */
static __always_inline bool rpc_take_mark(struct afs_stream *s, struct afs_flow *f, int way)
{
	__u32 mark;

	if (!mark_take(&f->cursor, f->mark, &f->mark_have))
		return false;
	if (f->mark_have < FRAME_MARK)
		return true;
	mark = be32(f->mark);
	if (!rpc_is_mark(f, mark))
		return false;
	f->skip = mark & ~RPC_LAST;
	if (!f->have)
		f->bytes = 0;
	f->bytes += f->skip + FRAME_MARK;
	if (way == TO_SERVER && f->have == AFS_IN_FRAME && rpc_is(f, RPC_CALL))
		pending_grow(s, rpc_xid(f), f->skip + FRAME_MARK);
	return true;
}

/* Bytes of a header that are read before one looks at it. */
static __always_inline __u32 rpc_needs(const struct afs_flow *f)
{
	return f->have >= RPC_CALL_LEN && rpc_is(f, RPC_CALL) ? nfs_needs(f) : RPC_HEAD;
}

/* Reads bytes of a header; false: not readable, or not a header. */
static __always_inline bool rpc_take_head(struct afs_flow *f, int way)
{
	struct afs_cursor *c = &f->cursor;
	__u32 have = f->have & 31, n = rpc_needs(f) - have;

	if (n > f->skip)
		n = f->skip;
	if (n > c->left)
		n = c->left;
	n &= 63;
	if (have + n > sizeof(f->head) || bpf_probe_read_user(f->head + have, n, (void *)c->at))
		return false;
	f->have = have + n;
	if (!rpc_is_head(f, way))
		return false;
	/* The verifier's own bytes are not kept. */
	if (have <= RPC_VERF_END && f->have >= RPC_VERF_END && rpc_is(f, RPC_REPLY) &&
	    !rpc_is_denied(f) && rpc_verifier(f) && !f->passed) {
		n -= f->have - RPC_VERF_END;
		f->have = RPC_VERF_END;
		f->pass = rpc_verifier(f);
		f->passed = 1;
	}
	advance(c, n);
	f->skip -= n;
	return true;
}

/* Passes over bytes of a credential or verifier, or of all that follows the header. */
static __always_inline void rpc_pass(struct afs_flow *f, const struct afs_thread *t)
{
	struct afs_cursor *c = &f->cursor;
	__u64 n = f->skip;

	if (t->data == AFS_DATA_FILE)
		c->left = c->total;
	if (f->pass && n > f->pass)
		n = f->pass;
	if (n > c->left)
		n = c->left;
	if (f->pass)
		f->pass -= n;
	advance(c, n);
	f->skip -= n;
}

/* The header is complete, as far as the record has one. */
static __always_inline void rpc_begin(struct afs_stripe *stripe, struct afs_thread *t,
				      struct afs_stream *s, struct afs_flow *f, int way,
				      __u64 begin_ns, __u64 end_ns)
{
	f->lost = 0;
	f->answers = 0;
	if (way == TO_SERVER && rpc_is(f, RPC_CALL))
		rpc_call(stripe, t, s, f, begin_ns);
	if (way == FROM_SERVER && rpc_is(f, RPC_REPLY)) {
		reply_begin(stripe, t, s, f, rpc_xid(f), end_ns);
		if (f->answers)
			f->result = rpc_result(f);
	}
	f->have = AFS_IN_FRAME;
}

/* The last byte of a reply to a known request was sent. */
static __always_inline void rpc_answered(struct afs_stripe *stripe, struct afs_thread *t,
					 struct afs_stream *s, const struct afs_flow *f, __u64 now)
{
	const struct afs_pending *p = &f->pending;
	const struct afs_queued q = { .id = rpc_xid(f), .account = p->account, .bytes = p->bytes };

	if (setup.parks)
		park_end(stripe, t, s, &q, rpc_xid(f), p->ns, now);
	else
		reply_end(stripe, t, s, rpc_xid(f), now);
}

/* A fragment has ended; if it is the last one, the record. false: that was no record. */
static __always_inline bool rpc_end(struct afs_stripe *stripe, struct afs_thread *t,
				    struct afs_stream *s, struct afs_flow *f, int way,
				    __u64 begin_ns, __u64 end_ns)
{
	f->mark_have = 0;
	if (!(f->mark[0] & 0x80))
		return true;
	if (f->have != AFS_IN_FRAME) {
		if (!rpc_is_complete(f, true) || (f->pass && rpc_is(f, RPC_REPLY)))
			return false;
		rpc_begin(stripe, t, s, f, way, begin_ns, end_ns);
	}
	f->have = 0;
	f->pass = f->passed = 0;
	f->frames++;
	if (way == FROM_SERVER && f->answers)
		rpc_answered(stripe, t, s, f, end_ns);
	f->answers = 0;
	return true;
}

/* Reads what comes next: a mark, bytes of a header, or others; false: nothing known. */
static __always_inline bool rpc_take(struct afs_stream *s, struct afs_flow *f,
				     const struct afs_thread *t, int way)
{
	struct afs_cursor *c = &f->cursor;

	if (!c->left && !next_piece(c) && t->data != AFS_DATA_FILE)
		return false;
	if (f->mark_have < FRAME_MARK)
		return rpc_take_mark(s, f, way);
	if (f->have == AFS_IN_FRAME || f->pass)
		rpc_pass(f, t);
	else
		return rpc_take_head(f, way);
	return true;
}

/* One step through the bytes that a call moved. false: that was all. */
static __always_inline bool sunrpc_step(struct afs_stripe *stripe, struct afs_thread *t,
					struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];

	if (!rpc_take(s, f, t, way)) {
		lose(f);
		return false;
	}
	if (f->mark_have < FRAME_MARK)
		return f->cursor.total;
	if (f->have == nfs_needs(f) && !f->pass && rpc_is(f, RPC_CALL) && nfs_is_call(f))
		nfs_words(f);
	if (f->have != AFS_IN_FRAME && !f->pass && rpc_is_complete(f, false))
		rpc_begin(stripe, t, s, f, way, begin_ns, end_ns);
	if (!f->skip && !rpc_end(stripe, t, s, f, way, begin_ns, end_ns)) {
		lose(f);
		return false;
	}
	return f->cursor.total;
}

#endif
