/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_CPUTIME_H
#define WATCH_CPUTIME_H

/*
 * A process's time on CPUs and in their queues, from /proc/PID/task/TID/schedstat. Threads that
 * have ended keep the values of their last reading, so that no total goes backwards.
 */

#include "watch/watch.h"

#include <stdint.h>
#include <sys/types.h>

struct cputime_thread {
	pid_t tid;
	struct procfs_times last;
	uint64_t reading; /* the last one that found it */
};

struct cputime {
	pid_t pid;
	uint64_t started, readings;
	size_t n;
	struct cputime_thread *thread;
	struct procfs_times gone; /* of threads that have ended */
};

/* Counts from what its threads have now. 0 or -errno: then it reads as 0. */
int cputime_open(struct cputime *c, pid_t pid);
void cputime_close(struct cputime *c);

/* The total; for a process that has ended, the last one read. */
struct procfs_times cputime_read(struct cputime *c);

#endif
