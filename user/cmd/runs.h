/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CMD_RUNS_H
#define CMD_RUNS_H

/*
 * Where a run is kept: a folder with run.json, and trace/ where one was asked for. Without a name
 * of its own it stands among the user's runs: $AFPSCOPE_RUNS, or afpscope/runs in $XDG_STATE_HOME,
 * or in ~/.local/state; its name is its time, its command and the beginning of its id, and "last"
 * there is a symbolic link to the newest of those names.
 */

#include "base/err.h"
#include "base/opt.h"
#include "base/run.h"
#include "cmd/cmd.h"

struct runs_cfg {
	const char *folder; /* NULL: among the user's runs */
	const char *json;   /* run.json is written there, too; "-": to stdout */
	bool not_kept;      /* only where a folder is named, or must be for a trace */
	bool screen;        /* the report was the first screen: there is more to look at */
};

/* clang-format off */
#define RUNS_OPTIONS(cfg_type, member)                                                             \
	{ 'o', "output", "DIR", OPT_STRING, offsetof(cfg_type, member.folder),                     \
	  "the folder in which the run is kept (default: a new one among yours)", 0, 0, 0, NULL,   \
	  NULL },                                                                                  \
	{ 0, "no-save", NULL, OPT_FLAG, offsetof(cfg_type, member.not_kept),                       \
	  "do not keep the run", 0, 0, 0, NULL, NULL },                                            \
	{ 0, "json", "FILE", OPT_STRING, offsetof(cfg_type, member.json),                          \
	  "also save what was measured as JSON in FILE (-: on stdout, without a report)", 0, 0, 0, \
	  NULL, NULL }
/* clang-format on */

/*
 * What was given with -o and --json, before anything is done: 0, or a negative errno and why no run
 * could be kept there.
 */
int runs_check(const struct runs_cfg *cfg, struct err *e);

/* Where a run is kept while it is made. All 0: nowhere. */
struct runs_folder {
	char *path;
	int dir;  /* the folder: what is made in it is made there, whatever path names meanwhile */
	int lock; /* of the folder: no other run is kept in it meanwhile */
	int room; /* on its disk, for run.json, which a trace cannot take; 0: none */
};

/*
 * Makes the folder; to be closed. Nothing where none is wanted. needed: for a trace. A folder that
 * nobody named and that cannot be made is a warning of the run. 0, or a negative errno and why:
 * -EEXIST: it has another run, -errno: it cannot be made.
 */
int runs_open(struct runs_folder *out, const struct runs_cfg *cfg, bool needed, struct run *r,
	      struct err *e);
void runs_close(struct runs_folder *f);

/* What it is when runs_open has failed. */
enum outcome runs_refused(int r);

/*
 * Writes run.json into the folder (taken away again where nothing was measured and nobody named
 * it) and where it was asked for, and says on out, last of all, where the run is. The outcome o,
 * or OUTCOME_FAILED instead of OUTCOME_OK.
 */
enum outcome runs_save(struct runs_folder *f, const struct runs_cfg *cfg, const struct run *r,
		       FILE *out, enum outcome o);

/* Whether the report gives way to JSON on stdout. */
bool runs_json_only(const struct runs_cfg *cfg);

/*
 * The run that a name means (docs/analysis.md): a path, "last", or the begin of the name or the id
 * of one of the user's: *out, to be freed. -ENOENT: there is none; -EINVAL: it is not the only one.
 */
int runs_find(char **out, const char *name, struct err *e);

/* A rung that run.json in a folder names: its text, to be freed. NULL: there is none. */
char *runs_rung(const char *folder, const char *key);

/* PATH/NAME, to be freed; NULL without memory. */
char *runs_path(const char *folder, const char *name);

#endif
