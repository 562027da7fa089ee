/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_RUNS_H
#define APP_RUNS_H

/*
 * Where a run is kept: a folder with run.json, tables.json, job.ini (of a command that loads a
 * server: app/job.h), and trace/ where one was asked for. If
 * the user names no folder, it is made among the user's runs: $AFPSCOPE_RUNS, or afpscope/runs in
 * $XDG_STATE_HOME, or in ~/.local/state; its name is its time, its command and the beginning of its
 * id, and "last" there is a symbolic link to the newest of those names.
 */

#include "app/cmd.h"
#include "base/err.h"
#include "base/opt.h"
#include "run/run.h"

#define RUNS_LABELS_MAX 16

/* The labels that the user gives a run: KEY=VALUE, each key once. Borrowed. */
struct runs_labels {
	unsigned int n;
	const char *text[RUNS_LABELS_MAX];
};

struct runs_cfg {
	struct runs_labels labels;
	const char *folder; /* NULL: among the user's runs */
	const char *json;   /* run.json is written there, too; "-": to stdout */
	const char *rtt;    /* round-trip times, as run_rtts_parse() takes them; NULL: the usual */
	const char *lake;   /* the run is put there, too, by afpscope export; NULL: nowhere */
	const char *bundle; /* file for a bundle of the run, by afpscope bundle; NULL: none */
	bool not_kept;      /* only where a folder is named, or must be for a trace */
	const char *job;    /* what job.ini in the folder says; NULL: there is none */
	bool screen;        /* the report was the first screen: there is more to look at */
};

/* clang-format off */
#define RUNS_OPTIONS(cfg_type, member)                                                             \
	{ .letter = 'o', .name = "output", .arg = "DIR", .type = OPT_STRING,                       \
	  .offset = offsetof(cfg_type, member.folder),                                             \
	  .help = "the folder in which the run is kept (default: a new one among yours)",          \
	  .job = OPT_JOB_ASKED,                                                                    \
	  .more = "It has run.json, and trace/ with --trace. It is created if it does not "        \
		  "exist, and refused if it already has a run in it. A new one is named by "       \
		  "time, command and the run's id, in `$AFPSCOPE_RUNS`, else in `afpscope/runs` "  \
		  "of `$XDG_STATE_HOME` or of `~/.local/state`; the link `last` there points to "  \
		  "the newest. Its path is printed last, on standard error." },                    \
	{ .name = "no-save", .type = OPT_FLAG,                                                     \
	  .offset = offsetof(cfg_type, member.not_kept),                                           \
	  .help = "do not keep the run",                                                           \
	  .more = "It is kept nevertheless if a folder is given or there is a trace." },           \
	{ .name = "json", .arg = "FILE", .type = OPT_STRING, .job = OPT_JOB_ASKED,                 \
	  .offset = offsetof(cfg_type, member.json),                                               \
	  .help = "also save what was measured as JSON in FILE (-: on stdout, without a report)" },  \
	{ .name = "into", .arg = "LAKE", .type = OPT_STRING, .job = OPT_JOB_ASKED,                 \
	  .offset = offsetof(cfg_type, member.lake),                                               \
	  .help = "also put the run into this folder of many runs, as Parquet",                    \
	  .more = "At its end `afpscope export --into` does it, for `afpscope query` and "         \
		  "`afpscope history`." },                                                         \
	{ .name = "bundle", .arg = "FILE", .type = OPT_STRING, .job = OPT_JOB_ASKED,               \
	  .offset = offsetof(cfg_type, member.bundle),                                             \
	  .help = "also write the run without names to FILE, which may be sent to others",         \
	  .more = "At its end `afpscope bundle` does it (docs/bundle.md): users, files, hosts and "  \
		  "addresses are replaced by hashes. `afpscope bundle FILE --show` prints it." },  \
	{ .name = "label", .arg = "KEY=VALUE", .type = OPT_CALL, .call = runs_take_label,          \
	  .repeats = true, .job = OPT_JOB_ASKED, .offset = offsetof(cfg_type, member.labels),      \
	  .help = "a label of the run, as in commit=1f3a9c; again: another one",                   \
	  .more = "`afpscope compare` finds runs by their labels, and `afpscope history` shows "   \
		  "a label at the place where a value changed. KEY has letters, digits, `_`, `.` " \
		  "and `-`." }
