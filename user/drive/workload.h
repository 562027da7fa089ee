/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_WORKLOAD_H
#define DRIVE_WORKLOAD_H

/*
 * The one path of every command that loads a server: opens the session or the directory, notes what
 * was asked for, runs the workload while the server is watched, makes the cross-checks, prints the
 * report, keeps the run, removes what is left. A command brings its options and a workload_type;
 * what it sends is in client/work.
 */

#include "app/output.h"
#include "drive/session.h"
#include "load/load.h"

/* What the options of a workload come to. A command's own struct begins with it. */
struct workload_cfg {
	struct session_cfg s;
	unsigned int verbose;
	int table; /* enum output_table */
	bool csv, help;
	bool compatible; /* the program has the name of netatalk's tool */
};

#define WORKLOAD_DEFAULTS                                                                          \
	{                                                                                          \
		.s.c = CONNECT_DEFAULTS, .table = OUTPUT_NOT_GIVEN                                 \
	}

/* clang-format off */
/*
 * The last rows of a table of options, before OPT_END, over a struct that has the workload_cfg as
 * member "member": of a workload that also runs on a directory and has no table of netatalk's.
 */
#define WORKLOAD_OPTIONS(cfg_type, member)                                                         \
	SESSION_LOCAL_OPTIONS(cfg_type, member.s),                                                 \
	CONNECT_OPTIONS(cfg_type, member.s.c),                                                     \
	{ .type = OPT_HEADING, .help = "Watch and output:" },                                      \
	SESSION_WATCH_OPTIONS(cfg_type, member.s),                                                 \
	RUNS_OPTIONS(cfg_type, member.s.runs),                                                     \
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT,                                     \
	  .offset = offsetof(cfg_type, member.verbose), .help = "print all that was measured" },   \
	{ .name = "help", .type = OPT_FLAG, .offset = offsetof(cfg_type, member.help),             \
	  .help = "this text" },                                                                   \
	CMD_VERSION_OPTION
/* clang-format on */

struct workload;

struct workload_type {
	const char *name;          /* of the command */
	const char *set;           /* requests that it sends, with a version: "lantest-4.5" */
	const struct opt *options; /* over its own struct */
	const char *help;          /* a sentence or two, for --help */
	unsigned int window;       /* most requests in flight in its session */
	bool has_store;            /* works through a store, so that a directory will do */
	bool many;                 /* has more sessions than its own: the whole server is watched */
	/* Of the options, before anything is opened; NULL: nothing. 0, or -EINVAL and a text. */
	int (*check)(struct workload_cfg *cfg, struct err *e);
	/* In place of all that follows: its exit code; NULL, or -1: nothing. */
	int (*elsewhere)(struct workload_cfg *cfg);
	/* After all is open, first; NULL: nothing. OUTCOME_OK, or another with the text in e. */
	enum outcome (*prepare)(struct workload *w, struct err *e);
	/* Its options, into the run's; NULL: none. 0 or -ENOMEM. */
	int (*describe)(struct workload *w);
	/* Returns as workloads do (load.h); names what it may leave behind in
	 * w->s.left. */
	int (*work)(struct workload *w, struct err *e);
	/* NULL: the first screen, or with -v the long report. 0, -ENOMEM, or of writing. */
	int (*report)(struct workload *w, const struct report_opts *o);
	/* Of another tool's name; NULL: the outcome, with the faults. */
	int (*exit_code)(const struct workload *w, enum outcome o);
	size_t size; /* of the command's own state, which begins with a workload; 0: that alone */
};

/* What went wrong with clients: an error of its own, also where the run is complete. */
struct workload_faults {
	bool none_open; /* the server was never reached */
	bool lost;      /* sessions */
	bool refused;   /* some sessions, or actions */
	bool slow;      /* a limit was not kept */
};

/* One run of a workload. Long: on the heap. A command's own state may begin with it. */
struct workload {
	const struct workload_type *type;
	const struct workload_cfg *cfg;
	const char *set; /* that of type, unless the command chooses another */
	struct session s;
	struct store_afp_opts store; /* of its store, but for machine and second volume */
	struct load load;
	struct load_hooks hooks; /* user is the workload itself */
	struct workload_faults faults;
};

/* All 0 before. Afterwards a command may replace hooks, set and store. */
void workload_init(struct workload *w, const struct workload_type *type,
		   const struct workload_cfg *cfg);

/* The only operand, if it is a place that needs no server (store_is_local, or a directory): instead
 * of -L -P. */
void workload_take_place(struct session_cfg *cfg, int *n, char **operand);

/* Runs it, all but the options; prints what went wrong. Returns the exit code. */
int workload_run(struct workload *w);

/* The whole command, from its arguments; cfg has the command's own defaults, and begins its
 * struct. Returns the exit code. */
int workload_main(const struct workload_type *type, struct workload_cfg *cfg, int argc,
		  char **argv);

#endif
