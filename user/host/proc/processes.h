/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROC_PROCESSES_H
#define HOST_PROC_PROCESSES_H

/*
 * All processes of this host that there are now, kernel threads included, and what they have used.
 * In a container only its own.
 */

#include "base/procstat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct processes_entry {
	pid_t pid;
	struct procstat st;
	bool has_io;   /* false: no right to see */
	uint64_t io_b; /* read from and written to storage */
};

struct process_table {
	size_t n;
	struct processes_entry *entry; /* owned, by pid */
};

/* 0 or a negative errno; processes_fini in both cases. */
int processes_read(struct process_table *out);
void processes_fini(struct process_table *p);

/* NULL: there is none of this number. */
const struct processes_entry *processes_find(const struct process_table *p, pid_t pid);

/*
 * Whether it is one of n processes or descends from one, by the parents that live. from: in
 * ascending order.
 */
bool processes_descends(const struct process_table *p, pid_t pid, const pid_t *from, size_t n);

#endif
