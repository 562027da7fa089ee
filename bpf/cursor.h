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

static __always_inline bool cursor_open(struct afs_cursor *c, const struct afs_thread *t,
					__u64 total)
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

struct afs_msghdr {
	__u64 name, name_len, iov, n_iov, control, control_len, flags;
};

/* A datagram of this length begins. */
static __always_inline void datagram_at(struct afs_datagram *d, const struct afs_msghdr *msg,
					__u64 len)
{
	struct afs_cursor *c = &d->flow.cursor;

	c->total = len;
	c->at = c->left = 0;
	c->iov = msg->iov;
	c->n_iov = msg->n_iov;
	d->name = msg->name;
}

/* What a call moved: bytes, or datagrams if several. false: not readable. */
static __always_inline bool datagram_open(struct afs_datagram *d, const struct afs_thread *t,
					  __u64 total)
{
	struct afs_msghdr msg = { .name = t->name };

	d->begun = 0;
	d->n_msg = 0;
	if (t->data == AFS_DATA_MMSG) {
		d->flow.cursor.total = 0;
		d->msg = t->buf;
		d->n_msg = total;
		return true;
	}
	if (t->data == AFS_DATA_MSG && bpf_probe_read_user(&msg, sizeof(msg), (void *)t->buf))
		return false;
	datagram_at(d, &msg, total);
	if (t->data == AFS_DATA_MSG)
		return true;
	return cursor_open(&d->flow.cursor, t, total);
}

/* The next of several; false: there is none, or it is not readable. */
static __always_inline bool datagram_next(struct afs_datagram *d)
{
	struct {
		struct afs_msghdr msg;
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
	datagram_at(d, &next.msg, next.len);
	return true;
}

#endif
