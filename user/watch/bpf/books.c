/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the programs' counts with the kernel's own. */

#include "watch/bpf/rung.h"

#include "base/vec.h"
#include "host/proc/procfs.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes kept whose accounts do not agree; further ones are only counted. */
#define BOOKS_KEPT 256

#define BOOK_WITH  "/proc/PID/io"
#define BOOK_ENDED "the kernel's account at their end"

/* Whether the thread is not counted any more; then its account is what it was at that moment. */
static bool books_is_stopped(const struct afs_thread *t)
{
	return __atomic_load_n(&t->stopped, __ATOMIC_ACQUIRE);
}

/*
 * A living thread's account since it was first counted; the thread may end meanwhile, or make the
 * call at which it stops to be counted: from then on "io" is no longer where its account began.
 */
static int thread_io(struct afs_compat *out, const struct afs_thread *t, pid_t tgid)
{
	struct afs_compat io = {}, begin;
	int r = 0;

	*out = io;
	if (t->found)
		return 0;
	do {
		begin = t->io;
		if (books_is_stopped(t)) {
			*out = t->io;
			return 0;
		}
		r = procfs_io(&io, tgid, t->tid);
	} while (books_is_stopped(t) || memcmp(&begin, &t->io, sizeof(begin)) != 0);
	ledger_compat_subtract(&io, &begin);
	*out = io;
	return r;
}

/* What the kernel counted. */
static int process_io(const struct bpf_view *v, uint32_t process, struct afs_compat *out)
{
	const struct afs_process *p = &v->process[process];
	uint32_t n = bpf_view_threads(v);
	struct afs_compat io;
	int r;

	*out = p->kernel;
	for (uint32_t i = 0; i < n; i++) {
		if (v->thread[i].process != process || !v->thread[i].tid || v->thread[i].ended)
			continue;
		r = thread_io(&io, &v->thread[i], p->tgid);
		if (r)
			return r;
		ledger_compat_add(out, &io);
	}
	return 0;
}

static int books_compare(struct run *r, const char *who, const char *with,
			 const struct afs_compat *ours, const struct afs_compat *theirs)
{
	/* In the order of struct afs_compat. */
	static const char *const what[] = { "syscr", "syscw", "rchar", "wchar" };
	const __u64 *a = &ours->syscr, *b = &theirs->syscr;
	char name[96];
	int err = 0;

	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]) && !err; i++) {
		snprintf(name, sizeof(name), "%s %s", who, what[i]);
		err = run_book(r, name, with, a[i], b[i]);
	}
	return err;
}

/* A book that cannot be compared: it has our count only, and is not closed. */
static int leave_open(struct run *r, const char *who, const struct afs_compat *ours,
		      const char *why)
{
	char name[96];
	int err;

	snprintf(name, sizeof(name), "%s syscr+syscw", who);
	err = run_book_open(r, name, BOOK_WITH, ours->syscr + ours->syscw);
	if (err)
		return err;
	return run_note(&r->warnings, "books", "%s: the kernel's account cannot be compared (%s)",
			who, why);
}

/* A thread may end between our look and /proc: then it is in the process's sum; read again. */
#define TRIES 1000

static int close_process(const struct bpf_view *v, uint32_t i, struct run *r)
{
	const struct afs_process *p = &v->process[i];
	struct afs_compat ours, theirs;
	int err, tries = TRIES;
	uint64_t before;
	char who[64];

	if (!p->tgid || p->is_32bit) /* of which the warning "32-bit" speaks */
		return 0;
	snprintf(who, sizeof(who), "%s %d", run_role_name(r, p->role), p->tgid);
	do {
		before = bpf_view_moves(v, i, false);
		ours = bpf_view_process(v, i).compat;
		err = process_io(v, i, &theirs);
	} while ((err || bpf_view_moves(v, i, false) != before) && --tries);
	if (err)
		return leave_open(r, who, &ours, strerror(-err));
	/* The kernel's writes are in its account, and no calls. */
	if (memcmp(&ours, &theirs, sizeof(ours)) && procfs_dumps_core(p->tgid))
		return leave_open(r, who, &ours, "it is dumping its memory");
	return books_compare(r, who, BOOK_WITH, &ours, &theirs);
}

int books_end(struct books *b, const struct bpf_view *v, uint32_t process)
{
	const struct afs_process *p = &v->process[process];
	struct afs_compat ours = bpf_view_process(v, process).compat;

	if (p->is_32bit)
		return 0;
	if (p->role < AFS_N_ROLES && !memcmp(&ours, &p->kernel, sizeof(ours))) {
		b->n_agree[p->role]++;
		ledger_compat_add(&b->agree[p->role], &ours);
		return 0;
	}
	if (b->n == BOOKS_KEPT) {
		b->n_more++;
		return 0;
	}
	return VEC_PUSH(b->process, b->n,
			(struct books_process) { p->tgid, p->role, ours, p->kernel });
}

void books_sum(const struct books *b, uint64_t *agree, uint64_t *disagree)
{
	*agree = 0;
	*disagree = b->n + b->n_more;
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		*agree += b->n_agree[role];
}

void books_fini(struct books *b)
{
	free(b->process);
	*b = (struct books) { 0 };
}

static int close_ended(const struct books *b, struct run *r)
{
	const struct books_process *p;
	char who[64];
	int err = 0;

	for (unsigned int role = 0; role < AFS_N_ROLES && !err; role++) {
		if (!b->n_agree[role])
			continue;
		snprintf(who, sizeof(who), "%s (%" PRIu64 " ended)", run_role_name(r, role),
			 b->n_agree[role]);
		err = books_compare(r, who, BOOK_ENDED, &b->agree[role], &b->agree[role]);
	}
	for (size_t i = 0; i < b->n && !err; i++) {
		p = &b->process[i];
		snprintf(who, sizeof(who), "%s %d (ended)", run_role_name(r, p->role), p->pid);
		err = books_compare(r, who, BOOK_ENDED, &p->ours, &p->theirs);
	}
	if (err || !b->n_more)
		return err;
	return run_loss(r, "processes whose counts differ from the kernel's and are not listed",
			b->n_more);
}

/*
 * Checks that every call is in one account and was counted by its thread. The threads' sum may grow
 * while the tables are read: of its values meanwhile, the nearest to the tables' is taken.
 */
static int close_calls(const struct bpf_view *v, struct run *r)
{
	uint64_t before, after, all, moves;
	int err, tries = TRIES;
	struct ledger l;

	do {
		moves = bpf_view_moves(v, AFS_N_PROCESSES, false);
		before = bpf_view_all_calls(v);
		l = (struct ledger) {};
		err = tables_read(v, false, &l);
		all = ledger_sum(&l, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS).calls;
		ledger_fini(&l);
		bpf_view_wait_for_counts(v, WATCH_SETTLE_NS);
		after = bpf_view_all_calls(v);
	} while (!err && bpf_view_moves(v, AFS_N_PROCESSES, false) != moves && --tries);
	if (err)
		return err;
	return run_book(r, "all threads calls", "calls by class",
			all < before  ? before
			: all > after ? after
				      : all,
			all);
}

int books_close(const struct books *b, const struct bpf_view *v, struct run *r)
{
	uint32_t n = bpf_view_processes(v);
	int err = close_ended(b, r);

	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		for (uint32_t i = 0; i < n && !err; i++)
			if (v->process[i].role == role)
				err = close_process(v, i, r);
	return err ? err : close_calls(v, r);
}
