/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_HANDED_H
#define DOCTOR_HANDED_H

/*
 * Servers that hand a request from thread to thread (GlusterFS, Rx, at times SMB and NFS): its time
 * is known, and not what went into it. What all threads of the server did stands for that, as a
 * share of the time of all requests, or of what they did if that is more. Only of a ledger that has
 * requests.
 */

#include "report/view.h"
#include "run/figures.h"
#include "run/requests.h"

struct handed {
	struct run_figures *out;
	const struct run *run;
	const struct ledger *l;
	struct requests requests;      /* owned */
	double ns;                     /* watched */
	double all_ns;                 /* of requests, with pending_ns */
	double pending;                /* requests without an answer */
	double pending_ns;             /* theirs, as far as threads did something for it */
	double did[ACCOUNT_N_COLUMNS]; /* by all threads; what they waited for */
	double whole_ns;               /* what shares are of */
};

/* 0 or -ENOMEM (then nothing is to be freed). */
int handed_init(struct handed *out, struct run_figures *figures, const struct run *r,
		const struct view *v, double ns);
void handed_fini(struct handed *h);

/*
 * Sets STOPPED_FOR, STOPPED, STOPPED_WAIT and STOPPED_IDLE, of the time of all threads: whatever
 * they serve, nothing goes on. idle_ns: of the stops, those in which nobody need have waited.
 * Of a server that is traced (TRACED) the latter is of what threads did: those that wait are not
 * stopped.
 */
void handed_stopped(const struct handed *h, double idle_ns);
/* Sets the waits for files and disks, and what was read. */
void handed_disk(const struct handed *h);
/* Sets CPU, WAIT_CPU and ON_CPU. */
void handed_cpu(const struct handed *h);
/* Sets a number of requests, those with this result, and of the requests of their kinds its share.
 */
void handed_refused(const struct handed *h, int32_t code, enum run_figure number,
		    enum run_figure of_them);
/* Sets how many requests there were, how long they took, and which one took longest. */
void handed_requests(const struct handed *h);
/* A share of whole_ns. */
void handed_share(const struct handed *h, enum run_figure which, double ns);

#endif
