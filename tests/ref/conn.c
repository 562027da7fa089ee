/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All the ways of reading requests and writing replies. */

#include "ref/conn.h"

#include "fake/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void ref_conn_init(struct ref_conn *c, int fd, const struct ref_plan *plan,
		   const struct ref_files *f, struct ref_shared *s)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->plan = *plan;
	c->f = f;
	c->s = s;
	REF_MUST(!plan->splices || !pipe(c->pipe));
	c->random = 0x9e3779b97f4a7c15;
	/* What could be taken for headers, were the data looked at. */
	for (size_t i = 0; i < sizeof(c->out); i++)
		c->out[i] = i % 16 == 0 ? 1 : i % 16 == 1 ? 2 : 0;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static enum ref_read way_of(struct ref_conn *c)
{
	return c->plan.read == REF_READ_ALL ? c->turn % REF_READ_ALL : c->plan.read;
}

/* Three pieces, the first two of which a header does not fit into. */
static size_t pieces_of(struct iovec iov[3], uint8_t *at, size_t room)
{
	iov[0] = (struct iovec) { at, min(room, 5) };
	iov[1] = (struct iovec) { at + iov[0].iov_len, min(room - iov[0].iov_len, 9) };
	iov[2].iov_base = at + iov[0].iov_len + iov[1].iov_len;
	iov[2].iov_len = room - iov[0].iov_len - iov[1].iov_len;
	return iov[2].iov_len ? 3 : iov[1].iov_len ? 2 : 1;
}

static ssize_t read_once(struct ref_conn *c, size_t want, enum ref_read way)
{
	uint8_t *at = c->in + c->to;
	size_t room = min(sizeof(c->in) - c->to, REF_AHEAD);
	struct iovec iov[3];
	struct msghdr m = { .msg_iov = iov };

	switch (way) {
	case REF_READ_READ:
		return read(c->fd, at, room);
	case REF_READ_READV:
		return readv(c->fd, iov, (int)pieces_of(iov, at, room));
	case REF_READ_RECVMSG:
		m.msg_iovlen = pieces_of(iov, at, room);
		return recvmsg(c->fd, &m, 0);
	case REF_READ_EXACT:
		return read(c->fd, at, min(want, room));
	case REF_READ_PIECES:
		room = want > 200 ? 1 + ref_random(&c->random) % room
				  : 1 + ref_random(&c->random) % 41;
		return recv(c->fd, at, room, 0);
	default:
		return recv(c->fd, at, room, 0);
	}
}

static enum afs_class class_of(enum ref_read way)
{
	return way == REF_READ_READ || way == REF_READ_READV || way == REF_READ_EXACT
		   ? AFS_CLASS_READ
		   : AFS_CLASS_RECV;
}

static void peek(struct ref_conn *c, struct ref_worker *w)
{
	uint8_t head[WIRE_HEAD + 4];
	struct iovec iov = { head, sizeof(head) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	ref_count(w, AFS_CLASS_RECV, AFS_OBJECT_CLIENT,
		  c->turn % 2 ? recv(c->fd, head, sizeof(head), MSG_PEEK)
			      : recvmsg(c->fd, &m, MSG_PEEK));
}

static void wait_in(struct ref_conn *c, struct ref_worker *w)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	ref_count(w, AFS_CLASS_WAIT, AFS_OBJECT_NONE, poll(&p, 1, -1));
}

/* The bytes that are in frames are followed; then the read knows whose it is. */
static void follow(struct ref_conn *c, size_t len)
{
	size_t skip = min(__atomic_load_n(&c->s->garbage, __ATOMIC_ACQUIRE), len);

	if (skip)
		__atomic_fetch_sub(&c->s->garbage, skip, __ATOMIC_RELEASE);
	memmove(c->in + c->to, c->in + c->to + skip, len - skip);
	ref_stream_in(&c->s->stream, c->in + c->to, len - skip);
	c->to += len - skip;
}

void ref_conn_fill(struct ref_conn *c, struct ref_worker *w, size_t want)
{
	enum ref_read way = way_of(c);
	ssize_t r;

	if (sizeof(c->in) - c->to < REF_AHEAD) {
		memmove(c->in, c->in + c->from, c->to - c->from);
		c->to -= c->from;
		c->from = 0;
	}
	if (c->plan.waits && c->turn % 3 == 0)
		wait_in(c, w);
	if (way == REF_READ_PEEK)
		peek(c, w);
	for (;;) {
		r = read_once(c, want, way);
		if (r > 0)
			break;
		REF_MUST(r < 0 && errno == EAGAIN && c->plan.waits);
		ref_count(w, class_of(way), AFS_OBJECT_CLIENT, r);
		wait_in(c, w);
	}
	c->turn++;
	follow(c, (size_t)r);
	ref_count(w, class_of(way), AFS_OBJECT_CLIENT, r);
	__atomic_fetch_add(&c->s->n_read, (uint64_t)r, __ATOMIC_RELEASE);
}

