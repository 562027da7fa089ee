/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/proc/processes.h"

#include "base/vec.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <stdlib.h>

#define DEPTH_MAX 64 /* of a process below another */

static int take_process(void *arg, pid_t pid)
{
	struct process_table *p = arg;
	struct processes_entry *e;
	struct procstat st;

	if (procstat_read(&st, pid))
		return 0;
	e = VEC_ADD(p->entry, p->n);
	if (!e)
		return -ENOMEM;
	e->pid = pid;
	e->st = st;
	e->has_io = !st.is_kernel && !procfs_storage(&e->io_b, pid);
	return 0;
}

int processes_read(struct process_table *out)
{
	int r;

	*out = (struct process_table) { 0 };
	r = procfs_each(take_process, out);
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
