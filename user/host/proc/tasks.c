/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/proc/tasks.h"

#include "base/sums.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct procfs_times task_did(const struct task *one)
{
	struct procfs_times did = one->last;

	sums_subtract(&did, &one->base, sizeof(did));
	return did;
}

static int tasks_take(struct tasks *t, int tid)
{
	struct task *one = VEC_ADD(t->task, t->n);
	int r;

	if (!one)
		return -ENOMEM;
	one->pid = t->pid;
	one->tid = tid;
	/* First: of one that ends meanwhile nothing is taken, rather than times without a name. */
	if (t->look)
		t->look(t->arg, one);
	r = procfs_thread_times(&one->last, t->pid, tid);
	if (!r && t->switches)
		r = procfs_thread_switches(&one->last, t->pid, tid);
	if (r) {
		t->n--;
		return r == -ENOENT || r == -ESRCH ? 0 : r;
	}
	if (!t->begun)
		one->base = one->last;
	return 0;
}

int tasks_add(struct tasks *t, pid_t pid)
{
	struct procfs_numbers thread;
	int r = procfs_threads(&thread, pid);

	t->pid = pid;
	while (!r && procfs_next(&thread))
		r = tasks_take(t, thread.number);
	procfs_end(&thread);
	/* Not the threads' end: the next look has everything. */
	if (r && r != -ENOENT && r != -ESRCH)
		t->error = r;
	return r;
}

/* The number belonged to another thread before. */
static bool tasks_is_another(const struct task *old, const struct task *now)
{
	return old->pid != now->pid || now->last.cpu_ns < old->last.cpu_ns ||
	       now->last.runq_ns < old->last.runq_ns;
}

static void tasks_keep(struct task *now, const struct task *old)
{
	now->base = old->base;
	now->looks += old->looks;
	now->locked += old->locked;
	if (!now->name[0])
		memcpy(now->name, old->name, sizeof(now->name));
}

static void tasks_drop(struct tasks *t, const struct task *one)
{
	const struct procfs_times did = task_did(one);

	sums_add(&t->sum, &did, sizeof(did));
	t->n_gone++;
	if (t->gone)
		t->gone(t->arg, one);
}

/* Both lists are in the order of numbers. */
static void tasks_merge(struct tasks *t, struct task *now, size_t n)
{
	const struct task *old = t->task;
	size_t i = 0;

	for (size_t k = 0; k < t->n_old; k++) {
		while (i < n && now[i].tid < old[k].tid)
			i++;
		if (i < n && now[i].tid == old[k].tid && !tasks_is_another(&old[k], &now[i]))
			tasks_keep(&now[i], &old[k]);
		else
			tasks_drop(t, &old[k]);
	}
}

void tasks_end(struct tasks *t)
{
	size_t n = t->n - t->n_old;
	struct task *now = t->task ? t->task + t->n_old : NULL;

	if (!t->error && n)
		qsort(now, n, sizeof(*now), procstat_by_pid);
	if (!t->error) {
		tasks_merge(t, now, n);
		if (n)
			memmove(t->task, now, n * sizeof(*now));
		t->n_old = n;
		t->begun = true;
	}
	t->n = t->n_old;
	t->error = 0;
}

int tasks_look(struct tasks *t, pid_t pid)
{
	int r = tasks_add(t, pid);

	tasks_end(t);
	return r;
}

struct procfs_times tasks_sum(const struct tasks *t)
{
	struct procfs_times sum = t->sum, did;

	for (size_t i = 0; i < t->n; i++) {
		did = task_did(&t->task[i]);
		sums_add(&sum, &did, sizeof(did));
	}
	return sum;
}

void tasks_fini(struct tasks *t)
{
	free(t->task);
	*t = (struct tasks) { 0 };
}
