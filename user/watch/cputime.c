/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over threads that come and go. */

#include "watch/cputime.h"

#include "host/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void plus(struct procfs_times *to, const struct procfs_times *what)
{
	to->cpu_ns += what->cpu_ns;
	to->runq_ns += what->runq_ns;
	to->slices += what->slices;
}

static struct cputime_thread *find(struct cputime *c, pid_t tid)
{
	struct cputime_thread *more;

	for (size_t i = 0; i < c->n; i++)
		if (c->thread[i].tid == tid)
			return &c->thread[i];
	more = reallocarray(c->thread, c->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	c->thread = more;
	more[c->n] = (struct cputime_thread) { .tid = tid };
	return &more[c->n++];
}

static int read_thread(void *arg, int tid)
{
	struct cputime *c = arg;
	struct cputime_thread *t;
	struct procfs_times now;
	int r = procfs_thread_times(&now, c->pid, tid);

	/* The thread has just ended. */
	if (r == -ENOENT || r == -ESRCH)
		return 0;
	t = r ? NULL : find(c, tid);
	if (!t)
		return r ? r : -ENOMEM;
	/* The number belonged to another thread before. */
	if (now.cpu_ns < t->last.cpu_ns || now.runq_ns < t->last.runq_ns)
		plus(&c->gone, &t->last);
	t->last = now;
	t->reading = c->readings;
	return 0;
}

static int read_all(struct cputime *c)
{
	struct procstat st;
	int r = procstat_read(&st, c->pid);

	if (r || (c->started && st.started != c->started))
		return r ? r : -ESRCH;
	c->started = st.started;
	c->readings++;
	r = procfs_each_thread(c->pid, read_thread, c);
	for (size_t i = 0; i < c->n && !r; i++) {
		if (c->thread[i].reading == c->readings)
			continue;
		plus(&c->gone, &c->thread[i].last);
		c->thread[i--] = c->thread[--c->n];
	}
	return r;
}

int cputime_open(struct cputime *c, pid_t pid)
{
	int r;

	memset(c, 0, sizeof(*c));
	c->pid = pid;
	r = read_all(c);
	if (r)
		cputime_close(c);
	return r;
}

void cputime_close(struct cputime *c)
{
	free(c->thread);
	memset(c, 0, sizeof(*c));
}

struct procfs_times cputime_read(struct cputime *c)
{
	struct procfs_times sum;

	if (c->pid)
		read_all(c);
	sum = c->gone;
	for (size_t i = 0; i < c->n; i++)
		plus(&sum, &c->thread[i].last);
	return sum;
}
