/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a process is. */
#include "doctor/machine_priv.h"

#include <unistd.h>

const struct processes_entry *machine_then(const struct machine_between *b,
					   const struct processes_entry *p)
{
	const struct processes_entry *then = processes_find(&b->before->processes, p->pid);

	return then && then->started == p->started ? then : NULL;
}

enum machine_whose machine_whose(const struct machine_between *b, const struct processes_entry *p)
{
	const struct process_table *all = &b->after->processes;
	const pid_t self = getpid();

	if (processes_descends(all, p->pid, b->m->own, b->m->n_own))
		return MACHINE_SERVER;
	if (processes_descends(all, p->pid, &self, 1))
		return MACHINE_SELF;
	return p->is_kernel ? MACHINE_KERNEL : MACHINE_OTHER;
}
