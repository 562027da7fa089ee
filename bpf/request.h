/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_REQUEST_H
#define AFS_REQUEST_H

/*
 * Requests of a client's connection, from the first byte that the server reads of one to the last
 * of its reply. A decoder (bpf/decode) finds them in the bytes; here they are begun, counted and
 * ended.
 *
 * A server that answers in order, in the thread that has read: of requests that were read together,
 * the next begins where the reply before it ends, and what the thread does meanwhile is the
 * request's. If another thread answers, or this one takes up another client's request first, a
 * request is handed over: only its whole time is known. Of a server that answers in any order
 * (setup.any_order) all requests are handed over, and found again by their id; unless its threads
 * park requests (setup.parks, bpf/park.h).
 */

#include "bpf/cursor.h"
#include "bpf/hist.h"
#include "bpf/maps.h"
#include "bpf/time.h"

/* The current frame; NULL: not known. Of datagrams each thread has its own. */
static __always_inline struct afs_flow *flow_of(const struct afs_thread *t, struct afs_stream *s,
						__u32 way)
{
	struct afs_datagram *d;

	if (datagrams()) {
		d = datagram_of(t);
		return d ? &d->flow : NULL;
	}
	return way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];
}

static __always_inline struct afs_packets *packets_of(struct afs_stripe *stripe, __u32 way)
{
	return way == TO_SERVER ? &stripe->packets[TO_SERVER] : &stripe->packets[FROM_SERVER];
}

/* The request in service is in this thread, which works for no other. */
static __always_inline bool is_here(const struct afs_thread *t, const struct afs_stream *s)
{
	return s->by == t->slot + 1 && t->serves == s->handle;
}

/* The thread works for a request of another connection. */
static __always_inline bool is_busy(const struct afs_thread *t, const struct afs_stream *s)
{
	const struct afs_stream *other;

	if (!t->serves || t->serves == s->handle)
		return false;
	other = stream_at(t->serves);
	return other && other->by == t->slot + 1;
}

/*
 * A request goes into service at "now", in this thread if "here": everything until then is in other
 * accounts.
 */
static __always_inline void request_begin(struct afs_stripe *stripe, struct afs_thread *t,
					  struct afs_stream *s, const struct afs_queued *q,
					  bool here, __u64 now)
{
	struct afs_account *a = account_at(stripe, q->account);

	if (a)
		a->begun++;
	s->request_ns = now;
	s->by = 0;
	if (!here)
		return;
	if (AFS_RARE(is_busy(t, s))) {
		t->serves = 0;
		thread_account(t, AFS_ACCOUNT_THREADS);
		return;
	}
	s->by = t->slot + 1;
	t->serves = s->handle;
	thread_account(t, q->account);
	t->explained_ns = 0;
	t->unanswered = 0;
	if (!working())
		return;
	__builtin_memset(&t->work, 0, sizeof(t->work));
	t->dsi_id = q->id;
}

/* The request in service, which was "here", is over. */
static __always_inline void request_next(struct afs_stripe *stripe, struct afs_thread *t,
					 struct afs_stream *s, bool here, __u64 now)
{
	__u32 i = s->first % AFS_N_QUEUED;

	if (s->n) {
		request_begin(stripe, t, s, &s->queue[i], here, now);
		return;
	}
	s->by = 0;
	s->quiet_ns = now;
	if (!here)
		return;
	t->serves = 0;
	thread_account(t, AFS_ACCOUNT_BETWEEN);
}

/* 1: counted in this entry of this CPU's table; 0: it is another one's. */
__noinline int result_count_at(__u32 i, __u32 number, __s32 code)
{
	struct afs_stripe *stripe = stripe_here();
	struct afs_result *r;

	if (!stripe)
		return 0;
	barrier_var(i);
	r = &stripe->result[i & (AFS_N_RESULTS - 1)];
	if (!r->account) {
		r->code = code;
		r->account = number + 1;
	}
	if (r->account != number + 1 || r->code != code)
		return 0;
	r->n++;
	return 1;
}

