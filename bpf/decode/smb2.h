/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_DECODE_SMB2_H
#define AFS_DECODE_SMB2_H

/*
 * SMB2 and SMB3 over TCP (MS-SMB2). A frame is 4 bytes, type and length (RFC 1002; big-endian), and
 * one message or several ("compound"), each with a header, little-endian, of 64 bytes:
 *
 *    0  FE 'SMB'        4  64, 2 bytes         8  status 4 (of a reply)   12  command 2
 *   16  flags 4        20  offset of the next message in this frame 4     24  message id 8
 *
 * FD 'SMB' begins an encrypted frame, FC 'SMB' a compressed one, FF 'SMB' one of SMB1: of these
 * frames and bytes are counted. A NEGOTIATE of SMB1, which may be answered by SMB2, is one of id 0.
 *
 * Any split of the stream into reads and writes. Replies come in any order, those to the members of
 * a compound in one frame or in several. A request begins with the read that completes the first
 * half of its header and ends with the write that completes its reply; a compound, with the second
 * of its members and the reply to its last. An interim reply does not end it, but for what it may
 * be waiting it goes on in another account. CANCEL has no reply: it is counted without a time. A
 * break of an oplock or a lease by the server is none, and passed over.
 *
 * Bytes of a message are without the 4 of the frame: as Samba counts them.
 */

#include "bpf/commands.h"
#include "bpf/cursor.h"
#include "bpf/park.h"
#include "bpf/volume.h"

#define SMB2_HEAD      32 /* all of a header that is looked at */
#define SMB2_HEAD_LEN  64
#define SMB2_IS_REPLY  1
#define SMB2_IS_ASYNC  2
#define SMB1_NEGOTIATE 0x72
#define SMB2_DIALECT   68    /* place in the reply to NEGOTIATE, 2 bytes */
#define SMB2_ANY       0x2ff /* of an SMB1 NEGOTIATE: the client is to ask again */
#define SMB2_PATH      68    /* in TREE_CONNECT: place of the path and its length, 2 bytes each */
#define SMB2_PATH_LEN  60    /* so much of the path's end is kept; an even number */

#define SMB2_CHAIN     16 /* messages of a compound after one, of which the last is looked for */

/* In f->passed, of the frame's messages before this one. */
#define SMB2_FIRST 0 /* there are none */
#define SMB2_SECOND                                                                                \
	32 /* + the first one's command, or AFS_SMB2_OTHER; later: the chain's account */

static __always_inline __u32 le16(const __u8 *p)
{
	return (__u32)p[1] << 8 | p[0];
}

static __always_inline __u32 le32(const __u8 *p)
{
	return le16(p + 2) << 16 | le16(p);
}

static __always_inline __u32 smb2_id(const struct afs_flow *f)
{
	return f->head[0] == 0xfe ? le32(f->head + 24) : 0;
}

static __always_inline __u32 smb2_command(const struct afs_flow *f)
{
	__u32 command = le16(f->head + 12);

	return command < AFS_SMB2_OTHER ? command : AFS_SMB2_OTHER;
}

static __always_inline bool smb2_is_magic(const struct afs_flow *f)
{
	if (f->head[1] != 'S' || f->head[2] != 'M' || f->head[3] != 'B' || f->head[0] < 0xfc)
		return false;
	return f->head[0] != 0xfe || (f->head[4] == SMB2_HEAD_LEN && !f->head[5]);
}

/* An SMB1 NEGOTIATE, or its reply. */
static __always_inline bool smb2_is_old(const struct afs_flow *f)
{
	return f->head[0] == 0xff && f->head[4] == SMB1_NEGOTIATE;
}

/* The account of a frame that cannot be read. */
static __always_inline __u32 smb2_closed(const struct afs_flow *f)
{
	return f->head[0] == 0xfd   ? AFS_SMB2_ENCRYPTED
	       : f->head[0] == 0xfc ? AFS_SMB2_COMPRESSED
				    : AFS_SMB2_SMB1;
}

/* Reads bytes of a mark; false: not readable, or not a mark. */
static __always_inline bool smb2_take_mark(struct afs_flow *f)
{
	if (!mark_take(&f->cursor, f->mark, &f->mark_have))
		return false;
	if (f->mark_have < FRAME_MARK)
		return true;
	/* Others than messages: requests of sessions, signs of life. */
	if (f->mark[0] && (f->lost || f->mark[0] < 0x81 || f->mark[0] > 0x85))
		return false;
	f->skip = be32(f->mark) & 0xffffff;
	f->passed = SMB2_FIRST;
	f->have = f->mark[0] || !f->skip ? AFS_IN_FRAME : 0;
	f->pass = f->have ? f->skip : 0;
	f->answers = 0;
	return true;
}

