/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_TRACE_H
#define AFS_TRACE_H

/*
 * Records for user space, and the account of the request in service that one of them needs. Only
 * called if tracing(); dead code without a trace, as setup.trace is known when a program is loaded.
 * The account is kept for AFS_TRACE_LIVE, too: if working().
 */

#include "bpf/maps.h"
#include "bpf/paths.h"

static __always_inline bool tracing(__u32 what)
{
	return setup.trace & what;
}

static __always_inline bool working(void)
{
	return tracing(AFS_TRACE_SMALL | AFS_TRACE_LIVE);
}

static __always_inline __u32 state_of(const struct afs_thread *t)
{
	return AFS_STATE(t->class, t->object);
}

/* Wakes user space each time a CPU has submitted that much; it also looks from time to time. */
static __always_inline __u64 wake_flags(struct afs_stripe *s, __u32 len)
{
	__u64 before = s->handed_len;

	s->handed_len = before + len;
	return (before ^ s->handed_len) & ~(__u64)(setup.trace_wake - 1) ? BPF_RB_FORCE_WAKEUP
									 : BPF_RB_NO_WAKEUP;
}

/* Submits what this CPU has gathered. */
__noinline int batch_end(void)
{
	struct afs_stripe *s = stripe_here();
	__u32 len;

	if (!s || !s->batch_len)
		return 0;
	len = s->batch_len;
	if (len > AFS_BATCH_LEN || bpf_ringbuf_output(&records, s->batch, len, wake_flags(s, len)))
		for (int i = 0; i < AFS_N_STREAMS; i++)
			__sync_fetch_and_add(&shared.lost.records[i], s->batch_n[i]);
	s->batch_len = 0;
	__builtin_memset(s->batch_n, 0, sizeof(s->batch_n));
	return 0;
}

/* Room for a record of the thread that runs. */
static __always_inline void *batch_room(struct afs_stripe *s, __u32 len,
					enum afs_stream_number stream)
{
	__u32 at = s->batch_len;

	if (at > AFS_BATCH_LEN - len) {
		batch_end();
		at = 0;
	}
	s->batch_len = at + len;
	s->batch_n[stream]++;
	return s->batch + at;
}

/* Shortens the newest record of the batch by that many bytes. */
static __always_inline void batch_trim(struct afs_stripe *s, struct afs_record_head *head,
				       __u32 len)
{
	if (!setup.batch)
		return;
	s->batch_len -= len;
	head->len -= len;
}

#define RECORD(of)                                                                                 \
	struct {                                                                                   \
		struct afs_record_head head;                                                       \
		struct of r;                                                                       \
	}

#define RECORD_HEAD(e, number)                                                                     \
	({                                                                                         \
		if (e)                                                                             \
			(e)->head = (struct afs_record_head) { .stream = (number),                 \
							       .len = sizeof(*(e)) };              \
		else                                                                               \
			AFS_COUNT(shared.lost.records[number]);                                    \
		(e);                                                                               \
	})

/* A record of the thread that runs. */
#define RECORD_BEGIN(s, e, number)                                                                 \
	({                                                                                         \
		(e) = setup.batch ? batch_room(s, sizeof(*(e)), number)                            \
				  : bpf_ringbuf_reserve(&records, sizeof(*(e)), 0);                \
		RECORD_HEAD(e, number);                                                            \
	})

/* Submits it alone if programs may be interrupted. */
#define RECORD_END(s, e)                                                                           \
	({                                                                                         \
		if (!setup.batch)                                                                  \
			bpf_ringbuf_submit(e, wake_flags(s, sizeof(*(e))));                        \
	})

static __always_inline __u16 id_of(const struct afs_thread *t)
{
	return t->account < AFS_ACCOUNT_BETWEEN ? t->dsi_id : 0;
}

/* A call is entered: the thread has run its own code since since_ns. */
static __always_inline void trace_enter(struct afs_thread *t, bool has_fd, __u64 now)
{
	t->work.ns[AFS_COLUMN_own_ns] += now - t->since_ns;
	if (!has_fd)
		t->fd = AFS_FD_NO;
}

/* The call in progress returned; its time since since_ns is over. */
static __always_inline void trace_leave(struct afs_stripe *stripe, struct afs_thread *t, long ret,
					__u64 now)
{
	RECORD(afs_record_calls) * e;

	t->work.calls++;
	t->work.ns[AFS_COLUMN_calls_ns] += now - t->since_ns;
	if (!tracing(AFS_TRACE_CALLS))
		return;
	if (!RECORD_BEGIN(stripe, e, AFS_STREAM_CALLS))
		return;
	e->r = (struct afs_record_calls) {
		.timestamp = now,
		.t = t->entered_ns,
		.session = t->session,
		.tid = t->tid,
		.dsi_id = id_of(t),
		.command = t->account,
		.role = t->role,
		.class = t->class,
		.object = t->object,
		.nr = t->nr,
		.fd = t->fd,
		.ret = ret,
		.time_ns = now - t->entered_ns,
	};
	RECORD_END(stripe, e);
}

/* The thread had no CPU from "begin" to "end". */
static __always_inline void trace_wait(struct afs_stripe *stripe, const struct afs_thread *t,
				       __u32 state, enum afs_kind kind, __u64 begin, __u64 end)
{
	RECORD(afs_record_waits) * e;

	if (!tracing(AFS_TRACE_CALLS) || begin == end || t->stopped)
		return;
	if (!RECORD_BEGIN(stripe, e, AFS_STREAM_WAITS))
		return;
	e->r = (struct afs_record_waits) {
		.timestamp = end,
		.t = begin,
		.session = t->session,
		.tid = t->tid,
		.dsi_id = id_of(t),
		.command = t->account,
		.role = t->role,
		.class = state / AFS_N_OBJECTS,
		.object = state % AFS_N_OBJECTS,
		.kind = kind,
		.ns = end - begin,
	};
	RECORD_END(stripe, e);
}

