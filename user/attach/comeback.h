/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_COMEBACK_H
#define ATTACH_COMEBACK_H

/* A server whose main process has ended, and that may be started again. */

#include "base/err.h"
#include "kinds/kind.h"

/*
 * k NULL: any kind whose sessions are watched one by one. Looks once for a server with a process
 * that accepts connections. 0; or a negative errno and a text, and nothing is in out: -ECHILD if
 * only sessions are left of it, else that of kind_find.
 */
int comeback_find(struct kind_found *out, const struct kind *k, const struct kind_wish *wish,
		  struct err *e);

/* The TCP port on which a server is to be expected again; 0: not known. */
unsigned int comeback_port(const struct kind_found *found, unsigned int asked);

/*
 * Waits so long for another main process of that user on that port, or until a signal. Returns its
 * number; 0: none came.
 */
pid_t comeback_wait(unsigned int port, const struct kind_found *before, int timeout_ms);

/* The time of day, "12:01:02". Returns out. */
#define COMEBACK_TIME_MAX 16
char *comeback_time(char out[COMEBACK_TIME_MAX]);

#endif
