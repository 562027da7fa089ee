/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_WARDEN_H
#define APP_WARDEN_H

/*
 * A small process beside a command that loads a server. Whatever kills the command (kill -9, a lack
 * of memory, a second ^C), the warden ends its sessions, which the server would keep for a day, and
 * removes its directories. It shares the command's descriptors, and knows from shared memory which
 * of them are sessions and what is to be removed. It has a session and a process group of its own.
 */

#include "base/err.h"

#include <stdbool.h>

struct dsi_marks;

#define WARDEN_BASES      16 /* directories that a workload may leave behind: one a volume */
#define WARDEN_BASE_LEN   32
#define WARDEN_VOLUME_LEN 256

/* What is still in a place, or on volumes of a server: names in the root; "" where nothing is. */
struct warden_left {
	char base[WARDEN_BASES][WARDEN_BASE_LEN];
	char volume[WARDEN_BASES][WARDEN_VOLUME_LEN]; /* where; "": that of the command */
};

/* What it keeps of the command's rights: nothing; ports below 1024, and what rights_drop() keeps
 * anyway; all of them. */
enum warden_rights { WARDEN_NO_RIGHTS, WARDEN_PORTS, WARDEN_ALL_RIGHTS };

/* How the warden cleans up. */
struct warden_task {
	/*
	 * Ends sessions that could not be ended by their connections, and removes the
	 * directory base ("": none) of a volume ("": that of the command). 0, or an error with a
	 * text.
	 */
	int (*remove)(void *user, const char *base, const char *volume, struct err *e);
	void *user;
	enum warden_rights rights;
	/* Not those of the command's descriptors: they are closed before, as no server ends a
	 * session whose connection stays. */
	bool no_files;
	/* What "clean" needs besides to remove such a base, for messages: "" or " --all". */
	const char *(*clean_how)(const char *base);
};

struct warden;

/*
 * Starts it, while this process has one thread. *out is to be closed also after an error. 0 (also
 * where the system does not let it be started), or -ENOMEM with a text.
 */
int warden_open(struct warden **out, const struct warden_task *task, struct err *e);

/* Shared with the warden; never NULL. */
struct warden_left *warden_left(struct warden *w);

/* Where sessions are marked. */
struct dsi_marks *warden_marks(const struct warden *w);

/* The command has ended its sessions itself: ends the warden. NULL is allowed. */
void warden_close(struct warden *w);

#endif
