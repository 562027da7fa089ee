/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_CMD_H
#define APP_CMD_H

/* What the subcommands share: exit codes, messages, signals, the table of commands. */

#include "base/err.h"
#include "base/opt.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* How a command ended. The process's exit code, but not under netatalk's names (compat/peer.c). */
enum outcome {
	OUTCOME_OK = 0,
	OUTCOME_FAILED = 1,     /* this program failed: memory, a file it could not write */
	OUTCOME_USAGE = 2,      /* wrong options or operands */
	OUTCOME_REFUSED = 3,    /* the server refused a request that the work needs */
	OUTCOME_UNTRUSTED = 4,  /* done, but a cross-check disagrees */
	OUTCOME_NO_SESSION = 5, /* not connected, not logged in, or no such volume */
	OUTCOME_LOST = 6,       /* the connection broke or the server stopped answering */
	OUTCOME_SLOW = 7,       /* done, but a limit that was asked for (--slo) was not kept */
	OUTCOME_UNSURE = 8,     /* done, but it cannot be told whether a limit was kept */
	OUTCOME_INTERRUPTED = 130,
};

struct command {
	const char *name;
	const char *summary;               /* one line for the list of commands */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; NULL: a program */
	const struct opt *options;         /* NULL: a program, which parses them itself */
};

extern const struct opt lantest_options[], speedtest_options[], load_options[], probe_options[],
    check_options[], record_options[], doctor_options[], slow_options[], top_options[],
    exporter_options[], clean_options[], smallfile_options[], replay_options[];

/*
 * Opens descriptors 0 to 2 where they are closed: else the next socket or file would take their
 * number, and get what is printed. Each is opened the wrong way (output for reading), so that
 * printing fails and is reported, as whoever closed it intended.
 */
void cmd_hold_standard(void);

/* The exit code of a program that ends with r: failed, and a message, if what was printed is lost.
 */
int cmd_end(int r, int failed);

/* A row for a table of options: prints the version and ends the program. */
int cmd_version(void *cfg, const char *arg, struct err *e);
#define CMD_VERSION_OPTION                                                                         \
	{                                                                                          \
		.name = "version", .type = OPT_CALL, .call = cmd_version, .job = OPT_JOB_NEVER,    \
		.help = "the program's version"                                                    \
	}

/* A shell's completion of these commands and their options, as a script. */
void complete_bash(FILE *out, const struct command *commands, size_t n);
void complete_zsh(FILE *out, const struct command *commands, size_t n);
void complete_fish(FILE *out, const struct command *commands, size_t n);

/*
 * A manual page from its template (docs/NAME.1.in): each line "@OPTIONS COMMAND@" becomes the
 * options of that command, in sections. 0; -EINVAL: no command of that name has options, -EIO.
 */
int manual_page(FILE *out, FILE *template, const struct command *commands, size_t n, struct err *e);

/* Set by SIGINT, SIGTERM and SIGHUP once cmd_catch_signals was called. */
extern volatile sig_atomic_t cmd_stop;
/* What else may set it, also before those signals: the first of them is still the first. */
#define CMD_STOP_TOLD     SIGUSR1 /* by rank 0 of a load */
#define CMD_STOP_ORPHANED SIGUSR2 /* the process that mpirun started has died */
void cmd_catch_signals(void);

/*
 * Raises the limit of open files to the most allowed: each process of a server takes some.
 * Programs that are started later inherit it.
 */
void cmd_allow_files(void);

/* "afpscope: text" on stderr. */
void cmd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct run_notes;
/* dropped: what rights_drop() returned. A failure is a warning of the run; NULL: said on stderr. */
void cmd_note_rights(int dropped, struct run_notes *warnings);

/* What --help prints: this text, and the options. Returns OUTCOME_OK. */
int cmd_help(const struct opt *options, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * "afpscope lantest: text" on stderr, and a pointer to --help; returns OUTCOME_USAGE. After an
 * interrupt (while a password was asked for) prints nothing and returns OUTCOME_INTERRUPTED.
 */
int cmd_usage_error(const char *command, const struct err *e);

int cmd_lantest(int argc, char **argv);
int cmd_speedtest(int argc, char **argv);
int cmd_load(int argc, char **argv);
int cmd_smallfile(int argc, char **argv);
int cmd_gfapi_perf(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_rx(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_slow(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_exporter(int argc, char **argv);
int cmd_clean(int argc, char **argv);

#endif
