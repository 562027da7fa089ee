/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_FANOTIFY_H
#define HOST_FANOTIFY_H

/*
 * Programs that are asked before a file may be opened or read, by fanotify: virus scanners. A
 * program of that kind has a descriptor whose fdinfo tells what it watches.
 */

#include "host/filesystem.h"

struct fanotify_watcher {
	pid_t pid; /* the first one found */
	char comm[32];
	unsigned int n; /* descriptors that watch */
};

/*
 * Who is asked before files on one of n file systems may be used, by a mark on the mount, on the
 * whole file system, or on the folder itself; marks on single folders below it are not seen. 0 or a
 * negative errno; -EPERM: some processes could not be looked at, and of the others none watches.
 * The server's own processes, n_own in ascending order, are not looked at: of one with many
 * sessions, that would be most of the work.
 */
int fanotify_find(struct fanotify_watcher *out, const struct filesystem *fs, size_t n,
		  const pid_t *own, size_t n_own);

/* Whether a line of a fdinfo is such a mark, on this file system. */
bool fanotify_watches(const char *line, const struct filesystem *fs);

#endif
