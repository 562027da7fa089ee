/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of processes that come and go. */

#include "watch/proc/procio.h"

#include "host/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20 /* of a reading, until no process ends meanwhile */

/* A new child may still change (execute another program, get a connection): so for this many
 * ticks after a change look again.
 */
#define LOOKS_AGAIN 2

void procio_fini(struct procio *p)
{
	free(p->one);
	*p = (struct procio) { 0 };
}

/* As /proc/PID/stat counts them. */
static uint64_t ticks_now(void)
{
	uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * per_s + (uint64_t)t.tv_nsec * per_s / 1000000000u;
}

static struct procio_one *find(const struct procio *p, pid_t pid)
{
	for (size_t i = p->n; i--;)
		if (p->one[i].pid == pid)
			return &p->one[i];
	return NULL;
}

static int refuse(int r, pid_t pid, enum afs_role role, struct err *e)
{
	if (r == -EACCES || r == -EPERM)
		return err_set(e, r,
			       "no right to read /proc/%d/io of %s: run as root, or with "
			       "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH",
			       pid, ledger_role_name(role));
	return err_set(e, r, "read /proc/%d/io: %s", pid, strerror(-r));
}

static int append(struct procio *p, const struct procio_one *made, struct err *e)
{
	struct procio_one *one = reallocarray(p->one, p->n + 1, sizeof(*one)), *parent;

	if (!one)
		return err_set(e, -ENOMEM, "out of memory");
	p->one = one;
	one[p->n] = *made;
	parent = find(p, made->parent);
	if (parent)
		parent->has_child = true;
	for (size_t i = 0; i < p->n; i++)
		one[p->n].has_child |= one[i].parent == made->pid && !one[i].gone;
	p->n++;
	return 0;
}

static int add(struct procio *p, pid_t pid, enum afs_role role, struct err *e)
{
	const struct procio_one *known = find(p, pid);
	struct procio_one one = { .pid = pid, .role = role };
	struct procstat st;
	int r;

	if (known && !known->gone)
		return 0;
	r = procstat_read(&st, pid);
	/* The number was reused: only a sibling of the old process belongs to the server. */
	if (!r && known && (st.started == known->started || st.ppid != known->parent))
		return 0;
	if (!r)
		r = procfs_io(&one.now, pid);
	if (r)
		return refuse(r, pid, role, e);
	one.parent = st.ppid;
	one.started = st.started;
	one.begun = p->looked && st.started >= p->opened;
	if (!one.begun)
		one.base = one.now;
	one.before = one.base;
	return append(p, &one, e);
}

static int add_any(struct procio *p, const struct target_process *of, enum afs_role role,
		   struct err *e)
{
	int r = of->ended ? 0 : add(p, of->pid, role, e);

	return r == -ESRCH || r == -ENOENT ? 0 : r;
}

int procio_look(struct procio *p, const struct target *t, struct err *e)
{
	int r;

	if (!p->opened)
		p->opened = ticks_now();
	p->whole = t->whole;
	p->crowded = t->n_sessions == AFS_N_PROCESSES;
	r = find(p, t->server) ? 0 : add(p, t->server, AFS_ROLE_SERVER, e);
	for (size_t i = 0; i < t->n_backends && !r; i++)
		r = add_any(p, &t->backend[i], AFS_ROLE_BACKEND, e);
	for (size_t i = 0; i < t->n_sessions && !r; i++)
		r = add_any(p, &t->session[i], AFS_ROLE_SERVER, e);
	p->looked = true;
	return r;
}

static bool covers(const struct afs_compat *a, const struct afs_compat *b)
{
	return a->syscr >= b->syscr && a->syscw >= b->syscw && a->rchar >= b->rchar &&
	       a->wchar >= b->wchar;
}

static void plus(struct afs_compat *to, const struct afs_compat *what)
{
	to->syscr += what->syscr;
	to->syscw += what->syscw;
	to->rchar += what->rchar;
	to->wchar += what->wchar;
}

static void minus(struct afs_compat *to, const struct afs_compat *what)
{
	to->syscr -= what->syscr;
	to->syscw -= what->syscw;
	to->rchar -= what->rchar;
	to->wchar -= what->wchar;
}

static void read_one(struct procio_one *one)
{
	struct afs_compat now;
	int r = procfs_io(&now, one->pid);

	/* Not the process's failure: the next reading has everything. */
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return;
	if (!r && covers(&now, &one->now))
		one->now = now;
	else
		one->gone = one->pending = true;
}

/* Children first, then parents: true when no child has ended meanwhile, so that no parent's
 * account includes what was also read from its child.
 */
