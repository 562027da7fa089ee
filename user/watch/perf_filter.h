/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_PERF_FILTER_H
#define WATCH_PERF_FILTER_H

/*
 * Which returning system calls each perf counter counts, as the kernel's tracepoint filters:
 * PERF_LOCKS on syscalls:sys_enter_fcntl, all others on raw_syscalls:sys_exit.
 */

#include "bpf/events.h"

#include <stdbool.h>
#include <stddef.h>

#define PERF_FILTER_MAX 4096 /* the kernel's limit */

/* The counters of a thread: one for each class, and these. */
enum {
	PERF_SYSCR = AFS_N_CLASSES, /* what the account calls syscr */
	PERF_SYSCW,
	PERF_STARTS, /* threads and processes started, programs executed */
	PERF_LOCKS,  /* lock calls among the fcntl calls */
	PERF_N_COUNTS,
};

struct perf_filter {
	size_t len;
	char text[PERF_FILTER_MAX];
};

/* false: one is longer than the kernel accepts. */
bool perf_filters(struct perf_filter out[PERF_N_COUNTS]);

#endif
