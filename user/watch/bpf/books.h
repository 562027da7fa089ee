/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_BOOKS_H
#define WATCH_BPF_BOOKS_H

/*
 * Cross-checks. Against the kernel: the compatible ledger of each watched process and its account
 * in /proc, thread by thread, from each thread's first counted call to its last; for threads that
 * have ended, the kernel's account at their end. Among our counts: calls by account, calls by class
 * and object, and what each thread counted for itself.
 *
 * Each process that has ended is compared separately. Those that agree are summed up in one book
 * for each role; those that do not agree are kept.
 */

#include "run/run.h"
#include "watch/bpf/view.h"

/* Processes kept whose accounts do not agree; further ones are only counted. */
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

/* How many of these agree with the kernel, and how many do not. */
void books_sum(const struct books *b, uint64_t *agree, uint64_t *disagree);

/* Compares, and writes books and warnings. The watch was stopped. 0 or -ENOMEM. */
int books_close(const struct books *b, const struct bpf_view *v, struct run *r);

void books_fini(struct books *b);

#endif
