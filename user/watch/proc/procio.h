/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_PROC_PROCIO_H
#define WATCH_PROC_PROCIO_H

/*
 * The rung that reads /proc/PID/io: four figures per process, the children it has waited for
 * included, nothing about single calls. New sessions of a whole server are found at each tick; one
 * that begins and ends between two ticks is only in its parent's account.
 *
 * When a process has ended and its parent has waited for it, the kernel adds its account to the
 * parent's: if the parent is watched, nothing is lost, but nothing may be counted twice. This
 * module decides by the parent's own account whether that has happened.
 */

#include "base/err.h"
#include "kinds/target.h"
#include "run/ledger.h"
#include "run/run.h"

struct procio_one {
	pid_t pid, parent;
	uint64_t started; /* ticks after boot */
	enum afs_role role;
	bool has_child;         /* among the others */
	bool gone;              /* until the end of a reading */
	bool inherited;         /* its parent's account includes it */
	struct afs_compat base; /* 0: it has begun since the first look */
	/* The last reading, the one before it, and one that is made. */
	struct afs_compat now, before, next;
};

struct procio {
	const struct target *t; /* looked at */
	bool looked;            /* once */
	uint64_t opened;    /* ticks after boot: a process that started later is counted from 0 */
	uint64_t children;  /* of watched processes, at the last tick: a hash of all */
	unsigned int again; /* ticks left that ask for a look although nothing has changed */
	bool seen[AFS_N_ROLES];
	size_t n;
	struct procio_one *one; /* owned: those that live */
	/* Of those that are gone: what their parents' accounts do not include, and their bases. */
	struct afs_compat gone[AFS_N_ROLES], base[AFS_N_ROLES];
	size_t n_before, n_began, n_ended; /* sessions */
	size_t n_cut;                      /* processes whose end was not seen */
	struct procio_one cut;             /* the last of these */
};

void procio_fini(struct procio *p);

/*
 * Adds the processes of t that were not added yet. The server of t must be readable; others that
 * have ended since they were found are left out. 0 or a negative errno and why.
 */
int procio_look(struct procio *p, const struct target *t, struct err *e);

/* Reads all; true: watched processes may have new children, look. */
bool procio_tick(struct procio *p);

/* A reading of all. */
void procio_read(struct procio *p);

/* What a role did since it was watched, as of the last reading; false: no process has it. */
bool procio_sum(const struct procio *p, enum afs_role role, struct afs_compat *out);

/* Like watch_settle, for so long at most, and watch_read. */
bool procio_settle(struct procio *p, uint64_t patience_ns);
void procio_ledger(struct procio *p, struct ledger *out);

/*
 * What the rung is; how many came and went (server note "sessions"), and a warning if figures are
 * missing.
 */
int procio_note(const struct procio *p, struct run *r);

#endif
