/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_FIGURES_KINDS_H
#define RUN_FIGURES_KINDS_H

/* Figures of some kinds of servers, as in run/figures.h. */

/*
 * Figures of bricks of GlusterFS. Which thread works for which request is not
 * known: shares of request time are what all threads of the bricks did in the watched time, at
 * most. An io-thread (glfs_iotwr) carries out what a request asks for.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_GLUSTER(X)                                                                     \
	X(IO_THREADS, "io_threads", "1", "io-threads of the bricks")                               \
	X(IO_THREADS_BUSY, "io_threads_busy", "share",                                             \
	  "of their time, on a CPU, waiting for one, or for files and disks; of several "          \
	  "bricks of the busiest, as far as is known")                                             \
	X(HEAL_ENTRIES, "heal_entries", "1",                                                       \
	  "entries that the bricks' indices say are to be healed, at most 10,000; who: where")     \
	X(BRICKS_HELD, "bricks_held", "1",                                                         \
	  "bricks that were paused by a signal or a debugger at the end; who: one")                \
	X(BRICKS_HELD_SHARE, "bricks_held_share", "share", "of all bricks, these")                 \
	X(HEAL_CPU, "heal_cpu", "share", "watched time in which glustershd was on a CPU")

/*
 * Figures of an SMB server. Of a request that waited for a thread of the pool,
 * or for another client, only its whole time is known: shares of request time are what the
 * sessions' threads did in the watched time, at most. The time of requests is without that of
 * clients that asked to be told of changes, and without waits for other clients' locks.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_SMB(X)                                                                         \
	X(SCAN, "scan", "share",                                                                   \
	  "own time: reading folders to look a name up; who: in which requests most of it was")    \
	X(SCAN_MEAN, "scan_mean", "ns", "mean of that, for each request that may look a name up")  \
	X(CASE_FOLDED, "case_folded", "1",                                                         \
	  "shares that look names up whatever their case, by the settings; who: of how many")      \
	X(CREATE, "create", "share", "own time: CREATE, and compounds that begin with it")         \
	X(CREATE_CALLS, "create_calls", "1",                                                       \
	  "system calls for each CREATE that is in no compound")                                   \
	X(ACL_MODULE, "acl_module", "1",                                                           \
	  "shares that store Windows ACLs beside the files, by the settings; who: of how many")    \
	X(BREAKS, "breaks", "1", "CREATE requests whose clients were told to wait")                \
	X(BREAK_WAIT, "break_wait", "share", "request time: these")                                \
	X(BREAK_MEAN, "break_mean", "ns", "mean time of such a request")                           \
	X(LOCK_WAITS, "lock_waits", "1", "LOCK requests that waited for another client's lock")    \
	X(TDB, "tdb", "share",                                                                     \
	  "request time: sessions asleep for a lock of a file, or for one that they share; who: "  \
	  "in which requests most of it was")                                                      \
	X(ASKED_OTHERS, "asked_others", "share",                                                   \
	  "request time: asleep at sockets of other programs; who: in which requests most of it "  \
	  "was")                                                                                   \
	X(NOTIFYD, "notifyd", "share",                                                             \
	  "watched time in which {helper} was on a CPU or waited for one")                         \
	X(NOTIFYD_CPU, "notifyd_cpu", "share", "watched time in which {helper} was on a CPU")

/*
 * Figures of an NFS server, whose threads each do a request: shares of request time are what all of
 * them did in the watched time, at most.
 */

/* X(NAME, key, unit, meaning) */
#define RUN_FIGURES_NFS(X)                                                                         \
	X(WORKERS, "workers", "1",                                                                 \
	  "requests that the server works on at a time, at most, by its settings")                 \
	X(WORKERS_BUSY, "workers_busy", "share",                                                   \
	  "requests in the server at a time, on average, of these")

#endif
