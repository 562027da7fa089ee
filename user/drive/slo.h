/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_SLO_H
#define DRIVE_SLO_H

/*
 * --slo: a limit for how long the clients or the probe may wait, and whether a load kept it:
 * "p99=50ms" of all actions, "save.p99=2s" of one kind, "probe.max=1s" of the probe's.
 */

#include "base/err.h"
#include "run/load.h"

#define SLO_MAX 8

struct slo {
	char scope[24]; /* name of an action, "probe", or "": all actions */
	double q;       /* 0 < q < 1; 1: the longest; 0: the mean */
	uint64_t limit_ns;
	const char *text; /* as given, borrowed */
};

struct slos {
	unsigned int n;
	struct slo slo[SLO_MAX];
};

/* "50ms" (ns, us, ms, s) as ns, more than 0; false: it is none. */
bool slo_time(const char *text, uint64_t *ns);

/* An option's value; to: struct slos. OPT_CALL. */
int slo_take(void *to, const char *arg, struct err *e);

/* Judges each, into load. probe may be NULL. true: all that could be judged were kept. */
bool slo_judge(const struct slos *s, struct run_load *load, const struct run_load *probe);

#endif
