/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a process is, and what those used that have ended. */
#include "doctor/machine/machine_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define DEPTH_MAX 64 /* of a process below another */

const struct processes_entry *machine_then(const struct machine_between *b,
					   const struct processes_entry *p)
{
	const struct processes_entry *then = processes_find(&b->before->processes, p->pid);

	return then && then->st.started == p->st.started ? then : NULL;
}

enum machine_whose machine_whose(const struct machine_between *b, const struct processes_entry *p)
{
	const struct process_table *all = &b->after->processes;
	const pid_t self = getpid();

	if (processes_descends(all, p->pid, b->m->own, b->m->n_own))
		return MACHINE_SERVER;
	if (processes_descends(all, p->pid, &self, 1))
		return MACHINE_SELF;
	return p->st.is_kernel ? MACHINE_KERNEL : MACHINE_OTHER;
}

const struct processes_entry *machine_left_to(const struct machine_between *b,
					      const struct processes_entry *then)
{
	const struct processes_entry *now = processes_find(&b->after->processes, then->pid);

	if (now && now->st.started == then->st.started)
		return NULL;
	for (unsigned int depth = 0; then && depth < DEPTH_MAX; depth++) {
		then = processes_find(&b->before->processes, then->st.ppid);
		now = then ? processes_find(&b->after->processes, then->pid) : NULL;
		if (now && now->st.started == then->st.started)
			return now;
	}
	return NULL;
}

int machine_ended(double **out, const struct machine_between *b)
{
	const struct process_table *before = &b->before->processes, *after = &b->after->processes;
	double *ticks = calloc(after->n + 1, sizeof(*ticks));

	*out = ticks;
	if (!ticks)
		return -ENOMEM;
	for (size_t i = 0; i < after->n; i++) {
		const struct processes_entry *then = machine_then(b, &after->entry[i]);

		ticks[i] = (double)after->entry[i].st.child_ticks -
			   (then ? (double)then->st.child_ticks : 0);
	}
	/* They come with their whole lives. */
	for (size_t i = 0; i < before->n; i++) {
		const struct processes_entry *p = &before->entry[i];
		const struct processes_entry *parent = machine_left_to(b, p);

		if (parent)
			ticks[parent - after->entry] -= (double)(p->st.cpu_ticks +
								 p->st.child_ticks);
	}
	for (size_t i = 0; i < after->n; i++)
		if (ticks[i] < 0 || after->entry[i].pid == 1)
			ticks[i] = 0;
	return 0;
}
