/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_TIME_H
#define AFS_TIME_H

/*
 * The time account. A watched thread's time since "since_ns" is in no part yet; every event adds it
 * to the part of the state that ends, and sets "since_ns", so the parts of a request add up to its
 * duration.
 *
 * Parts are written by the programs of system calls and by sched_switch only: none of them can
 * interrupt another on the same CPU. A wake-up can, so it only leaves its time in the thread.
 */

#include "bpf/maps.h"
#include "bpf/trace.h"

/* The part of a state in a row; AFS_ACCOUNT_MORE's when there is no room. Cold: once for each. */
__noinline __u32 part_new(__u32 at, __u32 state)
{
	struct afs_row *r = bpf_map_lookup_elem(&row, &at);
	__u32 i = AFS_N_PARTS;

	if (!r || state >= AFS_N_STATES)
		return 0;
	if (shared.n_parts < AFS_N_PARTS - AFS_N_FIXED_PARTS)
		i = AFS_N_FIXED_PARTS + AFS_COUNT(shared.n_parts);
	if (!AFS_BELOW(i, AFS_N_PARTS)) {
		AFS_COUNT(shared.lost.parts);
		return at / AFS_N_ACCOUNTS * AFS_N_STATES + state;
	}
	shared.part_key[i] = at * AFS_N_STATES + state;
	r->part[state] = i;
	return i;
}

static __always_inline __u32 part_of(const struct afs_thread *t, __u32 state)
{
	__u32 at = t->role * AFS_N_ACCOUNTS + t->account, i;
	struct afs_row *r = bpf_map_lookup_elem(&row, &at);

	if (!r || state >= AFS_N_STATES)
		return 0;
	i = r->part[state];
	return AFS_RARE(!i) ? part_new(at, state) : i;
}

/* Now; after the stop the moment of the stop, or of the thread's last event if that was later. */
static __always_inline __u64 time_now(const struct afs_thread *t)
{
	__u64 now = bpf_ktime_get_ns(), stop = shared.stop_ns;

	if (AFS_RARE(stop && now > stop))
		return stop > t->since_ns ? stop : t->since_ns;
	return now;
}

static __always_inline struct afs_part *part_at(struct afs_stripe *s, __u32 i)
{
	return AFS_BELOW(i, AFS_N_PARTS) ? &s->part[i] : NULL;
}

static __always_inline struct afs_account *account_at(struct afs_stripe *s, __u32 number)
{
	return AFS_BELOW(number, AFS_N_ACCOUNTS) ? &s->account[number] : NULL;
}

static __always_inline struct afs_inner *inner_at(__u32 slot)
{
	return bpf_map_lookup_elem(&inner, &slot);
}

static __always_inline void thread_account(struct afs_thread *t, __u32 number)
{
	t->account = number;
	t->user_part = part_of(t, AFS_STATE_USER);
}

static __always_inline bool is_on(const struct afs_thread *t, __u32 object)
{
	return t->nr != AFS_NR_NONE && t->object == object;
}

static __always_inline bool is_asleep(const struct afs_thread *t)
{
	return t->off >= AFS_OFF_BLOCKED;
}

/* What a sleeping CNID server's thread waits for, for the session that waits for it. */
__noinline __u32 inside_blocked(__u32 slot)
{
	const struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	__u32 waits;

	if (!t)
		return AFS_INSIDE_UNKNOWN;
	if (t->off == AFS_OFF_STOPPED)
		return AFS_INSIDE_STOPPED;
	if (t->nr < 0)
		return AFS_INSIDE_UNKNOWN;
	if (t->object == AFS_OBJECT_BACKEND)
		return AFS_INSIDE_IDLE;
	if (t->class == AFS_CLASS_WAIT) {
		waits = call_of(t->nr).waits;
		return waits == AFS_WAITS_READY  ? AFS_INSIDE_IDLE
		       : waits == AFS_WAITS_LOCK ? AFS_INSIDE_LOCK
						 : AFS_INSIDE_IO;
	}
	if (t->class == AFS_CLASS_SYNC)
		return AFS_INSIDE_SYNC;
	return t->class == AFS_CLASS_LOCK ? AFS_INSIDE_LOCK : AFS_INSIDE_IO;
}

