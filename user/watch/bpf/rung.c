/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens what the rung consists of, reads it, and notes what it is. */

#include "watch/bpf/rung.h"

#include "base/clock.h"
#include "base/vec.h"
#include "watch/bpf/storage_load.h"
#include "watch/watch_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Pause between readings: the client may share its CPU with the server, so never spin. */
#define PAUSE_NS 30000

/* After the stop calls in progress only have to return; one that waits for a disk may take long. */
#define STOP_NS 500000000u

/* A reading takes a fraction of the 10 ms for which a server's idle thread may sleep. */
#define READINGS 8

void bpf_rung_free(struct bpf_rung *b)
{
	if (!b)
		return;
	price_end(&b->price);
	storage_close(b->storage);
	ring_close(b);
	bpf_view_close(&b->view);
	bpf_load_close(&b->load);
	sessions_free(b->sessions);
	books_fini(&b->books);
	free(b);
}

int bpf_rung_open(struct bpf_rung **out, const struct bpf_load_wish *wish, struct err *e)
{
	struct bpf_rung *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return err_set(e, -ENOMEM, "out of memory");
	b->price.fd = b->epoll = -1;
	if (wish->sink)
		b->sink = *wish->sink;
	b->sessions = sessions_new();
	r = b->sessions ? bpf_load_open(&b->load, wish, e) : err_set(e, -ENOMEM, "out of memory");
	r = r ? r : bpf_view_open(&b->view, &b->load, e);
	if (!r && ring_wanted(&b->sink))
		r = ring_open(b, e);
	if (r) {
		bpf_rung_free(b);
		return r;
	}
	/* If it cannot be opened, the watch goes on without it. */
	storage_open(&b->storage, b->load.object, NULL, &b->storage_why);
	price_begin(&b->price);
	*out = b;
	return 0;
}

bool bpf_rung_settle(struct bpf_rung *b, uint64_t patience_ns)
{
	b->settled = settle(&b->view, b->plain, patience_ns);
	return b->settled;
}

/* Lists first, then their lengths, by which the programs read them. */
static void take_known(struct bpf_rung *b, const struct afs_inodes *from)
{
	struct afs_inodes *known = &b->load.shared->inodes;

	known->n = known->n_ports = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(known->inode, from->inode, sizeof(known->inode));
	memcpy(known->port, from->port, sizeof(known->port));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	known->n = from->n;
	known->n_ports = from->n_ports;
	known->epoch++;
}

/* 1: it should be watched, and there is no place for it. */
static size_t want(const struct bpf_rung *b, struct afs_want *list, size_t *n,
		   const struct target_process *p, unsigned int account)
{
	if (VEC_FIND(one, list, *n, one->tgid == p->pid) || p->ended ||
	    bpf_view_find(&b->view, p->pid))
		return 0;
	if (*n == AFS_N_WANTS)
		return 1;
	list[(*n)++] = (struct afs_want) { p->pid, p->role, account, -1 };
	return 0;
}

/* Whom a look has found: what they did before is not counted. */
static void note_late(struct bpf_rung *b, const struct afs_want *list, size_t n, uint64_t begun_ns)
{
	struct afs_compat io, counted;
	struct procstat st;

	for (size_t i = 0; i < n; i++) {
		if (list[i].slot < 0 || procstat_read(&st, list[i].tgid))
			continue;
		if (procfs_age_s(st.started) * 1e9 > (double)(clock_now_ns() - begun_ns)) {
			b->n_older++;
			b->older = list[i].tgid;
		} else if (!procfs_io(&io, list[i].tgid, 0)) {
			counted = bpf_view_process(&b->view, (uint32_t)list[i].slot).compat;
			ledger_compat_subtract(&io, &counted);
			b->late_calls += io.syscr + io.syscw;
		}
	}
}

/* A process that has ended since it was found is not an error, but the one that was asked for is:
 * once it has ended, its number may be reused. */
