/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_STORAGE_LOAD_H
#define WATCH_BPF_STORAGE_LOAD_H

/*
 * What watched threads do below their system calls (bpf/storage.h), by role and account. Each item
 * is observed in the best way that this kernel allows, or not at all, independently of the others.
 * The threads are those that the programs of bpf/calls.bpf.c watch.
 */

#include "base/err.h"
#include "bpf/storage.h"
#include "run/ledger.h"

#include <stdbool.h>
#include <stddef.h>

struct bpf_load_program;
struct bpf_object;
struct storage;

/* How an item is observed. */
struct storage_item {
	const char *key, *text; /* static */
	const char *how;        /* static; NULL: not at all */
	bool counts_only;       /* it is counted, without bytes and times */
	char why[ERR_TEXT_MAX]; /* why not in a better way; empty: it is the best */
};

/* What not to use, as if the kernel refused it. */
struct storage_wish {
	bool no_fentry, no_kprobe, no_tracepoint;
};

/*
 * calls: the loaded object of bpf/calls.bpf.c; it must outlive *out. wish: for tests; NULL: the
 * best way. 0 also when nothing can be observed: the items say so. Otherwise a negative errno and
 * why. Open it before threads are marked: what they do in between is not counted.
 */
int storage_open(struct storage **out, struct bpf_object *calls, const struct storage_wish *wish,
		 struct err *e);
void storage_close(struct storage *s); /* NULL is fine */

/* AFS_N_STORAGE_ITEMS, valid until the close. */
const struct storage_item *storage_describe(const struct storage *s);

/* Fills a ledger's storage; fields that are not known are 0. 0 or -ENOMEM. */
int storage_read(const struct storage *s, struct ledger *out);

/* All that are attached. */
const struct bpf_load_program *storage_programs(const struct storage *s, size_t *n);

#endif