/* Back on a CPU "now": it was asleep until "woken", then runnable. */
static __always_inline void trace_back(struct afs_stripe *stripe, struct afs_thread *t, __u64 woken,
				       __u64 now)
{
	__u32 state = t->nr == AFS_NR_NONE ? AFS_STATE_USER : state_of(t);
	__u32 column;

	if (t->off == AFS_OFF_STOPPED) {
		t->work.ns[AFS_COLUMN_stopped_ns] += woken - t->since_ns;
		trace_wait(stripe, t, state, AFS_KIND_STOPPED, t->since_ns, woken);
	}
	if (t->off == AFS_OFF_BLOCKED) {
		column = state < AFS_N_STATES ? setup.column[state] : AFS_N_COLUMNS;
		if (column < AFS_N_COLUMNS)
			t->work.ns[column] += woken - t->since_ns;
		trace_wait(stripe, t, state, AFS_KIND_BLOCKED, t->since_ns, woken);
	}
	t->work.ns[AFS_COLUMN_runq_ns] += now - woken;
	trace_wait(stripe, t, state, AFS_KIND_RUNQ, woken, now);
}

/* Fills r from a command of which n bytes, after its number, are at "at"; returns how many fit. */
static __always_inline __u64 named_read(struct afs_named *r, const struct afs_thread *t, __u16 id,
					__u8 command, __u64 at, __u64 n, __u64 now)
{
	r->timestamp = now;
	r->session = t->session;
	r->dsi_id = id;
	r->command = command;
	/* Compare in the register that is passed: verifiers up to 6.1 need that. */
	asm volatile("" : "+r"(n));
	if (n > AFS_NAMED_LEN)
		n = AFS_NAMED_LEN;
	r->len = bpf_probe_read_user(r->bytes, n, (void *)at) ? 0 : n;
	return n;
}

/* A command with a name: kept, or NULL: n bytes of it, after its number, are at "at". */
static __always_inline void trace_named(struct afs_stripe *stripe, const struct afs_thread *t,
					const struct afs_named *kept, __u16 id, __u8 command,
					__u64 at, __u64 n, __u64 now)
{
	RECORD(afs_named) * e;

	if (!RECORD_BEGIN(stripe, e, AFS_STREAM_NAMES))
		return;
	if (kept)
		__builtin_memcpy(&e->r, kept, sizeof(e->r));
	else
		n = named_read(&e->r, t, id, command, at, n, now);
	batch_trim(stripe, &e->head, (AFS_NAMED_LEN - n) & ~7u);
	RECORD_END(stripe, e);
}

/* A request was answered that began at begun_ns; handed: what the thread did was not for it. */
static __always_inline void trace_request(struct afs_stripe *stripe, const struct afs_thread *t,
					  const struct afs_stream *s, const struct afs_queued *q,
					  __u64 begun_ns, bool handed, __u64 now)
{
	RECORD(afs_record_requests) * e;

	if (now - begun_ns < setup.over_ns)
		return;
	if (setup.over_ns && tracing(AFS_TRACE_NAMES) && afs_named_is(&s->named, q->id, q->account))
		trace_named(stripe, t, &s->named, 0, 0, 0, s->named.len, 0);
	if (!RECORD_BEGIN(stripe, e, AFS_STREAM_REQUESTS))
		return;
	e->r = (struct afs_record_requests) {
		.timestamp = now,
		.t = begun_ns,
		.session = t->session,
		.dsi_id = q->id,
		.command = q->account,
		.result = s->flow[1].result,
		.calls = handed ? 0 : t->work.calls,
		.bytes_in = q->bytes,
		.bytes_out = s->flow[1].bytes,
		.time_ns = now - begun_ns,
#define X(type, name, unit, meaning) .name = handed ? 0 : t->work.ns[AFS_COLUMN_##name],
		AFS_COLUMNS(X)
#undef X
		    .port = s->port,
		.fork = q->fork ? q->fork : s->flow[1].fork,
	};
	RECORD_END(stripe, e);
}

static __always_inline void trace_session(const struct afs_process *p, const struct afs_stream *s,
					  enum afs_event event)
{
	RECORD(afs_record_sessions) * e;
	__u64 now = bpf_ktime_get_ns();

	/* A rare kind: submitted alone. */
	e = bpf_ringbuf_reserve(&records, sizeof(*e), 0);
	if (!RECORD_HEAD(e, AFS_STREAM_SESSIONS))
		return;
	e->r = (struct afs_record_sessions) {
		.timestamp = now,
		.t = now,
		.session = p->tgid,
		.event = event,
		.family = s->family,
		.port = s->port,
		.uid = p->uid,
		.scope = s->scope,
	};
	__builtin_memcpy(e->r.address, s->ip, sizeof(e->r.address));
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* The client's connection is read, by the process that serves it, not the one that accepted it. */
static __always_inline void trace_serving(const struct afs_process *p, struct afs_stream *s)
{
	if (s->told || !s->family)
		return;
	s->told = 1;
	trace_session(p, s, AFS_EVENT_BEGIN);
}

#endif
