/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CMD_RANKS_H
#define CMD_RANKS_H

/*
 * A load whose clients are shared by several processes (load --mpi). Rank 0 is the command: it has
 * the session, the watch, the probe, and makes the report. ranks_* are its part beside what it does
 * with its own clients, and do nothing where ranks is NULL; ranks_other() is the whole of the
 * others. A rank that dies never stops the rest.
 */

#include "cmd/crowd.h"
#include "cmd/load.h"

struct ranks;

/* The share of this process: clients, numbers, threads. Nothing to do without --mpi. */
void ranks_deal(const struct load_cfg *cfg, struct crowd_opts *o);
/* Its share of the queue of arrivals. */
unsigned int ranks_queue(const struct load_cfg *cfg);

/* Finds the others and has them open their sessions. *out stays NULL without --mpi. 0 or a negative
 * errno. */
int ranks_open(struct ranks **out, const struct load_cfg *cfg, struct err *e);

/* Waits for that; adds to *not_open, and the first reason to e. */
int ranks_opened(struct ranks *k, unsigned int *not_open, struct err *e);

/* The directory is there: has them make their files; waits for that. */
void ranks_make(struct ranks *k);
int ranks_made(struct ranks *k, struct err *e);

/* Agrees on the start, about a second from now: CLOCK_MONOTONIC; NULL: 0. */
uint64_t ranks_start(struct ranks *k);

/* Waits for it. */
void ranks_await_start(struct ranks *k);

/* From time to time while they work. */
void ranks_look(struct ranks *k);

/*
 * Own clients are done, p->load and p->commands are theirs: adds those of the others, and notes in
 * warnings which ranks are missing. 0 or -ENOMEM.
 */
int ranks_gather(struct ranks *k, struct run_phase *p, struct run_notes *warnings, struct err *e);

/* Has them remove their files and end; waits for that, and frees. */
void ranks_close(struct ranks *k);

/* For workload_type.elsewhere: the exit code of a rank other than 0; -1: this is rank 0. */
int ranks_other(struct workload_cfg *cfg);

#endif