static int rung_mark(struct bpf_rung *b, const struct target *t, uint64_t begun_ns, struct err *e)
{
	const unsigned int between = t->plain ? AFS_ACCOUNT_NONE : AFS_ACCOUNT_BETWEEN;
	struct afs_lost *lost = &b->load.shared->lost;
	bool first = !bpf_view_processes(&b->view);
	struct procstat st;
	struct afs_want *list = malloc(AFS_N_WANTS * sizeof(*list));
	size_t n = 0, more = t->n_more;
	int r = -ENOMEM;

	if (!list)
		return err_set(e, r, "out of memory");
	if (first)
		want(b, list, &n, &t->process[0],
		     t->client || t->serves ? AFS_ACCOUNT_BETWEEN : AFS_ACCOUNT_NONE);
	/* Sessions last: there may be more of them than places. */
	for (int sessions = 0; sessions < 2; sessions++)
		for (size_t i = 1; i < t->n; i++)
			if ((t->process[i].role == AFS_ROLE_SERVER) == sessions)
				more += want(b, list, &n, &t->process[i],
					     sessions ? between : AFS_ACCOUNT_NONE);
	r = n ? bpf_load_mark(&b->load, list, n, e) : 0;
	if (begun_ns)
		note_late(b, list, n, begun_ns);
	more += r == -ENOMEM ? b->load.shared->mark.failed : 0;
	/* The most at once is the loss. */
	lost->found = more > lost->found ? more : lost->found;
	/* One that has just ended is watched, too: that is what there is to say. */
	if (!r && first && !bpf_view_find(&b->view, t->server) && !procstat_read(&st, t->server) &&
	    procstat_lives(&st))
		r = err_set(e, -ESRCH,
			    "process %d cannot be watched: this is not the first PID namespace",
			    t->server);
	for (uint32_t i = 0; !r && first && i < bpf_view_processes(&b->view); i++)
		if (b->view.process[i].tgid == t->server && b->view.process[i].is_32bit)
			r = err_set(e, -ENOTSUP,
				    "process %d runs a 32-bit program, whose calls cannot be "
				    "distinguished",
				    t->server);
	free(list);
	return r;
}

int bpf_rung_look(struct bpf_rung *b, const struct target *t, uint64_t begun_ns, struct err *e)
{
	struct afs_inodes now = t->known;
	int r;

	now.epoch = b->load.shared->inodes.epoch;
	if (memcmp(&now, &b->load.shared->inodes, sizeof(now)))
		take_known(b, &now);
	b->crowded = t->crowded;
	b->plain = t->plain;
	r = rung_mark(b, t, begun_ns, e);
	/* Those marked now may end before the next tick. */
	sessions_look(b);
	return r;
}

/* The times come last: the caller dates a reading by the moment at which it has it. */
static int read_once(const struct bpf_rung *b, struct ledger *out)
{
	int r;

	memset(out, 0, sizeof(*out));
	r = b->load.setup->objects_on ? bpf_view_read_requests(&b->view, out) : 0;
	if (!r && b->storage)
		r = storage_read(b->storage, out);
	bpf_view_read_compat(&b->view, out);
	r = r ? r : tables_read(&b->view, b->load.setup->objects_on, out);
	if (r)
		ledger_fini(out);
	ledger_join(out);
	return r;
}

/*
 * A settled server is quiet, except for threads that sleep for a time and then wake up: a reading
 * during which one did is repeated, so that its times and calls are of one moment. A busy server,
 * or one of very many sessions, is read as it is.
 */
int bpf_rung_read(struct bpf_rung *b, bool once, struct ledger *out)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const struct bpf_view *v = &b->view;
	int r, tries = READINGS;
	uint64_t before;

	price_look(b);
	before = bpf_view_moves(v, AFS_N_PROCESSES, true);
	r = read_once(b, out);
	while (!r && !once && b->settled && bpf_view_moves(v, AFS_N_PROCESSES, true) != before &&
	       --tries) {
		nanosleep(&pause, NULL);
		bpf_view_wait_for_counts(v, WATCH_SETTLE_NS);
		before = bpf_view_moves(v, AFS_N_PROCESSES, true);
		ledger_fini(out);
		r = read_once(b, out);
	}
	return r;
}

void watch_span(struct watch *w)
{
	if (w->bpf)
		__atomic_add_fetch(&w->bpf->load.shared->span, 1, __ATOMIC_RELEASE);
}

static int finish_rungs(const struct bpf_rung *b, struct run *r)
{
	int err = run_note(&r->rungs, "calls", "%s", b->load.how);

	if (b->load.how_why[0])
		err |= run_note(&r->rungs, "calls.not", "%s", b->load.how_why);
	if (run_has_requests(r))
		err |= run_note(&r->rungs, "requests", "%s",
				b->load.setup->objects_on
				    ? "bytes of the client's connection"
				    : "off: the kernel does not allow reading its memory");
	err |= run_note(&r->rungs, "times", "tp_btf sched_switch, sched_waking");
	if (b->view.shared->lost.switches)
		err |= run_note(
		    &r->rungs, "times.missed",
		    "%llu times a thread got a CPU and the kernel did not report it: until its "
		    "next call its time counts as if it still waited",
		    (unsigned long long)b->view.shared->lost.switches);
	return err;
}

uint64_t bpf_rung_stop(struct bpf_rung *b)
{
	if (b->view.stopped_ns)
		return b->view.stopped_ns;
	b->view.stopped_ns = clock_now_ns();
	__atomic_store_n(&b->load.shared->stop_ns, b->view.stopped_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&b->load.shared->stopping, 1, __ATOMIC_RELEASE);
	sessions_look(b);
	b->settled = settle(&b->view, b->plain, STOP_NS);
	return b->view.stopped_ns;
}

