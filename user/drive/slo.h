/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_SLO_H
#define DRIVE_SLO_H

/*
 * --slo: limits of a load, and the one judge of whether it kept them: how long the clients or the
 * probe waited ("p99<=50ms" of all actions, "save.p99<=2s" of one kind, "probe.max<=1s" of the
 * probe's), how many actions a second were done ("rate>=500"), how many failed or were dropped
 * ("failed<=0.1%", "dropped<=0").
 *
 * Broken: the figure is beyond the limit, however good all was that is not known; or, of a latency,
 * clients had no session, lost it, or completed nothing. Actions that failed or were dropped count
 * as longer than any limit, unless a limit of failed or dropped says how many of them may be. Kept:
 * the figure is within the limit, however bad all was that is not known, and nothing went wrong
 * that no limit allows (run/doubts.h). Else it cannot be told.
 */

#include "base/err.h"
#include "run/load.h"

#define SLO_MAX RUN_SLO_MAX

enum slo_figure { SLO_LATENCY, SLO_RATE, SLO_FAILED, SLO_DROPPED };

struct slo {
	char scope[24]; /* name of an action, "probe", or "": all actions */
	enum slo_figure figure;
	enum run_slo_unit unit;
	double q;     /* of a latency: 0 < q < 1; 1: the longest; 0: the mean */
	double limit; /* ns, actions a second, a share of 1, a number of actions */
	char text[48];
};

struct slos {
	unsigned int n;
	struct slo slo[SLO_MAX];
	/* The delays of the load (late_n, late_max_ns) are bounds: clients carried them on. */
	bool carried;
};

/* "50ms" (ns, us, ms, s) as ns, more than 0; false: it is none. */
bool slo_time(const char *text, uint64_t *ns);

/* An option's value, limits with commas between them; to: struct slos. OPT_CALL. */
int slo_take(void *to, const char *arg, struct err *e);

/* Whether one of them is of this figure, of all actions or of the probe's (scope "probe"). */
bool slo_has(const struct slos *s, enum slo_figure figure, const char *scope);

/*
 * Judges each, into load. probe may be NULL. stopped: the load was to go on for longer. Returns the
 * worst: broken, else not to be told, else kept.
 */
enum run_slo_verdict slo_judge(const struct slos *s, struct run_load *load,
			       const struct run_load *probe, bool stopped);

#endif
