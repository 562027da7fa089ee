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

#endif