bool bpf_rung_unserved(struct bpf_rung *b)
{
	uint32_t n = __atomic_load_n(&b->view.shared->n_unserved, __ATOMIC_ACQUIRE);
	bool more = n != b->n_unserved;

	b->n_unserved = n;
	return more;
}

unsigned int bpf_rung_tick(struct bpf_rung *b)
{
	uint32_t n = __atomic_load_n(&b->view.shared->n_begun, __ATOMIC_ACQUIRE);
	unsigned int look;

	look = (n != b->n_begun ? BPF_RUNG_PROCESSES : 0) |
	       (bpf_rung_unserved(b) ? BPF_RUNG_BACKENDS : 0);
	b->n_begun = n;
	price_look(b);
	sessions_look(b);
	slots_release(b);
	slots_collect(b);
	return look;
}

size_t bpf_rung_processes(const struct bpf_rung *b, pid_t *out)
{
	const struct bpf_view *v = &b->view;
	uint32_t n = bpf_view_processes(v);
	const struct afs_process *p;
	size_t found = 0;

	for (uint32_t i = 0; i < n; i++) {
		p = &v->process[i];
		if (p->tgid && p->role == AFS_ROLE_SERVER && p->ended < p->threads)
			out[found++] = p->tgid;
	}
	return found;
}

/* Notes the rungs of the storage layer, item by item, and their losses. */
static int finish_storage(const struct bpf_rung *b, struct run *r)
{
	const struct storage_item *item;
	const struct bpf_load_program *program;
	char key[48];
	size_t n;
	int err = 0;

	if (!b->storage)
		return run_note(&r->rungs, "storage", "off: %s", b->storage_why.text);
	item = storage_describe(b->storage);
	for (int i = 0; i < AFS_N_STORAGE_ITEMS && !err; i++) {
		snprintf(key, sizeof(key), "storage.%s", item[i].key);
		err = run_note(&r->rungs, key, "%s%s", item[i].how ? item[i].how : "off",
			       item[i].counts_only ? " (numbers only)" : "");
		snprintf(key, sizeof(key), "storage.%s.not", item[i].key);
		if (!err && item[i].why[0])
			err = run_note(&r->rungs, key, "%s", item[i].why);
	}
	program = storage_programs(b->storage, &n);
	return err ? err : losses_skipped(program, n, r);
}

struct run_ends watch_ends(const struct watch *w, enum afs_role role)
{
	return w->bpf ? w->bpf->view.ended.ends[role] : (struct run_ends) { 0 };
}

struct watch_stops watch_stops(const struct watch *w, enum afs_role role)
{
	const struct afs_stops *of = w->bpf ? &w->bpf->view.shared->stops[role] : NULL;
	struct watch_stops out = { 0 };

	_Static_assert(WATCH_STOPS_KEPT == AFS_STOPS_KEPT, "");
	if (!of)
		return out;
	out.n = __atomic_load_n(&of->n, __ATOMIC_RELAXED);
	out.n_kept = out.n < AFS_STOPS_KEPT ? out.n : AFS_STOPS_KEPT;
	for (size_t i = 0; i < out.n_kept; i++) {
		const struct afs_stop *is = &of->kept[(out.n - out.n_kept + i) % AFS_STOPS_KEPT];

		out.kept[i].from_ns = __atomic_load_n(&is->from_ns, __ATOMIC_RELAXED);
		out.kept[i].to_ns = __atomic_load_n(&is->to_ns, __ATOMIC_RELAXED);
		out.kept[i].pid = (pid_t)__atomic_load_n(&is->tgid, __ATOMIC_RELAXED);
	}
	return out;
}

uint64_t watch_traced_ns(const struct watch *w)
{
	return w->bpf ? bpf_view_traced_ns(&w->bpf->view) : 0;
}

int bpf_rung_finish(struct bpf_rung *b, struct run *r)
{
	int err = slots_collect(b);

	err |= finish_rungs(b, r);
	if (!b->load.setup->objects_on)
		err |= run_note(
		    &r->warnings, "objects",
		    "descriptors cannot be distinguished, all are \"%s\": the kernel does not "
		    "allow reading its memory (%s)",
		    ledger_object_name(AFS_OBJECT_UNKNOWN), b->load.objects_why);
	if (b->crowded)
		err |= run_note(&r->warnings, "objects",
				"more sockets of backends than fit: some count as other sockets");
	err |= losses_note(b, r);
	err |= finish_storage(b, r);
	err |= price_note(b, r);
	if (run_has_requests(r))
		err |= sessions_note(b, r);
	r->has_asking = bpf_rung_has_asking(b);
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		r->ends[role] = b->view.ended.ends[role];
	return err | books_close(&b->books, &b->view, r);
}
