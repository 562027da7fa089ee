/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BOOKS_H
#define WATCH_BOOKS_H

/*
 * The compatible ledger of each watched process against /proc/PID/io. Threads' own accounts are
 * compared while no thread has ended. Afterwards only the process's account is whole; it also
 * holds what waited-for children did, so theirs is added on our side too.
 */

#include "base/run.h"
#include "bpf/calls.h"

/* What one side of all books is made of: the programs' counts. */
struct books_view {
	uint32_t n; /* processes */
	const struct afs_process *process;
	struct afs_compat compat[AFS_N_PROCESSES];
};

struct books;

struct books *books_new(void); /* NULL: no memory */
void books_free(struct books *b);

/*
 * Opens a book for every process in v that has none. Server quiet, v just read. A process that
 * was started by a watched one has its book from its first instruction.
 */
void books_open(struct books *b, const struct books_view *v);

/* Compares, and writes books and warnings. Server quiet, v just read. 0 or -ENOMEM. */
int books_close(struct books *b, const struct books_view *v, struct run *r);

#endif
