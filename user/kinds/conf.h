/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_CONF_H
#define KINDS_CONF_H

/*
 * netatalk's configuration file, as afp.conf(5) describes it: sections, "key = value", comments
 * from ; or #, lines continued by a backslash, "include = FILE". Keeps file and line of each value.
 * The last value of a key in a section counts. Seen with netatalk 3.1.12, 4.2.3 and 4.5.1: only
 * 3.1 follows includes; only 3.1 has case-sensitive keys. Case is ignored here.
 */

#include "base/err.h"
#include "kinds/servers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

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
	char **text;          /* owned, each: what the items are in */
	unsigned int n_files; /* that were read */
	time_t changed_s;     /* when the last one of these was, or may have been, changed; or 0 */
};

/*
 * Whether files of which the last one was changed then may not be what a process has read that
 * began at that time (struct procstat): later than its begin by more than the steps of its clock.
 */
bool conf_is_newer(time_t changed_s, uint64_t started);

/* *changed_s becomes the time of a file's last change, as conf_file() has it. */
void conf_take_time(time_t *changed_s, const struct stat *st);

/*
 * The text of a configuration file below root ("" or "/proc/PID/root"), which is to be freed;
 * *changed_s becomes the time of its last change, if that is later: of its text, or of what else
 * the file system keeps of it (name, owner, rights), as another file in its place may have old
 * times of its text. 0 or a negative errno (e names the file, *text is NULL). Reads regular files
 * that are stored, not those that the kernel makes, of at most 1 MiB.
 */
int conf_file(char **text, time_t *changed_s, const char *root, const char *file, struct err *e);

/*
 * Reads path below root and, with follow, what it includes; without, an
 * include is an item like any other. 0 or a negative errno (e names the file; what was read before
 * the error is in out). afpconf_fini in both cases. Reads files as conf_file() does; at most 64 of
 * them, and 16,384 items.
 */
int afpconf_read(struct afpconf *out, const char *root, const char *path, bool follow,
		 struct err *e);
/* The same of a text of that form, which it owns from here on; file: static. 0 or -ENOMEM, -EFBIG.
 */
int afpconf_parse(struct afpconf *out, char *text, const char *file);
void afpconf_fini(struct afpconf *c);

/* A value that spoils figures, or makes them differ: a row of a kind's table. */
struct conf_rule {
	const char *hint; /* key of the hint, or of the warning */
	bool weak;        /* it may matter; else it certainly changes the figures */
	bool is_global;   /* in [Global] only */
	const char *key;
	bool (*applies)(const char *value); /* NULL: any does */
	const char *does, *todo;
	unsigned int since; /* the server's version that has the key; 0: all */
};

/* Ignores case; NULL: not set. */
const struct afpconf_item *afpconf_find(const struct afpconf *c, const char *section,
					const char *key);

/*
 * Whether a server reads files that its configuration includes: netatalk's own parser, up to 3.1,
 * does; the library that replaced it does not.
 */
bool afpconf_follows(pid_t pid);

/* 1: yes, true, 1; 0: no, false, 0; -1: neither. */
int afpconf_bool(const char *value);
/* Of a conf_rule. */
bool afpconf_is_yes(const char *value);
bool afpconf_is_no(const char *value);
#define CONF_UNLESS_IT ", unless this is what you measure"

/* A setting's values: how many of a server's shares, or volumes, have which. Begins as { 0 }. */
#define CONF_VALUES_MAX 8 /* more are only in all */

struct conf_values {
	size_t all, n;
	struct conf_value {
		const char *text;
		size_t n;
	} of[CONF_VALUES_MAX];
};

/* One more of them. NULL: it is not set; case is ignored. */
void conf_values_add(struct conf_values *v, const char *value);

/*
 * Adds "key = value" to a text, after "; " where it has others, or with several values "key = a (2
 * of 3 shares), b (1 of 3 shares)"; kind: "shares". false: there is no room for all of it, and the
 * text stays as it is.
 */
bool conf_values_put(const struct conf_values *v, const char *key, const char *kind,
		     char text[ERR_TEXT_MAX]);

/* The folders of a server's volumes. */

/* What run.json says a session's volumes are known from, if not from these. */
#define VOLUMES_FROM_REQUESTS "FPOpenVol"

/* The innermost volume whose folder contains path; NULL: none. */
const char *volumes_find(const struct afpconf *c, const char *path);

/* Whether the settings of the volume with this folder say that it is read-only. */
bool volumes_read_only(const struct afpconf *c, const char *path);

/* The settings of one server, which its sessions share; all 0 at first. */
struct volumes_settings {
	uint64_t root;    /* identity of the processes' root; 0: nothing was read */
	uint64_t read_ns; /* CLOCK_MONOTONIC */
	struct afpconf conf;
};

void volumes_settings_fini(struct volumes_settings *s);

/*
 * Where an afpd works: the folder of its volume, else its working directory, as seen from its own
 * root. NULL: in its root (before it opens a volume), or not known. To be freed. What s has of the
 * server is read again after VOLUMES_SETTINGS_NS, or if this process has another root.
 */
#define VOLUMES_SETTINGS_NS 10000000000u
char *volumes_of(struct volumes_settings *s, pid_t afpd);

/*
 * The folders of a server's volumes, as the server calls them, each once: those that its
 * configuration names, and others in which its sessions worked when it was found. Names that depend
 * on the user are left out. Returns how many, at most room.
 */
size_t volumes_list(char (*out)[CENSUS_PATH_MAX], size_t room, const struct afpconf *c,
		    const struct servers_entry *s);

#endif
