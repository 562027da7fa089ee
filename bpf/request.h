/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_REQUEST_H
#define AFS_REQUEST_H

/*
 * Which AFP command a thread works for, found only from the bytes of the client's connection (DSI:
 * AFP over TCP/IP, "Data Stream Interface": 16-byte header, big-endian: flags 1, command 1,
 * id 2, offset or result 4, length 4, reserved 4; the AFP command's number is the first byte after
 * it). Any split of the stream into reads and writes, any number of frames in one.
 *
 * A request begins with the read that completes its header and ends with the write that completes
 * its reply. The server answers in order: of requests that were read together, the next begins
 * where the reply before it ends.
 */

#include "bpf/hist.h"
#include "bpf/maps.h"
#include "bpf/time.h"
#include "bpf/volume.h"

#define DSI_CLOSE   1
#define DSI_COMMAND 2
#define DSI_TICKLE  5
#define DSI_WRITE   6
#define DSI_LAST    8
#define DSI_HEAD    16

/* Frames and pieces of memory that one read or write may touch. */
#define REQUEST_STEPS 4096
#define REQUEST_SOME  64

enum {
	TO_SERVER,
	FROM_SERVER,
};

static __always_inline __u32 be32(const __u8 *p)
{
	return (__u32)p[0] << 24 | (__u32)p[1] << 16 | (__u32)p[2] << 8 | p[3];
}

/* A request goes into service at "now": everything until then is in other accounts. */
static __always_inline void request_begin(struct afs_stripe *stripe, struct afs_thread *t,
					  const struct afs_queued *q, __u64 now)
{
	struct afs_account *a;

	thread_account(t, q->account);
	t->begun_ns = now;
	t->explained_ns = 0;
	if (tracing(AFS_TRACE_SMALL))
		work_begin(t, q->id);
	a = account_at(stripe, t->account);
	if (a)
		a->begun++;
}

static __always_inline void request_next(struct afs_stripe *stripe, struct afs_thread *t,
					 struct afs_stream *s, __u64 now)
{
	__u32 i = s->first % AFS_N_QUEUED;

	if (s->n)
		request_begin(stripe, t, &s->queue[i], now);
	else
		thread_account(t, AFS_ACCOUNT_BETWEEN);
}

/*
 * Counts a result other than 0. Open addressing: entries are never removed. Each CPU has its own
 * table, which nothing else writes. A global function: verified once.
 */
__noinline int result_count(__u32 number, __s32 code)
{
	__u32 at = afs_result_index(number, code), i;
	struct afs_stripe *stripe = stripe_here();
	struct afs_result *r;

	if (!stripe)
		return 0;
	for (int k = 0; k < AFS_RESULT_TRIES; k++) {
		i = (at + k) & (AFS_N_RESULTS - 1);
		barrier_var(i);
		r = &stripe->result[i & (AFS_N_RESULTS - 1)];
		if (!r->account) {
			r->code = code;
			r->account = number + 1;
		}
		if (r->account != number + 1 || r->code != code)
			continue;
		r->n++;
		return 0;
	}
	AFS_COUNT(shared.lost.results);
	return 0;
}

static __always_inline void spread_add(struct afs_stripe *stripe, __u32 number, __u64 ns)
{
	__u32 i, bucket = afs_hist_index(ns, AFS_REQUEST_BITS, AFS_REQUEST_BUCKETS);
	struct afs_spread *p;

	if (!AFS_BELOW(number, AFS_ACCOUNT_BETWEEN))
		return;
	i = setup.spread[number];
	barrier_var(i);
	if (!AFS_BELOW(i, AFS_N_SPREADS) || !AFS_BELOW(bucket, AFS_REQUEST_BUCKETS))
		return;
	p = &stripe->spread[i];
	p->hist[bucket]++;
	if (p->span != shared.span) {
		p->span = shared.span;
		p->min_ns = p->max_ns = ns;
	}
	if (ns < p->min_ns)
		p->min_ns = ns;
	if (ns > p->max_ns)
		p->max_ns = ns;
}

static __always_inline void request_count(struct afs_stripe *stripe, const struct afs_thread *t,
					  const struct afs_flow *out, __u32 bytes, __u64 ns)
{
	struct afs_account *a = account_at(stripe, t->account);
	__u64 rest = ns > t->explained_ns ? ns - t->explained_ns : t->explained_ns - ns;

	if (!a)
		return;
	a->answered++;
	a->bytes_in += bytes;
	a->bytes_out += out->bytes;
	a->ns += ns;
	spread_add(stripe, t->account, ns);
	a->unexplained_ns += rest;
	if (rest > ns / 100)
		a->unexplained++;
	if (!out->result)
		return;
	a->errors++;
	result_count(t->account, out->result);
}

