/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of afpscope replay: their table, and what goes together. */
#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIME_MAX_NS 31536000000000000u /* a year */

#define AT(field)   offsetof(struct replay_cfg, field)

/* clang-format off */
const struct opt replay_options[] = {
	{ .type = OPT_HEADING, .help = "Replay:" },
	{ .name = "recording", .arg = "DIR", .type = OPT_STRING, .offset = AT(recording),
	  .help = "the recording: the folder of a run of record --trace --replayable, or of its trace; the same as RECORDING" },
	{ .name = "dry-run", .type = OPT_FLAG, .offset = AT(dry_run), .job = OPT_JOB_NEVER,
	  .help = "only say what would be made and sent, and what cannot be replayed" },
	{ .name = "prepare", .type = OPT_FLAG, .offset = AT(prepare), .job = OPT_JOB_NEVER,
	  .help = "only make the files that the recording needs, in a directory of the volume that stays until they are replayed",
	  .more = "The directory is afpscope-replay- and eight digits, which are those of the recording. If it was interrupted, "
		"the same command makes the rest. The next replay of this recording there uses it, and removes it at its end." },
	{ .name = "keep", .type = OPT_FLAG, .offset = AT(keep),
	  .help = "leave the files as they are after the replay, in the directory of --prepare",
	  .more = "The next replay there removes what must not be there, makes what is missing, and uses the rest." },
	{ .name = "speed", .arg = "X", .type = OPT_NUMBER, .offset = AT(speed), .max = 1000,
	  .help = "X times as fast as it was recorded: requests are due after 1/X of their time (default: 1)" },
	{ .name = "no-think", .type = OPT_FLAG, .offset = AT(no_think),
	  .help = "send each request as soon as the one before it was answered, in the order of the recording" },
	{ .name = "from", .arg = "SECONDS", .type = OPT_TIME, .offset = AT(from_s), .max = TIME_MAX_NS,
	  .help = "begin so long after the recording's begin" },
	{ .name = "to", .arg = "SECONDS", .type = OPT_TIME, .offset = AT(to_s), .max = TIME_MAX_NS,
	  .help = "end so long after the recording's begin (default: with its last request)" },
	{ .name = "slo", .arg = "LIMIT[,LIMIT]", .type = OPT_CALL, .offset = AT(slos), .call = slo_take, .repeats = true,
	  .help = "exit with 7 if this limit was not kept, with 8 if that cannot be told, such as p99<=50ms, "
		  "read.mean<=2ms, rate>=500, failed<=0.1%; may be repeated",
	  .more = "A limit is as that of afpscope load --slo; SCOPE is a kind of request as the table names it. The time counts "
		"from when a request was due, with --no-think from when it was sent. Whether the server kept up is said "
		"without a limit as well, and the exit code does not depend on that." },
	SESSION_FORCE_OPTION(struct replay_cfg, w.s),
	TICKER_OPTION(struct replay_cfg, live,
		"The line says how far it is, then the second's requests done, their mean latency from when they were due, failed "
		"requests, file data. The keys of the objects are those of afpscope load."),
	CONNECT_OPTIONS(struct replay_cfg, w.s.c),
	WORKLOAD_OUTPUT_OPTIONS(struct replay_cfg, w, WORKLOAD_ONE_SCREEN),
	{ .type = OPT_END },
};
/* clang-format on */

const struct job_type replay_job = {
	.command = "replay",
	.options = replay_options,
	.target = workload_take_target,
	.leading = "recording",
};

int replay_check(const struct replay_cfg *cfg, struct err *e)
{
	if (cfg->speed <= 0)
		return err_set(e, -EINVAL, "--speed %g: give a number above 0", cfg->speed);
	if (cfg->to_s > 0 && cfg->to_s <= cfg->from_s)
		return err_set(e, -EINVAL, "--to %g: not later than --from %g", cfg->to_s,
			       cfg->from_s);
	if (cfg->prepare && cfg->keep)
		return err_set(e, -EINVAL, "--keep: --prepare keeps the files anyway");
	return replay_check_slos(&cfg->slos, e);
}

int replay_parse(struct workload_cfg *base, struct job *j, struct err *e)
{
	struct replay_cfg *cfg = (struct replay_cfg *)base;
	int r = workload_parse(base, j, true, e);

	if (base->help)
		return 0;
	/* An option that is not known is said first: then there are no operands yet. */
	if (!cfg->recording && (!r || (j->operand && !j->n_operands)))
		return err_set(e, -EINVAL, "name the recording, and then where it is replayed");
	base->s.buffered = true;
	return r ? r : replay_check(cfg, e);
}

struct replay_opts replay_opts_of(const struct replay_cfg *cfg)
{
	return (struct replay_opts) { .speed = cfg->speed,
				      .no_think = cfg->no_think,
				      .from_ns = (uint64_t)(cfg->from_s * 1e9),
				      .to_ns = (uint64_t)(cfg->to_s * 1e9) };
}

int replay_describe(const struct replay_cfg *cfg, const struct replay_plan *p,
		    const struct recording *about, struct run_notes *o)
{
	int r = run_note(o, "recording", "%s", cfg->recording);

	r |= run_note(o, "recording_uuid", "%s", about->uuid);
	r |= run_note(o, "recording_s", "%.3f", (double)p->end_ns / 1e9);
	r |= run_note(o, "clients", "%u", p->n_clients);
	r |= run_note(o, "requests", "%u", p->n_steps);
	r |= run_note(o, "speed", "%g", cfg->speed);
	r |= run_note(o, "timed", "%s", cfg->no_think ? "no" : "yes");
	if (cfg->from_s > 0)
		r |= run_note(o, "from_s", "%g", cfg->from_s);
	if (cfg->to_s > 0)
		r |= run_note(o, "to_s", "%g", cfg->to_s);
	r |= run_note(o, "image_directories", "%llu", (unsigned long long)p->image.dirs);
	r |= run_note(o, "image_files", "%llu",
		      (unsigned long long)(p->image.files + p->image.fill));
	r |= run_note(o, "image_bytes", "%llu",
		      (unsigned long long)(p->image.bytes + p->image.rsrc_bytes));
	return r;
}
