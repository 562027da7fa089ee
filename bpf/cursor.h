/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_CURSOR_H
#define AFS_CURSOR_H

/* The bytes that a call moved, piece by piece: one buffer, an iovec, or a message. */

#include "bpf/maps.h"

static __always_inline __u32 be32(const __u8 *p)
{
	return (__u32)p[0] << 24 | (__u32)p[1] << 16 | (__u32)p[2] << 8 | p[3];
}

static __always_inline void advance(struct afs_cursor *c, __u64 n)
{
	c->at += n;
	c->left -= n;
	c->total -= n;
}

static __always_inline bool next_piece(struct afs_cursor *c)
{
	struct {
		__u64 at, len;
	} iov;

	if (!c->n_iov || bpf_probe_read_user(&iov, sizeof(iov), (void *)c->iov))
		return false;
	c->iov += sizeof(iov);
	c->n_iov--;
	c->at = iov.at;
	c->left = iov.len < c->total ? iov.len : c->total;
	return true;
}

/* Of what is before a frame, a fragment or a packet: its type, flags, length. */
#define FRAME_MARK 4

/* Reads more of a mark, of which *have bytes are there, from this piece. false: not readable. */
static __always_inline bool mark_take(struct afs_cursor *c, __u8 mark[FRAME_MARK], __u32 *have)
{
	__u32 got = *have & (FRAME_MARK - 1), n = FRAME_MARK - got;

	if (n > c->left)
		n = c->left;
	barrier_var(n);
	n &= 7;
	if (bpf_probe_read_user(mark + got, n, (void *)c->at))
		return false;
	advance(c, n);
	*have = got + n;
	return true;
}

/* What a call moved; of a message also its name, unless that is NULL. false: not readable. */
static __always_inline bool cursor_open(struct afs_cursor *c, const struct afs_thread *t,
					__u64 total, __u64 *name)
{
	struct {
		__u64 name, name_len, iov, n_iov;
	} msg;

	c->total = total;
	c->at = c->left = c->iov = c->n_iov = 0;
	switch (t->data) {
	case AFS_DATA_BUF:
		c->at = t->buf;
		c->left = total;
		return true;
	case AFS_DATA_IOV:
		c->iov = t->buf;
		c->n_iov = t->len;
		return true;
	case AFS_DATA_MSG:
		if (bpf_probe_read_user(&msg, sizeof(msg), (void *)t->buf))
			return false;
		c->iov = msg.iov;
		c->n_iov = msg.n_iov;
		if (name)
			*name = msg.name;
		return true;
	default:
		return true;
	}
}

static __always_inline struct afs_datagram *datagram_of(const struct afs_thread *t)
{
	__u32 i = t->slot;

	return bpf_map_lookup_elem(&datagram, &i);
}

/* What a call moved: bytes, or datagrams if several. false: not readable. */
static __always_inline bool datagram_open(struct afs_datagram *d, const struct afs_thread *t,
					  __u64 total)
{
	d->begun = 0;
	d->n_msg = 0;
	if (t->data == AFS_DATA_MMSG) {
		d->flow.cursor.total = 0;
		d->msg = t->buf;
		d->n_msg = total;
		return true;
	}
	d->name = t->name;
	return cursor_open(&d->flow.cursor, t, total, &d->name);
}

/* The next of several; false: there is none, or it is not readable. */
static __always_inline bool datagram_next(struct afs_datagram *d)
{
	struct afs_cursor *c = &d->flow.cursor;
	struct {
		__u64 name, name_len, iov, n_iov, control, control_len, flags;
		__u32 len, spare;
	} next;

	if (!d->n_msg)
		return false;
	d->n_msg--;
	if (bpf_probe_read_user(&next, sizeof(next), (void *)d->msg)) {
		AFS_COUNT(shared.lost.steps);
		return false;
	}
	d->msg += sizeof(next);
	c->total = next.len;
	c->at = c->left = 0;
	c->iov = next.iov;
	c->n_iov = next.n_iov;
	d->name = next.name;
	return true;
}

#endif
