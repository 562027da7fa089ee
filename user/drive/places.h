/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_PLACES_H
#define DRIVE_PLACES_H

/*
 * Where the clients of a load work: the directory that a command's session is about, or volumes of
 * its server. On each volume a session makes the directory of all clients, and removes it with all
 * that they left: on the first the command's own, on each other one that is opened here.
 */

#include "drive/session.h"
#include "drive/users.h"

#define PLACES_MAX WARDEN_BASES

struct places_volume {
	const char *volume; /* borrowed */
	struct store *store;
	bool made; /* the directory */
};

struct places {
	const struct session *session;
	char port[8], secret[CONNECT_PASSWORD_MAX];
	bool keeps_secret; /* clients log in as long as they work: places_forget() does nothing */
	struct addrinfo *address;
	struct others_visits *visits; /* where logins of clients are noted */
	unsigned int n;
	struct places_volume place[PLACES_MAX]; /* the first is the command's own */
};

/* How a client logs in, and where. Valid as long as the places and the user. */
struct places_client {
	struct afp_login login;
	const char *volume;
	unsigned int window;
	unsigned int number; /* among all clients, also those of other processes */
	bool logins;         /* it logs in while it works: store_afp_begin.logins */
};

/*
 * session outlives it. One that has no store is of another process, which alone makes and removes
 * directories. 0 or a negative errno with a text. places_close() always.
 */
int places_open(struct places *p, const struct session *session, struct err *e);

/* The client with this number; u NULL: it logs in as the command itself. */
struct places_client places_client(const struct places *p, const struct user *u,
				   unsigned int window, unsigned int number);

/* Begins a client's store; c is borrowed until it is open, with logins until its end; scratch as
 * engine_client's begin. */
int places_begin(const struct places *p, const struct places_client *c, struct store **out,
		 uint8_t *scratch, struct err *e);

/* Opens the user's volume, unless it is there. 0 or a negative errno. */
int places_add(struct places *p, const struct user *u, struct err *e);

/* The password is not needed any more: all sessions are open; another one is to be opened. */
void places_forget(struct places *p);
void places_recall(struct places *p);

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
