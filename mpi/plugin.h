/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MPI_PLUGIN_H
#define MPI_PLUGIN_H

/*
 * What the program needs of MPI, from a shared object that is loaded only where "load --mpi" asks
 * for it. There is one for each MPI library, built from the same source. MPI only tells a process
 * its number and brings it what rank 0 wants all to know; everything later goes over connections
 * of our own (user/ranks), because a launcher kills all processes of its job as soon as one dies.
 */

#define MPI_PLUGIN_VERSION 1
#define MPI_PLUGIN_SYMBOL  "afpscope_mpi"

struct mpi_plugin {
	int version; /* MPI_PLUGIN_VERSION */
	/* Begins; all processes of the job do. 0, or a negative errno. */
	int (*start)(int *rank, int *size);
	/* Rank 0's bytes to all others. 0, or a negative errno. */
	int (*broadcast)(void *data, int len);
	/* The process does not use MPI any more. */
	void (*end)(void);
};

#endif
