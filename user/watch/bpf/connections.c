/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the requests of each client's connection went, with AFS_TRACE_LIVE; how many there are. */

#include "base/vec.h"
#include "run/account.h"
#include "watch/bpf/pending.h"
#include "watch/watch_priv.h"

#include <stdlib.h>

_Static_assert(WATCH_CONNECTIONS == AFS_N_CLIENTS, "one for each slot");

/* waiting: bpf_pending_sums(). false: it is nobody's. */
static bool bpf_connections_fill(struct watch_connection *out, const struct bpf_view *v, uint32_t i,
				 const struct bpf_pending_sum *waiting)
{
	const struct afs_stream *s = &v->stream[i];
	const struct afs_client *c = &v->client[i];
	const struct afs_process *p = bpf_view_server_of(v, s);

	if (!p)
		return false;
	_Static_assert((int)AFS_N_COLUMNS == (int)ACCOUNT_N_COLUMNS, "the same, in one order");
	*out = (struct watch_connection) {
		.id = s->handle,
		.pid = p->tgid,
		.port = s->port,
		.since_ns = s->n ? s->request_ns : 0,
		.requests = s->answered,
		.busy_ns = s->ns,
		.bytes_in = s->bytes_in,
		.bytes_out = s->bytes_out,
		.errors = c->errors,
		.handed = c->handed,
		.ns = c->ns,
		.hist = c->hist,
		.denied = s->denied,
		.habit = &s->habit,
		.asking = &p->asking,
	};
	out->n_service = out->since_ns != 0;
	out->begun_ns = out->since_ns;
	if (waiting) {
		out->since_ns = waiting[i].oldest_ns;
		out->n_service = waiting[i].n;
		out->begun_ns = waiting[i].begun_ns;
	}
	return true;
}

void watch_connections(struct watch *w, watch_connection_fn *put, void *user)
{
	const struct bpf_view *v = w->bpf ? &w->bpf->view : NULL;
	uint32_t n = v && v->client ? bpf_view_streams(v) : 0;
	struct bpf_pending_sum *waiting = n ? bpf_pending_sums(w->bpf) : NULL;
	struct watch_connection c;

	for (uint32_t i = 0; i < n; i++)
		if (bpf_connections_fill(&c, v, i, waiting))
			put(user, &c);
	free(waiting);
}

bool bpf_rung_has_asking(const struct bpf_rung *b)
{
	return b->load.setup->trace & AFS_TRACE_ASKED && b->load.setup->objects_on;
}

bool watch_has_asking(const struct watch *w)
{
	return w->bpf && bpf_rung_has_asking(w->bpf);
}

static bool is_served(const struct bpf_view *v, const struct afs_process *p)
{
	return bpf_view_serves(v, p) && p->ended < p->threads;
}

/* A process of which nothing was read yet has no connection here, but one client. */
uint64_t connections_now(const struct bpf_view *v)
{
	uint32_t n = bpf_view_streams(v), m = bpf_view_processes(v);
	const struct afs_process *p;
	uint64_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		p = bpf_view_server_of(v, &v->stream[i]);
		found += p && is_served(v, p) && !v->stream[i].ended;
	}
	for (uint32_t i = 0; i < m; i++)
		found += is_served(v, &v->process[i]) && !v->process[i].streams;
	return found;
}

void connections_end(const struct bpf_rung *b, uint32_t stream)
{
	struct watch_connection c;

	if (!b->sink.ended || !b->view.client || !bpf_connections_fill(&c, &b->view, stream, NULL))
		return;
	c.ended = true;
	b->sink.ended(b->sink.user, &c);
}

/* Datagrams: threads are told apart by what they do, as in many servers all have one name. */

bool watch_drops(const struct watch *w, uint64_t ino, uint64_t *out)
{
	const struct bpf_view *v = w->bpf ? &w->bpf->view : NULL;
	uint32_t n = v && w->bpf->load.drops ? bpf_view_streams(v) : 0;
	const struct afs_stream *s = VEC_FIND(one, v->stream, n, one->ino == ino);

	if (s)
		*out = __atomic_load_n(&s->drops, __ATOMIC_RELAXED);
	return s;
}

/* Who sends, but nothing for the first time, only repeats and acknowledges. */
static const char *role_of(const struct afs_thread *t)
{
	if (t->received)
		return "listener";
	if (t->replied)
		return "worker";
	return t->sent ? "event thread" : NULL;
}

const char *watch_thread_role(const struct watch *w, pid_t tid, uint32_t *at)
{
	const struct bpf_view *v = w->bpf ? &w->bpf->view : NULL;
	uint32_t n = v && AFS_IS_DATAGRAMS(w->t.decoder) ? bpf_view_threads(v) : 0, i;

	for (uint32_t k = 0; k < n; k++) {
		i = (*at + k) % n;
		if (v->thread[i].tid != tid)
			continue;
		*at = i + 1;
		return role_of(&v->thread[i]);
	}
	return NULL;
}
