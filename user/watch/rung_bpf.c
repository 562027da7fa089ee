// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rung that counts every call: the programs of bpf/calls.bpf.c and their maps, read through
 * mappings, so that looking costs the server nothing.
 */

#include "watch/rung.h"

#include "base/clock.h"
#include "watch/books.h"
#include "watch/bpf_load.h"
#include "watch/calls.h"

#include "calls.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A look every so often: the client may share its CPU with the server, so never spin. */
#define LOOK_NS 30000

struct bpf_rung {
	struct bpf_load load;
	struct {
		void *at;
		size_t len;
	} map[4];
	const struct afs_thread *thread;
	const struct afs_process *process;
	const struct afs_cell *cell;
	const struct afs_compat *compat;
	struct afs_cell sum[AFS_N_CELLS]; /* only while reading */
	struct books_view view;
	struct books *books;
	bool sleeps[AFS_N_CALLS];
	bool crowded;
};

static void bpf_free(void *state)
{
	struct bpf_rung *b = state;

	if (!b)
		return;
	for (int i = 0; i < 4; i++)
		if (b->map[i].at)
			munmap(b->map[i].at, b->map[i].len);
	bpf_load_close(&b->load);
	books_free(b->books);
	free(b);
}

/* The i-th mapping; NULL and errno: not possible. */
static const void *map_in(struct bpf_rung *b, int i, const struct bpf_map *map, size_t value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = value * bpf_map__max_entries(map);
	void *at;

	len = (len + page - 1) / page * page;
	at = mmap(NULL, len, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
	if (at == MAP_FAILED)
		return NULL;
	b->map[i].at = at;
	b->map[i].len = len;
	return at;
}

int rung_bpf_open(void **state, const struct bpf_load_wish *wish, struct err *e)
{
	struct bpf_rung *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return err_set(e, -ENOMEM, "out of memory");
	r = bpf_load_open(&b->load, wish, e);
	if (r)
		goto fail;
	b->books = books_new();
	b->thread = map_in(b, 0, b->load.skel->maps.thread, sizeof(*b->thread));
	b->process = map_in(b, 1, b->load.skel->maps.process, sizeof(*b->process));
	b->cell = map_in(b, 2, b->load.skel->maps.cell, sizeof(*b->cell));
	b->compat = map_in(b, 3, b->load.skel->maps.compat, sizeof(*b->compat));
	if (!b->books || !b->thread || !b->process || !b->cell || !b->compat) {
		r = err_set(e, -ENOMEM, "no memory for the counters");
		goto fail;
	}
	for (int nr = 0; nr < AFS_N_CALLS; nr++)
		b->sleeps[nr] = calls_is_sleep(nr);
	*state = b;
	return 0;
fail:
	bpf_free(b);
	return r;
}

static int bpf_open(void **state, struct err *e)
{
	const struct bpf_load_wish wish = bpf_load_best();

	return rung_bpf_open(state, &wish, e);
}

static uint32_t n_of(const __u32 *counter, uint32_t max)
{
	uint32_t n = __atomic_load_n(counter, __ATOMIC_ACQUIRE);

	return n < max ? n : max;
}

static uint32_t n_threads(const struct bpf_rung *b)
{
	return n_of(&b->load.skel->bss->n_threads, AFS_N_THREADS);
}

/* In a call that only waits, or waiting for bytes from the client or its CNID server. */
static bool is_idle(const struct afs_thread *t, int32_t nr)
{
	uint32_t cell = __atomic_load_n(&t->cell, __ATOMIC_RELAXED);
	uint32_t class = cell / AFS_N_OBJECTS % AFS_N_CLASSES, object = cell % AFS_N_OBJECTS;

	if (nr == AFS_NR_ASLEEP || class == AFS_CLASS_WAIT)
		return true;
	return (class == AFS_CLASS_READ || class == AFS_CLASS_RECV) &&
	       (object == AFS_OBJECT_CLIENT || object == AFS_OBJECT_CNID);
}

/*
 * One look at all threads. false: one is at work. Otherwise *moves is a number that changes
 * whenever a thread makes a call, but for threads that sleep for a time: they wake for themselves.
 */
static bool look_at_threads(const struct bpf_rung *b, uint64_t *moves)
{
	uint32_t n = n_threads(b);
	const struct afs_thread *t;
	int32_t nr;

	*moves = n;
	for (uint32_t i = 0; i < n; i++) {
		t = &b->thread[i];
		if (__atomic_load_n(&t->ended, __ATOMIC_ACQUIRE))
			continue;
		nr = __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE);
		if (!t->tid || nr == AFS_NR_NONE || !is_idle(t, nr))
			return false;
		if (nr < 0 || nr >= AFS_N_CALLS || !b->sleeps[nr])
			*moves += __atomic_load_n(&t->seq, __ATOMIC_RELAXED);
	}
	return true;
}

