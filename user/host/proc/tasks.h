/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROC_TASKS_H
#define HOST_PROC_TASKS_H

/*
 * CPU time and run queue of threads that come and go, from looks at /proc/PID/task. A thread that
 * is gone keeps the values of its last look in a sum, so that no sum goes backwards, and memory is
 * needed for living threads only. What a thread did after its last look is missing.
 */

#include "host/proc/procfs.h"

struct task {
	pid_t tid, pid;
	struct procfs_times base; /* of its first look, or 0 if it has begun since */
	struct procfs_times last;
	/* The owner's, set in look(): */
	char name[32];              /* stays if a later look finds none */
	unsigned int looks, locked; /* add up */
};

/* All 0, but what the owner sets: nothing was looked at yet. */
struct tasks {
	bool switches;                                   /* count these as well */
	void (*look)(void *arg, struct task *one);       /* during each look; NULL */
	void (*gone)(void *arg, const struct task *one); /* once, after its last look; NULL */
	void *arg;
	bool begun; /* what a thread did before it was seen counts: set by the first look */
	/* The rest is read only. */
	size_t n;
	struct task *task; /* by number */
	size_t n_gone;
	struct procfs_times sum; /* of those */
	pid_t pid;
	size_t n_old; /* of the look before, during a look */
	int error;    /* of this look, which then changes nothing */
};

/* Adds the threads of one process to this look. 0 or a negative errno. */
int tasks_add(struct tasks *t, pid_t pid);

/* Ends the look: threads that no process has any more are gone. */
void tasks_end(struct tasks *t);

/* A look at one process alone. 0 or a negative errno: nothing has changed. */
int tasks_look(struct tasks *t, pid_t pid);

/* What all did since the first look. */
struct procfs_times tasks_sum(const struct tasks *t);

void tasks_fini(struct tasks *t);

/* What it did since. */
struct procfs_times task_did(const struct task *one);

#endif