/* Reads bytes of a header; false: not readable, or not a header. */
static __always_inline bool smb2_take_head(struct afs_flow *f)
{
	struct afs_cursor *c = &f->cursor;
	__u32 have = f->have & 31, n = SMB2_HEAD - have;

	if (n > f->skip)
		n = f->skip;
	if (n > c->left)
		n = c->left;
	n &= 63;
	if (have + n > sizeof(f->head) || bpf_probe_read_user(f->head + have, n, (void *)c->at))
		return false;
	advance(c, n);
	f->have = have + n;
	f->skip -= n;
	if (f->have >= 6 && !smb2_is_magic(f))
		return false;
	return f->skip || f->have == SMB2_HEAD;
}

/* How many bytes of the message follow its header's first half; false: there is no such message. */
static __always_inline bool smb2_measure(struct afs_flow *f)
{
	__u32 next = f->head[0] == 0xfe ? le32(f->head + 20) : 0;

	f->pass = f->skip;
	if (next && (next < SMB2_HEAD_LEN || next - SMB2_HEAD > f->skip))
		return false;
	if (next)
		f->pass = next - SMB2_HEAD;
	f->bytes = (__u64)f->pass + SMB2_HEAD;
	return true;
}

/* A member of a compound was read: the compound's account + 1 if it is the last one, else 0. */
static __always_inline __u32 smb2_member(struct afs_stripe *stripe, struct afs_thread *t,
					 struct afs_stream *s, struct afs_flow *f)
{
	bool last = f->pass == f->skip, begins = false;
	struct afs_account *a;

	if (f->passed == SMB2_FIRST) {
		f->passed = SMB2_SECOND + smb2_command(f);
		return 0;
	}
	if (f->passed < AFS_SMB2_CREATE_AND) {
		f->passed = afs_smb2_chain(f->passed - SMB2_SECOND, smb2_command(f));
		begins = true;
		a = account_at(stripe, f->passed);
		if (a)
			a->begun++;
		s->begun++;
	}
	park_here(stripe, t, s, smb2_id(f), f->passed, begins);
	return last ? f->passed + 1 : 0;
}

/* The first half of a request's header is complete. */
static __always_inline void smb2_request(struct afs_stripe *stripe, struct afs_thread *t,
					 struct afs_stream *s, struct afs_flow *f, __u64 begin_ns)
{
	struct afs_pending p = { .ns = begin_ns, .bytes = f->bytes };

	if (f->head[0] != 0xfe && !smb2_is_old(f)) {
		park_untimed(stripe, s, smb2_closed(f), 1, f->bytes, 0, 0);
		return;
	}
	p.account = f->head[0] == 0xfe ? smb2_command(f) : AFS_SMB2_NEGOTIATE;
	if (f->passed != SMB2_FIRST || f->pass != f->skip) {
		p.chain = smb2_member(stripe, t, s, f);
		p.account |= AFS_PENDING_MEMBER;
		pending_keep(s, &p, smb2_id(f));
		return;
	}
	if (p.account == AFS_SMB2_CANCEL) {
		park_untimed(stripe, s, p.account, 1, f->bytes, 0, 0);
		return;
	}
	pending_begin(stripe, s, &p, smb2_id(f));
	park_here(stripe, t, s, smb2_id(f), p.account, true);
}

/*
 * The client is told to wait for a message of a compound. Its last one, which has the account of
 * the whole, follows by its id, unless there are messages that take up several ids. A compound
 * whose CREATE had to wait may wait once more, for its last message.
 */
__noinline int smb2_chain_waits(__u32 handle, __u32 id, __u32 command)
{
	struct afs_stripe *stripe = stripe_here();
	struct afs_pending_key key = { .stream = handle };
	const __u32 to = AFS_SMB2_CHAIN_WAITED + command;
	struct afs_pending *p;

	for (__u32 i = 0; i < SMB2_CHAIN; i++) {
		key.id = id + i;
		p = bpf_map_lookup_elem(&pending, &key);
		if (!p || !p->chain)
			continue;
		if (stripe && p->chain != to + 1) {
			park_moved(stripe, p->chain - 1, to);
			p->chain = to + 1;
		}
		return 0;
	}
	return 0;
}

