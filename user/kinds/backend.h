/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_BACKEND_H
#define KINDS_BACKEND_H

/*
 * Where afpd connects for a volume whose CNID numbers are in a database server ("cnid scheme =
 * mysql"): MySQL's port or socket, as libmysqlclient and libmariadb know them, whatever program
 * answers there.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct backend {
	uint16_t port;
	char path[108]; /* of the socket, if it is not a usual one; below the server's root */
};

/* The usual ones, or those in the environment of a process. */
void backend_read(struct backend *out, pid_t pid);

/* Whether a Unix socket that is bound to this path is the database server's. */
bool backend_is_socket(const struct backend *b, const char *path);

#endif