/*
 * Counts a result other than 0. Open addressing: entries are never removed. Each CPU has its own
 * table, which nothing else writes.
 */
__noinline int result_count(__u32 number, __s32 code)
{
	__u32 at = afs_result_index(number, code);

	for (int k = 0; k < AFS_RESULT_TRIES; k++)
		if (result_count_at(at + k, number, code))
			return 0;
	AFS_COUNT(shared.lost.results);
	return 0;
}

static __always_inline void spread_add(struct afs_stripe *stripe, __u32 number, __u64 ns)
{
	__u32 i, bucket = afs_hist_index(ns, AFS_REQUEST_BITS, AFS_REQUEST_BUCKETS);
	struct afs_times *times = times_here();
	struct afs_spread *p;

	if (!times || !AFS_BELOW(number, AFS_ACCOUNT_BETWEEN))
		return;
	i = setup.spread[number];
	barrier_var(i);
	barrier_var(bucket);
	if (!AFS_BELOW(i, AFS_N_SPREADS) || !AFS_BELOW(bucket, AFS_REQUEST_BUCKETS))
		return;
	AFS_COUNT(times->request[i][bucket]);
	p = &stripe->spread[i];
	if (p->span != shared.span) {
		p->span = shared.span;
		p->min_ns = p->max_ns = ns;
	}
	if (ns < p->min_ns)
		p->min_ns = ns;
	if (ns > p->max_ns)
		p->max_ns = ns;
}

/* Parts of the request's time are known if it was "here". */
static __always_inline void account_parts(struct afs_account *a, const struct afs_thread *t,
					  bool here, __u64 ns)
{
	__u64 rest = ns > t->explained_ns ? ns - t->explained_ns : t->explained_ns - ns;

	if (!here && setup.parks) {
		a->parked++;
		a->parked_ns += ns;
		return;
	}
	if (!here) {
		a->handed++;
		return;
	}
	a->unexplained_ns += rest;
	if (rest > ns / 100)
		a->unexplained++;
}

/* Whether a result is one that people call an error. */
static __always_inline bool result_is_error(__u32 account, __s32 result)
{
	__s32 normal = 0;

	if (!result)
		return false;
	if (AFS_BELOW(account, AFS_ACCOUNT_BETWEEN))
		normal = setup.normal[account];
	return result != normal;
}

/* Requests of this account may take as long as they like: that is no time of the server's. */
static __always_inline bool request_is_idle(__u32 account)
{
	return setup.parks && account && (account == setup.idle[0] || account == setup.idle[1]);
}

/* The same for its connection. The thread's work is the request's if it was "here". */
static __always_inline void client_count(const struct afs_thread *t, struct afs_stream *s,
					 const struct afs_queued *q, bool here, __u64 ns)
{
	__u32 bucket = afs_hist_index(ns, AFS_REQUEST_BITS, AFS_REQUEST_BUCKETS);
	__u32 i = AFS_CLIENT_SLOT(s->handle);
	struct afs_client *c = bpf_map_lookup_elem(&client, &i);
	const struct afs_flow *out = flow_of(t, s, FROM_SERVER);

	if (!c || !out)
		return;
	if (!request_is_idle(q->account) && AFS_BELOW(bucket, AFS_REQUEST_BUCKETS))
		c->hist[bucket]++;
	c->errors += result_is_error(q->account, out->result);
	c->handed += !here && !setup.parks;
	for (int k = 0; here && k < AFS_N_COLUMNS; k++)
		c->ns[k] += t->work.ns[k];
}

