/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFPCONF_H
#define KINDS_AFPCONF_H

/*
 * netatalk's configuration file, as afp.conf(5) describes it: sections, "key = value", comments
 * from ; or #, lines continued by a backslash, "include = FILE". Keeps file and line of each value.
 * The last value of a key in a section counts. Seen with netatalk 3.1.12, 4.2.3 and 4.5.1: only
 * 3.1 follows includes; only 3.1 has case-sensitive keys. Case is ignored here.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct afpconf_item {
	const char *section; /* "Global" */
	const char *key;
	const char *value;
	const char *file; /* as the server calls it */
	unsigned int line;
};

struct afpconf {
	size_t n;
	struct afpconf_item *item; /* owned, in the order of the file */
	size_t n_texts;
	char **text; /* owned, each: what the items are in */
};

/*
 * Reads path below root ("" or "/proc/PID/root") and, with follow, what it includes; without, an
 * include is an item like any other. 0 or a negative errno (e names the file; what was read before
 * the error is in out). afpconf_fini in both cases. Reads regular files that are stored, not those
 * that the kernel makes, of at most 1 MiB each; at most 64 of them, and 16,384 items.
 */
int afpconf_read(struct afpconf *out, const char *root, const char *path, bool follow,
		 struct err *e);
void afpconf_fini(struct afpconf *c);

/* Ignores case; NULL: not set. */
const struct afpconf_item *afpconf_find(const struct afpconf *c, const char *section,
					const char *key);

/* 1: yes, true, 1; 0: no, false, 0; -1: neither. */
int afpconf_bool(const char *value);

#endif
