/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_FILERS_H
#define DRIVE_FILERS_H

/*
 * The clients of a load of small files (client/work/smallfile/smallfile.h): each has a thread and a
 * store of its own. They are opened beside the command's own session, make their directories, and
 * then do load after load together.
 */

#include "drive/session.h"
#include "work/smallfile/smallfile.h"

struct filers;

struct filers_opts {
	struct session *session; /* open, with a store; of a guest: has only cfg and server */
	struct smallfile_opts set;
	unsigned int clients;
	/*
	 * Where several processes share the clients: client i of this one is number first + i *
	 * step of all. step 0: they are all here. guest: another process makes and removes the
	 * directory.
	 */
	unsigned int first, step;
	bool guest;
	const char *cached;   /* the directory, if this machine's page cache is used; or NULL */
	uint64_t duration_ns; /* of a load that repeats; 0: each file once */
	uint64_t pause_ns;    /* of a client after each file */
};

/*
 * Opens the stores: all or none. -ECONNREFUSED: some could not be; other negative errno. set.base
 * is not used yet. filers_close in every case.
 */
int filers_open(struct filers **out, const struct filers_opts *o, struct err *e);

/* Makes or finds the clients' directories in base, which exists. 0; LOAD_REFUSED; negative errno.
 */
int filers_make(struct filers *f, const char *base, struct err *e);

/*
 * All clients do a load, from begin_ns (CLOCK_MONOTONIC) or, 0, at once. filers_wait(): at most ns;
 * true: it is over. filers_join(): p gets its load and commands. filers_judge(): p gets its metrics
 * and whether it is complete, also with what other processes' clients did in its load. Operations
 * that failed are no error. 0, or a negative errno with a text.
 */
int filers_start(struct filers *f, enum smallfile_load load, uint64_t begin_ns, struct err *e);
bool filers_wait(struct filers *f, uint64_t ns);
int filers_join(struct filers *f, struct run_phase *p, struct err *e);
int filers_judge(struct run_phase *p, struct err *e);

/* All of these. */
int filers_do(struct filers *f, enum smallfile_load load, struct run_phase *p, struct err *e);

/*
 * Looks at some files of each client: CACHE_LOOKED and CACHED of p, unless there is nothing to
 * look at. Before filers_do().
 */
void filers_look(struct filers *f, struct run_phase *p);

/* What a client did in the last load. */
const struct smallfile_counts *filers_counts(const struct filers *f, unsigned int client);

/* ns between the first and the last client's begin in a load; 0: there was one. */
uint64_t filers_skew_ns(const struct run_load *load);

/* Ends the sessions, frees. The files stay. NULL is allowed. */
void filers_close(struct filers *f);

#endif
