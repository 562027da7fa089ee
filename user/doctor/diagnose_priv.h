/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_DIAGNOSE_PRIV_H
#define DOCTOR_DIAGNOSE_PRIV_H

/* What a diagnosis of others' clients and one of our own share. */

#include "doctor/diagnose.h"

/* The watched processes, in ascending order. */
struct diagnose_own {
	pid_t *pid; /* owned */
	size_t n;
};

/* 0 or -ENOMEM; to be freed also then. */
int diagnose_own(struct diagnose_own *out, const struct watch *w);

/* Gives a run figures of which none is known. 0 or -ENOMEM. */
int diagnose_new_figures(struct run *r);

/* Takes back what is not known after all, and why. */
void diagnose_hide(struct run_figures *f, const enum run_figure *which, size_t n, const char *why);

/* What was watched may be a relay in front of the server. */
void diagnose_look_passed_on(const struct watch *w, struct run *r);

/*
 * A debugger, strace: what it stops does nothing meanwhile. It may be there and not be what has
 * stopped the server, or have left. before_ns: watch_traced_ns() when the watched time began.
 */
void diagnose_look_tracers(struct watch *w, uint64_t before_ns, struct run *r);

/*
 * What the machine did between two looks; volume: those of the server, n, if they are known. 0 or
 * -ENOMEM.
 */
int diagnose_machine(const struct machine *before, const struct machine *after,
		     const struct diagnose_own *own, const struct filesystem *volume, size_t n,
		     struct run *r);

#endif
