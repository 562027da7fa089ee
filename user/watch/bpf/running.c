/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that have not ended, read from the programs' state while it changes. */

#include "base/clock.h"
#include "run/account.h"
#include "watch/bpf/pending.h"
#include "watch/watch_priv.h"

/*
 * The thread that the connection is served by: of a request in service only if it is in there. Of a
 * connection that nobody has read yet, its process's.
 */
static const struct afs_thread *running_thread_of(const struct bpf_view *v,
						  const struct afs_stream *s)
{
	const struct afs_process *p = bpf_view_server_of(v, s);
	uint32_t slot = __atomic_load_n(s->n ? &s->by : &s->serving, __ATOMIC_ACQUIRE);
	const struct afs_thread *t;

	if (!slot && !s->n && p)
		slot = p->serving;
	t = slot ? &v->thread[slot - 1] : NULL;
	return t && t->tid && !t->ended ? t : NULL;
}

/* The time since the thread's last event counts in its present state, as if that ended now. */
static void add_since(const struct afs_thread *t, uint64_t now, uint64_t ns[ACCOUNT_N_COLUMNS])
{
	uint64_t since = __atomic_load_n(&t->since_ns, __ATOMIC_RELAXED);
	uint32_t state = __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE) == AFS_NR_NONE
			     ? AFS_STATE_USER
			     : AFS_STATE(t->class, t->object);
	struct ledger_part p = { .class = (uint8_t)(state / AFS_N_OBJECTS),
				 .object = (uint8_t)(state % AFS_N_OBJECTS) };

	if (since >= now)
		return;
	bpf_view_add_since(t, since, now, &p.part);
	account_add_part(ns, &p);
}

static void running_put_parts(struct afs_record_requests *r, const uint64_t ns[ACCOUNT_N_COLUMNS])
{
	_Static_assert((int)AFS_N_COLUMNS == (int)ACCOUNT_N_COLUMNS, "the same, in one order");
#define X(type, name, unit, meaning) r->name = ns[AFS_COLUMN_##name];
	AFS_COLUMNS(X)
#undef X
}

static void running_fill(struct afs_record_requests *r, const struct afs_stream *s,
			 const struct afs_thread *t, uint64_t now)
{
	const struct afs_queued *q = &s->queue[s->first % AFS_N_QUEUED];
	uint64_t ns[ACCOUNT_N_COLUMNS] = { 0 };

	*r = (struct afs_record_requests) { .timestamp = now, .port = s->port };
	r->t = s->n ? s->request_ns : t->since_ns;
	r->time_ns = r->t < now ? now - r->t : 0;
	afs_request_is(r, s->n ? q->id : 0, s->n ? q->account : AFS_ACCOUNT_BETWEEN);
	r->bytes_in = s->n ? q->bytes : 0;
	for (int i = 0; t && s->n && i < ACCOUNT_N_COLUMNS; i++)
		ns[i] = t->work.ns[i];
	r->calls = t && s->n ? (uint32_t)t->work.calls : 0;
	if (t)
		add_since(t, now, ns);
	running_put_parts(r, ns);
}

/* A request of a server that parks them is looked at as what has no answer. */
static bool is_due(const struct bpf_view *v, const struct afs_stream *s, const struct afs_thread *t,
		   uint64_t before_ns)
{
	if (v->setup->parks && t && t->serves)
		return false;
	if (s->n)
		return s->request_ns && s->request_ns < before_ns;
	return t && t->off == AFS_OFF_STOPPED && t->since_ns < before_ns;
}

static void running_look(const struct bpf_view *v, const struct afs_stream *s, uint64_t before_ns,
			 watch_running_fn *put, void *user)
{
	uint32_t process = __atomic_load_n(&s->process, __ATOMIC_ACQUIRE), handle = s->handle;
	uint64_t begun = s->request_ns, answered = s->answered;
	const struct afs_thread *t = running_thread_of(v, s);
	struct afs_named name = s->named;
	struct afs_record_requests r;
	const struct afs_queued *q;
	bool has_name;

	if (!process || s->ended || !is_due(v, s, t, before_ns))
		return;
	running_fill(&r, s, t, clock_now_ns());
	r.session = (uint32_t)v->process[process - 1].tgid;
	q = &s->queue[s->first % AFS_N_QUEUED];
	has_name = s->n && afs_named_is(&name, q->id, q->account);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* It went on meanwhile: what was read may be of two requests. */
	if (s->handle != handle || s->request_ns != begun || s->answered != answered)
		return;
	put(user, &r, has_name ? &name : NULL);
}

