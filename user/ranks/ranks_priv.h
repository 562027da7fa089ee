/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_RANKS_PRIV_H
#define RANKS_RANKS_PRIV_H

/* What rank 0 and the others have in common. Only for ranks*.c; others use ranks.h. */

#include "ranks/part.h"
#include "ranks/ranks.h"
#include "run/rank.h"

#include <limits.h>

/* The name of the directory of all clients. */
#define RANKS_BASE_LEN 32

/* With POST_HELLO: what the others need to keep their part, should rank 0 not get it. */
struct ranks_run {
	char base[RANKS_BASE_LEN];
	char id[17], started[CLOCK_WALL_MAX];
	char folder[PATH_MAX]; /* "": the run is not kept */
};

/* Who a rank is; terms: a text that differs where version or options do. */
#define RANKS_TERMS_LEN 64
struct ranks_hello {
	int32_t pid;
	char host[65];
	char terms[RANKS_TERMS_LEN];
};
/* This process. 0 or not 0 without memory. */
int ranks_hello(const struct ranks_opts *o, struct ranks_hello *out);

/*
 * With POST_OPEN, which is given again and again: the ranks from <= i < to open their sessions, not
 * more of them than may open one at a time. The others' answers are empty.
 */
struct ranks_turn {
	uint32_t from, to;
};

/* How a step went. */
struct ranks_report {
	int32_t result; /* 0, or as the function that did it */
	uint32_t not_open;
	char text[256];
};

/*
 * A load of all clients, like one rank's, all ranks lost. Then each rank in turn: ranks_sum_take()
 * adds what it has done, ranks_sum_lose() counts its clients as lost, unless they were counted
 * before. NULL without memory, or -ENOMEM.
 */
struct run_load *ranks_sum_new(const struct ranks_opts *o, const struct run_load *like);
int ranks_sum_take(struct run_phase *all, unsigned int rank, struct part *part);
void ranks_sum_lose(struct run_load *all, unsigned int rank, bool counted);

#endif
