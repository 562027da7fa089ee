/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_GLUSTER_H
#define RUN_FIGURES_GLUSTER_H

/*
 * Figures of bricks of GlusterFS, as in run/figures.h. Which thread works for which request is not
 * known: shares of request time are what all threads of the bricks did in the watched time, at
 * most. An io-thread (glfs_iotwr) carries out what a request asks for.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_GLUSTER(X)                                                                     \
	X(IO_THREADS, "io_threads", "1", "io-threads of the bricks")                               \
	X(IO_THREADS_BUSY, "io_threads_busy", "share",                                             \
	  "of their time, on a CPU, waiting for one, or for files and disks")                      \
	X(HEAL_ENTRIES, "heal_entries", "1",                                                       \
	  "entries that the bricks' indices say are to be healed, at most 10,000; who: where")     \
	X(BRICKS_HELD, "bricks_held", "1",                                                         \
	  "bricks that were stopped by a signal or a debugger at the end; who: one")               \
	X(BRICKS_HELD_SHARE, "bricks_held_share", "share", "of all bricks, these")                 \
	X(HEAL_CPU, "heal_cpu", "share", "watched time in which glustershd was on a CPU")

#endif
