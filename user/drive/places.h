/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_PLACES_H
#define DRIVE_PLACES_H

/*
 * The volumes on which the clients of a load work. On each a session makes the directory of all
 * clients, and removes it with all that they left: on the first the command's own, on each other
 * one that is opened here.
 */

#include "drive/session.h"

#define PLACES_MAX SESSION_BASES

struct places_volume {
	const char *volume; /* borrowed */
	struct store *store;
	bool made; /* the directory */
};

struct places {
	unsigned int n;
	struct places_volume place[PLACES_MAX]; /* the first is the command's own */
};

void places_init(struct places *p, const char *volume, struct store *store);

/* Opens how's volume, unless it is there. 0 or a negative errno. */
int places_add(struct places *p, const struct store_afp_begin *how, struct err *e);

/*
 * Makes base on each but the first, and, if all is set, lets all users write into it, also on the
 * first. 0; LOAD_REFUSED or a negative errno.
 */
int places_make(struct places *p, const char *base, bool all, struct err *e);

/* While the clients work: the server drops a session that says nothing for two minutes. */
void places_keep_alive(struct places *p);

/*
 * Removes base from each but the first. 0; or the first failure, which names the volume. Those that
 * are left are noted in s.
 */
int places_remove(struct places *p, struct session *s, const char *base, struct err *e);

/* Ends the sessions that were opened here. */
void places_close(struct places *p);

#endif
