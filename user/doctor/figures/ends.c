/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of the server that ended, and how. */
#include "doctor/figures/measure_priv.h"

#include <math.h>
#include <string.h>

#define NS_PER_S 1e9

static void say_how(struct run_figures *out, enum run_figure which, const struct run_ends *e)
{
	if (e->signal)
		run_figure_who(out, which, "pid %d by signal %d (%s)", e->pid, e->signal,
			       strsignal(e->signal));
	else
		run_figure_who(out, which, "pid %d with exit status %d", e->pid, e->status);
}

/* Of the sessions that there were. */
static void ends_look_sessions(struct measure *m)
{
	const struct run_ends *e = &m->run->ends[AFS_ROLE_SERVER];
	double ended = (double)(e->crashed + e->killed);
	double n = fmax((double)(m->run->n_sessions + m->run->n_rest), fmax(ended, 1));

	if (!e->known)
		return;
	run_figure_set(m->out, RUN_FIGURE_CRASHED, (double)e->crashed);
	run_figure_set(m->out, RUN_FIGURE_CRASHED_SHARE, (double)e->crashed / n);
	run_figure_set(m->out, RUN_FIGURE_KILLED, (double)e->killed);
	run_figure_set(m->out, RUN_FIGURE_KILLED_SHARE, (double)e->killed / n);
	if (e->pid)
		say_how(m->out, e->crashed ? RUN_FIGURE_CRASHED : RUN_FIGURE_KILLED, e);
}

/* Its main process; the watch ends with it. */
static void look_server(struct measure *m)
{
	uint64_t ended_ns = m->run->server_end.ended_ns;
	pid_t next = m->run->server_end.restarted_pid;

	run_figure_set(m->out, RUN_FIGURE_SERVER_ENDED, ended_ns != 0);
	run_figure_set(m->out, RUN_FIGURE_SERVER_RESTARTED, next != 0);
	if (ended_ns)
		run_figure_who(m->out, RUN_FIGURE_SERVER_ENDED, "after %.1f s of the watch",
			       m->ns / NS_PER_S);
	if (next)
		run_figure_who(m->out, RUN_FIGURE_SERVER_RESTARTED,
			       "process %d listens on its port now", next);
}

void measure_ends(struct measure *m)
{
	const struct run_ends *e = &m->run->ends[AFS_ROLE_BACKEND];
	double n;

	look_server(m);
	ends_look_sessions(m);
	if (!e->known)
		return;
	n = (double)(e->failed + e->crashed + e->killed);
	run_figure_set(m->out, RUN_FIGURE_CNID_ENDED, n);
	if (n > 0)
		say_how(m->out, RUN_FIGURE_CNID_ENDED, e);
}
