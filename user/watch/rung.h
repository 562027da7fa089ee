/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_RUNG_H
#define WATCH_RUNG_H

/*
 * A way to observe the server, as one table of functions. watch.c chooses one and knows nothing
 * else about it. state is what open made.
 */

#include "watch/target.h"
#include "watch/watch.h"

struct rung {
	const char *name; /* "bpf" */

	/* Everything that can be refused; nothing is watched yet. sink: NULL, or who wants records.
	 * 0, or a negative errno and why.
	 */
	int (*open)(void **state, const struct watch_sink *sink, struct err *e);
	/* Watches the processes of t that are not watched yet, and takes over t->known. */
	int (*look)(void *state, const struct target *t, struct err *e);
	/* One of watch.h each. */
	bool (*settle)(void *state);
	int (*read)(void *state, struct ledger *out);
	void (*span)(void *state); /* NULL: it knows no extremes */
	/* Counts no more, so that all books can be closed; NULL: nothing to do. */
	void (*stop)(void *state);
	/* Looks at what only living processes show; NULL: nothing. true: there are new ones. */
	bool (*tick)(void *state);
	/* Records; NULL: this rung makes none, whatever the sink wants. */
	int (*pull)(void *state, int timeout_ms);
	uint64_t (*pull_lost)(const void *state, unsigned int stream);
	/* Books, losses, rung notes, sessions. */
	int (*finish)(void *state, struct run *r);
	void (*free)(void *state);
};

extern const struct rung rung_bpf, rung_perf, rung_proc;

/* What rung_bpf.open does, in a chosen way. */
struct bpf_load_wish;
int rung_bpf_open(void **state, const struct bpf_load_wish *wish, struct err *e);

/* How long a rung waits for a quiet server. */
#define RUNG_SETTLE_NS 2000000000u

#endif
