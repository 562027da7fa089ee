/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_COURIER_H
#define RANKS_COURIER_H

/*
 * The process that mpirun has started: brings rank 0's orders to all ranks by MPI, and their
 * answers back. It answers itself for a child that has died, so that MPI never waits for one.
 */

#include "mpi/plugin.h"

#include <sys/types.h>

struct courier_opts {
	const struct mpi_plugin *mpi; /* started; NULL: it could not be */
	int rank, size;
	pid_t child; /* the one that works; fd: the socket to it */
	int fd;
};

/*
 * Until rank 0's child has ended, and with it the run; then until the own child has. SIGINT,
 * SIGTERM and SIGHUP are blocked: the first of them is passed on to the child, a second would end
 * it at once. Returns how the child has ended, as of waitpid(). *failed: MPI has, and is not to be
 * used any more; the child was told.
 */
int courier_run(const struct courier_opts *o, int *failed);

#endif
