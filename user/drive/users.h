/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_USERS_H
#define DRIVE_USERS_H

/*
 * A file of the users that load a server, a line each: "user,password" or "user,password,volume";
 * the password may hold anything but a line's end, and a comma only where the volume is given.
 * Empty lines and lines that begin with # are passed over.
 */

#include "base/err.h"

#include <stddef.h>

struct user {
	char *name;
	char *password;
	const char *volume; /* NULL: not given */
};

struct users {
	unsigned int n;
	struct user *user; /* owned */
	char *text;        /* owned; what the names point into */
	size_t len;
};

/* 0 or a negative errno with a text that names file and line. */
int users_read(struct users *out, const char *path, struct err *e);

/* Wipes the passwords, which are not needed any more. */
void users_forget(struct users *u);

/* Wipes all. */
void users_free(struct users *u);

#endif
