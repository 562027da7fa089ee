/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of processes that come and go. */

#include "watch/proc/procio.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "host/proc/procfs.h"
#include "host/rights.h"
#include "watch/watch.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS  20 /* of a reading, until no process ends meanwhile */
#define LOOK_NS 1000000

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

static struct procio_one *procio_find(const struct procio *p, pid_t pid)
{
	return VEC_FIND(one, p->one, p->n, one->pid == pid);
}

/* A process that the target has, unless it is known or has ended. */
static int procio_add(struct procio *p, const struct target_process *of, struct err *e)
{
	struct procio_one made = { .pid = of->pid, .role = of->role }, *one;
	bool begun, first = !p->n && !p->looked;
	struct procstat st;
	int r;

	if (of->ended || procio_find(p, of->pid))
		return 0;
	r = procstat_read(&st, of->pid);
	/* The number is another one's now. */
	if (!r && !first && st.started != of->started)
		return 0;
	if (!r)
		r = procfs_io(&made.now, of->pid, 0);
	if (!first && (r == -ESRCH || r == -ENOENT))
		return 0;
	if (r == -EACCES || r == -EPERM)
		return err_set(e, r, "no right to read /proc/%d/io of %s: " RIGHTS_TO_LOOK, of->pid,
			       ledger_role_name(made.role));
	if (r)
		return err_set(e, r, "read /proc/%d/io: %s", of->pid, strerror(-r));
	made.parent = st.ppid;
	made.started = st.started;
	begun = p->looked && st.started >= p->opened;
	if (!begun)
		made.base = made.now;
	made.before = made.base;
	for (size_t i = 0; i < p->n; i++) {
		p->one[i].has_child |= p->one[i].pid == made.parent;
		made.has_child |= p->one[i].parent == made.pid;
	}
	one = VEC_ADD(p->one, p->n);
	if (!one)
		return err_set(e, -ENOMEM, "out of memory");
	*one = made;
	p->seen[made.role] = true;
	if (made.role == AFS_ROLE_SERVER && !first)
		begun ? p->n_began++ : p->n_before++;
	return 0;
}

int procio_look(struct procio *p, const struct target *t, struct err *e)
{
	int r = 0;

	if (!p->opened)
		p->opened = ticks_now();
	p->t = t;
	for (size_t i = 0; i < t->n && !r; i++)
		if (t->process[i].role <= AFS_ROLE_BACKEND)
			r = procio_add(p, &t->process[i], e);
	p->looked = true;
	return r;
}

static void read_one(struct procio_one *one)
{
	int r = procfs_io(&one->next, one->pid, 0);
	struct afs_compat grown = one->next;

	/* Not the process's failure: the next reading has everything. */
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		one->next = one->now;
	else
		one->gone = r || !ledger_compat_subtract(&grown, &one->now);
}

/* The reading is its own: its number is not another one's by now. false: it has ended. */
static bool take_reading(struct procio_one *one)
{
	struct procstat st;
	int r = procstat_read(&st, one->pid);

	one->gone = r == -ESRCH || r == -ENOENT || (!r && st.started != one->started);
	if (!one->gone)
		one->now = one->next;
	return !one->gone;
}

/* Children first, then parents: true when no child has ended meanwhile, so that no parent's
 * account includes what was also read from its child.
 */
static bool read_round(struct procio *p)
{
	bool steady = true;

	for (int parents = 0; parents < 2; parents++)
		for (size_t i = 0; i < p->n; i++)
			if (!p->one[i].gone && p->one[i].has_child == parents)
				read_one(&p->one[i]);
	for (size_t i = 0; i < p->n; i++)
		if (!p->one[i].gone)
			steady &= take_reading(&p->one[i]);
	return steady;
}

/* If a parent's account grew by at least what its ended children had, it includes them all. */
static void settle_children(struct procio *p, const struct procio_one *parent)
{
	struct afs_compat grown = parent->now, had = { 0 };

	ledger_compat_subtract(&grown, &parent->before);
	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].gone && p->one[i].parent == parent->pid)
			ledger_compat_add(&had, &p->one[i].now);
	if (parent->gone || !ledger_compat_subtract(&grown, &had))
		return;
	for (size_t i = 0; i < p->n; i++)
		p->one[i].inherited |= p->one[i].gone && p->one[i].parent == parent->pid;
}