static bool bpf_settle(void *state)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	const struct bpf_rung *b = state;
	uint64_t end = clock_now_ns() + RUNG_SETTLE_NS, moves, before = 0;
	bool was_idle = false, idle;

	do {
		idle = look_at_threads(b, &moves);
		if (idle && was_idle && moves == before)
			return true;
		was_idle = idle;
		before = moves;
		nanosleep(&pause, NULL);
	} while (clock_now_ns() < end);
	return false;
}

static const struct books_view *view_of(struct bpf_rung *b)
{
	const struct afs_compat *from;
	struct afs_compat *to;

	b->view.n = n_of(&b->load.skel->bss->n_processes, AFS_N_PROCESSES);
	b->view.process = b->process;
	memset(b->view.compat, 0, b->view.n * sizeof(b->view.compat[0]));
	for (unsigned int cpu = 0; cpu < b->load.n_cpus; cpu++) {
		for (uint32_t i = 0; i < b->view.n; i++) {
			from = &b->compat[cpu * AFS_N_PROCESSES + i];
			to = &b->view.compat[i];
			to->syscr += from->syscr;
			to->syscw += from->syscw;
			to->rchar += from->rchar;
			to->wchar += from->wchar;
		}
	}
	return &b->view;
}

static bool is_watched(const struct bpf_rung *b, pid_t pid)
{
	uint32_t n = n_of(&b->load.skel->bss->n_processes, AFS_N_PROCESSES);

	for (uint32_t i = 0; i < n; i++)
		if (b->process[i].tgid == pid && b->process[i].ended < b->process[i].threads)
			return true;
	return false;
}

static int bpf_look(void *state, const struct target *t, struct err *e)
{
	struct bpf_rung *b = state;
	struct afs_inodes *known = &b->load.skel->bss->inodes;
	int r = 0;

	/* Lists first: the programs look at as many entries as the numbers say. */
	known->n_sockets = known->n_files = known->n_dirs = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(known->socket, t->known.socket, sizeof(known->socket));
	memcpy(known->file, t->known.file, sizeof(known->file));
	memcpy(known->dir, t->known.dir, sizeof(known->dir));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	known->n_sockets = t->known.n_sockets;
	known->n_files = t->known.n_files;
	known->n_dirs = t->known.n_dirs;
	known->epoch++;
	b->crowded = t->crowded;
	if (!is_watched(b, t->afpd))
		r = bpf_load_mark(&b->load, t->afpd, AFS_ROLE_AFPD, e);
	for (size_t i = 0; i < t->n_cnid && !r; i++)
		if (!is_watched(b, t->cnid[i]))
			r = bpf_load_mark(&b->load, t->cnid[i], AFS_ROLE_CNID, e);
	if (r)
		return r;
	bpf_settle(b);
	books_open(b->books, view_of(b));
	return 0;
}

/* A call in progress counts when it returns; its time until now counts already. */
static void add_in_progress(struct bpf_rung *b, uint64_t now)
{
	uint32_t n = n_threads(b), cell;
	const struct afs_thread *t;
	uint64_t entered;

	for (uint32_t i = 0; i < n; i++) {
		t = &b->thread[i];
		cell = __atomic_load_n(&t->cell, __ATOMIC_RELAXED);
		entered = __atomic_load_n(&t->entered_ns, __ATOMIC_RELAXED);
		if (t->ended || __atomic_load_n(&t->nr, __ATOMIC_ACQUIRE) < 0)
			continue;
		if (cell < AFS_N_CELLS && entered < now)
			b->sum[cell].ns += now - entered;
	}
}

