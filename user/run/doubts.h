/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_DOUBTS_H
#define RUN_DOUBTS_H

/*
 * What went wrong in a load, so that its figures are not those of the load that was asked for:
 * actions that have no latency, clients that were not served, a generator that was the limit. Where
 * there is any of them, a limit of the load (--slo) is not simply kept.
 */

#include "run/load.h"

enum run_doubt {
	RUN_DOUBT_DROPPED,
	RUN_DOUBT_FAILED,
	RUN_DOUBT_MISSING, /* clients without a session */
	RUN_DOUBT_LOST,
	RUN_DOUBT_STARVED,
	RUN_DOUBT_SATURATED, /* the generator had no time left */
	RUN_DOUBT_PAUSED,    /* it did not run for a while */
	N_RUN_DOUBTS
};

#define RUN_DOUBT_LEN 120

/* A word for programs: "dropped". */
const char *run_doubt_name(enum run_doubt which);

/* true: the load has it; text says how much of it, without a full stop. Else it is "". */
bool run_load_doubt(const struct run_load *l, enum run_doubt which, char text[RUN_DOUBT_LEN]);

#endif