/* What it did is a part of its role's sums from now on. */
static void procio_fold(struct procio *p, const struct procio_one *one)
{
	ledger_compat_add(&p->base[one->role], &one->base);
	p->n_ended += one->role == AFS_ROLE_SERVER && one->pid != p->t->server;
	if (one->inherited)
		return;
	ledger_compat_add(&p->gone[one->role], &one->now);
	p->cut = *one;
	p->n_cut++;
}

void procio_read(struct procio *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		p->one[i].before = p->one[i].now;
	for (int i = 0; i < ROUNDS && !read_round(p); i++)
		;
	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].has_child)
			settle_children(p, &p->one[i]);
	for (size_t i = 0; i < p->n; i++) {
		if (p->one[i].gone)
			procio_fold(p, &p->one[i]);
		else
			p->one[n++] = p->one[i];
	}
	p->n = n;
}

bool procio_sum(const struct procio *p, enum afs_role role, struct afs_compat *out)
{
	struct afs_compat base = p->base[role];

	*out = p->gone[role];
	for (size_t i = 0; i < p->n; i++) {
		if (p->one[i].role != role)
			continue;
		ledger_compat_add(out, &p->one[i].now);
		ledger_compat_add(&base, &p->one[i].base);
	}
	ledger_compat_subtract(out, &base);
	return p->seen[role];
}

void procio_ledger(struct procio *p, struct ledger *out)
{
	procio_read(p);
	for (unsigned int role = 0; role < AFS_N_ROLES; role++)
		out->has_compat[role] = procio_sum(p, role, &out->compat[role]);
}

bool procio_settle(struct procio *p, uint64_t patience_ns)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t end = clock_now_ns() + patience_ns;

	procio_read(p);
	do {
		nanosleep(&pause, NULL);
		procio_read(p);
		if (!VEC_FIND(one, p->one, p->n, memcmp(&one->before, &one->now, sizeof(one->now))))
			return true;
	} while (clock_now_ns() < end);
	return false;
}

/* Children */

static int procio_add_child(void *arg, pid_t pid)
{
	struct procio *p = arg;

	p->children += hash_number((uint64_t)pid);
	return 0;
}

/* For kernels without lists of children. */
static void look_at_all(struct procio *p)
{
	struct procfs_numbers process;
	struct procstat st;

	procfs_processes(&process);
	while (procfs_next(&process))
		if (!procstat_read(&st, process.number) && procio_find(p, st.ppid))
			procio_add_child(p, process.number);
}

static void look_at_children(struct procio *p)
{
	p->children = 0;
	if (!procfs_lists_children()) {
		look_at_all(p);
		return;
	}
	/* Sessions' own children are their helpers. */
	for (size_t i = 0; i < p->n; i++)
		if (p->one[i].role != AFS_ROLE_SERVER || p->one[i].pid == p->t->server)
			procfs_each_child(p->one[i].pid, procio_add_child, p);
}

bool procio_tick(struct procio *p)
{
	uint64_t before = p->children;
	size_t n = p->n;

	procio_read(p);
	look_at_children(p);
	if (p->children != before || p->n != n)
		p->again = 1 + LOOKS_AGAIN;
	if (!p->again)
		return false;
	p->again--;
	return true;
}

int procio_note(const struct procio *p, struct run *r)
{
	int err = run_note(&r->rungs, "calls", "/proc/PID/io%s",
			   p->t->whole ? " of every session, sampled ten times a second"
				       : ", sampled at phase ends");

	err |= run_note(&r->absent, "requests", "only watching by BPF follows requests");
	if (p->t->whole && run_has_requests(r))
		err |= run_note(&r->server, "sessions",
				"%zu at the start, %zu began, %zu ended (without those that lived "
				"between two looks)",
				p->n_before, p->n_began, p->n_ended);
	if (p->n_cut == 1)
		err |= run_note(&r->warnings, "watch",
				"%s %d has ended: its figures stop at the last reading",
				run_role_name(r, p->cut.role), p->cut.pid);
	else if (p->n_cut)
		err |= run_note(&r->warnings, "watch",
				"%zu processes have ended: what they did after their last reading "
				"is missing",
				p->n_cut);
	if (p->t->n_more)
		err |= run_note(&r->warnings, "watch",
				"more than %d sessions: the others count when they end",
				AFS_N_PROCESSES);
	return err;
}
