/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_TRACE_H
#define AFS_TRACE_H

/*
 * Records for user space, and the account of the request in service that one of them needs. Called
 * where tracing() says so, and dead code where nobody asked for a trace: setup.trace is known when
 * a program is loaded.
 */

#include "bpf/maps.h"
#include "bpf/paths.h"

static __always_inline bool tracing(__u32 what)
{
	return setup.trace & what;
}

static __always_inline __u32 state_of(const struct afs_thread *t)
{
	return t->cell - t->role * (AFS_N_CLASSES * AFS_N_OBJECTS);
}

/* What the thread is at, its own code included. */
static __always_inline __u32 state_now(const struct afs_thread *t)
{
	return t->nr == AFS_NR_NONE ? AFS_STATE_USER : state_of(t);
}

static __always_inline struct afs_work *work_of(const struct afs_thread *t)
{
	__u32 slot = t->slot;

	return bpf_map_lookup_elem(&work, &slot);
}

static __always_inline void work_add(const struct afs_thread *t, enum afs_column column, __u64 ns)
{
	struct afs_work *w = work_of(t);

	if (w)
		w->ns[column] += ns;
}

/* Blocked, or in own code: by the table. */
static __always_inline void work_add_blocked(const struct afs_thread *t, __u32 state, __u64 ns)
{
	struct afs_work *w = work_of(t);
	__u32 column;

	if (!w || state >= AFS_N_STATES)
		return;
	column = setup.column[state];
	if (column < AFS_N_COLUMNS)
		w->ns[column] += ns;
}

static __always_inline void work_begin(struct afs_thread *t, __u16 dsi_id)
{
	struct afs_work *w = work_of(t);

	if (!w)
		return;
	__builtin_memset(w, 0, sizeof(*w));
	t->dsi_id = dsi_id;
}

/* User space sleeps until so much has come together; a multiple of it wakes it once. */
static __always_inline __u64 wake_flags(__u64 len)
{
	__u64 there = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);

	/* A record has a head of 8 bytes in the buffer. */
	return (there ^ (there - len - 8)) & ~(__u64)(setup.trace_wake - 1) ? BPF_RB_FORCE_WAKEUP
									    : BPF_RB_NO_WAKEUP;
}

#define RECORD(name)                                                                               \
	struct {                                                                                   \
		struct afs_record_head head;                                                       \
		struct afs_record_##name r;                                                        \
	}

#define RECORD_RESERVE(e, number)                                                                  \
	({                                                                                         \
		(e) = bpf_ringbuf_reserve(&records, sizeof(*(e)), 0);                              \
		if (e)                                                                             \
			(e)->head = (struct afs_record_head) { .stream = (number) };               \
		else                                                                               \
			AFS_COUNT(shared.lost.records[number]);                                    \
		(e);                                                                               \
	})

#define RECORD_SUBMIT(e) bpf_ringbuf_submit(e, wake_flags(sizeof(*(e))))

static __always_inline __u32 session_of(const struct afs_thread *t)
{
	const struct afs_process *p = process_of(t);

	return p ? p->tgid : 0;
}

static __always_inline __u16 id_of(const struct afs_thread *t)
{
	return t->account < AFS_ACCOUNT_BETWEEN ? t->dsi_id : 0;
}

/* A call is entered, its own code's time since since_ns is over. */
static __always_inline void trace_enter(struct afs_thread *t, bool has_fd, __u64 now)
{
	work_add(t, AFS_COLUMN_own_ns, now - t->since_ns);
	if (!has_fd)
		t->fd = AFS_FD_NO;
}

/* The call in progress returned; its time since since_ns is over. */
static __always_inline void trace_leave(const struct afs_thread *t, long ret, __u64 now)
{
	struct afs_work *w = work_of(t);
	__u32 session, state = state_of(t);
	RECORD(calls) * e;

	if (w) {
		w->calls++;
		w->ns[AFS_COLUMN_calls_ns] += now - t->since_ns;
	}
	if (!tracing(AFS_TRACE_CALLS))
		return;
	session = session_of(t);
	if (!RECORD_RESERVE(e, AFS_STREAM_CALLS))
		return;
	e->r = (struct afs_record_calls) {
		.timestamp = now,
		.t = t->entered_ns,
		.session = session,
		.tid = t->tid,
		.dsi_id = id_of(t),
		.command = t->account,
		.role = t->role,
		.class = state / AFS_N_OBJECTS,
		.object = state % AFS_N_OBJECTS,
		.nr = t->nr,
		.fd = t->fd,
		.ret = ret,
		.time_ns = now - t->entered_ns,
	};
	RECORD_SUBMIT(e);
}

