/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_RECORD_H
#define MAIN_RECORD_H

/* Watches a running server for a time, whoever its clients are: for record and doctor. */

#include "app/runs.h"
#include "attach/tracing.h"
#include "attach/whom.h"

struct record_cfg {
	const char *name;  /* of the command: "record" */
	bool judge, brief; /* the outcome is the diagnosis's; which is printed in a few lines */
	struct whom_cfg whom;
	int kind; /* its place in kind_names */
	const char *exe, *unit, *volume;
	unsigned int seconds, hz, verbose;
	bool server, help;
	double max_cpu; /* share of a CPU; 0: no limit */
	int watch;      /* enum watch_mode */
	struct tracing_cfg trace;
	struct runs_cfg runs;
	char *const *command; /* NULL: none */
};

/*
 * Defaults, and what the arguments say; of doctor also *run: a saved one, NULL: a server is
 * watched. Open nothing. 0, or a negative errno and a text.
 */
int record_parse(struct record_cfg *cfg, int argc, char **argv, struct err *e);
int doctor_parse(struct record_cfg *cfg, const char **run, int argc, char **argv, struct err *e);

/* The words of --watch, in the order of enum watch_mode; ends with NULL. */
extern const char *const record_watch_choices[];

/* All of it: watches, prints, keeps the run. Returns enum outcome, or COMMAND's exit code. */
int record_run(const struct record_cfg *cfg);

#endif
