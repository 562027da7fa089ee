/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MPI_PLUGIN_H
#define MPI_PLUGIN_H

/*
 * What the program needs of MPI, from a shared object that is loaded only where --mpi asks for it.
 * There is one for each MPI library, built from the same source. One thread of a process calls it,
 * and no function waits but start() and end(): what is begun goes on while its test is called
 * again and again. All that return int return 0, or -EIO where MPI failed, unless they say more.
 */

#include <stddef.h>
#include <stdint.h>

#define MPI_PLUGIN_VERSION 2
#define MPI_PLUGIN_SYMBOL  "afpscope_mpi"

/*
 * Each lane has one operation at a time, the same one in all processes; what is under way on one
 * lane does not hold up the other.
 */
enum mpi_lane { MPI_LANE_STEPS, MPI_LANE_WORDS, MPI_N_LANES };

struct mpi_plugin {
	int version; /* MPI_PLUGIN_VERSION */
	int (*start)(int *rank, int *size);
	/* Begins to bring rank 0's bytes to all others. They stay where they are until it is over.
	 */
	int (*broadcast)(enum mpi_lane lane, void *data, size_t len);
	/*
	 * Begins to bring each rank's bytes to rank 0, into all, one after the other: len[r] of
	 * rank r. Elsewhere all and len are NULL.
	 */
	int (*gather)(enum mpi_lane lane, const void *data, size_t own, void *all,
		      const size_t *len);
	/* 1: what was begun there is over; 0: not yet. */
	int (*test)(enum mpi_lane lane);
	/*
	 * Round trips. Rank 0 asks a rank, whose answer must be there before it is asked again:
	 * answered(): 1 and the times (CLOCK_MONOTONIC: sent and back here, came and left there);
	 * 0: not yet. last: no more; it has no answer. Others call answer(), until it returns 1:
	 * that was the last question; 0: not yet.
	 */
	int (*ask)(int rank, int last);
	int (*answered)(int rank, uint64_t trip[4]);
	int (*answer)(void);
	/* Nothing is under way: the process does not use MPI any more. */
	void (*end)(void);
};

#endif