/* The request in service was answered. */
static __always_inline void request_end(struct afs_stripe *stripe, struct afs_thread *t,
					struct afs_stream *s, __u64 now)
{
	__u32 i = s->first % AFS_N_QUEUED;
	__u64 ns = now - t->begun_ns;

	if (!s->n)
		return;
	request_count(stripe, t, &s->flow[FROM_SERVER], s->queue[i].bytes, ns);
	if (tracing(AFS_TRACE_SMALL))
		trace_request(stripe, t, s, &s->flow[FROM_SERVER], &s->queue[i], now);
	s->answered++;
	s->ns += ns;
	s->bytes_in += s->queue[i].bytes;
	s->bytes_out += s->flow[FROM_SERVER].bytes;
	if (t->account == AFS_OPENVOL && !s->flow[FROM_SERVER].result)
		volume_opened(t->process, s->queue[i].id);
	s->queue[i].id++;
	if (!--s->queue[i].n) {
		s->first++;
		s->n--;
	}
	request_next(stripe, t, s, now);
}

static __always_inline __u16 id_in(const struct afs_flow *f)
{
	return (__u16)f->head[2] << 8 | f->head[3];
}

static __always_inline bool opens_volume(const struct afs_flow *f)
{
	return !f->head[0] && f->head[1] == DSI_COMMAND && f->head[DSI_HEAD] == AFS_OPENVOL;
}

/* From here on the begin of the next frame is unknown. */
static __always_inline void lose(struct afs_flow *f)
{
	if (f->lost && !f->frames)
		f->early += f->cursor.total;
	else
		f->unknown += f->cursor.total;
	f->have = 0;
	f->skip = 0;
	f->lost = 1;
	f->cursor.total = 0;
}

/* Adds to the last entry if it is the same kind; a pipelining client has thousands in flight. */
static __always_inline bool queue_more(struct afs_stream *s, const struct afs_queued *q)
{
	struct afs_queued *last = &s->queue[(s->first + s->n - 1) % AFS_N_QUEUED];

	if (!s->n || last->account != q->account || last->bytes != q->bytes ||
	    (__u16)(last->id + last->n) != q->id)
		return false;
	last->n++;
	return true;
}

static __always_inline void frame_in(struct afs_stripe *stripe, struct afs_thread *t,
				     struct afs_stream *s, const struct afs_flow *f, __u32 len,
				     __u64 begin_ns)
{
	__u32 i = (s->first + s->n) % AFS_N_QUEUED;
	struct afs_queued q = { .n = 1, .bytes = len + DSI_HEAD };

	/* A reply to the server's attention, a tickle, the end of the session: not answered. */
	if (f->head[0] || f->head[1] == DSI_TICKLE || f->head[1] == DSI_CLOSE ||
	    f->head[1] == DSI_LAST)
		return;
	q.id = id_in(f);
	q.account = AFS_ACCOUNT_DSI + f->head[1];
	if (len && (f->head[1] == DSI_COMMAND || f->head[1] == DSI_WRITE))
		q.account = f->head[DSI_HEAD];
	if (s->n >= AFS_N_QUEUED) {
		s->overrun++;
		return;
	}
	s->begun++;
	if (queue_more(s, &q))
		return;
	s->queue[i] = q;
	if (!s->n++)
		request_begin(stripe, t, &s->queue[i], begin_ns);
}

/* Removes the oldest as unanswered: k entries, and skip requests of the next one. */
static __always_inline void queue_drop(struct afs_stream *s, __u32 k, __u32 skip)
{
	struct afs_queued *q;

	for (__u32 i = 0; i < 16 && i < k; i++) {
		s->dropped += s->queue[s->first % AFS_N_QUEUED].n;
		s->first++;
		s->n--;
	}
	q = &s->queue[s->first % AFS_N_QUEUED];
	s->dropped += skip;
	q->id += skip;
	q->n -= skip;
}

/*
 * Replies come in order. If one skips requests, these end unanswered; if one fits none of the
 * oldest and there are more, the oldest end, so that bytes mistaken for requests do not stay.
 */
static __always_inline void frame_out(struct afs_stripe *stripe, struct afs_thread *t,
				      struct afs_stream *s, struct afs_flow *f, __u32 len,
				      __u64 now)
{
	__u16 id = id_in(f), skip = 0;
	const struct afs_queued *q;
	__u32 k;

	f->answers = 0;
	if (f->head[0] != 1)
		return;
	for (k = 0; k < 16; k++) {
		q = &s->queue[(s->first + k) % AFS_N_QUEUED];
		skip = id - q->id;
		if (k < s->n && skip < q->n)
			break;
	}
	f->answers = k < 16;
	if (!f->answers) {
		if (s->answered || !s->found)
			s->dropped++;
		else
			s->before++;
		k = s->n > 16 ? 16 : 0;
		skip = 0;
	}
	if (k || skip) {
		queue_drop(s, k, skip);
		request_next(stripe, t, s, now);
	}
	f->result = (__s32)be32(f->head + 4);
	f->bytes = len + DSI_HEAD;
}

