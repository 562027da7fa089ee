/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/proc/processes.h"

#include "base/vec.h"
#include "host/proc/procfs.h"

#include <stdlib.h>

#define DEPTH_MAX 64 /* of a process below another */

int processes_read(struct process_table *out)
{
	struct procfs_numbers process;
	int r = procfs_processes(&process);

	*out = (struct process_table) { 0 };
	while (!r && procfs_next(&process)) {
		struct processes_entry e = { .pid = process.number };

		if (procstat_read(&e.st, e.pid))
			continue;
		e.has_io = !e.st.is_kernel && !procfs_storage(&e.io_b, e.pid);
		r = VEC_PUSH(out->entry, out->n, e);
	}
	procfs_end(&process);
	if (out->n)
		qsort(out->entry, out->n, sizeof(*out->entry), procstat_by_pid);
	return r;
}

void processes_fini(struct process_table *p)
{
	free(p->entry);
	*p = (struct process_table) { 0 };
}

const struct processes_entry *processes_find(const struct process_table *p, pid_t pid)
{
	const struct processes_entry key = { .pid = pid };

	return p->n ? bsearch(&key, p->entry, p->n, sizeof(key), procstat_by_pid) : NULL;
}

bool processes_descends(const struct process_table *p, pid_t pid, const pid_t *from, size_t n)
{
	const struct processes_entry *e = processes_find(p, pid);

	for (unsigned int depth = 0; e && depth < DEPTH_MAX; depth++) {
		if (n && bsearch(&e->pid, from, n, sizeof(*from), procstat_by_pid))
			return true;
		e = e->st.ppid ? processes_find(p, e->st.ppid) : NULL;
	}
	return false;
}