static bool read_round(struct procio *p)
{
	struct procstat st;
	bool steady = true;

	for (int parents = 0; parents < 2; parents++)
		for (size_t i = 0; i < p->n; i++)
			if (!p->one[i].gone && p->one[i].has_child == parents)
				read_one(&p->one[i]);
	for (size_t i = 0; i < p->n; i++)
		if (!p->one[i].gone && !p->one[i].has_child &&
		    (procstat_read(&st, p->one[i].pid) || st.started != p->one[i].started))
			steady = false;
	return steady;
}

/* If a parent's account grew by at least what its ended children had, it includes them all. */
static void settle_children(struct procio *p, const struct procio_one *parent)
{
	struct afs_compat grown = parent->now, had = { 0 };
	bool inherited;

	minus(&grown, &parent->before);
	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].pending && p->one[i].parent == parent->pid)
			plus(&had, &p->one[i].now);
	inherited = !parent->gone && covers(&grown, &had);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->one[i].pending || p->one[i].parent != parent->pid)
			continue;
		p->one[i].pending = false;
		p->one[i].inherited = inherited;
	}
}

void procio_read(struct procio *p)
{
	for (size_t i = 0; i < p->n; i++)
		p->one[i].before = p->one[i].now;
	for (int i = 0; i < ROUNDS && !read_round(p); i++)
		;
	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].has_child)
			settle_children(p, &p->one[i]);
	for (size_t i = 0; i < p->n; i++)
		p->one[i].pending = false;
}

bool procio_sum(const struct procio *p, enum afs_role role, struct afs_compat *out)
{
	bool any = false;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < p->n; i++) {
		const struct procio_one *one = &p->one[i];

		if (one->role != role)
			continue;
		any = true;
		if (!one->inherited)
			plus(out, &one->now);
	}
	/* Subtract last, so that no sum is below 0 on the way. */
	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].role == role)
			minus(out, &p->one[i].base);
	return any;
}

/* Children */

static uint64_t mix(uint64_t pid)
{
	pid *= 0x9e3779b97f4a7c15u;
	return pid ^ pid >> 29;
}

static int add_child(void *arg, pid_t pid)
{
	struct procio *p = arg;

	p->children += mix((uint64_t)pid);
	return 0;
}

/* For kernels without lists of children. */
static int add_if_child(void *arg, pid_t pid)
{
	struct procio *p = arg;
	struct procstat st;

	if (!procstat_read(&st, pid) && find(p, st.ppid))
		add_child(p, pid);
	return 0;
}

static void look_at_children(struct procio *p)
{
	p->children = 0;
	if (!procfs_lists_children()) {
		procfs_each(add_if_child, p);
		return;
	}
	/* Sessions' own children are their helpers. */
	for (size_t i = 0; i < p->n; i++)
		if (!p->one[i].gone && (p->one[i].role != AFS_ROLE_SERVER || !i))
			procfs_each_child(p->one[i].pid, add_child, p);
}

bool procio_tick(struct procio *p)
{
	uint64_t before = p->children;

	procio_read(p);
	look_at_children(p);
	if (p->children != before)
		p->again = 1 + LOOKS_AGAIN;
	if (!p->again)
		return false;
	p->again--;
	return true;
}

/* Notes */

static int note_sessions(const struct procio *p, struct run *r)
{
	size_t before = 0, began = 0, ended = 0;

	for (size_t i = 1; i < p->n; i++) {
		if (p->one[i].role != AFS_ROLE_SERVER)
			continue;
		before += !p->one[i].begun;
		began += p->one[i].begun;
		ended += p->one[i].gone;
	}
	return run_note(
	    &r->server, "sessions",
	    "%zu at the start, %zu began, %zu ended (without those that lived between two looks)",
	    before, began, ended);
}

int procio_note(const struct procio *p, struct run *r)
{
	const struct procio_one *last = NULL;
	size_t cut = 0;
	int err = p->whole && run_has_requests(r) ? note_sessions(p, r) : 0;

	for (size_t i = 0; i < p->n; i++) {
		if (!p->one[i].gone || p->one[i].inherited)
			continue;
		last = &p->one[i];
		cut++;
	}
	if (!err && cut == 1)
		err = run_note(&r->warnings, "watch",
			       "%s %d has ended: its figures stop at the last reading",
			       run_role_name(r, last->role), last->pid);
	else if (!err && cut)
		err = run_note(&r->warnings, "watch",
			       "%zu processes have ended: what they did after their last reading "
			       "is missing",
			       cut);
	if (!err && p->crowded)
		err = run_note(&r->warnings, "watch",
			       "more than %d sessions: the others count when they end",
			       AFS_N_PROCESSES);
	return err;
}
