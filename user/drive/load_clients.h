/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_LOAD_CLIENTS_H
#define DRIVE_LOAD_CLIENTS_H

/*
 * The clients of afpscope load, and the probe: opened beside the command's own session, which makes
 * their directory and removes it.
 */

#include "drive/clients.h"
#include "work/mix/mix.h"

/* Whose the directory with all files is, which is called the set. */
enum load_set {
	LOAD_SET_OWN,        /* made, and removed at the end */
	LOAD_SET_OF_PROCESS, /* named after a process, which has it removed: made if it is not there
			      */
	LOAD_SET_OF_OTHER,   /* another process of this load makes and removes it */
};

struct load_clients_opts {
	const struct mix *mix;
	/* Clients are dealt out among them; none: all are the session's user. */
	struct users *users;
	struct session *session;       /* open, with a store; LOAD_SET_OF_OTHER: only cfg, server */
	unsigned int clients, threads; /* clients 0: only the probe */
	unsigned int directories;      /* of all clients together, see work/mix.h */
	enum load_set set;
	pid_t set_of;     /* LOAD_SET_OF_PROCESS */
	const char *base; /* LOAD_SET_OF_OTHER: its name */
	uint64_t seed;
	bool probe, realtime; /* as in clients_opts */
	unsigned int first, step, all;
};

/* Opens the sessions, as clients_open(). clients_close() in every case. */
int load_clients_open(struct clients **out, const struct load_clients_opts *o,
		      unsigned int *not_open, struct err *e);

/*
 * Makes the directory, unless another process does, and what the clients share; then the files of
 * each, which are removed when they are closed unless the set is LOAD_SET_OF_PROCESS. 0;
 * LOAD_REFUSED or a negative errno with a text.
 */
int load_clients_prepare(struct clients *all, struct err *e);
int load_clients_make(struct clients *all, struct err *e);

/*
 * After the load: reads all files of a mix that verifies and compares them. 0; LOAD_REFUSED: not
 * all are as they were written, or could be read, *out says how many, e the first; or a negative
 * errno.
 */
int load_clients_verify(struct clients *all, struct mix_verified *out, struct err *e);

/* In place of these: what there is of LOAD_SET_OF_PROCESS will be removed. */
void load_clients_take_set(struct clients *all);

/*
 * Clients of a closed loop without pauses that had a session to the end and completed no action,
 * although they had the time: all of the measured time, or, where a profile wanted them only from
 * some moment on, more than the longest action that was completed took. How long they waited is in
 * no figure. crowd: the profile of clients; NULL: all are wanted from the begin. Client i of l is
 * the i-th of all processes.
 */
unsigned int load_clients_starved(const struct run_load *l, const struct rate *crowd);

#endif
