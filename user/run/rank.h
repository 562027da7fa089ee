/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_RANK_H
#define RUN_RANK_H

/* A load whose clients several processes share (load --mpi): each one's part in it. */

#include "run/load.h"

#include <sys/types.h>

enum run_rank_end {
	RUN_RANK_DONE,
	RUN_RANK_STOPPED, /* interrupted: its part is shorter than the others' */
	RUN_RANK_LOST,    /* it died or did not answer: what its clients did is not known */
};

/* One process of a load that several share. */
struct run_rank {
	char host[65];
	pid_t pid;
	unsigned int clients;
	enum run_rank_end end;
	char why[256];    /* where it is not RUN_RANK_DONE */
	uint64_t lost_ns; /* RUN_RANK_LOST: when, from begin_ns; 0: before it */
	/*
	 * By how much it began earlier or later than rank 0, by a second measurement of its clock,
	 * and half of the shortest round trip, which bounds that measurement's error.
	 */
	bool has_skew;
	uint64_t skew_ns, unsure_ns;
	struct run_load
	    *part; /* owned; what it did, without seconds and clients; NULL: not known */
};

/* Adds what one process did, whose client i is number first + i * step; clocks may differ. */
void run_load_join(struct run_load *to, const struct run_load *from, unsigned int first,
		   unsigned int step);

/*
 * After all ranks are joined: what all had done when the first client of any of them had nothing
 * more to do, by their progress. Without it, or without such a client, that is not known.
 */
void run_load_join_common(struct run_load *l);

/* Gives the load a list of ranks, all 0. 0 or -ENOMEM. */
int run_load_ranks(struct run_load *l, size_t n);

/* Frees what a rank's part needs no more, once it is joined; n_open remains. */
void run_load_trim(struct run_load *l);

#endif
