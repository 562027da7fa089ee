/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_WORKLOAD_H
#define DRIVE_WORKLOAD_H

/*
 * The one path of every command that loads a server: opens the session or the directory, notes what
 * was asked for, runs the workload while the server is watched, makes the cross-checks, prints the
 * report, keeps the run, removes what is left. A command brings its options and a workload_type;
 * what it sends is in client/work.
 */

#include "app/job.h"
#include "app/output.h"
#include "drive/session.h"
#include "load/load.h"

/* What the options of a workload come to. A command's own struct begins with it. */
struct workload_cfg {
	struct session_cfg s;
	unsigned int verbose;
	int table; /* enum output_table */
	bool csv, help, show_job;
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
	WORKLOAD_OUTPUT_OPTIONS(cfg_type, member, WORKLOAD_ONE_SCREEN)

/* Of these, what comes after the connection; verbose_more: what the manual says of -v. */
#define WORKLOAD_OUTPUT_OPTIONS(cfg_type, member, verbose_more)                                    \
	{ .type = OPT_HEADING, .help = "Watch and output:" },                                      \
	JOB_OPTION(cfg_type, member.show_job),                                                     \
	SESSION_WATCH_OPTIONS(cfg_type, member.s),                                                 \
	WORKLOAD_LAST_OPTIONS(cfg_type, member, verbose_more)

/* Of these, what comes after the watch. */
#define WORKLOAD_LAST_OPTIONS(cfg_type, member, verbose_more)                                      \
	RUNS_OPTIONS(cfg_type, member.s.runs),                                                     \
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT,                                     \
	  .offset = offsetof(cfg_type, member.verbose), .help = "print all that was measured",     \
	  .more = verbose_more },                                                                  \
	{ .name = "help", .type = OPT_FLAG, .job = OPT_JOB_NEVER, .offset = offsetof(cfg_type, member.help),             \
	  .help = "this text" },                                                                   \
	CMD_VERSION_OPTION
#define WORKLOAD_ONE_SCREEN "Without it the report is one screen."
/* clang-format on */

struct workload;

struct workload_type {
	const char *name;    /* of the command */
	const char *set;     /* requests that it sends, with a version: "lantest-4.5" */
	const char *help;    /* a sentence or two, for --help */
	unsigned int window; /* most requests in flight in its session */
	bool has_store;      /* works through a store, so that a directory will do */
	bool many;           /* has more sessions than its own: the whole server is watched */
	const struct job_type *job; /* its options, and what else a job file of it may say */
	/* cfg, which has the defaults, from these arguments: workload_parse(), and what is its own;
	 * NULL: only that. Opens nothing. 0, or a negative errno and a text. */
	int (*parse)(struct workload_cfg *cfg, struct job *j, struct err *e);
	/* What then needs files or processes, before anything is opened; NULL: nothing. Likewise.
	 */
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
	bool unsure;    /* it cannot be told whether one was */
	bool ended;     /* the load was ended because a limit was broken: that is the outcome */
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

/* What came of the limits that were asked for: the exit code. */
void workload_judge(struct workload *w, enum run_slo_verdict worst);

/* All 0 before. Afterwards a command may replace hooks, set and store. */
void workload_init(struct workload *w, const struct workload_type *type,
		   const struct workload_cfg *cfg);

/*
 * The options that all have, and what follows them; with a store the operand may also be a place
 * that needs no server, which is in place of -L -P. Of --help only that it was asked for. 0, or a
 * negative errno and a text.
 */
int workload_parse(struct workload_cfg *cfg, struct job *j, bool has_store, struct err *e);

/*
 * What such a parse came to (r, e), once files may be looked at: a place that is not there was
 * meant to be a server, and that is what is wrong. r, or a negative errno and a text.
 */
int workload_parsed(struct workload_cfg *cfg, int r, struct err *e);

/* For job_type.target: a server's URL, or also such a place. */
int workload_take_url(void *cfg, char *target, struct err *e);
int workload_take_target(void *cfg, char *target, struct err *e);

/* Runs it, all but the options; prints what went wrong. Returns the exit code. */
int workload_run(struct workload *w);

/* The whole command, from its arguments; cfg has the command's own defaults, and begins its
 * struct. Returns the exit code. */
int workload_main(const struct workload_type *type, struct workload_cfg *cfg, int argc,
		  char **argv);

#endif
