/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bricks of GlusterFS. */
#include "doctor/figures/kinds.h"

#include "doctor/figures/handed.h"
#include "doctor/rules/rules.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S  1e9
#define IO_THREAD "glfs_iotwr" /* with its number */

/*
 * Of several bricks it is not known which one's threads waited: those of the busiest were busy for
 * as much as all are on average, or more; at most all that was done was done by the brick with the
 * fewest.
 */
static void of_busiest(const struct handed *h, double busy, double io, double fewest,
		       unsigned int bricks)
{
	const enum run_figure which = RUN_FIGURE_IO_THREADS_BUSY;
	double mean = busy / (h->ns * io), most = fmin(busy / (h->ns * fewest), 1);

	run_figure_set(h->out, which, mean >= IO_THREADS_MANY ? mean : most);
	h->out->at_least[which] = mean >= IO_THREADS_MANY;
	if (mean >= IO_THREADS_MANY || most < IO_THREADS_MANY)
		return;
	h->out->known[which] = false;
	run_figure_who(h->out, which,
		       "which of the %u bricks had how much of the work is not known", bricks);
}

/* What no thread did anything for. */
static void doctor_gluster_look_threads(const struct handed *h)
{
	double io = 0, busy = h->did[ACCOUNT_DISK] + h->did[ACCOUNT_LOCK], work = 0, fewest = 0;
	unsigned int bricks = 0;

	for (size_t i = 0; i < h->run->n_threads; i++) {
		const struct run_threads *t = &h->run->threads[i];

		if (strncmp(t->name, IO_THREAD, strlen(IO_THREAD)) != 0)
			continue;
		io += t->n;
		busy += (double)(t->cpu_ns + t->runq_ns);
		fewest = t->fewest;
		bricks = t->processes;
	}
	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		work += i == ACCOUNT_OTHER ? 0 : h->did[i];
	handed_share(h, RUN_FIGURE_WAIT_THREAD, fmax(h->all_ns - work, 0));
	/* Which of several bricks clients asked meanwhile is not known. */
	handed_stopped(h, bricks > 1 ? h->did[ACCOUNT_STOPPED] : 0);
	if (io < 1) {
		run_figure_who(h->out, RUN_FIGURE_IO_THREADS_BUSY, "no io-thread was seen");
		return;
	}
	run_figure_set(h->out, RUN_FIGURE_IO_THREADS, io);
	if (bricks > 1)
		of_busiest(h, busy, io, fewest, bricks);
	else
		run_figure_share(h->out, RUN_FIGURE_IO_THREADS_BUSY, busy, h->ns * io);
}

static void doctor_gluster_look_heal(const struct handed *h)
{
	struct afs_part shd = ledger_part_sum(h->l, AFS_ROLE_BACKEND, LEDGER_ALL, LEDGER_ALL,
					      LEDGER_ALL);

	if (shd.calls)
		run_figure_share(h->out, RUN_FIGURE_HEAL_CPU, (double)shd.cpu_ns, h->ns);
}

static void look_end(const struct handed *h)
{
	uint64_t ended_ns = h->run->server_end.ended_ns;

	run_figure_set(h->out, RUN_FIGURE_SERVER_ENDED, ended_ns != 0);
	if (ended_ns)
		run_figure_who(h->out, RUN_FIGURE_SERVER_ENDED, "after %.1f s of the watch",
			       h->ns / NS_PER_S);
}

int doctor_gluster(struct run_figures *out, const struct run *r, const struct view *v, double ns)
{
	struct handed h;
	int e;

	if (!v->all.has_requests)
		return 0;
	e = handed_init(&h, out, r, v, ns);
	if (e)
		return e;
	handed_requests(&h);
	doctor_gluster_look_threads(&h);
	doctor_gluster_look_heal(&h);
	look_end(&h);
	handed_cpu(&h);
	handed_disk(&h);
	handed_refused(&h, ENOSPC, RUN_FIGURE_DISK_FULL, RUN_FIGURE_DISK_FULL_SHARE);
	handed_refused(&h, EROFS, RUN_FIGURE_LOCKED, RUN_FIGURE_LOCKED_SHARE);
	handed_share(&h, RUN_FIGURE_NET, h.did[ACCOUNT_NET]);
	handed_fini(&h);
	return 0;
}
