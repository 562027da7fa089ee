/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/threads.h"

#include "host/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define MANY         200 /* threads: a look takes some 5 ms */
#define SELDOM       10  /* ticks */
#define MISSED_LEAST 50  /* less than this part of all time is not worth a row */

struct threads_one {
	pid_t pid, tid;
	char name[32];
	struct procfs_times base, last;
	unsigned int looks, locked; /* of who receives */
};

struct threads {
	bool begun, failed; /* looked once; no memory for more */
	pid_t pid;          /* that is looked at */
	const struct watch *watch;
	uint32_t role_at; /* see watch_thread_role */
	unsigned int ticks;
	size_t n, at; /* at: where the next one is expected, as /proc keeps their order */
	struct threads_one *one;
};

struct threads *threads_new(void)
{
	return calloc(1, sizeof(struct threads));
}

void threads_free(struct threads *t)
{
	if (t)
		free(t->one);
	free(t);
}

static bool is_at(const struct threads *t, size_t i, pid_t tid)
{
	return i < t->n && t->one[i].pid == t->pid && t->one[i].tid == tid;
}

/* New ones are added at the end; NULL without memory. */
static struct threads_one *find(struct threads *t, pid_t tid)
{
	struct threads_one *more;

	if (is_at(t, t->at, tid))
		return &t->one[t->at++];
	for (size_t i = 0; i < t->n; i++) {
		if (is_at(t, i, tid)) {
			t->at = i + 1;
			return &t->one[i];
		}
	}
	more = reallocarray(t->one, t->n + 1, sizeof(*more));
	if (!more)
		return NULL;
	t->one = more;
	t->at = t->n + 1;
	more[t->n] = (struct threads_one) { .pid = t->pid, .tid = tid };
	return &more[t->n++];
}

/* Who receives the clients' datagrams: by what it does, else by the name that Rx gives it. */
static bool receives(const struct threads_one *one)
{
	return !strcmp(one->name, "listener") || !strncmp(one->name, "rx_Listener", 11);
}

static void look_for_lock(struct threads_one *one)
{
	struct procfs_call call;

	if (!receives(one) || procfs_thread_call(&call, one->pid, one->tid))
		return;
	one->looks++;
	one->locked += call.nr == SYS_futex;
}

static int look_at(void *arg, int tid)
{
	struct threads *t = arg;
	struct procfs_times now;
	struct threads_one *one;
	const char *role;

	if (procfs_thread_times(&now, t->pid, tid))
		return 0;
	one = find(t, tid);
	if (!one) {
		t->failed = true;
		return 0;
	}
	/* A name is often given after the thread has begun. */
	role = watch_thread_role(t->watch, tid, &t->role_at);
	if (role)
		snprintf(one->name, sizeof(one->name), "%s", role);
	else
		procfs_thread_name(one->name, sizeof(one->name), t->pid, tid);
	if (!t->begun)
		one->base = now;
	/* The number belonged to another thread before: its time is lost, not mixed. */
	if (now.cpu_ns < one->last.cpu_ns)
		one->base = (struct procfs_times) { 0 };
	one->last = now;
	look_for_lock(one);
	return 0;
}

void threads_look(struct threads *t, const struct watch *w)
{
	t->watch = w;
	for (size_t i = 0; (t->pid = watch_process(w, AFS_ROLE_SERVER, i)); i++)
		procfs_each_thread(t->pid, look_at, t);
	t->begun = true;
}

void threads_tick(struct threads *t, const struct watch *w)
{
	if (t->n < MANY || ++t->ticks % SELDOM == 0)
		threads_look(t, w);
}

/* Whether a number with digits up to f ends the name here, after others of its digits. */
static bool is_rest(const char *name)
{
	return strspn(name, "0123456789abcdef") == strlen(name);
}

/* "glfs_epoll*" of "glfs_epoll001", "glfs_iotwr*" of "glfs_iotwr00a" */
static void group_of(char out[static sizeof(((struct run_threads *)0)->name)], const char *name)
{
	size_t n = 0;

	for (; *name && n < sizeof(((struct run_threads *)0)->name) - 1; name++) {
		bool after = n && out[n - 1] == '*';

		if (!isdigit((unsigned char)*name) && !(after && is_rest(name)))
			out[n++] = *name;
		else if (!after)
			out[n++] = '*';
	}
	out[n] = '\0';
}

static int most_first(const void *a, const void *b)
{
	const struct run_threads *x = a, *y = b;

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* What all threads did, less what the looks have seen of it. */
static struct run_threads missed(const struct ledger *counted, const struct run_threads *list,
				 size_t n)
{
	struct run_threads out = { .name = RUN_THREADS_MISSED };
	struct afs_part all;

	if (!counted->has_requests)
		return out;
	all = ledger_part_sum(counted, AFS_ROLE_SERVER, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL);
	out.cpu_ns = all.cpu_ns;
	out.runq_ns = all.runq_ns;
	for (size_t i = 0; i < n; i++) {
		out.cpu_ns -= list[i].cpu_ns < out.cpu_ns ? list[i].cpu_ns : out.cpu_ns;
		out.runq_ns -= list[i].runq_ns < out.runq_ns ? list[i].runq_ns : out.runq_ns;
	}
	/* The two accounts do not begin and end at the same instant. */
	if (out.cpu_ns < all.cpu_ns / MISSED_LEAST)
		out.cpu_ns = 0;
	return out;
}

static void add_thread(struct run_threads *g, const struct threads_one *one)
{
	uint64_t cpu_ns = one->last.cpu_ns - one->base.cpu_ns;
	uint64_t runq_ns = one->last.runq_ns - one->base.runq_ns;

	g->n++;
	g->cpu_ns += cpu_ns;
	g->runq_ns += runq_ns;
	g->looks += one->looks;
	g->locked += one->locked;
	if (cpu_ns + runq_ns < g->busiest_ns)
		return;
	g->busiest_ns = cpu_ns + runq_ns;
	g->busiest_cpu_ns = cpu_ns;
}

int threads_note(const struct threads *t, const struct ledger *counted, struct run *r)
{
	struct run_threads *list = calloc(t->n + 2, sizeof(*list)), *g;
	char name[sizeof(list->name)];
	size_t n = 0, i;

	if (!list || t->failed) {
		free(list);
		return -ENOMEM;
	}
	for (size_t k = 0; k < t->n; k++) {
		group_of(name, t->one[k].name);
		for (i = 0; i < n && strcmp(list[i].name, name); i++)
			;
		g = &list[i];
		n += i == n;
		memcpy(g->name, name, sizeof(name));
		add_thread(g, &t->one[k]);
	}
	list[n] = missed(counted, list, n);
	n += list[n].cpu_ns > 0;
	qsort(list, n, sizeof(*list), most_first);
	free(r->threads);
	r->threads = list;
	r->n_threads = n;
	return 0;
}