static __always_inline void inner_add(const struct afs_thread *t, __u32 what, __u64 ns)
{
	struct afs_inner *in;

	if (t->role != AFS_ROLE_BACKEND)
		return;
	barrier_var(what); /* only the compiler knows the range of what functions return */
	in = inner_at(t->slot);
	if (in && AFS_BELOW(what, AFS_N_INSIDE))
		in->total[what] += ns;
}

/*
 * Saves the totals of the CNID server's thread (slot + 1) that the thread in "slot" waits for in
 * base or, at the end, adds their growth since then to waited; after that, base is not valid.
 */
__noinline int inner_look(__u32 slot, __u32 server, bool end, __u64 now)
{
	__u32 first = AFS_INSIDE_CPU, then = AFS_INSIDE_CPU;
	struct afs_inner *own = inner_at(slot), *in;
	struct afs_thread *t;
	__u64 since, woken;
	__s64 grown;

	if (!own)
		return 0;
	server--;
	t = bpf_map_lookup_elem(&thread, &server);
	in = inner_at(server);
	if (!t || !in)
		return 0;
	since = t->since_ns < now ? t->since_ns : now;
	woken = now;
	if (t->off == AFS_OFF_RUNQ)
		first = AFS_INSIDE_RUNQ;
	if (is_asleep(t)) {
		first = inside_blocked(server);
		then = AFS_INSIDE_RUNQ;
		if (t->woken_ns > since && t->woken_ns < now)
			woken = t->woken_ns;
	}
	barrier_var(first);
	if (!AFS_BELOW(first, AFS_N_INSIDE))
		return 0;
	if (!end)
		__builtin_memcpy(own->base, in->total, sizeof(own->base));
	own->base[first] += end ? since - woken : woken - since;
	own->base[then] += end ? woken - now : now - woken;
	for (int i = 0; end && i < AFS_N_INSIDE; i++) {
		grown = in->total[i] - own->base[i];
		own->waited[i] += grown > 0 ? grown : 0;
	}
	return 0;
}

/* A CNID server's thread was stopped from then to then. Cold. */
__noinline int inner_held(__u32 slot, __u64 held_ns, __u64 freed_ns)
{
	struct afs_inner *in = inner_at(slot);

	if (in) {
		in->held_ns = held_ns;
		in->freed_ns = freed_ns;
	}
	return 0;
}

/* The thread that answers on the connection asked on last: slot + 1; 0: not known. */
static __always_inline __u32 link_server(const struct afs_inner *own)
{
	__u64 key = own->link;
	struct afs_link *l = bpf_map_lookup_elem(&link, &key);
	struct afs_thread *t = l ? thread_at(&l->server) : NULL;

	return t && t->tid == l->server_tid && !t->ended ? l->server : 0;
}

/* A thread that serves a request falls asleep on its CNID server. */
static __always_inline void wait_begin(struct afs_thread *t, __u64 now)
{
	struct afs_inner *own;

	if (t->role != AFS_ROLE_SERVER || t->account >= AFS_ACCOUNT_BETWEEN ||
	    !is_on(t, AFS_OBJECT_BACKEND))
		return;
	own = inner_at(t->slot);
	if (!own)
		return;
	__builtin_memset(own->waited, 0, sizeof(own->waited));
	own->server = link_server(own);
	if (own->server)
		inner_look(t->slot, own->server, false, now);
	t->waits = 1;
}

/*
 * The thread in slot "server" has read the request for whose answer t sleeps. At the first request
 * of a connection it was not known before who answers there: what t slept until now counts as
 * unknown, but for the time that this thread was stopped meanwhile.
 */