/* The client is told to wait for the rest. */
static __always_inline void smb2_interim(struct afs_stripe *stripe, const struct afs_stream *s,
					 const struct afs_flow *f)
{
	const struct afs_pending_key key = { .stream = s->handle, .id = smb2_id(f) };
	struct afs_pending *p = bpf_map_lookup_elem(&pending, &key);
	__u32 command = p ? p->account & ~AFS_PENDING_MEMBER : AFS_SMB2_OTHER;

	if (!p || !afs_smb2_waits(command))
		return;
	if (p->account & AFS_PENDING_MEMBER) {
		smb2_chain_waits(key.stream, key.id, command);
		return;
	}
	park_moved(stripe, command, command + AFS_SMB2_WAITED);
	p->account = command + AFS_SMB2_WAITED;
}

/* The first half of a reply's header is complete. */
static __always_inline void smb2_reply(struct afs_stripe *stripe, struct afs_stream *s,
				       struct afs_flow *f)
{
	__u32 flags = le32(f->head + 16);

	f->answers = 0;
	f->result = f->head[0] == 0xfe ? (__s32)le32(f->head + 8) : 0;
	if (f->head[0] != 0xfe && !smb2_is_old(f)) {
		park_untimed(stripe, s, smb2_closed(f), 0, 0, f->bytes, 0);
		return;
	}
	/* A break has the highest of all ids. */
	if (f->head[0] == 0xfe &&
	    (!(flags & SMB2_IS_REPLY) || (smb2_id(f) == -1u && le32(f->head + 28) == -1u)))
		return;
	if (f->head[0] == 0xfe && flags & SMB2_IS_ASYNC && f->result == AFS_SMB2_PENDING) {
		smb2_interim(stripe, s, f);
		return;
	}
	f->answers = pending_take(s, f, smb2_id(f));
	if (!f->answers)
		answer_to_none(s);
}

/* A request was answered in the name of whoever this thread works as; not root, which all begin as.
 */
__noinline int smb2_answers_as(__u32 handle)
{
	struct afs_stream *s = stream_at(handle);
	__u32 uid = bpf_get_current_uid_gid();

	if (!s || !uid)
		return 0;
	for (__u32 i = 0; i < AFS_N_USERS; i++) {
		if (i >= s->n_users) {
			s->user[i] = uid;
			s->n_users = i + 1;
			return 0;
		}
		if (s->user[i] == uid)
			return 0;
	}
	return 0;
}

/* The last byte of a reply was sent. */
static __always_inline void smb2_answered(struct afs_stripe *stripe, struct afs_thread *t,
					  struct afs_stream *s, struct afs_flow *f, __u64 now)
{
	const struct afs_pending *p = &f->pending;
	struct afs_queued q = { .id = smb2_id(f), .account = p->account, .bytes = p->bytes };

	if ((p->account & ~AFS_PENDING_MEMBER) == AFS_SMB2_TREE_CONNECT && !f->result)
		volume_opened(s->handle, smb2_id(f));
	/* The thread may have gone on with another user's since it parked this one. */
	if (t->serves == s->handle && t->request == smb2_id(f))
		smb2_answers_as(s->handle);
	if (p->account & AFS_PENDING_MEMBER) {
		park_untimed(stripe, s, p->account & ~AFS_PENDING_MEMBER, 1, p->bytes, f->bytes,
			     f->result);
		if (!p->chain)
			return;
		/* The bytes are its members'. */
		q.account = p->chain - 1;
		q.bytes = f->bytes = f->result = 0;
	}
	park_end(stripe, t, s, &q, smb2_id(f), p->ns, now);
}

/* A header's first half is complete; false: it is none. */
static __always_inline bool smb2_begin(struct afs_stripe *stripe, struct afs_thread *t,
				       struct afs_stream *s, struct afs_flow *f, int way,
				       __u64 begin_ns)
{
	if (!smb2_measure(f))
		return false;
	f->lost = 0;
	f->have = AFS_IN_FRAME;
	if (way == TO_SERVER)
		smb2_request(stripe, t, s, f, begin_ns);
	else
		smb2_reply(stripe, s, f);
	return true;
}

/* Keeps the path of a TREE_CONNECT until its reply; "at" is what follows the header's first half.
 */
