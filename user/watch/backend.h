/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BACKEND_H
#define WATCH_BACKEND_H

/*
 * Where afpd connects for a volume whose CNID numbers a database server gives ("cnid scheme =
 * mysql"): MySQL's port or socket, as libmysqlclient and libmariadb know them. Whatever the program
 * is called that answers there.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct backend {
	uint16_t port;
	char
	    path[108]; /* of the socket, when it is not one of the usual; below the server's root */
};

/* The usual, or what the environment of a process says. */
void backend_read(struct backend *out, pid_t pid);

/* Whether a Unix socket that is bound to this path is the database server's. */
bool backend_is_socket(const struct backend *b, const char *path);

#endif
