/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rung that counts every call: the programs of bpf/calls.bpf.c and their maps, read through
 * mappings at no cost for the server.
 */

#include "watch/rung.h"

#include "base/clock.h"
#include "host/syscalls.h"
#include "watch/bpf/books.h"
#include "watch/bpf/connections.h"
#include "watch/bpf/datagrams.h"
#include "watch/bpf/load.h"
#include "watch/bpf/losses.h"
#include "watch/bpf/price.h"
#include "watch/bpf/ring.h"
#include "watch/bpf/running.h"
#include "watch/bpf/sessions.h"
#include "watch/bpf/settle.h"
#include "watch/bpf/slots.h"
#include "watch/bpf/storage_load.h"
#include "watch/bpf/tables.h"
#include "watch/bpf/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Runs of the programs that suffice to measure their cost. */
#define PRICE_RUNS 20000

/* Pause between readings: the client may share its CPU with the server, so never spin. */
#define PAUSE_NS 30000

/* After the stop calls in progress only have to return; one that waits for a disk may take long. */
#define STOP_NS 500000000u

/* A reading takes a fraction of the 10 ms for which a server's idle thread may sleep. */
#define READINGS 8

struct bpf_rung {
	struct bpf_load load;
	struct bpf_view view;
	struct sessions *sessions;
	struct slots *slots;
	struct books books;
	struct price price;
	struct watch_sink sink;
	struct ring *records;           /* NULL: none are wanted */
	struct storage *storage;        /* NULL: nothing can be observed */
	char storage_why[ERR_TEXT_MAX]; /* why it is NULL */
	uint32_t n_begun;               /* processes, at the last tick, and ... */
	uint32_t n_unserved;            /* ... connections to backends that are not watched */
	bool sleeps[AFS_N_CALLS];
	bool crowded, plain; /* as in struct target */
	bool settled;        /* when it was last waited for */
};

static void bpf_free(void *state)
{
	struct bpf_rung *b = state;

	if (!b)
		return;
	price_end(&b->price);
	storage_close(b->storage);
	ring_close(b->records);
	bpf_view_close(&b->view);
	bpf_load_close(&b->load);
	sessions_free(b->sessions);
	slots_free(b->slots);
	books_fini(&b->books);
	free(b);
}

/* If it cannot be opened, the watch goes on without it. */
static void open_storage(struct bpf_rung *b)
{
	struct err why = {};

	if (!storage_open(&b->storage, b->load.object, &why))
		return;
	b->storage = NULL;
	snprintf(b->storage_why, sizeof(b->storage_why), "%s", why.text);
}

int rung_bpf_open(void **state, const struct bpf_load_wish *wish, struct err *e)
{
	struct bpf_rung *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return err_set(e, -ENOMEM, "out of memory");
	b->price.fd = -1;
	r = bpf_load_open(&b->load, wish, e);
	if (r)
		goto fail;
	r = bpf_view_open(&b->view, &b->load, e);
	if (wish->sink)
		b->sink = *wish->sink;
	if (!r && ring_wanted(&b->sink))
		r = ring_open(&b->records, b->load.object, wish->sink, e);
	if (r)
		goto fail;
	b->sessions = sessions_new();
	b->slots = slots_new();
	if (!b->sessions || !b->slots) {
		r = err_set(e, -ENOMEM, "out of memory");
		goto fail;
	}
	for (int nr = 0; nr < AFS_N_CALLS; nr++)
		b->sleeps[nr] = syscalls_is_sleep(nr);
	open_storage(b);
	price_begin(&b->price);
	*state = b;
	return 0;
fail:
	bpf_free(b);
	return r;
}

static int bpf_open(void **state, const struct watch_sink *sink, const struct target *t,
		    struct err *e)
{
	struct bpf_load_wish wish = bpf_load_best();

	wish.sink = sink;
	wish.decoder = t->decoder;
	wish.any_order = t->any_order;
	wish.files = t->files;
	wish.accounts = t->accounts;
	return rung_bpf_open(state, &wish, e);
}

static bool bpf_settle(void *state)
{
	struct bpf_rung *b = state;

	b->settled = settle(&b->view, b->sleeps, b->plain, RUNG_SETTLE_NS);
	return b->settled;
}

static bool is_watched(const struct bpf_rung *b, pid_t pid)
{
	uint32_t n = bpf_view_processes(&b->view);
	const struct afs_process *p;

	for (uint32_t i = 0; i < n; i++) {
		p = &b->view.process[i];
		if (p->tgid == pid && p->ended < p->threads)
			return true;
	}
	return false;
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
		   const struct target_process *p, enum afs_role role, unsigned int account)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i].tgid == p->pid)
			return 0;
	if (p->ended || is_watched(b, p->pid))
		return 0;
	if (*n == AFS_N_WANTS)
		return 1;
	list[(*n)++] = (struct afs_want) { p->pid, role, account, -1 };
	return 0;
}