/* Counts a request that was answered in its connection and its account. */
static __always_inline void request_add(struct afs_stripe *stripe, const struct afs_thread *t,
					struct afs_stream *s, const struct afs_queued *q, bool here,
					__u64 ns)
{
	const struct afs_flow *out = flow_of(t, s, FROM_SERVER);
	struct afs_account *a = account_at(stripe, q->account);

	barrier_var(a);
	if (!out)
		return;
	STREAM_ADD(s->answered, 1);
	if (!request_is_idle(q->account))
		STREAM_ADD(s->ns, ns);
	STREAM_ADD(s->bytes_in, q->bytes);
	STREAM_ADD(s->bytes_out, out->bytes);
	if (!a)
		return;
	a->answered++;
	a->bytes_in += q->bytes;
	a->bytes_out += out->bytes;
	a->ns += ns;
	spread_add(stripe, q->account, ns);
	account_parts(a, t, here, ns);
	if (!out->result)
		return;
	a->errors++;
	result_count(q->account, out->result);
}

/* Counts a request that was answered. */
static __always_inline void request_count(struct afs_stripe *stripe, const struct afs_thread *t,
					  struct afs_stream *s, const struct afs_queued *q,
					  __u64 begun_ns, bool here, __u64 now)
{
	__u64 ns = now - begun_ns;

	if (tracing(AFS_TRACE_SMALL))
		trace_request(stripe, t, s, q, begun_ns, !here, now);
	if (tracing(AFS_TRACE_LIVE))
		client_count(t, s, q, here, ns);
	request_add(stripe, t, s, q, here, ns);
}

/* Of a counted request had more bytes than a queue's entry has room for. */
static __always_inline void request_more(struct afs_stripe *stripe, struct afs_stream *s,
					 const struct afs_queued *q, __u64 bytes)
{
	struct afs_account *a = account_at(stripe, q->account);

	STREAM_ADD(s->bytes_in, bytes);
	if (a)
		a->bytes_in += bytes;
}

/* The request in service was answered. */
static __always_inline void request_end(struct afs_stripe *stripe, struct afs_thread *t,
					struct afs_stream *s, __u64 now)
{
	struct afs_queued *q = &s->queue[s->first % AFS_N_QUEUED];
	bool here = is_here(t, s);

	if (!s->n)
		return;
	request_count(stripe, t, s, q, s->request_ns, here, now);
	q->id++;
	if (!--q->n) {
		s->first++;
		s->n--;
	}
	request_next(stripe, t, s, here, now);
}

/*
 * Any order: keeps a request until its reply. One of the same id that is still there was never
 * answered.
 */
static __always_inline void pending_keep(struct afs_stream *s, const struct afs_pending *p,
					 __u32 id)
{
	const struct afs_pending_key key = { .stream = s->handle, .id = id };

	if (!bpf_map_update_elem(&pending, &key, p, BPF_NOEXIST))
		return;
	s->dropped++;
	bpf_map_update_elem(&pending, &key, p, BPF_ANY);
}

/* Any order: a request was read. */
static __always_inline void pending_begin(struct afs_stripe *stripe, struct afs_stream *s,
					  const struct afs_pending *p, __u32 id)
{
	struct afs_account *a = account_at(stripe, p->account);

	s->begun++;
	if (a)
		a->begun++;
	pending_keep(s, p, id);
}

/* Any order: more bytes of a request were read, after its begin. */
static __always_inline void pending_grow(const struct afs_stream *s, __u32 id, __u32 bytes)
{
	const struct afs_pending_key key = { .stream = s->handle, .id = id };
	struct afs_pending *p = bpf_map_lookup_elem(&pending, &key);

	if (p)
		p->bytes += bytes;
}

/* Any order: the reply to a request begins. false: to none that is known. */
static __always_inline bool pending_take(struct afs_stream *s, struct afs_flow *f, __u32 id)
{
	const struct afs_pending_key key = { .stream = s->handle, .id = id };
	const struct afs_pending *p = bpf_map_lookup_elem(&pending, &key);

	if (!p)
		return false;
	f->pending = *p;
	bpf_map_delete_elem(&pending, &key);
	return true;
}

static __always_inline void pending_end(struct afs_stripe *stripe, const struct afs_thread *t,
					struct afs_stream *s, __u16 id, __u64 now)
{
	const struct afs_pending *p = &s->flow[FROM_SERVER].pending;
	const struct afs_queued q = { .id = id, .account = p->account, .bytes = p->bytes };

	request_count(stripe, t, s, &q, p->ns, false, now);
}