static size_t sum_cells(struct bpf_rung *b)
{
	const struct afs_cell *from;
	struct afs_cell *to;
	size_t n = 0;

	memset(b->sum, 0, sizeof(b->sum));
	for (size_t i = 0; i < (size_t)b->load.n_cpus * AFS_N_CELLS; i++) {
		from = &b->cell[i];
		if (!from->calls)
			continue;
		to = &b->sum[i % AFS_N_CELLS];
		to->calls += from->calls;
		to->errors += from->errors;
		to->bytes += from->bytes;
		to->ns += from->ns;
		for (int k = 0; k < AFS_HIST_BUCKETS; k++)
			to->hist[k] += from->hist[k];
	}
	add_in_progress(b, clock_now_ns());
	for (size_t i = 0; i < AFS_N_CELLS; i++)
		n += b->sum[i].calls || b->sum[i].ns;
	return n;
}

static void read_compat(struct bpf_rung *b, struct ledger *out)
{
	const struct books_view *v = view_of(b);
	struct afs_compat *to;
	uint32_t role;

	out->has_compat[AFS_ROLE_OTHER] = true;
	for (uint32_t i = 0; i < v->n; i++) {
		role = v->process[i].role;
		if (role >= AFS_N_ROLES)
			continue;
		to = &out->compat[role];
		out->has_compat[role] = true;
		to->syscr += v->compat[i].syscr;
		to->syscw += v->compat[i].syscw;
		to->rchar += v->compat[i].rchar;
		to->wchar += v->compat[i].wchar;
	}
}

static int bpf_read(void *state, struct ledger *out)
{
	struct bpf_rung *b = state;
	struct ledger_row *row;
	size_t n = sum_cells(b);

	memset(out, 0, sizeof(*out));
	out->row = calloc(n ? n : 1, sizeof(*out->row));
	if (!out->row)
		return -ENOMEM;
	out->has_calls = true;
	for (size_t i = 0; i < AFS_N_CELLS; i++) {
		if (!b->sum[i].calls && !b->sum[i].ns)
			continue;
		row = &out->row[out->n_rows++];
		row->role = (uint8_t)(i / AFS_N_OBJECTS / AFS_N_CLASSES);
		row->class = (uint8_t)(i / AFS_N_OBJECTS % AFS_N_CLASSES);
		row->object = (uint8_t)(i % AFS_N_OBJECTS);
		row->cell = b->sum[i];
	}
	read_compat(b, out);
	return 0;
}

static int finish_losses(const struct bpf_rung *b, struct run *r)
{
	const struct afs_lost *lost = &b->load.skel->bss->lost;
	char what[96];
	int err = 0;

	for (unsigned int i = 0; i < BPF_LOAD_PROGRAMS && !err; i++) {
		snprintf(what, sizeof(what), "%s skipped by the kernel", b->load.program[i]);
		err = run_loss(r, what, bpf_load_missed(&b->load, i));
	}
	if (!err)
		err = run_loss(r, "threads not watched: no slot", lost->thread_slots);
	if (!err)
		err = run_loss(r, "threads not watched: no slot for the process",
			       lost->process_slots);
	if (!err)
		err = run_loss(r, "threads not watched: no task storage", lost->storage);
	return err;
}

static int bpf_finish(void *state, struct run *r)
{
	struct bpf_rung *b = state;
	int err = run_note(&r->rungs, "calls", "%s", b->load.how);

	if (!err && b->load.how_why[0])
		err = run_note(&r->rungs, "calls.not", "%s", b->load.how_why);
	if (!err && !b->load.objects)
		err = run_note(
		    &r->warnings, "objects",
		    "descriptors are not told apart, all are \"%s\": the kernel refuses to "
		    "have its memory read (%s)",
		    ledger_object_name(AFS_OBJECT_UNKNOWN), b->load.objects_why);
	if (!err && b->crowded)
		err = run_note(&r->warnings, "objects",
			       "more CNID sockets, logs or databases than fit: some count as other "
			       "sockets or data files");
	if (!err)
		err = finish_losses(b, r);
	return err ? err : books_close(b->books, view_of(b), r);
}

const struct rung rung_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.look = bpf_look,
	.settle = bpf_settle,
	.read = bpf_read,
	.finish = bpf_finish,
	.free = bpf_free,
};
