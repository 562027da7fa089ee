/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_PARK_H
#define AFS_PARK_H

/*
 * Requests of a server whose threads park them (setup.parks, with setup.any_order): one that is
 * event-driven and answers in any order. A request belongs to the thread that has read it, until
 * that thread waits for whatever comes next (epoll, or as an idle thread of a pool does) or reads
 * another request; then it is parked.
 * It is found again by its id when its reply begins. Of a request that was never parked, all that
 * its thread did from its read to its reply is known; of one that was, what the thread did before,
 * and how long it took (struct afs_account: parked_ns, had_ns). What threads do for parked requests
 * is in the account of time between requests, or in that of other threads; how many of these calls
 * the thread that replies made for the request since it last waited is counted (later_calls).
 *
 * A request whose frame is still being read, or whose reply is being written, is not parked by a
 * wait for events: the thread waits for the client.
 */

#include "bpf/request.h"

/* Of a frame, or of a record of several fragments, a part was moved. */
static __always_inline bool park_is_within(const struct afs_flow *f)
{
	return f->skip || f->have;
}

/* The rest of the frame that the thread reads, or writes, has not been moved yet. */
static __always_inline bool park_is_partly(const struct afs_thread *t)
{
	const struct afs_stream *s = stream_at(t->serves);

	return s && (park_is_within(&s->flow[TO_SERVER]) || park_is_within(&s->flow[FROM_SERVER]));
}

/* The thread works for its request no longer; park() follows when the time until now is in parts.
 */
static __always_inline void park_begin(struct afs_thread *t)
{
	t->serves = 0;
	t->parking = t->account + 1;
	thread_account(t, AFS_ACCOUNT_BETWEEN);
}

/*
 * A thread begins to wait for whatever comes next. The wait's end is known when the next call is
 * entered.
 */
static __always_inline void park_waiting(struct afs_thread *t, enum afs_loop loop)
{
	t->looped_calls = t->calls + 1;
	t->looped_ns = 0;
	if (t->serves && (loop == AFS_LOOP_IDLE || !park_is_partly(t)))
		park_begin(t);
}

/* A thread begins to read from the client's connection t->stream. */
static __always_inline void park_reading(struct afs_thread *t)
{
	const struct afs_stream *s = stream_at(t->serves);

	if (s && t->serves == t->stream && park_is_within(&s->flow[TO_SERVER]))
		return;
	if (s)
		park_begin(t);
	else if (t->account >= AFS_ACCOUNT_THREADS)
		thread_account(t, AFS_ACCOUNT_BETWEEN);
}

/* Counts how much of the request that was parked is in parts. */
static __always_inline void park(struct afs_stripe *stripe, struct afs_thread *t)
{
	struct afs_account *a = account_at(stripe, t->parking - 1);

	t->parking = 0;
	if (a)
		a->had_ns += t->explained_ns;
}

/*
 * Whether a call waits for whatever comes next. A thread of a pool that is idle sleeps on a futex
 * until a time at most; one that works for a request waits for a lock without an end.
 */
static __always_inline enum afs_loop park_loop(const struct afs_call *call,
					       const unsigned long arg[AFS_N_ARGS])
{
	__u32 op = arg[1] & AFS_FUTEX_OP;

	if (call->loop != AFS_LOOP_IDLE)
		return call->loop;
	return arg[3] && (op == AFS_FUTEX_WAIT || op == AFS_FUTEX_WAIT_BITSET) ? AFS_LOOP_IDLE
									       : AFS_LOOP_NONE;
}

/* Before a call's place is known: it is such a wait (enum afs_loop), or reads from t->stream. */
__noinline int park_enter(__u32 slot, __u32 loop, bool reads)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);

	if (t && !t->looped_ns && (__u32)t->calls == t->looped_calls)
		t->looped_ns = t->since_ns;
	if (t && loop)
		park_waiting(t, loop);
	else if (t && reads)
		park_reading(t);
	return 0;
}

/* After the time until the call is in parts. */
__noinline int park_entered(__u32 slot)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stripe *stripe = stripe_here();

	if (t && stripe && t->parking)
		park(stripe, t);
	return 0;
}

/*
 * From here on the thread works for this request, of which it has read the begin; "begins": it is a
 * new one, not the next member of a compound.
 */
static __always_inline void park_here(struct afs_stripe *stripe, struct afs_thread *t,
				      const struct afs_stream *s, __u32 id, __u32 account,
				      bool begins)
{
	if (begins && t->serves) {
		park_begin(t);
		park(stripe, t);
	}
	t->request = id;
	t->looped_ns = t->looped_calls = 0;
	if (working())
		t->dsi_id = id;
	if (t->serves)
		return;
	t->serves = s->handle;
	t->explained_ns = 0;
	t->unanswered = 0;
	thread_account(t, account);
	if (working())
		__builtin_memset(&t->work, 0, sizeof(t->work));
}

/* The client was told to wait for a request: it goes on in another account. */
static __always_inline void park_moved(struct afs_stripe *stripe, __u32 from, __u32 to)
{
	struct afs_account *a = account_at(stripe, from), *b = account_at(stripe, to);

	if (a)
		a->waited++;
	if (b)
		b->begun++;
}

/* Counts something that has no time of its own, or of which one cannot tell it. */
static __always_inline void park_untimed(struct afs_stripe *stripe, struct afs_stream *s,
					 __u32 number, __u32 n, __u64 bytes_in, __u64 bytes_out,
					 __s32 result)
{
	struct afs_account *a = account_at(stripe, number);

	s->bytes_in += bytes_in;
	s->bytes_out += bytes_out;
	if (!a)
		return;
	a->untimed += n;
	a->bytes_in += bytes_in;
	a->bytes_out += bytes_out;
	if (!result)
		return;
	a->errors++;
	result_count(number, result);
}

/*
 * What this thread did since it last waited, or replied, was for a request that was parked: an
 * event loop does one thing after the other. Not known if it works for another one.
 */
static __always_inline void park_later(struct afs_stripe *stripe, struct afs_thread *t,
				       __u32 number, __u64 now)
{
	struct afs_account *a = account_at(stripe, number);

	if (!a || t->serves || !t->looped_ns)
		return;
	a->later_calls += (__u32)t->calls - t->looped_calls;
	a->later_ns += now - t->looped_ns;
	t->looped_calls = t->calls;
	t->looped_ns = now;
}

/* The reply to a request was sent, which began at begin_ns. */
static __always_inline void park_end(struct afs_stripe *stripe, struct afs_thread *t,
				     struct afs_stream *s, const struct afs_queued *q, __u32 id,
				     __u64 begin_ns, __u64 now)
{
	bool here = t->serves == s->handle && t->request == id;

	request_count(stripe, t, s, q, begin_ns, here, now);
	if (!here) {
		park_later(stripe, t, q->account, now);
		return;
	}
	t->looped_calls = t->calls;
	t->looped_ns = now;
	t->serves = 0;
	thread_account(t, AFS_ACCOUNT_BETWEEN);
}

#endif