/* A thread has moved a datagram, whose packets are looked at next. */
static __always_inline void datagram_begin(struct afs_stripe *stripe, struct afs_thread *t,
					   struct afs_datagram *d, __u32 way)
{
	struct afs_packets *p = packets_of(stripe, way);

	p->datagrams++;
	p->bytes += d->flow.cursor.total;
	if (way == TO_SERVER)
		t->received++;
	else
		t->sent++;
	d->have = d->whole = d->mini_have = 0;
	d->skip = 0;
	d->begun = 1;
}

/* A datagram, or what follows a packet in it, of which some bytes were read, is not understood. */
static __always_inline void datagram_lose(struct afs_stream *s, struct afs_datagram *d, __u32 way,
					  __u32 read)
{
	struct afs_flow *f = way == TO_SERVER ? &s->flow[TO_SERVER] : &s->flow[FROM_SERVER];

	STREAM_ADD(f->unknown, d->flow.cursor.total + read);
	d->flow.cursor.total = 0;
}

/* From here on the begin of the next frame is unknown. */
static __always_inline void lose(struct afs_flow *f)
{
	if (f->lost && !f->frames)
		f->early += f->cursor.total;
	else
		f->unknown += f->cursor.total;
	f->have = f->mark_have = 0;
	f->pass = f->passed = 0;
	f->skip = 0;
	f->lost = 1;
	f->cursor.total = 0;
}

/* Adds to the last entry if it is the same kind; a pipelining client has thousands in flight. */
static __always_inline bool queue_more(struct afs_stream *s, const struct afs_queued *q)
{
	struct afs_queued *last = &s->queue[(s->first + s->n - 1) % AFS_N_QUEUED];

	if (!s->n || last->account != q->account || last->bytes != q->bytes ||
	    last->fork != q->fork || last->n == AFS_N_ALIKE || (__u16)(last->id + last->n) != q->id)
		return false;
	last->n++;
	return true;
}

/* Of the oldest entries, how many are looked at. */
#define QUEUE_OLDEST 16

/*
 * Which of the oldest entries has the request with this id: its number and, above it, how many
 * requests of that entry come before; QUEUE_OLDEST: none.
 */
__noinline __u32 queue_find(__u32 handle, __u32 id)
{
	const struct afs_stream *s = stream_at(handle);
	const struct afs_queued *q;
	__u16 skip;

	if (!s)
		return QUEUE_OLDEST;
	for (__u32 k = 0; k < QUEUE_OLDEST; k++) {
		q = &s->queue[(s->first + k) % AFS_N_QUEUED];
		skip = id - q->id;
		if (k < s->n && skip < q->n)
			return k | (__u32)skip << 16;
	}
	return QUEUE_OLDEST;
}

/* Removes the oldest as unanswered: k entries, and skip requests of the next one. */
static __always_inline void queue_drop(struct afs_stream *s, __u32 k, __u32 skip)
{
	struct afs_queued *q;

	for (__u32 i = 0; i < QUEUE_OLDEST && i < k; i++) {
		s->dropped += s->queue[s->first % AFS_N_QUEUED].n;
		s->first++;
		s->n--;
	}
	q = &s->queue[s->first % AFS_N_QUEUED];
	s->dropped += skip;
	q->id += skip;
	q->n -= skip;
}

enum {
	QUEUE_FOUND = 1,   /* the request with this id is the first now */
	QUEUE_DROPPED = 2, /* another request was the first before */
};

/* Looks for the request that a reply answers, as reply_begin says. Returns QUEUE_ bits. */
__noinline __u32 queue_seek(__u32 handle, __u32 id)
{
	struct afs_stream *s = stream_at(handle);
	__u32 at, result = QUEUE_FOUND;

	if (!s)
		return 0;
	at = queue_find(handle, id);
	if (at == QUEUE_OLDEST) {
		at = s->n > QUEUE_OLDEST ? QUEUE_OLDEST : 0;
		result = 0;
	}
	if (!at)
		return result;
	queue_drop(s, at & 0xffff, at >> 16);
	return result | QUEUE_DROPPED;
}