/* Of commands whose runs have round trips. */
#define RUNS_RTT_OPTION(cfg_type, member)                                                          \
	{ .name = "rtt", .arg = "MS,...", .type = OPT_CALL, .call = runs_take_rtt,                 \
	  .offset = offsetof(cfg_type, member.rtt),                                                \
	  .help = "round-trip times, in ms, for which -v says what an action would take "      \
		  "(default: " RUN_RTTS ")",                                                       \
	  .more = "At most 6, each up to 60000, with decimals. The time to expect differs from that "\
		  "here by the round trips alone. See \"Round trips\" in "            \
		  "docs/load.md." }
/* clang-format on */

/* --rtt: into a const char *. 0; -EINVAL and why these are no round-trip times. */
int runs_take_rtt(void *to, const char *arg, struct err *e);

/* --label: adds KEY=VALUE to struct runs_labels. 0; -EINVAL and why it is not one. */
int runs_take_label(void *to, const char *arg, struct err *e);

/*
 * Checks -o, --into and --json before anything is done: 0, or a negative errno and why no run
 * could be kept there.
 */
int runs_check(const struct runs_cfg *cfg, struct err *e);

/* Where the run is kept, while it is made. All 0: nowhere. */
struct runs_folder {
	char *path;
	int dir;  /* the folder; files are made relative to it, in case path is renamed meanwhile */
	int lock; /* of the folder, against other runs in it */
	int room; /* disk space reserved for both files, out of reach of the trace; 0: none */
};

/*
 * Gives the run its labels, and makes the folder, if one is wanted; to be closed. needed: for a
 * trace. If the user named no folder and none can be made, the run gets a warning. 0, or a negative
 * errno and why: -EEXIST: it has another run, -errno: it cannot be made.
 */
int runs_open(struct runs_folder *out, const struct runs_cfg *cfg, bool needed, struct run *r,
	      struct err *e);
void runs_close(struct runs_folder *f);

/* The outcome when runs_open has failed. */
enum outcome runs_refused(int r);

/*
 * Writes run.json, tables.json and job.ini into the folder (removed again if nothing was measured
 * and the user did not name it) and to the file of --json, puts the run into the lake of --into,
 * writes the bundle of --bundle; then prints on out where the run is.
 * Returns o, or OUTCOME_FAILED instead of OUTCOME_OK; that a file beside run.json cannot be written
 * is only said.
 */
enum outcome runs_save(struct runs_folder *f, const struct runs_cfg *cfg, const struct run *r,
		       FILE *out, enum outcome o);

/*
 * What one of several processes did, for a run that another one keeps in this folder: rank-N.json.
 * 0, or a negative errno and why.
 */
int runs_save_part(const char *folder, unsigned int rank, const struct run *r, struct err *e);

/* Whether JSON on stdout replaces the report. */
bool runs_json_only(const struct runs_cfg *cfg);

/*
 * The run that a name means (docs/analysis.md): a path, "last", or the begin of the name or the id
 * of one of the user's: *out, to be freed. -ENOENT: no run matches; -EINVAL: several match.
 */
int runs_find(char **out, const char *name, struct err *e);

/*
 * run.json of a folder, or a file that has a run, such as a bundle (jansson's json_t, all numbers
 * as reals), to be released. NULL: missing or damaged.
 */
struct json_t;
struct json_t *runs_load(const char *folder);

/* Whether the id of the run in a folder of any name begins so: reads no more of it than it must. */
bool runs_has_id(const char *folder, const char *id);

/* PATH/NAME, to be freed; NULL without memory. */
char *runs_path(const char *folder, const char *name);

#endif