size_t ref_conn_splice(struct ref_conn *c, struct ref_worker *w, size_t most)
{
	loff_t to = 0;
	ssize_t r;

	for (;;) {
		r = splice(c->fd, NULL, c->pipe[1], NULL, min(most, 32768), 0);
		ref_count(w, AFS_CLASS_COPY, AFS_OBJECT_PIPE, r);
		if (r > 0)
			break;
		REF_MUST(r < 0 && errno == EAGAIN && c->plan.waits);
		c->s->stream.reads = true;
		wait_in(c, w);
	}
	ref_stream_skip(&c->s->stream, (size_t)r);
	REF_MUST(ref_count(w, AFS_CLASS_COPY, AFS_OBJECT_DATA,
			   splice(c->pipe[0], NULL, c->f->data, &to, (size_t)r, 0)) == r);
	__atomic_fetch_add(&c->s->n_read, (uint64_t)r, __ATOMIC_RELEASE);
	return (size_t)r;
}

void ref_conn_put(struct ref_conn *c, uint8_t flags, uint8_t command, uint16_t id, int32_t result,
		  uint32_t len)
{
	uint8_t *at = c->out + c->len;

	REF_MUST(c->len + WIRE_HEAD + len <= sizeof(c->out));
	wire_put(at, &(struct wire_head) { flags, command, id, (uint32_t)result, len, 0 });
	c->len += WIRE_HEAD + len;
	if (!flags)
		return;
	c->reply[c->n].end = c->len;
	c->reply[c->n].result = result;
	c->reply[c->n++].len = len;
}

/* Where in the first frame that waits byte "at" is does not matter to any but these. */
static ssize_t send_file(struct ref_conn *c, size_t at, enum afs_class *class)
{
	off_t from = (off_t)(at - WIRE_HEAD);

	*class = AFS_CLASS_SEND;
	if (c->len == WIRE_HEAD)
		return send(c->fd, c->out + at, WIRE_HEAD - at, 0);
	if (at < WIRE_HEAD)
		return send(c->fd, c->out + at, WIRE_HEAD - at, MSG_MORE);
	*class = AFS_CLASS_SENDFILE;
	return sendfile(c->fd, c->f->data, &from, c->len - at);
}

static ssize_t send_once(struct ref_conn *c, size_t at, enum ref_reply way, enum afs_class *class)
{
	size_t left = c->len - at, head = at < WIRE_HEAD ? WIRE_HEAD - at : 0;
	struct iovec iov[3] = { { c->out + at, head }, { c->out + at + head, left - head } };
	struct msghdr m = { .msg_iov = iov };

	*class = AFS_CLASS_WRITE;
	switch (way) {
	case REF_REPLY_WRITEV:
		return writev(c->fd, iov, 2);
	case REF_REPLY_SENDFILE:
		return send_file(c, at, class);
	case REF_REPLY_SPLIT:
		return write(c->fd, c->out + at, at < 7 ? min(7 - at, left) : left);
	case REF_REPLY_BYTES:
		return write(c->fd, c->out + at, at < WIRE_HEAD + 4 ? 1 : left);
	case REF_REPLY_SENDMSG:
		*class = AFS_CLASS_SEND;
		m.msg_iovlen = pieces_of(iov, c->out + at, left);
		return sendmsg(c->fd, &m, 0);
	default:
		*class = AFS_CLASS_SEND;
		return send(c->fd, c->out + at, left, 0);
	}
}

static void wait_out(struct ref_conn *c, struct ref_worker *w)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(c->fd, &set);
	ref_count(w, AFS_CLASS_WAIT, AFS_OBJECT_NONE, select(c->fd + 1, NULL, &set, NULL, NULL));
}

void ref_conn_send(struct ref_conn *c, struct ref_worker *w)
{
	enum ref_reply way = c->plan.reply == REF_REPLY_ALL ? c->s->n_served % REF_REPLY_BATCH
							    : c->plan.reply;
	size_t at = 0, done = 0;
	enum afs_class class;
	ssize_t r;

	/* From a file comes one reply's data. */
	if (way == REF_REPLY_SENDFILE && (c->n != 1 || c->len != WIRE_HEAD + c->reply[0].len))
		way = REF_REPLY_WRITEV;
	while (at < c->len) {
		r = send_once(c, at, way, &class);
		ref_count(w, class, AFS_OBJECT_CLIENT, r);
		if (r < 0) {
			REF_MUST(errno == EAGAIN && c->plan.waits);
			c->s->stream.blocked = true;
			wait_out(c, w);
			continue;
		}
		at += (size_t)r;
		for (; done < c->n && c->reply[done].end <= at; done++) {
			ref_stream_answered(&c->s->stream, c->reply[done].result,
					    c->reply[done].len);
			c->s->n_served++;
		}
		if (c->plan.early && at < c->len && way != REF_REPLY_SPLIT &&
		    way != REF_REPLY_BYTES) {
			c->s->stream.blocked = done < c->n;
			wait_out(c, w);
		}
	}
	c->n = 0;
	c->len = 0;
}

void ref_conn_babble(struct ref_conn *c, struct ref_worker *w, uint32_t len)
{
	uint8_t buf[256];

	memset(buf, 0xff, sizeof(buf));
	REF_MUST(ref_count(w, AFS_CLASS_SEND, AFS_OBJECT_CLIENT,
			   send(c->fd, buf, min(len, sizeof(buf)), 0)) > 0);
}
