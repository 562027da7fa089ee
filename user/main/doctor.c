/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope doctor: says what is wrong with a running server, or was in a saved run. */
#include "app/cmd.h"
#include "app/output.h"
#include "app/saved.h"
#include "attach/guard.h"
#include "doctor/diagnose.h"
#include "kinds/kind.h"
#include "main/record.h"
#include "report/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 60

/* clang-format off */
#define OFFSET(m) offsetof(struct record_cfg, m)
const struct opt doctor_options[] = {
	{ .type = OPT_HEADING, .help = "Which server (default: the only one of this host):" },
	WHOM_OPTIONS(struct record_cfg, whom),
	{ .name = "unit", .arg = "UNIT", .type = OPT_STRING, .offset = OFFSET(unit), .help = "the server of this systemd unit or cgroup",
	  .more = "A cgroup is given by its path. Where the system and a user have units of one name, the path must "
	 	"be given." },
	{ .name = "kind", .arg = "KIND", .type = OPT_CHOICE, .offset = OFFSET(kind), .choice = kind_judged,
	  .help = KINDS_HELP(KINDS_JUDGED, " (default: afp; otherwise whichever other kind runs here)"),
	  .more = "docs/doctor.md lists what can be found of each." },
	{ .type = OPT_HEADING, .help = "How:" },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_SECONDS, .offset = OFFSET(seconds), .min = 1, .max = 86400,
	  .help = "watch so long (default: " OPT_TEXT(SECONDS) ")",
	  .more = "Ctrl-C ends it earlier, with a diagnosis of what was seen." },
	GUARD_OPTION(struct record_cfg, max_cpu),
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE, .offset = OFFSET(watch), .choice = record_watch_choices,
	  .help = "how the server is observed (default: auto, the best that works here)",
	  .more = "With `proc` requests are not counted: only causes that do not depend on them can be found." },
	{ .name = "short", .type = OPT_FLAG, .offset = OFFSET(brief), .help = "print a line for each finding" },
	RUNS_RTT_OPTION(struct record_cfg, runs),
	RUNS_OPTIONS(struct record_cfg, runs),
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(verbose), .help = "print all that was measured" },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

/* The kind of server that a run names, else the one that has such figures. */
static const struct run_kind *main_doctor_kind(const json_t *run)
{
	const char *name = json_string_value(json_object_get(run, "kind"));
	const json_t *figures = json_object_get(run, "figures");
	const struct run_kind *kind = NULL;
	enum run_judged by = RUN_JUDGED_SESSIONS;

	for (size_t i = 0; name && kind_judged[i]; i++)
		if (!strcmp(kind_judged[i], name))
			return &kind_at(kind_place(name))->is;
	for (unsigned int i = 0; i < N_RUN_FIGURES; i++)
		if (json_object_get(figures, run_figures[i].key))
			by = run_figure_of((enum run_figure)i);
	for (size_t i = 0; kind_judged[i] && (!kind || kind->judged != by); i++)
		kind = &kind_at(kind_place(kind_judged[i]))->is;
	return kind;
}

static int of_run(const struct record_cfg *cfg, const char *name)
{
	const struct report_opts opts = output_terminal();
	struct run_figures f = { 0 };
	struct err e = { 0 };
	size_t impossible;
	char *folder;
	json_t *run;
	int r;

	if (runs_find(&folder, name, &e)) {
		cmd_say("%s", e.text);
		return OUTCOME_USAGE;
	}
	run = runs_load(folder);
	f.kind = main_doctor_kind(run);
	impossible = saved_figures(&f, run);
	if (impossible)
		cmd_say("%s: %zu of the run's figures cannot be (below 0, a share above 1, or too "
			"large): nothing is concluded from them",
			folder, impossible);
	if (!json_object_get(run, "figures")) {
		cmd_say(
		    "%s: %s", folder,
		    run ? "this run has no figures for a diagnosis; those of record and doctor have them"
			: "there is no run, or it is damaged or cut off");
		r = OUTCOME_USAGE;
	} else if (report_doctor(&f, &opts, cfg->brief, stdout)) {
		cmd_say("cannot print the report: %s", strerror(errno));
		r = OUTCOME_FAILED;
	} else {
		r = (int)diagnose_outcome(&f);
	}
	json_decref(run);
	free(folder);
	return r;
}

int doctor_parse(struct record_cfg *cfg, const char **run, int argc, char **argv, struct err *e)
{
	int first, r;

	*cfg = (struct record_cfg) { .name = "doctor", .judge = true };
	r = whom_check(&cfg->whom, opt_parse(doctor_options, cfg, argc, argv, &first, e), e);
	if (r || cfg->help)
		return r;
	*run = first < argc ? argv[first] : NULL;
	cfg->kind = kind_place(kind_judged[cfg->kind]);
	if (cfg->unit && (cfg->whom.port || cfg->whom.pid))
		return err_set(e, -EINVAL,
			       "--unit names a server, as --port and --pid do: give one of them");
	if (argc - first > 1)
		return err_set(e, -EINVAL, "give one RUN, or none to watch a server");
	if (*run && (cfg->seconds || cfg->watch || cfg->unit || cfg->whom.port || cfg->whom.pid))
		return err_set(
		    e, -EINVAL,
		    "-d, -p, --pid, --unit and --watch choose what is watched and how; a saved RUN is not watched again");
	cfg->seconds = cfg->seconds ? cfg->seconds : SECONDS;
	cfg->runs.screen = !cfg->verbose && !runs_json_only(&cfg->runs);
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct record_cfg cfg;
	const char *run = NULL;
	struct err e = { 0 };

	if (doctor_parse(&cfg, &run, argc, argv, &e))
		return cmd_usage_error("doctor", &e);
	if (cfg.help)
		return cmd_help(
		    doctor_options,
		    "Usage: afpscope doctor [OPTIONS]\n"
		    "       afpscope doctor [--short] RUN\n"
		    "Watches a running server of AFP, GlusterFS, Rx, SMB or NFS and says what is wrong\n"
		    "with it, what shows that, and what to try. Changes nothing and needs no client.\n"
		    "RUN: a saved run of record, doctor or rx. Exit code: 0 nothing is wrong, 1 there\n"
		    "are findings, 4 no verdict.\n\n");
	if (runs_check(&cfg.runs, &e))
		return cmd_usage_error("doctor", &e);
	if (run)
		return of_run(&cfg, run);
	cmd_catch_signals();
	return record_run(&cfg);
}
