/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_JOB_H
#define APP_JOB_H

/*
 * A job file holds the command line of a whole run, as an INI file (base/inifile.h):
 *
 *	[run]
 *	command = load
 *	target = afp://user@host/volume
 *	clients = 50
 *	duration = 30s
 *	no-probe = yes
 *
 * Its keys are the long options (the letter of those that have none, or that are named "command" or
 * "target"), so that an option needs nothing here. An option without argument is yes or no. An
 *option that may be repeated may be there several times. What the command line says as well
 *replaces what the file says.
 */

#include "base/err.h"
#include "base/inifile.h"
#include "base/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define JOB_FILE "job.ini" /* of a run's folder */

/* What a command has for its job files. */
struct job_type {
	const char *command;
	const struct opt *options;
	/* The file's target, before the options of the command line. Borrowed as argv is. */
	int (*target)(void *cfg, char *target, struct err *e);
	/* Keys of other sections, in place of this option; NULL: there is only [run]. */
	int (*section)(void *cfg, const struct inifile_key *k, struct err *e);
	const char *in_place_of;
	/* The option that the first word after the options is in place of: then the target follows.
	 * NULL: that is the first. */
	const char *leading;
	/* Prints those sections. 1; 0: there are none, and the option stays; a negative errno. */
	int (*show)(const void *cfg, FILE *out, struct err *e);
};

/* Options as they were given. */
struct job_options {
	size_t n;
	struct job_option {
		const struct opt *row; /* NULL: the target */
		const char *value;     /* NULL: it has no argument */
	} * option;
};

/* All 0 before; to be freed. What options point to is valid until then. */
struct job {
	const struct job_type *type;
	int argc;
	char **argv;
	const char *file; /* NULL: only a command line */
	char *text;       /* of the file */
	struct inifile_key *key;
	size_t n_keys;
	struct job_options of_file, of_line; /* those of the file that none of the line replaces */
	/* Once it was parsed: what follows the options on the command line, but for the file. */
	char **operand;
	int n_operands;
	bool target_is_path; /* set by the command */
};

/*
 * The first operand may be a job file: its name ends with ".ini". Reads it. 0, or a negative errno
 * and a text that names the file.
 */
int job_open(struct job *j, const struct job_type *type, int argc, char **argv, struct err *e);

/*
 * Options and target into cfg, which has the defaults. Opens nothing. 0; -EINVAL (-ERANGE: a
 * number) and a text, which begins with "FILE, line N: " if it is about the file; -ENOMEM.
 */
int job_parse(struct job *j, void *cfg, struct err *e);

/*
 * The job file of these options; passwords are left out. folder: of this process, which is put
 * before relative paths; NULL: they stay as they are. kept: for a run's own folder, without what
 * names places for the results of that run. 0, or a negative errno and a text.
 */
int job_show(FILE *out, const struct job *j, const void *cfg, const char *folder, bool kept,
	     struct err *e);

/* The same as a text to be freed, with this process's folder. NULL, 0 under another tool's name. */
int job_text(char **out, const struct job *j, const void *cfg, bool kept, struct err *e);

/* --show-job: on stdout. The exit code. */
int job_print(const struct job *j, const void *cfg);

void job_free(struct job *j);

/* A row for a table of options: over a struct that has the bool as member "member". */
#define JOB_OPTION(cfg_type, member)                                                               \
	{                                                                                          \
		.name = "show-job", .type = OPT_FLAG, .offset = offsetof(cfg_type, member),        \
		.job = OPT_JOB_NEVER, .help = "do nothing but print these options as a job file",  \
		.more = "Given in place of the server, a file whose name ends with .ini is a job " \
			"file, and its options are used; those that are given besides replace "    \
			"them. Each run keeps one of itself as job.ini in its folder. Passwords "  \
			"are left out. docs/load.md describes the format."                         \
	}

#endif