/* The thread had no CPU from "begin" to "end". */
static __always_inline void trace_wait(const struct afs_thread *t, __u32 state, enum afs_kind kind,
				       __u64 begin, __u64 end)
{
	RECORD(waits) * e;
	__u32 session;

	if (!tracing(AFS_TRACE_CALLS) || begin == end || t->stopped)
		return;
	session = session_of(t);
	if (!RECORD_RESERVE(e, AFS_STREAM_WAITS))
		return;
	e->r = (struct afs_record_waits) {
		.timestamp = end,
		.t = begin,
		.session = session,
		.tid = t->tid,
		.dsi_id = id_of(t),
		.command = t->account,
		.role = t->role,
		.class = state / AFS_N_OBJECTS,
		.object = state % AFS_N_OBJECTS,
		.kind = kind,
		.ns = end - begin,
	};
	RECORD_SUBMIT(e);
}

/* Back on a CPU "now": it was asleep until "woken", then runnable. */
static __always_inline void trace_back(const struct afs_thread *t, __u64 woken, __u64 now)
{
	__u32 state = state_now(t);

	if (t->off == AFS_OFF_BLOCKED) {
		work_add_blocked(t, state, woken - t->since_ns);
		trace_wait(t, state, AFS_KIND_BLOCKED, t->since_ns, woken);
	}
	work_add(t, AFS_COLUMN_runq_ns, now - woken);
	trace_wait(t, state, AFS_KIND_RUNQ, woken, now);
}

/* The request in service, the oldest of s, was answered. */
static __always_inline void trace_request(const struct afs_thread *t, const struct afs_stream *s,
					  const struct afs_flow *out, const struct afs_queued *q,
					  __u64 now)
{
	struct afs_work *w = work_of(t);
	RECORD(requests) * e;
	__u32 session;

	if (!w)
		return;
	session = session_of(t);
	if (!RECORD_RESERVE(e, AFS_STREAM_REQUESTS))
		return;
	e->r = (struct afs_record_requests) {
		.timestamp = now,
		.t = t->begun_ns,
		.session = session,
		.dsi_id = q->id,
		.command = t->account,
		.result = out->result,
		.calls = w->calls,
		.bytes_in = q->bytes,
		.bytes_out = out->bytes,
		.time_ns = now - t->begun_ns,
#define X(type, name, unit, meaning) .name = w->ns[AFS_COLUMN_##name],
		AFS_COLUMNS(X)
#undef X
		    .port = s->port,
	};
	RECORD_SUBMIT(e);
}

static __always_inline void trace_session(const struct afs_process *p, const struct afs_stream *s,
					  enum afs_event event)
{
	RECORD(sessions) * e;
	__u64 now = bpf_ktime_get_ns();

	if (!RECORD_RESERVE(e, AFS_STREAM_SESSIONS))
		return;
	e->r = (struct afs_record_sessions) {
		.timestamp = now,
		.t = now,
		.session = p->tgid,
		.event = event,
		.family = s->family,
		.port = s->port,
		.uid = p->uid,
	};
	__builtin_memcpy(e->r.address, s->ip, sizeof(e->r.address));
	RECORD_SUBMIT(e);
}

/* The client's connection is read: not by the one that accepted it, who hands it on. */
static __always_inline void trace_serving(struct afs_process *p, __u32 slot)
{
	struct afs_stream *s;

	if (p->told)
		return;
	s = bpf_map_lookup_elem(&stream, &slot);
	if (!s || !s->family)
		return;
	p->told = 1;
	trace_session(p, s, AFS_EVENT_BEGIN);
}

/* A command that names something came; n bytes of it, behind its number, are at "at". */
static __always_inline void trace_named(const struct afs_thread *t, __u16 id, __u8 command,
					__u64 at, __u64 n, __u64 now)
{
	__u32 session = session_of(t);
	struct {
		struct afs_record_head head;
		struct afs_named r;
	} * e;

	if (!afs_path_at[command] || !RECORD_RESERVE(e, AFS_STREAM_NAMES))
		return;
	e->r.timestamp = now;
	e->r.session = session;
	e->r.dsi_id = id;
	e->r.command = command;
	/* Compared in the register that is passed: verifiers up to 6.1 know no other bound. */
	asm volatile("" : "+r"(n));
	if (n > AFS_NAMED_LEN)
		n = AFS_NAMED_LEN;
	e->r.len = bpf_probe_read_user(e->r.bytes, n, (void *)at) ? 0 : n;
	RECORD_SUBMIT(e);
}

#endif
