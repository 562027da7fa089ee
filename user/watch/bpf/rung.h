/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_RUNG_H
#define WATCH_BPF_RUNG_H

/*
 * The rung that counts every call: the programs of bpf/calls.bpf.c and their maps, read through
 * mappings at no cost for the server.
 */

#include "kinds/target.h"
#include "watch/bpf/books.h"
#include "watch/bpf/load.h"
#include "watch/bpf/price.h"
#include "watch/bpf/slots.h"
#include "watch/bpf/view.h"
#include "watch/watch.h"

struct bpf_rung {
	struct bpf_load load;
	struct bpf_view view;
	struct sessions *sessions;
	struct slots slots;
	struct books books;
	struct price price;
	struct watch_sink sink;
	struct ring *records;           /* NULL: none are wanted */
	struct storage *storage;        /* NULL: nothing can be observed */
	char storage_why[ERR_TEXT_MAX]; /* why it is NULL */
	uint32_t n_begun;               /* processes, at the last tick, and ... */
	uint32_t n_unserved;            /* ... connections to backends that are not watched */
	bool crowded, plain;            /* as in struct target */
	bool settled;                   /* when it was last waited for */
};

/* Does everything that can be refused; nothing is watched yet. 0, or a negative errno and why. */
int bpf_rung_open(struct bpf_rung **out, const struct bpf_load_wish *wish, struct err *e);

/* Watches the processes of t that are not watched yet, and copies t->known. */
int bpf_rung_look(struct bpf_rung *b, const struct target *t, struct err *e);

/* Like the functions of watch.h. */
bool bpf_rung_settle(struct bpf_rung *b);
int bpf_rung_read(struct bpf_rung *b, struct ledger *out);
int bpf_rung_glance(struct bpf_rung *b, struct ledger *out);
uint64_t bpf_rung_stop(struct bpf_rung *b);

/* What a tick has found. */
#define BPF_RUNG_PROCESSES 1 /* new ones */
#define BPF_RUNG_BACKENDS  2 /* somebody is asked who is not watched */

/* Reads what only living processes show. What is new: bits BPF_RUNG_. */
unsigned int bpf_rung_tick(struct bpf_rung *b);

/* The living processes of the server, at most AFS_N_PROCESSES. */
size_t bpf_rung_processes(const struct bpf_rung *b, pid_t *out);

/* Books, losses, rung notes, sessions. */
int bpf_rung_finish(struct bpf_rung *b, struct run *r);

void bpf_rung_free(struct bpf_rung *b); /* NULL is allowed */

#endif
