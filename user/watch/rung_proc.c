// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rung that reads /proc/PID/io at phase ends: four figures per process, the children it has
 * waited for included, nothing about single calls.
 */

#include "watch/rung.h"

#include "base/clock.h"
#include "watch/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS 1000000

struct proc_one {
	pid_t pid;
	enum afs_role role;
	bool gone;
	struct afs_compat base, now; /* now: the last reading */
};

struct proc_rung {
	size_t n;
	struct proc_one one[1 + TARGET_CNID_MAX];
};

static int proc_open(void **state, struct err *e)
{
	*state = calloc(1, sizeof(struct proc_rung));
	return *state ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static void proc_free(void *state)
{
	free(state);
}

static void read_all(struct proc_rung *p)
{
	struct afs_compat now;

	for (size_t i = 0; i < p->n; i++) {
		if (!procfs_io(&now, p->one[i].pid))
			p->one[i].now = now;
		else
			p->one[i].gone = true;
	}
}

static bool proc_settle(void *state)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t end = clock_now_ns() + RUNG_SETTLE_NS;
	struct proc_rung *p = state, before;

	read_all(p);
	do {
		before = *p;
		nanosleep(&pause, NULL);
		read_all(p);
		if (!memcmp(&before, p, sizeof(before)))
			return true;
	} while (clock_now_ns() < end);
	return false;
}

static int add(struct proc_rung *p, pid_t pid, enum afs_role role, struct err *e)
{
	struct proc_one one = { .pid = pid, .role = role };
	int r;

	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].pid == pid)
			return 0;
	r = procfs_io(&one.base, pid);
	if (r == -EACCES || r == -EPERM)
		return err_set(e, r,
			       "no right to read /proc/%d/io of %s: run as root, or with "
			       "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
			       pid, ledger_role_name(role));
	if (r)
		return err_set(e, r, "read /proc/%d/io: %s", pid, strerror(-r));
	one.now = one.base;
	p->one[p->n++] = one;
	return 0;
}

static int proc_look(void *state, const struct target *t, struct err *e)
{
	int r = add(state, t->afpd, AFS_ROLE_AFPD, e);

	for (size_t i = 0; i < t->n_cnid && !r; i++)
		r = add(state, t->cnid[i], AFS_ROLE_CNID, e);
	return r;
}

static int proc_read(void *state, struct ledger *out)
{
	struct proc_rung *p = state;
	const struct proc_one *one;
	struct afs_compat *to;

	memset(out, 0, sizeof(*out));
	read_all(p);
	for (size_t i = 0; i < p->n; i++) {
		one = &p->one[i];
		to = &out->compat[one->role];
		out->has_compat[one->role] = true;
		to->syscr += one->now.syscr - one->base.syscr;
		to->syscw += one->now.syscw - one->base.syscw;
		to->rchar += one->now.rchar - one->base.rchar;
		to->wchar += one->now.wchar - one->base.wchar;
	}
	return 0;
}

static int proc_finish(void *state, struct run *r)
{
	const struct proc_rung *p = state;
	int err = run_note(&r->rungs, "calls", "/proc/PID/io, sampled at phase ends");

	for (size_t i = 0; i < p->n && !err; i++)
		if (p->one[i].gone)
			err = run_note(&r->warnings, "watch",
				       "%s %d has ended: its figures stop at the last reading",
				       ledger_role_name(p->one[i].role), p->one[i].pid);
	return err;
}

const struct rung rung_proc = {
	.name = "proc",
	.open = proc_open,
	.look = proc_look,
	.settle = proc_settle,
	.read = proc_read,
	.finish = proc_finish,
	.free = proc_free,
};
