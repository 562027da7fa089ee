/* SPDX-License-Identifier: GPL-2.0-or-later */
/* afpscope record: its options, and what goes together; record.c does the rest. */
#include "app/child.h"
#include "attach/guard.h"
#include "attach/sampler.h"
#include "host/sample.h"
#include "kinds/kind.h"
#include "main/record.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
#define OFFSET(m) offsetof(struct record_cfg, m)
const struct opt record_options[] = {
	{ .type = OPT_HEADING, .help = "Which server (default: the only one of this host):" },
	WHOM_OPTIONS(struct record_cfg, whom),
	{ .name = "server", .type = OPT_FLAG, .offset = OFFSET(server),
	  .help = "with --pid of a session: the whole server it belongs to" },
	{ .name = "exe", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(exe), .help = "--kind any, gluster, rx: the processes of this program",
	  .more = "It is a name or a path, and without --kind means `any`. Their children are watched, too. If several of "
	 	"them have nothing to do with each other, they are listed and --pid names one." },
	{ .name = "unit", .arg = "UNIT", .type = OPT_STRING, .offset = OFFSET(unit), .help = "those of this systemd unit or cgroup",
	  .more = "Without --kind it means `any`. A cgroup is given by its path. Where the system and a user have units "
	 	"of one name, the path must be given." },
	{ .name = "volume", .arg = "NAME", .type = OPT_STRING, .offset = OFFSET(volume), .help = "--kind gluster: the bricks of this volume",
	  .more = "Its self-heal daemon and mounts, and glusterd, are watched, too. If several servers on this host "
	 	"have a volume of that name, --pid or --port of a glusterd chooses one." },
	{ .name = "kind", .arg = "KIND", .type = OPT_CHOICE, .offset = OFFSET(kind), .choice = kind_names,
	  .help = KINDS_HELP(KINDS, " (default: afp; any with --exe or --unit)"), .more = KINDS_MORE },
	{ .type = OPT_HEADING, .help = "How long (default: until Ctrl-C):" },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_SECONDS, .offset = OFFSET(seconds), .min = 1, .max = 86400,
	  .help = "at most this long; with a COMMAND until it has ended",
	  .more = "A COMMAND that still runs then is ended. Up to 4,096 processes of the server are watched at "
	 	"once; those that have ended make room for others. Further processes are not watched, which is "
	 	"reported as a loss." },
	GUARD_OPTION(struct record_cfg, max_cpu),
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	{ .name = "watch", .arg = "HOW", .type = OPT_CHOICE, .offset = OFFSET(watch), .choice = record_watch_choices,
	  .help = "how the server is observed (default: auto, the best that works here)",
	  .more = WATCH_MORE },
	{ .name = "sample", .arg = "HZ", .type = OPT_UINT, .offset = OFFSET(hz), .min = 1, .max = SAMPLE_HZ_MAX, .help = SAMPLER_HELP,
	  .more = SAMPLER_MORE " If only /proc can be read, the default is 10." },
	TRACING_OPTIONS(struct record_cfg, trace),
	RUNS_RTT_OPTION(struct record_cfg, runs),
	RUNS_OPTIONS(struct record_cfg, runs),
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = OFFSET(verbose), .help = "print all that was measured",
	  .more = "Without it the report is one screen: whether the figures can be trusted, where the server's time "
	 	"went, the commands that took most of it, and the busiest sessions." },
	{ .name = "help", .type = OPT_FLAG, .offset = OFFSET(help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_STOP },
	{ .type = OPT_END },
};
/* clang-format on */

/* --exe and --unit are of kind any; 0 or a negative errno. */
static int kind_check(struct record_cfg *c, struct err *e)
{
	bool by_name = c->exe || c->unit;

	if (by_name && (c->whom.pid || c->whom.port))
		return err_set(e, -EINVAL,
			       "--exe and --unit name a program, as --pid and --port "
			       "do: give one of them");
	if (c->exe && c->unit)
		return err_set(e, -EINVAL,
			       "--exe and --unit each name a program: give one of them");
	if (by_name && !c->kind)
		c->kind = KIND_ANY;
	if (c->volume && !kind_at(c->kind)->has_volumes)
		return err_set(e, -EINVAL, "--volume is of --kind gluster");
	return tracing_check_kind(&c->trace, &kind_at(c->kind)->is, e);
}

int record_parse(struct record_cfg *cfg, int argc, char **argv, struct err *e)
{
	int first, r;

	*cfg = (struct record_cfg) { .name = "record" };
	r = whom_check(&cfg->whom, opt_parse(record_options, cfg, argc, argv, &first, e), e);
	if (r || cfg->help)
		return r;
	if (first < argc)
		cfg->command = argv + first;
	cfg->runs.screen = !cfg->verbose && !runs_json_only(&cfg->runs);
	r = tracing_check(&cfg->trace, e);
	return r ? r : kind_check(cfg, e);
}

int cmd_record(int argc, char **argv)
{
	struct record_cfg cfg;
	struct err e = { 0 };

	if (record_parse(&cfg, argc, argv, &e))
		return cmd_usage_error("record", &e);
	if (cfg.help)
		return cmd_help(
		    record_options,
		    "Usage: afpscope record [OPTIONS] [-- COMMAND [ARGUMENT...]]\n"
		    "Watches a running AFP server with all its sessions, present and future, and shows\n"
		    "what each AFP command costs inside it. Changes nothing and needs no client.\n"
		    "With --kind any: the calls, times and threads of any other program; with --kind\n"
		    "gluster: of GlusterFS bricks, and what each of their requests costs; with --kind rx:\n"
		    "of servers over Rx (OpenAFS), and what each of their calls costs; with --kind smb:\n"
		    "of Samba, with --kind nfs of nfs-ganesha, and what each of its requests costs.\n\n");
	if (runs_check(&cfg.runs, &e) || (cfg.command && child_check(cfg.command[0], &e)))
		return cmd_usage_error("record", &e);
	cmd_catch_signals();
	return record_run(&cfg);
}