static __always_inline void wait_adopt(struct afs_thread *t, __u32 server, __u64 link)
{
	struct afs_inner *own = inner_at(t->slot), *in = inner_at(server);
	__u64 now = bpf_ktime_get_ns(), held;

	if (!t->waits || !own || !in || own->server == server + 1 || own->link != link)
		return;
	if (own->server)
		inner_look(t->slot, own->server, true, now);
	held = in->held_ns > t->since_ns ? in->held_ns : t->since_ns;
	if (AFS_RARE(in->freed_ns > held))
		own->waited[AFS_INSIDE_STOPPED] += in->freed_ns - held;
	inner_look(t->slot, server + 1, false, now);
	barrier(); /* who wakes it uses base once the server is known */
	own->server = server + 1;
}

/* The thread in slot "server" answers no more on the connection on whose answer t sleeps. */
static __always_inline void wait_leave(struct afs_thread *t, __u32 server, __u64 link)
{
	struct afs_inner *own = inner_at(t->slot);

	if (!t->waits || !own || own->server != server + 1 || own->link != link)
		return;
	inner_look(t->slot, server + 1, true, bpf_ktime_get_ns());
	own->server = 0;
}

/* Only if the same thread still answers: of another one no base was saved. */
static __always_inline void wait_end(struct afs_thread *t, __u64 now)
{
	struct afs_inner *own = inner_at(t->slot);

	if (own && own->server && own->server == link_server(own))
		inner_look(t->slot, own->server, true, now);
}

/*
 * Back on a CPU: adds what the CNID server did while we slept to the account. It may have run on
 * another CPU while its totals were read: the rest of the sleep counts as unknown, and an excess is
 * dropped.
 */
static __always_inline void wait_count(struct afs_stripe *s, struct afs_thread *t, __u64 slept_ns)
{
	struct afs_account *a = account_at(s, t->account);
	struct afs_inner *own = inner_at(t->slot);
	__u64 ns, left = slept_ns;

	t->waits = 0;
	if (!a || !own)
		return;
	for (int i = 0; i < AFS_N_INSIDE; i++) {
		ns = own->waited[i] < left ? own->waited[i] : left;
		a->inside[i] += ns;
		left -= ns;
	}
	a->inside[AFS_INSIDE_UNKNOWN] += left;
}

/* A thread slept so long on its client's connection, with a request in service. */
__noinline int upload_count(__u32 handle, __u64 ns)
{
	struct afs_stream *s = stream_at(handle);

	if (s && s->flow[TO_SERVER].skip && !s->flow[FROM_SERVER].skip)
		s->habit.upload_ns += ns;
	return 0;
}

static __always_inline void switch_out(struct afs_stripe *s, struct afs_thread *t, __u8 off)
{
	__u64 now = time_now(t), ns = now - t->since_ns;
	struct afs_part *p = part_at(s, t->nr == AFS_NR_NONE ? t->user_part : t->part);

	if (p)
		p->cpu_ns += ns;
	inner_add(t, AFS_INSIDE_CPU, ns);
	if (working())
		t->work.ns[t->nr == AFS_NR_NONE ? AFS_COLUMN_own_ns : AFS_COLUMN_calls_ns] += ns;
	t->explained_ns += ns;
	t->since_ns = now;
	t->woken_ns = 0;
	t->off = off;
	if (off == AFS_OFF_BLOCKED)
		wait_begin(t, now);
}

/* A stop is one of its whole process: that of the first thread is counted. */
static __always_inline void stop_ended(const struct afs_thread *t, __u64 woken)
{
	struct afs_stops *to = &shared.stops[AFS_ROLE_SERVER];
	struct afs_stop *is;

	if (t->role == AFS_ROLE_BACKEND)
		to = &shared.stops[AFS_ROLE_BACKEND];
	else if (t->role != AFS_ROLE_SERVER)
		return;
	if (t->traced && t->role == AFS_ROLE_SERVER)
		__sync_fetch_and_add(&shared.traced_ns, woken - t->since_ns);
	if (t->tid != t->session)
		return;
	is = &to->kept[__sync_fetch_and_add(&to->n, 1) % AFS_STOPS_KEPT];
	is->from_ns = t->since_ns;
	is->to_ns = woken;
	is->tgid = t->session;
}

