// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the programs' counts with the kernel's own. */

#include "watch/books.h"

#include "watch/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOK_WITH "/proc/PID/io"

struct book {
	bool open;
	uint64_t started;
	uint32_t ended;                     /* threads, at the start */
	struct afs_compat ours, ours_whole; /* without and with children that are gone */
	struct afs_compat threads, process;
};

struct books {
	uint32_t n;
	struct book book[AFS_N_PROCESSES];
};

struct books *books_new(void)
{
	return calloc(1, sizeof(struct books));
}

void books_free(struct books *b)
{
	free(b);
}

static void sum_add(struct afs_compat *to, const struct afs_compat *from)
{
	to->syscr += from->syscr;
	to->syscw += from->syscw;
	to->rchar += from->rchar;
	to->wchar += from->wchar;
}

static void sum_subtract(struct afs_compat *from, const struct afs_compat *what)
{
	from->syscr -= what->syscr;
	from->syscw -= what->syscw;
	from->rchar -= what->rchar;
	from->wchar -= what->wchar;
}

/* Gone from /proc, so that its parent's account has taken it over. */
static bool is_gone(const struct afs_process *p, uint64_t started)
{
	struct procfs_stat st;

	return procfs_stat(&st, p->tgid) || (started && st.started != started);
}

/* The counts of a process and of all its descendants that are gone. */
static struct afs_compat with_gone(const struct books *b, const struct books_view *v, uint32_t i)
{
	struct afs_compat sum = v->compat[i];
	bool in[AFS_N_PROCESSES] = {};

	in[i] = true;
	/* A parent always has the lower slot. */
	for (uint32_t k = i + 1; k < v->n; k++) {
		if (v->process[k].parent < 0 || !in[v->process[k].parent])
			continue;
		if (!is_gone(&v->process[k], b->book[k].started))
			continue;
		in[k] = true;
		sum_add(&sum, &v->compat[k]);
	}
	return sum;
}

void books_open(struct books *b, const struct books_view *v)
{
	struct procfs_stat st;
	struct book *book;

	for (uint32_t i = b->n; i < v->n; i++) {
		book = &b->book[i];
		if (procfs_stat(&st, v->process[i].tgid))
			continue;
		book->started = st.started;
		book->open = true;
		if (v->process[i].parent >= 0)
			continue;
		book->ended = v->process[i].ended;
		book->ours = v->compat[i];
		book->ours_whole = with_gone(b, v, i);
		book->open = !procfs_io_threads(&book->threads, v->process[i].tgid) &&
			     !procfs_io(&book->process, v->process[i].tgid);
	}
	b->n = v->n;
}

static int compare(struct run *r, const char *who, const struct afs_compat *ours,
		   const struct afs_compat *theirs)
{
	const struct {
		const char *name;
		uint64_t ours, theirs;
	} line[] = {
		{ "syscr", ours->syscr, theirs->syscr },
		{ "syscw", ours->syscw, theirs->syscw },
		{ "rchar", ours->rchar, theirs->rchar },
		{ "wchar", ours->wchar, theirs->wchar },
	};
	char name[96];
	int err = 0;

	for (size_t i = 0; i < sizeof(line) / sizeof(line[0]) && !err; i++) {
		snprintf(name, sizeof(name), "%s %s", who, line[i].name);
		err = run_book(r, name, BOOK_WITH, line[i].ours, line[i].theirs);
	}
	return err;
}

/* A book that cannot be compared any more: ours stands alone, and stays open. */
static int leave_open(struct run *r, const char *who, const struct afs_compat *ours)
{
	char name[96];
	int err;

	snprintf(name, sizeof(name), "%s syscr+syscw", who);
	err = run_book_open(r, name, BOOK_WITH, ours->syscr + ours->syscw);
	if (err)
		return err;
	return run_note(&r->warnings, "books",
			"%s has ended: its book stays open (%llu reads, %llu writes counted)", who,
			(unsigned long long)ours->syscr, (unsigned long long)ours->syscw);
}

static int close_one(struct books *b, const struct books_view *v, uint32_t i, struct run *r)
{
	const struct afs_process *p = &v->process[i];
	struct book *book = &b->book[i];
	struct afs_compat ours, theirs;
	char who[64];
	bool whole;
	int err;

	snprintf(who, sizeof(who), "%s %d", ledger_role_name(p->role), p->tgid);
	whole = p->ended != book->ended;
	ours = whole ? with_gone(b, v, i) : v->compat[i];
	sum_subtract(&ours, whole ? &book->ours_whole : &book->ours);
	err = whole ? procfs_io(&theirs, p->tgid) : procfs_io_threads(&theirs, p->tgid);
	if (err || !book->open || is_gone(p, book->started))
		return p->parent < 0 ? leave_open(r, who, &ours) : 0;
	sum_subtract(&theirs, whole ? &book->process : &book->threads);
	return compare(r, who, &ours, &theirs);
}

int books_close(struct books *b, const struct books_view *v, struct run *r)
{
	int err = 0;

	books_open(b, v);
	for (uint32_t i = 0; i < v->n && !err; i++)
		err = close_one(b, v, i, r);
	return err;
}