/*
 * Counts how the client sends: the pause that a request ends at "now" if no other was there, and a
 * majority vote of accounts.
 */
__noinline int habit_count(__u32 handle, __u32 account, __u64 now)
{
	struct afs_stream *s = stream_at(handle);
	struct afs_habit *h;
	__u64 ns;
	__u32 i;

	if (!s)
		return 0;
	h = &s->habit;
	if (!h->most_n)
		h->most = account;
	if (h->most == account)
		h->most_n++;
	else
		h->most_n--;
	if (s->n || !s->quiet_ns || now < s->quiet_ns)
		return 0;
	ns = now - s->quiet_ns;
	i = afs_hist_index(ns >> AFS_PAUSE_SHIFT, AFS_PAUSE_BITS, AFS_PAUSE_BUCKETS);
	barrier_var(i);
	h->pause[i & (AFS_PAUSE_BUCKETS - 1)]++;
	h->pause_ns += ns;
	return 0;
}

/* What a decoder calls. */

/* A request was read; the call that read it began at begin_ns. */
static __always_inline void request_read(struct afs_stripe *stripe, struct afs_thread *t,
					 struct afs_stream *s, const struct afs_queued *q,
					 __u64 begin_ns)
{
	__u32 i = (s->first + s->n) % AFS_N_QUEUED;

	if (setup.any_order) {
		const struct afs_pending p = { begin_ns, q->bytes, q->account, 0 };

		pending_begin(stripe, s, &p, q->id);
		return;
	}
	if (s->n >= AFS_N_QUEUED) {
		s->overrun++;
		return;
	}
	s->begun++;
	habit_count(s->handle, q->account, begin_ns);
	if (queue_more(s, q))
		return;
	s->queue[i] = *q;
	if (!s->n++)
		request_begin(stripe, t, s, &s->queue[i], true, begin_ns);
}

/*
 * Of a session that was refused: no loss. In any order a request from before the watch may be
 * answered after others.
 */
static __always_inline void answer_to_none(struct afs_stream *s)
{
	if (s->refused)
		return;
	if ((s->answered && !setup.any_order) || !s->found)
		s->dropped++;
	else
		s->before++;
}

/*
 * A reply begins, whose result and bytes are in f; f->answers: to a request that is known. Replies
 * come in order. If one skips requests, these end unanswered; if one fits none of the oldest and
 * there are more, the oldest end, so that bytes mistaken for requests do not stay.
 */
static __always_inline void reply_begin(struct afs_stripe *stripe, struct afs_thread *t,
					struct afs_stream *s, struct afs_flow *f, __u32 id,
					__u64 now)
{
	const struct afs_queued *q = &s->queue[s->first % AFS_N_QUEUED];
	__u32 found;

	/* Whatever the session waits for from now on, it is not an answer for this request. */
	t->unanswered = 0;
	if (setup.any_order) {
		f->answers = pending_take(s, f, id);
		if (!f->answers)
			answer_to_none(s);
		return;
	}
	f->answers = 1;
	if (s->n && q->n && q->id == (__u16)id)
		return;
	found = queue_seek(s->handle, id);
	f->answers = found & QUEUE_FOUND;
	if (!f->answers)
		answer_to_none(s);
	if (found & QUEUE_DROPPED)
		request_next(stripe, t, s, is_here(t, s), now);
}

/* The account of the request that the reply answers. */
static __always_inline __u16 reply_account(const struct afs_stream *s)
{
	return setup.any_order ? s->flow[FROM_SERVER].pending.account
			       : s->queue[s->first % AFS_N_QUEUED].account;
}

/* The last byte of a reply that answers a request was sent. */
static __always_inline void reply_end(struct afs_stripe *stripe, struct afs_thread *t,
				      struct afs_stream *s, __u32 id, __u64 now)
{
	if (setup.any_order)
		pending_end(stripe, t, s, id, now);
	else
		request_end(stripe, t, s, now);
}

#endif
