/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H

/*
 * A load whose clients are shared by several processes (--mpi). Rank 0 is the command: it has the
 * session, the watch, the probe, and makes the report. ranks_* are its part beside what it does
 * with its own clients, and do nothing where ranks is NULL; ranks_other() is the whole of the
 * others. A rank that dies never stops the rest.
 */

#include "drive/clients.h"
#include "ranks/launch.h"

/* What a rank other than 0 does with its clients, in this order. cfg: the options. */
struct ranks_clients {
	const char *command, *set; /* of the run */
	/*
	 * Opens their sessions: *out, also if it fails. base: the directory that rank 0 makes; the
	 * session has cfg and server only. Both stay to the end. *not_open: how many could not be
	 * opened, with a text in e also if this returns 0.
	 */
	int (*open)(struct clients **out, const void *cfg, struct session *session,
		    const char *base, unsigned int *not_open, struct err *e);
	/* base is there: makes their files. */
	int (*make)(struct clients *all, const void *cfg, const char *base, struct err *e);
	/* Load i, which rank 0 has as well: its title. From begin_ns on. */
	const char *(*title)(const void *cfg, unsigned int i);
	int (*start)(struct clients *all, const void *cfg, unsigned int i, uint64_t begin_ns,
		     struct err *e);
};

/* What all ranks know from the command line. */
struct ranks_opts {
	const struct launch *launch;
	const struct session_cfg *session;
	unsigned int clients; /* of all ranks */
	/*
	 * Notes what must be the same in all ranks; "threads" may differ, because its default is
	 * the host's. 0 or not 0 without memory.
	 */
	int (*describe)(const void *cfg, struct run_notes *out);
	const struct ranks_clients *guests;
	const void *cfg;
};

/* A rank's share: client i of it is number first + i * step of all. */
struct ranks_share {
	unsigned int clients, first, step;
};
struct ranks_share ranks_share(const struct ranks_opts *o);

struct ranks;

/*
 * Finds the others and has them open their sessions; s: the session, which is open. 0 or a negative
 * errno. ranks_close in every case.
 */
int ranks_open(struct ranks **out, const struct ranks_opts *o, struct session *s, struct err *e);

/* Waits for that; adds to *not_open, and the first reason to e. */
int ranks_opened(struct ranks *k, unsigned int *not_open, struct err *e);

/* The directory is there: has them make their files; waits for that. */
void ranks_make(struct ranks *k);
int ranks_made(struct ranks *k, struct err *e);

/* Agrees on the start, about a second from now: CLOCK_MONOTONIC; NULL: 0. Again for each load. */
uint64_t ranks_start(struct ranks *k);

/* Waits for it. */
void ranks_await_start(struct ranks *k);

/* From time to time while they work. */
void ranks_look(struct ranks *k);

/*
 * Own clients are done, p->load and p->commands are theirs: adds those of the others, and notes in
 * warnings which ranks are missing, each once. 0 or -ENOMEM.
 */
int ranks_gather(struct ranks *k, struct run_phase *p, struct run_notes *warnings, struct err *e);

/* Has them remove their files and end; waits for that, and frees. */
void ranks_close(struct ranks *k);

/* A rank other than 0, until it ends. */
void ranks_other(const struct ranks_opts *o);

#endif
