/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_RUNG_H
#define WATCH_RUNG_H

/*
 * A way to observe the server, as a table of functions. watch.c chooses one and knows nothing else
 * about it. state is what open returned.
 */

#include "kinds/target.h"
#include "watch/watch.h"

/* What a tick has found. */
#define RUNG_NEW_PROCESSES 1
#define RUNG_NEW_BACKENDS  2 /* somebody is asked who is not watched */

struct rung {
	const char *name; /* "bpf" */

	/* Does everything that can be refused; nothing is watched yet. sink: NULL, or for records.
	 * Of t only what its kind says. 0, or a negative errno and why.
	 */
	int (*open)(void **state, const struct watch_sink *sink, const struct target *t,
		    struct err *e);
	/* Watches the processes of t that are not watched yet, and copies t->known. */
	int (*look)(void *state, const struct target *t, struct err *e);
	/* Like the functions of watch.h. */
	bool (*settle)(void *state);
	int (*read)(void *state, struct ledger *out);
	int (*glance)(void *state, struct ledger *out);
	void (*span)(void *state); /* NULL: it has no extremes */
	/* Stops counting, so that all cross-checks can agree; NULL: nothing to stop. */
	uint64_t (*stop)(void *state);
	/* Reads what only living processes show; NULL: nothing to do. What is new: RUNG_NEW_. */
	unsigned int (*tick)(void *state);
	/* The living processes of the server, at most AFS_N_PROCESSES; NULL: look for them. */
	size_t (*processes)(const void *state, pid_t *out);
	/* Passes records to the sink; NULL: this rung makes none. */
	int (*pull)(void *state, int timeout_ms);
	uint64_t (*pull_lost)(const void *state, unsigned int stream);
	/* NULL: requests are not known. */
	void (*running)(void *state, uint64_t before_ns, watch_running_fn *put, void *user);
	void (*connections)(void *state, watch_connection_fn *put, void *user);
	void (*clients)(void *state, watch_client_fn *put, void *user);
	void (*state)(void *state, struct watch_state *out); /* NULL: counted by watch.c */
	int (*losses)(void *state, struct run *r);
	bool (*follows)(const void *state, pid_t pid);              /* NULL: it follows nobody */
	enum afs_object (*sleeps_on)(const void *state, pid_t pid); /* NULL: not known */
	struct run_ends (*ends)(const void *state, enum afs_role role); /* NULL: not known */
	bool (*price)(void *state, uint64_t *out_ns);
	bool (*session)(void *state, pid_t pid, uint16_t port, struct run_session *out);
	/* NULL: datagrams are not known. */
	bool (*drops)(const void *state, uint64_t ino, uint64_t *out);
	const char *(*thread_role)(const void *state, pid_t tid, uint32_t *at);
	/* Books, losses, rung notes, sessions. */
	int (*finish)(void *state, struct run *r);
	void (*free)(void *state);
};

extern const struct rung rung_bpf, rung_proc;

/* Like rung_bpf.open, with a choice of how to attach. */
struct bpf_load_wish;
int rung_bpf_open(void **state, const struct bpf_load_wish *wish, struct err *e);

/* How long a rung waits for a quiet server. */
#define RUNG_SETTLE_NS 2000000000u

#endif
