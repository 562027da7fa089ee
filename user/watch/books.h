/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BOOKS_H
#define WATCH_BOOKS_H

/*
 * Ours against the kernel's: the compatible ledger of each watched process and its account in
 * /proc, thread by thread, from each thread's first counted call to its last; of threads that have
 * ended, what the kernel's account said then. And ours against ours: calls told apart by account,
 * calls by class and object, and what each thread counted for itself.
 */

#include "base/run.h"
#include "watch/bpf_view.h"

/* Compares, and writes books and warnings. The watch was stopped. 0 or -ENOMEM. */
int books_close(const struct bpf_view *v, struct run *r);

#endif