static __always_inline void smb2_keep_path(struct afs_stream *s, __u32 id, __u64 at, __u32 n)
{
	struct afs_openvol *o = opening_of(s, id);
	__u8 is[4];
	__u32 from, len, keep;

	o->request = 0;
	if (bpf_probe_read_user(is, sizeof(is), (void *)(at + SMB2_PATH - SMB2_HEAD)))
		return;
	from = le16(is);
	len = le16(is + 2) & ~1u;
	if (from < SMB2_HEAD_LEN || from + len > SMB2_HEAD + n)
		return;
	keep = len < SMB2_PATH_LEN ? len : SMB2_PATH_LEN;
	for (int i = 0; i < AFS_OPENVOL_LEN / 8; i++)
		o->word[i] = 0;
	barrier_var(keep);
	keep &= AFS_OPENVOL_LEN - 1;
	if (keep > SMB2_PATH_LEN ||
	    bpf_probe_read_user(o->bytes + AFS_OPENVOL_AT + 1, keep,
				(void *)(at + from - SMB2_HEAD + len - keep)))
		return;
	o->bytes[AFS_OPENVOL_AT] = keep;
	o->have = AFS_OPENVOL_AT + 1 + keep;
	o->request = id + 1;
}

/* The next n bytes of a message are at "at": those that say what the connection is for. */
__noinline int smb2_look(__u32 handle, __u32 way, __u64 at, __u64 n)
{
	struct afs_stream *s = stream_at(handle);
	const struct afs_flow *f;
	__u64 from;
	__u8 is[2];

	if (!s)
		return 0;
	f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	from = f->bytes - f->pass;
	if (way == TO_SERVER) {
		if (from == SMB2_HEAD && n == f->pass && n < 4096)
			smb2_keep_path(s, smb2_id(f), at, n);
	} else if (!f->result && from <= SMB2_DIALECT && from + n >= SMB2_DIALECT + sizeof(is) &&
		   !bpf_probe_read_user(is, sizeof(is), (void *)(at + SMB2_DIALECT - from)) &&
		   le16(is) != SMB2_ANY) {
		s->dialect = le16(is);
	}
	return 0;
}

/* Passes over what follows of a message. */
static __always_inline void smb2_pass(struct afs_flow *f, const struct afs_thread *t,
				      const struct afs_stream *s, int way)
{
	__u32 command = way == TO_SERVER ? AFS_SMB2_TREE_CONNECT : AFS_SMB2_NEGOTIATE;
	struct afs_cursor *c = &f->cursor;
	__u64 n = f->pass;

	if (t->data == AFS_DATA_FILE)
		c->left = c->total;
	if (n > c->left)
		n = c->left;
	if (AFS_RARE(f->head[0] == 0xfe && le16(f->head + 12) == command) &&
	    t->data != AFS_DATA_FILE)
		smb2_look(s->handle, way, c->at, n);
	f->pass -= n;
	advance(c, n);
	f->skip -= n;
}

/* A message has ended, and the frame if there is nothing left of it. */
static __always_inline void smb2_end(struct afs_stripe *stripe, struct afs_thread *t,
				     struct afs_stream *s, struct afs_flow *f, int way, __u64 now)
{
	if (way == FROM_SERVER && f->answers)
		smb2_answered(stripe, t, s, f, now);
	f->answers = 0;
	f->have = 0;
	if (f->skip)
		return;
	f->mark_have = 0;
	f->frames++;
}

/* Reads what comes next: a mark, bytes of a header, or others; false: nothing known. */
static __always_inline bool smb2_take(struct afs_flow *f, const struct afs_thread *t,
				      const struct afs_stream *s, int way)
{
	struct afs_cursor *c = &f->cursor;

	if (!c->left && t->data != AFS_DATA_FILE && !next_piece(c))
		return false;
	if (f->mark_have == FRAME_MARK && f->have == AFS_IN_FRAME) {
		smb2_pass(f, t, s, way);
		return true;
	}
	if (t->data == AFS_DATA_FILE)
		return false;
	/* A piece without bytes. */
	if (!c->left)
		return true;
	return f->mark_have < FRAME_MARK ? smb2_take_mark(f) : smb2_take_head(f);
}

/* One step through the bytes that a call moved. false: that was all. */
static __always_inline bool smb2_step(struct afs_stripe *stripe, struct afs_thread *t,
				      struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];

	if (!smb2_take(f, t, s, way) ||
	    (f->have == SMB2_HEAD && !smb2_begin(stripe, t, s, f, way, begin_ns))) {
		/* And what was read of the mark and of the header. */
		f->cursor.total += f->mark_have + (f->have & 63);
		lose(f);
		return false;
	}
	if (f->mark_have == FRAME_MARK && f->have == AFS_IN_FRAME && !f->pass)
		smb2_end(stripe, t, s, f, way, end_ns);
	return f->cursor.total;
}

#endif
