/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_PROCSTAT_H
#define BASE_PROCSTAT_H

/* What /proc/PID/stat says of a process. Both return 0, or -EPROTO if the text is no whole one. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
	char comm[32];
	char state; /* 'R', 'S', ... */
	pid_t ppid;
	bool is_kernel;   /* a thread of the kernel's own */
	bool is_ending;   /* its first thread ends, or has ended */
	int cpu;          /* where it last ran */
	uint64_t started; /* ticks after boot: identifies the process together with the pid */
	unsigned int n_threads;
	uint64_t minflt, majflt; /* page faults without, and with I/O */
	uint64_t blkio_ticks;    /* waiting for block I/O */
	uint64_t cpu_ticks;      /* of all its threads, on a CPU */
	uint64_t child_ticks;    /* of its ended children that it has waited for, and theirs */
};

/* -ESRCH or -ENOENT: it does not exist (any more). */
int procstat_read(struct procstat *out, pid_t pid);

int procstat_parse(struct procstat *out, const char *text);

/* The order of process numbers, of pid_t or of what begins with one: for qsort() and bsearch(). */
int procstat_by_pid(const void *a, const void *b);

/* Whether it has not ended: a process goes on without its first thread. */
static inline bool procstat_lives(const struct procstat *p)
{
	return p->state != 'X' && (p->state != 'Z' || p->n_threads > 1);
}

#endif
