/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_LAUNCH_H
#define RANKS_LAUNCH_H

/*
 * Being one of several processes that mpirun has started.
 *
 * The process that was started does nothing but MPI; what follows launch_start() runs in a child of
 * it, in a process group of its own. Launchers kill all processes of a job, and not gently, as soon
 * as one of them dies: MPICH's at once with SIGKILL, Open MPI's with SIGTERM and SIGKILL a second
 * later. So a child may die without ending the job; and if the job is killed the children get one
 * signal as from ^C, and rank 0 saves what it has and removes its files.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch {
	unsigned int rank, size;
	int fd;       /* to the process that was started */
	pid_t parent; /* which is this one */
};

/*
 * Returns in the child only, where it fails only in rank 0. 0, or -EINVAL and a text: not started
 * by mpirun, or no plugin. Rank 0 is told by cmd_stop when the process that was started has died.
 */
int launch_start(struct launch *out, struct err *e);

/* Whether that process has died. */
bool launch_orphaned(const struct launch *l);

/* Rank 0's bytes, at most LAUNCH_SHARED_MAX, to all others: once. 0 or a negative errno. */
#define LAUNCH_SHARED_MAX 1024
int launch_share(struct launch *l, void *data, size_t len, struct err *e);

/* Whether this process is to print what concerns all: it is rank 0, or was not started by mpirun.
 */
bool launch_speaks(void);

#endif
