/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_NFS_SETTINGS_H
#define KINDS_NFS_SETTINGS_H

/*
 * Settings of nfs-ganesha: its configuration file, with the files that it includes, as
 * ganesha-config(8) describes it: blocks within blocks, "Key = value;", comments from # on.
 * ganesha-core-config(8), ganesha-export-config(8) and ganesha-log-config(8) have the meanings. The
 * server reads it when it begins; of a file that was changed later only the folders are used.
 */

#include "kinds/servers.h"
#include "run/run.h"

struct nfs_setting {
	unsigned int export; /* the number of the EXPORT that it is in, from 1; 0: in none */
	const char *block;   /* "EXPORT/FSAL" */
	const char *key, *value;
};

struct nfs_settings {
	bool known;                 /* it is what the server has read */
	char why[ERR_TEXT_MAX];     /* not known: a sentence */
	char file[CENSUS_PATH_MAX]; /* below the server's root */
	char level[32];             /* of its log, on its command line; empty: not there */
	bool has_more;              /* in places that are not read: %url, %dir */
	unsigned int n_exports;
	size_t n, n_texts;
	struct nfs_setting *item; /* owned, in the order of the file */
	char **text;              /* owned, each: what the items are in */
};

/* Of the server's process, if it lives. nfs_settings_fini in every case. */
void nfs_settings_read(struct nfs_settings *out, const struct servers_entry *s);
void nfs_settings_fini(struct nfs_settings *s);

/*
 * Adds what a file's text says; of what it includes the names are relative to file, below root. 0,
 * or a negative errno with a text in e: what was read until then stays.
 */
int nfs_settings_take(struct nfs_settings *out, const char *text, const char *file,
		      const char *root, struct err *e);

/* The last value of a key in a block ("LOG/COMPONENTS"), of an EXPORT or (0) of none. Case is
 * ignored. NULL: not set. */
const char *nfs_settings_find(const struct nfs_settings *s, unsigned int export, const char *block,
			      const char *key);

/* The highest level of the log for any of its components: "EVENT", "FULL_DEBUG". */
const char *nfs_settings_level(const struct nfs_settings *s);

/* Folders of this machine that are exported, each once; of other file systems (Ceph, Gluster)
 * none. Returns how many, at most room. */
size_t nfs_settings_folders(const struct nfs_settings *s, char (*out)[CENSUS_PATH_MAX],
			    size_t room);

/* Notes settings that make figures differ, r->limit.workers, and warnings. 0 or -ENOMEM. */
int nfs_settings_note(const struct nfs_settings *s, struct run *r);

#endif