/* Whether this can be the header of a frame; stricter while looking for one. */
static __always_inline bool is_head(const struct afs_flow *f)
{
	const __u8 *head = f->head;

	if (head[0] > 1 || !head[1] || head[1] > DSI_LAST || head[1] == 7)
		return false;
	return !f->lost || (!be32(head + 12) && !head[8]);
}

static __always_inline void advance(struct afs_cursor *c, __u64 n)
{
	c->at += n;
	c->left -= n;
	c->total -= n;
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
		f->have = have;
		advance(c, n);
		return true;
	}
	if (!is_head(f))
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

/* The frame's end was passed: true when it answers the request in service. */
static __always_inline bool frame_end(struct afs_flow *f, int way)
{
	bool answers = way == FROM_SERVER && f->answers;

	f->have = 0;
	f->frames++;
	f->answers = 0;
	return answers;
}

static __always_inline void frame_named(struct afs_stripe *stripe, const struct afs_thread *t,
					const struct afs_flow *f, __u64 now)
{
	const struct afs_cursor *c = &f->cursor;
	const __u8 *head = f->head;

	if (head[0] || (head[1] != DSI_COMMAND && head[1] != DSI_WRITE))
		return;
	trace_named(stripe, t, id_in(f), head[DSI_HEAD], c->at,
		    f->skip < c->left ? f->skip : c->left, now);
}

/*
 * One step through the bytes that a call moved: a frame, or as much of it as one piece of memory
 * holds. false: that was all.
 */
static __always_inline bool follow_step(struct afs_stripe *stripe, struct afs_thread *t,
					struct afs_stream *s, int way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	struct afs_cursor *c = &f->cursor;
	__u32 len;
	__u64 n;

	if (f->have != AFS_IN_FRAME) {
		if ((!c->left && !next_piece(c)) || !take_head(f, c, way, &len)) {
			lose(f);
			return false;
		}
		if (f->have != AFS_IN_FRAME)
			return c->total;
		f->lost = 0;
		if (way == TO_SERVER && tracing(AFS_TRACE_NAMES) && len)
			frame_named(stripe, t, f, end_ns);
		if (way == TO_SERVER && len && opens_volume(f))
			volume_begin(s, id_in(f));
		if (way == TO_SERVER)
			frame_in(stripe, t, s, f, len, begin_ns);
		else
			frame_out(stripe, t, s, f, len, end_ns);
	}
	if (t->data == AFS_DATA_FILE)
		c->left = c->total;
	if (f->skip && !c->left && c->total && !next_piece(c)) {
		lose(f);
		return false;
	}
	n = f->skip < c->left ? f->skip : c->left;
	if (way == TO_SERVER && n && opens_volume(f))
		volume_bytes(s, id_in(f), c->at, n);
	advance(c, n);
	f->skip -= n;
	if (!f->skip && frame_end(f, way))
		request_end(stripe, t, s, end_ns);
	return c->total;
}

static __always_inline struct afs_stream *stream_of(const struct afs_thread *t)
{
	__u32 i = t->process;

	return bpf_map_lookup_elem(&stream, &i);
}

/*
 * A thread returned from a call that moved "total" bytes of its client's connection: the first
 * step, which is the only one in most calls. 1: there is more. Its time until begin_ns is in parts;
 * the call returned at end_ns. A global function, as the next: verified once.
 */
__noinline int follow_first(__u32 slot, __u64 total, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_of(t) : NULL;
	struct afs_stripe *stripe = stripe_here();
	struct afs_flow *f;

	if (!setup.requests_on || !t || !s || !stripe)
		return 0;
	f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
	if (cursor_open(&f->cursor, t, total))
		return follow_step(stripe, t, s, way, begin_ns, end_ns);
	lose(f);
	return 0;
}

__noinline int follow_next(__u32 slot, __u32 way, __u64 begin_ns, __u64 end_ns)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stream *s = t ? stream_of(t) : NULL;
	struct afs_stripe *stripe = stripe_here();

	if (!setup.requests_on || !t || !s || !stripe)
		return 0;
	return follow_step(stripe, t, s, way, begin_ns, end_ns);
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
	struct afs_stream *s = t ? stream_of(t) : NULL;

	for (int i = 0; i < REQUEST_STEPS / REQUEST_SOME; i++)
		if (!follow_some(slot, way, begin_ns, end_ns))
			return 0;
	AFS_COUNT(shared.lost.steps);
	if (s)
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
