/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_SMALLFILE_CLIENTS_H
#define DRIVE_SMALLFILE_CLIENTS_H

/*
 * The clients of a load of small files (client/work/smallfile/smallfile.h): each has a thread and a
 * store of its own. They are opened beside the command's own session, make their directories, and
 * then do load after load together; the files stay.
 */

#include "drive/clients.h"
#include "work/smallfile/smallfile.h"

struct smallfile_clients_opts {
	struct session *session; /* as that of places_open() */
	struct smallfile_opts set;
	unsigned int clients, first, step; /* as in clients_opts */
	const char *cached;   /* the directory, if this machine's page cache is used; or NULL */
	uint64_t duration_ns; /* of a load that repeats; 0: each file once */
	uint64_t pause_ns;    /* of a client after each file */
	enum ticker_how live; /* on the session's progress */
};

/* Opens the stores: all or none, as clients_open(). set.base is not used yet. clients_close() in
 * every case. */
int smallfile_clients_open(struct clients **out, const struct smallfile_clients_opts *o,
			   struct err *e);

/*
 * Whether there is room for the files of so many clients, of all processes, in these loads
 * (load/room.h). 0, also where it is forced; LOAD_REFUSED or a negative errno with a text.
 */
int smallfile_clients_room(const struct session *s, const struct smallfile_opts *set,
			   unsigned int clients, const enum smallfile_load *load, unsigned int n,
			   struct err *e);

/* Makes or finds the clients' directories in base, which exists. 0; LOAD_REFUSED; negative errno.
 */
int smallfile_clients_make(struct clients *all, const char *base, struct err *e);

/*
 * All clients do a load, from begin_ns (CLOCK_MONOTONIC) or, 0, at once; clients_wait and
 * clients_join follow. smallfile_clients_judge(): p gets its metrics and whether it is complete,
 * also with what other processes' clients did in its load. Operations that failed are no error. 0,
 * or a negative errno with a text.
 */
int smallfile_clients_start(struct clients *all, enum smallfile_load load, uint64_t begin_ns,
			    struct err *e);
int smallfile_clients_judge(struct run_phase *p, struct err *e);

/*
 * Looks at some files of each client: CACHE_LOOKED and CACHED of p, unless there is nothing to
 * look at. Before a load.
 */
void smallfile_clients_look(const struct clients *all, struct run_phase *p);

/* What a client did in the last load. */
const struct smallfile_counts *smallfile_clients_counts(const struct clients *all,
							unsigned int client);

/* ns between the first and the last client's begin in a load; 0: there was one. */
uint64_t smallfile_clients_skew_ns(const struct run_load *load);

#endif
