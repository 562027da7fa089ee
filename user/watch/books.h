/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BOOKS_H
#define WATCH_BOOKS_H

/*
 * Ours against the kernel's: the compatible ledger of each watched process and its account in
 * /proc, thread by thread, from each thread's first counted call to its last; of threads that have
 * ended, what the kernel's account said then. And ours against ours: calls told apart by account,
 * calls by class and object, and what each thread counted for itself.
 *
 * Each process that has ended is compared for itself. Those that agree become one book for each
 * role, the sum; those that do not are kept.
 */

#include "base/run.h"
#include "watch/bpf_view.h"

/* Processes whose accounts do not agree and that are kept; of more only the number is. */
#define BOOKS_KEPT 256

struct books_process {
	pid_t pid;
	uint32_t role; /* enum afs_role */
	struct afs_compat ours, theirs;
};

/* All 0 at first. */
struct books {
	uint64_t n_agree[AFS_N_ROLES];
	struct afs_compat agree[AFS_N_ROLES];
	struct books_process *process; /* owned */
	size_t n;
	uint64_t n_more;
};

/* Takes over a process that has ended. 0 or -ENOMEM. */
int books_end(struct books *b, const struct bpf_view *v, uint32_t process);

/* Compares, and writes books and warnings. The watch was stopped. 0 or -ENOMEM. */
int books_close(const struct books *b, const struct bpf_view *v, struct run *r);

void books_fini(struct books *b);

#endif