static __always_inline void switch_in(struct afs_stripe *s, struct afs_thread *t)
{
	__u64 now = time_now(t), woken = t->since_ns;
	struct afs_part *p = part_at(s, t->nr == AFS_NR_NONE ? t->user_part : t->part);

	if (is_asleep(t)) {
		woken = t->woken_ns ? t->woken_ns : now;
		if (woken < t->since_ns)
			woken = t->since_ns;
		if (woken > now)
			woken = now;
		if (p && t->off == AFS_OFF_STOPPED)
			p->stopped_ns += woken - t->since_ns;
		else if (p)
			p->blocked_ns += woken - t->since_ns;
		if (AFS_RARE(is_on(t, AFS_OBJECT_CLIENT) && t->off == AFS_OFF_BLOCKED &&
			     t->account < AFS_ACCOUNT_BETWEEN))
			upload_count(t->stream, woken - t->since_ns);
		if (t->role == AFS_ROLE_BACKEND)
			inner_add(t, inside_blocked(t->slot), woken - t->since_ns);
		if (AFS_RARE(t->off == AFS_OFF_STOPPED && t->role == AFS_ROLE_BACKEND))
			inner_held(t->slot, t->since_ns, woken);
		if (AFS_RARE(t->off == AFS_OFF_STOPPED))
			stop_ended(t, woken);
		if (t->waits) {
			if (!t->woken_ns)
				wait_end(t, now);
			wait_count(s, t, woken - t->since_ns);
		}
	}
	if (p)
		p->runq_ns += now - woken;
	inner_add(t, AFS_INSIDE_RUNQ, now - woken);
	if (working())
		trace_back(s, t, woken, now);
	t->explained_ns += now - t->since_ns;
	t->since_ns = now;
	t->off = AFS_OFF_NOT;
}

/* Cold, so that it is verified once. */
__noinline int switch_in_late(__u32 slot)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);
	struct afs_stripe *s = stripe_here();

	if (t && s)
		switch_in(s, t);
	return 0;
}

/* A thread that makes a call is on a CPU: if its state says otherwise, the event was missed. */
static __always_inline void switch_missed(const struct afs_thread *t)
{
	AFS_COUNT(shared.lost.switches);
	switch_in_late(t->slot);
}

/*
 * For a thread that was asleep when the iterator found it and woke before it was set up: it is
 * counted from its next call, like one that was awake. Its time until now stays as it is. Cold.
 */
__noinline int thread_restart(__u32 slot)
{
	struct afs_thread *t = bpf_map_lookup_elem(&thread, &slot);

	if (!t)
		return 0;
	if (t->off != AFS_OFF_NOT)
		switch_in_late(slot);
	t->moved = 0;
	t->found = 1;
	t->nr = AFS_NR_NONE;
	return 0;
}

/* thread_of a task that runs here, faster. */
static __always_inline struct afs_thread *thread_here(struct afs_stripe *s, void *task)
{
	struct afs_thread *t = thread_hinted(s);

	if (t && t->task == (__u64)task)
		return t;
	t = thread_known(task);
	if (!t)
		return NULL;
	if (t->marking) {
		t->moved = 1;
		return NULL;
	}
	if (t->moved)
		thread_restart(t->slot);
	s->slot = t->slot + 1;
	return t;
}

/* thread_current in a system call whose registers are there, faster still. */
static __always_inline struct afs_thread *thread_in_call(struct afs_stripe *s, const void *regs)
{
	struct afs_thread *t = thread_hinted(s);

	if (t && t->regs == (__u64)regs)
		return t;
	t = thread_here(s, current_task());
	if (t)
		t->regs = (__u64)regs;
	return t;
}

/* Also from interrupts, on any CPU. */
static __always_inline void wake(struct afs_thread *t)
{
	__u64 now;

	if (!is_asleep(t) || t->woken_ns)
		return;
	now = time_now(t);
	if (t->waits)
		wait_end(t, now);
	t->woken_ns = now;
}

#endif
