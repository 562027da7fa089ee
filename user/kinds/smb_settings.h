/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KINDS_SMB_SETTINGS_H
#define KINDS_SMB_SETTINGS_H

/*
 * Settings of a Samba server, as its own testparm prints them: with includes, the registry and
 * defaults of its version. smb.conf(5) has the meanings. Only the level of the log is asked of the
 * server itself (smbcontrol): testparm prints its own.
 */

#include "kinds/conf.h"
#include "run/run.h"

struct smb_settings {
	bool known;
	char why[ERR_TEXT_MAX];     /* not known: a sentence */
	char file[CENSUS_PATH_MAX]; /* smb.conf, below the server's root; empty: the usual one */
	char version[64];           /* "4.17.12-Debian"; empty: not known */
	char log[8];                /* the highest level of the log; empty: not known */
	time_t changed_s; /* when that file was, or may have been, changed; 0: not known */
	struct afpconf conf;
};

/* Runs testparm, smbcontrol and smbd -V for the main process of a server. smb_settings_fini in
 * every case. */
void smb_settings_read(struct smb_settings *out, const struct servers_entry *s);
void smb_settings_fini(struct smb_settings *s);

/* From what testparm printed, which it owns from here on. 0 or a negative errno. */
int smb_settings_take(struct smb_settings *out, char *text);
/* From what "smbcontrol smbd debuglevel" printed. */
void smb_settings_take_log(struct smb_settings *out, const char *text);

/* Of how many shares of all (printers are none) the condition is true for the value of a key, which
 * may be that of [global]; of one that only [global] has, 1 of 1. */
struct smb_settings_n {
	size_t n, all;
};

struct smb_settings_n smb_settings_count(const struct smb_settings *s, const char *key,
					 bool (*is)(const char *value));

/* Notes version, r->shares (unless a session may have read something else when it began), settings
 * that make figures differ, modules that sessions have loaded, and warnings. 0 or -ENOMEM. */
int smb_settings_note(const struct smb_settings *s, const struct servers_entry *e, struct run *r);

#endif