/* A process that has ended since it was found is not an error, but the one that was asked for is:
 * once it has ended, its number may be reused. */
static int mark(struct bpf_rung *b, const struct target *t, struct err *e)
{
	const unsigned int between = t->plain ? AFS_ACCOUNT_NONE : AFS_ACCOUNT_BETWEEN;
	const struct target_process server = { .pid = t->server };
	bool first = !bpf_view_processes(&b->view);
	struct procstat st;
	struct afs_want *list = malloc(AFS_N_WANTS * sizeof(*list));
	size_t n = 0, more = t->n_more;
	int r = -ENOMEM;

	if (!list)
		return err_set(e, r, "out of memory");
	if (first)
		want(b, list, &n, &server, AFS_ROLE_SERVER,
		     t->client || t->serves ? AFS_ACCOUNT_BETWEEN : AFS_ACCOUNT_NONE);
	for (size_t i = 0; i < t->n_backends; i++)
		more += want(b, list, &n, &t->backend[i], AFS_ROLE_BACKEND, AFS_ACCOUNT_NONE);
	for (size_t i = 0; i < t->n_sessions; i++)
		more += want(b, list, &n, &t->session[i], AFS_ROLE_SERVER, between);
	for (size_t i = 0; i < t->n_others; i++)
		more += want(b, list, &n, &t->other[i], t->other[i].role, AFS_ACCOUNT_NONE);
	r = n ? bpf_load_mark(&b->load, list, n, e) : 0;
	losses_found(&b->load, r == -ENOMEM ? more + b->load.shared->mark.failed : more);
	/* One that has just ended is watched, too: that is what there is to say. */
	if (!r && first && !is_watched(b, t->server) && !procstat_read(&st, t->server) &&
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

/* For their labels. */
static void look_sessions(struct bpf_rung *b)
{
	if (!b->sink.totals_only)
		sessions_look(b->sessions, &b->view);
}

static int bpf_look(void *state, const struct target *t, struct err *e)
{
	struct bpf_rung *b = state;
	struct afs_inodes now = t->known;
	int r;

	now.epoch = b->load.shared->inodes.epoch;
	if (memcmp(&now, &b->load.shared->inodes, sizeof(now)))
		take_known(b, &now);
	b->crowded = t->crowded;
	b->plain = t->plain;
	r = mark(b, t, e);
	/* Those marked now may end before the next tick. */
	look_sessions(b);
	return r;
}

static int read_storage(const struct bpf_rung *b, struct ledger *out)
{
	const struct storage_item *item = storage_describe(b->storage);
	int r = storage_read(b->storage, &out->storage, &out->n_storage);

	out->has_storage = !r;
	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		out->has_item[i] = !r && item[i].how;
	return r;
}

/* The times come last: the caller dates a reading by the moment at which it has it. */
static int read_once(const struct bpf_rung *b, struct ledger *out)
{
	int r = 0;

	memset(out, 0, sizeof(*out));
	if (b->load.requests) {
		r = bpf_view_read_accounts(&b->view, out);
		r = r ? r : bpf_view_read_results(&b->view, out);
		r = r ? r : bpf_view_read_packets(&b->view, out);
		out->has_requests = !r;
	}
	if (!r && b->storage)
		r = read_storage(b, out);
	bpf_view_read_compat(&b->view, out);
	r = r ? r : tables_read(&b->view, b->load.requests, out);
	if (r)
		ledger_fini(out);
	return r;
}

/*
 * A settled server is quiet, except for threads that sleep for a time and then wake up: a reading
 * during which one did is repeated, so that its times and calls are of one moment. A busy server,
 * or one of very many sessions, is read as it is.
 */
static int bpf_read(void *state, struct ledger *out)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct bpf_rung *b = state;
	int r, tries = READINGS;
	uint64_t before;

	price_look(&b->price, &b->load, PRICE_RUNS);
	before = bpf_view_moves(&b->view);
	r = read_once(b, out);
	while (!r && b->settled && bpf_view_moves(&b->view) != before && --tries) {
		nanosleep(&pause, NULL);
		bpf_view_wait_for_counts(&b->view, RUNG_SETTLE_NS);
		before = bpf_view_moves(&b->view);
		ledger_fini(out);
		r = read_once(b, out);
	}
	return r;
}

static int bpf_glance(void *state, struct ledger *out)
{
	struct bpf_rung *b = state;

	price_look(&b->price, &b->load, PRICE_RUNS);
	return read_once(b, out);
}

static void bpf_span(void *state)
{
	struct bpf_rung *b = state;

	__atomic_add_fetch(&b->load.shared->span, 1, __ATOMIC_RELEASE);
}

static int bpf_pull(void *state, int timeout_ms)
{
	struct bpf_rung *b = state;

	return b->records ? ring_pull(b->records, timeout_ms) : -ENOTSUP;
}

static uint64_t bpf_pull_lost(const void *state, unsigned int stream)
{
	const struct bpf_rung *b = state;

	return bpf_view_lost_records(&b->view, stream);
}

static void bpf_running(void *state, uint64_t before_ns, watch_running_fn *put, void *user)
{
	const struct bpf_rung *b = state;

	running_pass(&b->view, before_ns, put, user);
}

static void bpf_connections(void *state, watch_connection_fn *put, void *user)
{
	const struct bpf_rung *b = state;

	connections_pass(&b->view, put, user);
}

static void bpf_clients(void *state, watch_client_fn *put, void *user)
{
	const struct bpf_rung *b = state;

	sessions_clients(b->sessions, &b->view, put, user);
}

static void bpf_state(void *state, struct watch_state *out)
{
	const struct bpf_rung *b = state;

	out->sessions = connections_now(&b->view);
	out->has_checks = true;
	books_sum(&b->books, &out->agree, &out->disagree);
}

static int bpf_losses(void *state, struct run *r)
{
	const struct bpf_rung *b = state;

	return losses_note(&b->load, &b->view, b->records, r);
}

static bool bpf_follows(const void *state, pid_t pid)
{
	return running_follows(&((const struct bpf_rung *)state)->view, pid);
}

static enum afs_object bpf_sleeps_on(const void *state, pid_t pid)
{
	return running_sleeps_on(&((const struct bpf_rung *)state)->view, pid);
}

static struct run_ends bpf_ends(const void *state, enum afs_role role)
{
	struct run_ends is = ((const struct bpf_rung *)state)->view.ended.ends[role];

	is.known = true;
	return is;
}

static bool bpf_price(void *state, uint64_t *out_ns)
{
	struct bpf_rung *b = state;

	return price_ns(&b->price, &b->load, bpf_view_all_calls(&b->view), out_ns);
}

static bool bpf_session(void *state, pid_t pid, uint16_t port, struct run_session *out)
{
	const struct bpf_rung *b = state;

	return sessions_find(b->sessions, &b->view, pid, port, out);
}

static int finish_rungs(const struct bpf_rung *b, struct run *r)
{
	int err = run_note(&r->rungs, "calls", "%s", b->load.how);

	if (!err && b->load.how_why[0])
		err = run_note(&r->rungs, "calls.not", "%s", b->load.how_why);
	if (!err && run_has_requests(r))
		err = run_note(&r->rungs, "requests", "%s",
			       b->load.requests
				   ? "bytes of the client's connection"
				   : "off: the kernel does not allow reading its memory");
	if (!err)
		err = run_note(&r->rungs, "times", "tp_btf sched_switch, sched_waking");
	if (!err && b->view.shared->lost.switches)
		err = run_note(
		    &r->rungs, "times.missed",
		    "%llu times a thread got a CPU and the kernel did not report it: until its "
		    "next call its time counts as if it still waited",
		    (unsigned long long)b->view.shared->lost.switches);
	return err;
}

static uint64_t bpf_stop(void *state)
{
	struct bpf_rung *b = state;

	if (b->view.stopped_ns)
		return b->view.stopped_ns;
	b->view.stopped_ns = clock_now_ns();
	__atomic_store_n(&b->load.shared->stop_ns, b->view.stopped_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&b->load.shared->stopping, 1, __ATOMIC_RELEASE);
	look_sessions(b);
	b->settled = settle(&b->view, b->sleeps, b->plain, STOP_NS);
	return b->view.stopped_ns;
}

static int stream_ended(void *state, uint32_t stream)
{
	struct bpf_rung *b = state;
	int r = b->sink.totals_only ? 0 : sessions_end(b->sessions, &b->view, stream);

	if (!r && b->sink.ended)
		connections_end(&b->view, stream, b->sink.ended, b->sink.user);
	return r;
}

static int process_ended(void *state, uint32_t process)
{
	struct bpf_rung *b = state;
	int r = b->sink.totals_only ? 0 : sessions_end_process(b->sessions, &b->view, process);

	if (b->storage)
		storage_forget(b->storage, process);
	return r ? r : books_end(&b->books, &b->view, process);
}

/* Save what is known before a slot is cleared. */
static const struct slots_end take_over = { .process = process_ended, .stream = stream_ended };

static unsigned int bpf_tick(void *state)
{
	struct bpf_rung *b = state;
	uint32_t n = bpf_view_begun(&b->view), unserved;
	unsigned int look;

	unserved = __atomic_load_n(&b->view.shared->n_unserved, __ATOMIC_ACQUIRE);
	look = (n != b->n_begun ? RUNG_NEW_PROCESSES : 0) |
	       (unserved != b->n_unserved ? RUNG_NEW_BACKENDS : 0);
	b->n_begun = n;
	b->n_unserved = unserved;
	price_look(&b->price, &b->load, PRICE_RUNS);
	look_sessions(b);
	slots_release(b->slots, &b->view, &b->load);
	slots_collect(b->slots, &b->view, &take_over, b);
	return look;
}

static size_t bpf_processes(const void *state, pid_t *out)
{
	const struct bpf_view *v = &((const struct bpf_rung *)state)->view;
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
	struct storage_loss loss;
	char key[48], what[96];
	int err = 0;

	if (!b->storage)
		return run_note(&r->rungs, "storage", "off: %s", b->storage_why);
	item = storage_describe(b->storage);
	for (int i = 0; i < AFS_N_STORAGE_ITEMS && !err; i++) {
		snprintf(key, sizeof(key), "storage.%s", item[i].key);
		err = run_note(&r->rungs, key, "%s%s", item[i].how ? item[i].how : "off",
			       item[i].counts_only ? " (numbers only)" : "");
		snprintf(key, sizeof(key), "storage.%s.not", item[i].key);
		if (!err && item[i].why[0])
			err = run_note(&r->rungs, key, "%s", item[i].why);
	}
	for (size_t i = 0; !err && storage_loss(b->storage, i, &loss); i++) {
		snprintf(what, sizeof(what), "%s skipped by the kernel", loss.program);
		err = run_loss(r, what, loss.n);
	}
	return err;
}

static int bpf_finish(void *state, struct run *r)
{
	struct bpf_rung *b = state;
	int err = slots_collect(b->slots, &b->view, &take_over, b);

	if (!err)
		err = finish_rungs(b, r);
	if (!err && !b->load.objects)
		err = run_note(
		    &r->warnings, "objects",
		    "descriptors cannot be distinguished, all are \"%s\": the kernel does not "
		    "allow reading its memory (%s)",
		    ledger_object_name(AFS_OBJECT_UNKNOWN), b->load.objects_why);
	if (!err && b->crowded)
		err = run_note(&r->warnings, "objects",
			       "more sockets of backends than fit: some count as other sockets");
	if (!err)
		err = losses_note(&b->load, &b->view, b->records, r);
	if (!err)
		err = finish_storage(b, r);
	if (!err)
		err = price_note(&b->price, &b->load, bpf_view_all_calls(&b->view), r);
	if (!err)
		err = run_has_requests(r) ? sessions_note(b->sessions, &b->view, r) : 0;
	r->has_asking = b->load.asked && b->load.objects;
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		r->ends[role] = bpf_ends(b, role);
	return err ? err : books_close(&b->books, &b->view, r);
}

static bool bpf_drops(const void *state, uint64_t ino, uint64_t *out)
{
	const struct bpf_rung *b = state;

	return b->load.drops && datagrams_drops(&b->view, ino, out);
}

static const char *bpf_thread_role(const void *state, pid_t tid, uint32_t *at)
{
	return datagrams_role(&((const struct bpf_rung *)state)->view, tid, at);
}

const struct rung rung_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.look = bpf_look,
	.settle = bpf_settle,
	.read = bpf_read,
	.glance = bpf_glance,
	.span = bpf_span,
	.stop = bpf_stop,
	.tick = bpf_tick,
	.processes = bpf_processes,
	.pull = bpf_pull,
	.pull_lost = bpf_pull_lost,
	.running = bpf_running,
	.connections = bpf_connections,
	.clients = bpf_clients,
	.state = bpf_state,
	.losses = bpf_losses,
	.follows = bpf_follows,
	.sleeps_on = bpf_sleeps_on,
	.ends = bpf_ends,
	.price = bpf_price,
	.session = bpf_session,
	.drops = bpf_drops,
	.thread_role = bpf_thread_role,
	.finish = bpf_finish,
	.free = bpf_free,
};
