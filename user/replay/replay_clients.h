/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPLAY_REPLAY_CLIENTS_H
#define REPLAY_REPLAY_CLIENTS_H

/*
 * The clients of a replay (client/work/replay/replay_client.h), one for each session of the
 * recording that sends anything, in each copy: they make the image together, and then send what was
 * recorded.
 */

#include "drive/clients.h"
#include "work/replay/replay_client.h"

struct replay_clients_opts {
	struct session *session;  /* as that of places_open() */
	struct replay_plan *plan; /* closed; borrowed */
	unsigned int copies;      /* of all that was recorded; at least 1 */
	unsigned int threads;     /* 0: session_threads() */
	bool realtime;            /* as engine_opts.realtime */
	/* Who each client of the plan logs in as, also in the copies, NULL: as the session; valid
	 * until they are open, also again. NULL: all as the session. */
	const struct user *const *account;
	const char *base;     /* directory in the root; borrowed */
	bool found;           /* it was there before */
	enum ticker_how live; /* on the session's progress */
};

/* Opens the stores: all or none, as clients_open(). clients_close() in every case. */
int replay_clients_open(struct clients **out, const struct replay_clients_opts *o, struct err *e);

/*
 * Closes them and opens new ones with the same options, which know what these have made. *all is
 * the new ones, also after an error; NULL without memory.
 */
int replay_clients_reopen(struct clients **all, struct err *e);

/* Makes the image in base, which exists. 0; LOAD_REFUSED; negative errno. */
int replay_clients_make(struct clients *all, struct err *e);

/* What was in base was removed: the image is to be made anew. */
void replay_clients_anew(struct clients *all);

/* Begins the replay; clients_wait and clients_join follow. */
int replay_clients_start(struct clients *all, struct err *e);

/* Closes the files that are still open. Goes on after a signal. */
void replay_clients_finish(struct clients *all);

/* What came of it, of all clients. */
void replay_clients_done(const struct clients *all, struct replay_done *out);

#endif