/* Of a server whose threads park requests. */
struct running_parked {
	const struct bpf_view *v;
	uint64_t before_ns;
	watch_running_fn *put;
	void *user;
};

/* The thread that works for it; NULL: it is parked. */
static const struct afs_thread *running_worker(const struct bpf_view *v, const struct afs_stream *s,
					       const struct afs_pending_key *key)
{
	uint32_t slot = __atomic_load_n(&s->serving, __ATOMIC_ACQUIRE);
	const struct afs_thread *t = slot ? &v->thread[slot - 1] : NULL;

	return t && t->tid && !t->ended && t->serves == key->stream && t->request == key->id ? t
											     : NULL;
}

static void running_look_parked(void *user, const struct afs_pending_key *key,
				const struct afs_pending *p)
{
	const struct running_parked *to = user;
	const struct afs_stream *s = &to->v->stream[AFS_CLIENT_SLOT(key->stream)];
	const struct afs_process *process = bpf_view_server_of(to->v, s);
	const struct afs_thread *t = running_worker(to->v, s, key);
	uint64_t ns[ACCOUNT_N_COLUMNS] = { 0 }, now = clock_now_ns();
	struct afs_record_requests r;

	if (s->handle != key->stream || s->ended || !process || p->ns >= to->before_ns ||
	    p->ns >= now)
		return;
	r = (struct afs_record_requests) { .timestamp = now,
					   .t = p->ns,
					   .time_ns = now - p->ns,
					   .session = (uint32_t)process->tgid,
					   .port = s->port,
					   .bytes_in = p->bytes,
					   .calls = t ? (uint32_t)t->work.calls : 0 };
	afs_request_is(&r, (__u16)key->id, p->account);
	for (int i = 0; t && i < ACCOUNT_N_COLUMNS; i++)
		ns[i] = t->work.ns[i];
	if (t)
		add_since(t, now, ns);
	running_put_parts(&r, ns);
	to->put(to->user, &r, NULL);
}

/*
 * Also, as one of account AFS_ACCOUNT_BETWEEN with id 0, the time for which a session has been
 * stopped while no request was in service.
 */
void watch_running(struct watch *w, uint64_t before_ns, watch_running_fn *put, void *user)
{
	const struct bpf_view *v = w->bpf ? &w->bpf->view : NULL;
	struct running_parked parked = { v, before_ns, put, user };
	uint32_t n = v ? bpf_view_streams(v) : 0;

	if (v)
		bpf_pending_each(w->bpf, running_look_parked, &parked);
	for (uint32_t i = 0; i < n; i++)
		running_look(v, &v->stream[i], before_ns, put, user);
}

/* One that serves a client and lives; NULL: there is none with this number. */
static const struct afs_process *running_served_by(const struct watch *w, pid_t pid)
{
	const struct afs_process *p = w->bpf ? bpf_view_find(&w->bpf->view, pid) : NULL;

	return p && p->serving ? p : NULL;
}

bool watch_follows(const struct watch *w, pid_t pid)
{
	const struct afs_process *p = running_served_by(w, pid);

	return p && p->streams;
}

enum afs_object watch_sleeps_on(const struct watch *w, pid_t pid)
{
	const struct afs_process *p = running_served_by(w, pid);
	const struct afs_thread *t = p ? &w->bpf->view.thread[p->serving - 1] : NULL;

	return t && t->off == AFS_OFF_BLOCKED && t->nr != AFS_NR_NONE ? (enum afs_object)t->object
								      : AFS_N_OBJECTS;
}
