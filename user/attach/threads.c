/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/threads.h"

#include "host/proc/tasks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define MANY         200 /* threads: a look takes some 5 ms */
#define SELDOM       10  /* ticks */
#define MISSED_LEAST 50  /* less than this part of all time is not worth a row */

#define GROUPS_MAX   256 /* a program may give its threads any names */

struct threads {
	const struct watch *watch;
	uint32_t role_at; /* see watch_thread_role */
	unsigned int ticks;
	struct tasks tasks;
	/* Of those that are gone; the last one, without a name, is of names beyond those. */
	size_t n;
	struct run_threads group[GROUPS_MAX + 1];
};

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

/* Adds a thread to the group of its name. */
static void add_thread(struct run_threads *list, size_t *n, const struct task *one)
{
	struct procfs_times did = task_did(one);
	char name[sizeof(list->name)];
	struct run_threads *g = list;

	group_of(name, one->name);
	while (g < &list[*n] && g < &list[GROUPS_MAX] && strcmp(g->name, name) != 0)
		g++;
	if (g == &list[GROUPS_MAX])
		snprintf(name, sizeof(name), "%s", "(other names)");
	*n += g == &list[*n];
	memcpy(g->name, name, sizeof(name));
	g->n++;
	g->cpu_ns += did.cpu_ns;
	g->runq_ns += did.runq_ns;
	g->looks += one->looks;
	g->locked += one->locked;
	if (did.cpu_ns + did.runq_ns < g->busiest_ns)
		return;
	g->busiest_ns = did.cpu_ns + did.runq_ns;
	g->busiest_cpu_ns = did.cpu_ns;
}

static void take_gone(void *arg, const struct task *one)
{
	struct threads *t = arg;

	add_thread(t->group, &t->n, one);
}

/* Who receives the clients' datagrams: by what it does, else by the name that Rx gives it. */
static bool receives(const struct task *one)
{
	return !strcmp(one->name, "listener") || !strncmp(one->name, "rx_Listener", 11);
}

static void threads_look_at(void *arg, struct task *one)
{
	struct threads *t = arg;
	struct procfs_call call;
	/* A name is often given after the thread has begun. */
	const char *role = watch_thread_role(t->watch, one->tid, &t->role_at);

	if (role)
		snprintf(one->name, sizeof(one->name), "%s", role);
	else
		procfs_thread_name(one->name, sizeof(one->name), one->pid, one->tid);
	if (!receives(one) || procfs_thread_call(&call, one->pid, one->tid))
		return;
	one->looks = 1;
	one->locked = call.nr == SYS_futex;
}

struct threads *threads_new(void)
{
	struct threads *t = calloc(1, sizeof(*t));

	if (t)
		t->tasks = (struct tasks) { .look = threads_look_at, .gone = take_gone, .arg = t };
	return t;
}

void threads_free(struct threads *t)
{
	if (t)
		tasks_fini(&t->tasks);
	free(t);
}

void threads_look(struct threads *t, const struct watch *w)
{
	pid_t pid;

	t->watch = w;
	for (size_t at = 0; (pid = watch_process(w, AFS_ROLE_SERVER, &at));)
		tasks_add(&t->tasks, pid);
	tasks_end(&t->tasks);
}

void threads_tick(struct threads *t, const struct watch *w)
{
	if (t->tasks.n < MANY || ++t->ticks % SELDOM == 0)
		threads_look(t, w);
}

static int threads_by_process(const void *a, const void *b)
{
	const struct task *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* One more process that has so many threads of a name. */
static void add_process(struct run_threads *g, unsigned int n)
{
	if (!n)
		return;
	g->processes++;
	if (g->processes == 1 || n < g->fewest)
		g->fewest = n;
}

/* How many processes have threads of each name, and how many the one with the fewest. */
static int count_processes(struct run_threads *list, size_t n, const struct tasks *all)
{
	struct task *one = calloc(all->n + 1, sizeof(*one));

	if (!one)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++) {
		one[i].pid = all->task[i].pid;
		group_of(one[i].name, all->task[i].name);
	}
	qsort(one, all->n, sizeof(*one), threads_by_process);
	for (size_t g = 0; g < n; g++) {
		unsigned int here = 0;

		for (size_t i = 0; i < all->n; i++) {
			if (i && one[i].pid != one[i - 1].pid) {
				add_process(&list[g], here);
				here = 0;
			}
			here += !strcmp(one[i].name, list[g].name);
		}
		add_process(&list[g], here);
	}
	free(one);
	return 0;
}

static int threads_most_first(const void *a, const void *b)
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

int threads_note(const struct threads *t, const struct ledger *counted, struct run *r)
{
	struct run_threads *list = calloc(GROUPS_MAX + 2, sizeof(*list));
	size_t n = t->n;

	if (!list)
		return -ENOMEM;
	memcpy(list, t->group, n * sizeof(*list));
	for (size_t i = 0; i < t->tasks.n; i++)
		add_thread(list, &n, &t->tasks.task[i]);
	if (count_processes(list, n, &t->tasks)) {
		free(list);
		return -ENOMEM;
	}
	list[n] = missed(counted, list, n);
	n += list[n].cpu_ns > 0;
	qsort(list, n, sizeof(*list), threads_most_first);
	free(r->threads);
	r->threads = list;
	r->n_threads = n;
	return 0;
}
