/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_AFP_SETTINGS_H
#define KINDS_AFP_SETTINGS_H

/* Settings of a server that a diagnosis needs; defaults and meanings are those of afp.conf(5). */

#include "kinds/conf.h"
#include "kinds/servers.h"
#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* "4.5.1" as 405, from the program's own text; 0: not found. */
unsigned int settings_version(const char *program, size_t len);
/* Likewise of a running program. */
unsigned int settings_version_of(pid_t pid);

/* Whether an item makes its section one of a volume, or of the users' homes; one does in each. */
bool settings_makes_volume(const struct afpconf *c, size_t item);

/* The value of a volume's section, else of its preset; NULL: not set. */
const struct afpconf_item *settings_of_volume(const struct afpconf *c, const char *section,
					      const char *key);

/* What a version of netatalk reads of the cache of directories. */
struct settings_cache {
	unsigned int since;  /* 405 is 4.5 */
	const char *key;     /* of [Global] */
	const char *old_key; /* is read, too, where the other is not set; NULL: no */
	uint64_t size;       /* entries, where none is set; 0: not known */
	const char *source;  /* where this comes from */
};

/* Of this version; 0: it is not known, either key may be read. */
const struct settings_cache *settings_cache(unsigned int version);

/*
 * Sets r->limit, with the key that this version reads; what the configuration does not say is the
 * default of this version, 0 where that depends on it and it is not known.
 */
void settings_conf(struct run *r, const struct afpconf *c, unsigned int version);

/* Those of a running server. */
struct settings {
	bool known;           /* its configuration was read */
	struct timespec time; /* of the last change of the file, or of what is kept of it */
	uint64_t len, inode;
	struct afpconf conf; /* a partial one where something in it cannot be read */
	unsigned int version;
};

/* Reads what has changed since the last time; all 0 at first. */
void settings_read(struct settings *out, const struct servers_entry *s);
void settings_fini(struct settings *s);

/*
 * Whether the server may have read something else: its files may have been changed since it began,
 * and whether somebody told it to read them again is not known.
 */
bool settings_may_differ(const struct settings *set, const struct servers_entry *s);
#define SETTINGS_MAY_DIFFER "the configuration may have been changed after the server began"

/*
 * settings_conf() of these; and r->has_asking, which stays only where the server's sessions ask as
 * the watch understands it.
 */
void settings_note(struct run *r, const struct settings *set, const struct servers_entry *s);

/*
 * Notes, as RUN_AFP_CONF of r->server, what makes figures of two servers differ: "cnid scheme =
 * dbd; ea = not set"; of each volume. 0 or -ENOMEM.
 */
int settings_show(struct run *r, const struct servers_entry *s);

#endif
