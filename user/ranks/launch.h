/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_LAUNCH_H
#define RANKS_LAUNCH_H

/*
 * Being one of several processes that mpirun has started.
 *
 * The process that was started does nothing but MPI (ranks/courier.h); what follows launch_start()
 * runs in a child of it, in a process group of its own. Launchers kill all processes of a job, and
 * not gently, as soon as one of them dies: MPICH's at once with SIGKILL, Open MPI's with SIGTERM
 * and SIGKILL a second later. So a child may die without ending the job; and if the job is killed,
 * each child still saves what it has done and removes its files.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch {
	unsigned int rank, size;
	int fd;       /* to the process that was started: messages as of ranks/post.h */
	pid_t parent; /* which is this one */
};

/* What that process says first. */
struct launch_told {
	int rank, size;
	struct err e; /* code: 0 or why MPI was not begun */
};

/*
 * Returns in the child only. 0, or -EINVAL and a text: not started by mpirun, no plugin, or fewer
 * clients than processes. The
 * child is told by cmd_stop when the process that was started has died, or MPI has failed:
 * CMD_STOP_ORPHANED; or rank 0 wants the load to end: CMD_STOP_TOLD.
 */
int launch_start(struct launch *out, unsigned int clients, struct err *e);

#endif
