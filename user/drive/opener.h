/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_OPENER_H
#define DRIVE_OPENER_H

/*
 * Opens stores for many clients of the place that a command's session is about: sessions of their
 * own on the same server, or the same directory.
 */

#include "drive/session.h"
#include "drive/users.h"
#include "uam/uam.h"

struct opener {
	const struct session *session;
	char port[8], secret[CONNECT_PASSWORD_MAX];
	struct addrinfo *address;
};

/* session is open, and outlives it. 0 or a negative errno with a text. opener_fini() always. */
int opener_init(struct opener *o, const struct session *session, struct err *e);
void opener_fini(struct opener *o);

/* The password is not needed any more: all sessions are open. */
void opener_forget(struct opener *o);

/* How a user logs in; NULL: the command's own. Valid as long as both. */
struct afp_login opener_login(const struct opener *o, const struct user *u);

struct dsi_opts opener_dsi(const struct opener *o, unsigned int window);

/* Begins a store; of a server: with this login and volume, and scratch as engine_client's begin. */
struct opener_client {
	const struct afp_login *login;
	const char *volume;
	unsigned int window;
};
int opener_begin(const struct opener *o, const struct opener_client *c, struct store **out,
		 uint8_t *scratch, struct err *e);

#endif
