/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_MACHINE_MACHINE_H
#define DOCTOR_MACHINE_MACHINE_H

/* Figures of the machine (run/figures_machine.h), from two looks at it. */

#include "host/fanotify.h"
#include "host/filesystem.h"
#include "host/machine.h"
#include "run/figures.h"

struct doctor_machine {
	const struct machine *before, *after;
	/* Processes of the server, in ascending order. Their descendants are as well. */
	const pid_t *own;
	size_t n_own;
	uint64_t
	    server_cpu_ns; /* CPU time that the server used meanwhile, as far as it was counted */
	const struct filesystem *volume;
	size_t n_volumes; /* 0: they are not known */
};

/*
 * Sets what is known; of the rest of the figures, who says why not where that is known. 0 or
 * -ENOMEM.
 */
int doctor_machine(struct run_figures *out, const struct doctor_machine *m);

/*
 * Which volumes clients use: of the others neither the disk nor the file system is what clients
 * wait for. busy_ns is how long the server worked in each. Those on one file system count together:
 * not used is one that has less than a fifth of the busiest. All, if it worked in none.
 */
void doctor_used(bool *used, const struct filesystem *volume, const uint64_t *busy_ns, size_t n);

/* On how many file systems all volumes lie: requests are refused on any of them. */
void doctor_apart(struct run_figures *out, const struct filesystem *volume, size_t n);

/* How full the volumes are that clients use. */
void doctor_room_used(struct run_figures *out, const struct filesystem *volume, size_t n);
/* The same of the one that is nearest to full; where requests were refused, all volumes. */
void doctor_room(struct run_figures *out, const struct filesystem *volume, size_t n);

/* Whether one of all volumes is read-only: requests that are refused take no time there. */
void doctor_read_only(struct run_figures *out, const struct filesystem *volume, size_t n);

/* How many of all volumes are not there. */
void doctor_missing(struct run_figures *out, const struct filesystem *volume, size_t n);

/*
 * What the volumes that clients used lie on, and who is asked before their files may be used:
 * scanner as fanotify_find() returned it for them, with error.
 */
void doctor_volumes(struct run_figures *out, const struct filesystem *volume, size_t n,
		    const struct fanotify_watcher *scanner, int error);

#endif
