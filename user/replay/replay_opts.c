/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of afpscope replay: their table, and what goes together. */
#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIME_MAX_NS 31536000000000000u /* a year */

#define AT(field)   offsetof(struct replay_cfg, field)
#define COPIES_MAX  1000
#define CLIENTS_MAX 100000

static int replay_opts_take_copies(void *to, const char *arg, struct err *e)
{
	static const struct opt row = { .type = OPT_UINT, .min = 1, .max = COPIES_MAX };
	uint64_t n;

	if (*arg != 'x' || opt_number(&row, "", arg + 1, &n, NULL))
		return err_set(e, -EINVAL, "'%s' is not x1 to x%d, such as x3", arg, COPIES_MAX);
	*(unsigned int *)to = (unsigned int)n;
	return 0;
}

static int replay_opts_take_of_user(void *to, const char *arg, struct err *e)
{
	const char **word = to;
	unsigned int n = 0;

	while (n < REPLAY_OF_USER_MAX && word[n])
		n++;
	if (!*arg)
		return err_set(e, -EINVAL, "'%s' is no user", arg);
	if (n == REPLAY_OF_USER_MAX)
		return err_set(e, -EINVAL, "given more than %d times", REPLAY_OF_USER_MAX);
	word[n] = arg;
	return 0;
}

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
	{ .name = "clients", .arg = "xN", .type = OPT_CALL, .offset = AT(copies), .call = replay_opts_take_copies,
	  .help = "N copies of each session, such as x3, each copy with files of its own (default: x1)",
	  .more = "Copies do not depend on one another. They begin one after the other within a second, so that not all send the same "
		"request at the same moment. The files of the second copy and further ones are in directories below that of the first." },
	{ .name = "sessions", .arg = "N", .type = OPT_UINT, .offset = AT(sessions), .min = 1, .max = CLIENTS_MAX,
	  .help = "open at most N sessions at once besides the command's own, where the server has no place for more: one that has ended is used for a later one of the same user",
	  .more = "By default each session of the recording is a session of its own, all of which are opened before the replay. "
		"`--dry-run` says how many are needed at once." },
	{ .name = "of-user", .arg = "USER,...", .type = OPT_CALL, .offset = AT(of_user), .call = replay_opts_take_of_user, .group = "of-user", .repeats = true,
	  .help = "only the sessions of these users of the recording, names or numbers (default: all)",
	  .more = "`--dry-run` says which there are. The trace has the numbers; the names are those that the recording's run has seen." },
	{ .name = "from", .arg = "SECONDS", .type = OPT_TIME, .offset = AT(from_s), .max = TIME_MAX_NS,
	  .help = "begin so long after the recording's begin" },
	{ .name = "to", .arg = "SECONDS", .type = OPT_TIME, .offset = AT(to_s), .max = TIME_MAX_NS,
	  .help = "end so long after the recording's begin (default: with its last request)" },
	SESSION_THREADS_OPTIONS(struct replay_cfg, threads, realtime, ""),
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
	{ .name = "users", .arg = "FILE", .type = OPT_STRING, .offset = AT(users_file),
	  .help = "who the users of the recording log in as: a line for each, RECORDED=USER,PASSWORD (default: all as the user above)",
	  .more = "RECORDED is a name or number that `--dry-run` says. Users that have no line log in as the user of the command line, and the run "
		"warns of them. The rest of a line is as in the file of `afpscope-load`(1), but the volume, if it is given, must be that of the command line. "
		"Files and directories that must exist before are made with all rights for everybody (0666, 0777), as the recording does not say whose they were. "
		"`--prepare` needs the same option." },
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
	if (cfg->sessions && cfg->sessions < cfg->copies)
		return err_set(e, -EINVAL, "--sessions %u: fewer than the copies of --clients x%u",
			       cfg->sessions, cfg->copies);
	if (cfg->prepare && cfg->keep)
		return err_set(e, -EINVAL, "--keep: --prepare keeps the files anyway");
	if (cfg->users_file && cfg->w.s.local)
		return err_set(e, -EINVAL,
			       "--users: only sessions of an AFP server log in as several users");
	return replay_check_slos(&cfg->slos, e);
}

int replay_parse(struct workload_cfg *base, struct job *j, struct err *e)
{
	struct replay_cfg *cfg = (struct replay_cfg *)base;
	int r = workload_parse(base, j, true, e);

	if (base->help)
		return 0;
	/* An option that is not known is said first: then there are no operands yet. So is a
	 * mistake in a job file, which may name the recording below it. */
	if (!cfg->recording && (!r || (j->operand && !j->n_operands && !j->file)))
		return err_set(e, -EINVAL, "name the recording, and then where it is replayed");
	base->s.buffered = true;
	return r ? r : replay_check(cfg, e);
}

struct replay_opts replay_opts_of(const struct replay_cfg *cfg)
{
	return (struct replay_opts) { .speed = cfg->speed,
				      .no_think = cfg->no_think,
				      .most_sessions = cfg->sessions / cfg->copies,
				      .from_ns = (uint64_t)(cfg->from_s * 1e9),
				      .to_ns = (uint64_t)(cfg->to_s * 1e9) };
}

int replay_check_sessions(const struct replay_cfg *cfg, const struct replay_plan *p, struct err *e)
{
	const uint64_t n = (uint64_t)p->n_at_once * cfg->copies;

	if (!cfg->sessions || n <= cfg->sessions)
		return 0;
	return err_set(e, -EINVAL,
		       "--sessions %u is too few: %llu sessions are open at the same time%s",
		       cfg->sessions, (unsigned long long)n,
		       cfg->copies > 1 ? ", in all copies together" : "");
}

int replay_read(const struct replay_cfg *cfg, struct replay_plan **plan, struct recording *about,
		struct err *e)
{
	const struct replay_opts o = replay_opts_of(cfg);
	struct recording_choice only = { .words = cfg->of_user };
	int r;

	while (only.n < REPLAY_OF_USER_MAX && only.words[only.n])
		only.n++;
	r = recording_plan(plan, about, cfg->recording, &o, &only, e);
	if (!r && !(*plan)->n_steps && (cfg->from_s > 0 || cfg->to_s > 0))
		r = err_set(e, -ENODATA,
			    "%s: nothing in this part of it can be replayed; all of it is %.1f s "
			    "long",
			    cfg->recording, (double)(*plan)->end_ns / 1e9);
	else if (!r && !(*plan)->n_steps)
		r = err_set(e, -ENODATA, "%s: nothing in it can be replayed", cfg->recording);
	r = r ? r : replay_check_sessions(cfg, *plan, e);
	if (!r && (uint64_t)(*plan)->n_clients * cfg->copies > CLIENTS_MAX)
		r = err_set(e, -EINVAL, "--clients x%u: %u sessions come to more than %d clients",
			    cfg->copies, (*plan)->n_clients, CLIENTS_MAX);
	return r;
}

/* "anna,1002" of all that was given. */
static int replay_describe_of_user(const struct replay_cfg *cfg, struct run_notes *o)
{
	char text[512] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < REPLAY_OF_USER_MAX && cfg->of_user[i]; i++) {
		snprintf(text + len, sizeof(text) - len, "%s%s", i ? "," : "", cfg->of_user[i]);
		len = strlen(text);
	}
	return *text ? run_note(o, "of_user", "%s", text) : 0;
}

int replay_describe(const struct replay_cfg *cfg, const struct replay_plan *p,
		    const struct recording *about, struct run_notes *o)
{
	const unsigned int n = cfg->copies;
	int r = run_note(o, "recording", "%s", cfg->recording);

	r |= run_note(o, "recording_uuid", "%s", about->uuid);
	r |= run_note(o, "recording_s", "%.3f", (double)p->end_ns / 1e9);
	r |= run_note(o, "clients", "%u", p->n_clients * n);
	if (n > 1)
		r |= run_note(o, "copies", "%u", n);
	if (cfg->sessions)
		r |= run_note(o, "sessions", "%u", cfg->sessions);
	r |= replay_describe_of_user(cfg, o);
	if (cfg->users.n)
		r |= run_note(o, "users", "%u", cfg->users.n);
	r |= run_note(o, "requests", "%llu", (unsigned long long)p->n_steps * n);
	r |= run_note(o, "speed", "%g", cfg->speed);
	r |= run_note(o, "timed", "%s", cfg->no_think ? "no" : "yes");
	if (cfg->from_s > 0)
		r |= run_note(o, "from_s", "%g", cfg->from_s);
	if (cfg->to_s > 0)
		r |= run_note(o, "to_s", "%g", cfg->to_s);
	r |= run_note(o, "image_directories", "%llu", (unsigned long long)p->image.dirs * n);
	r |= run_note(o, "image_files", "%llu",
		      (unsigned long long)(p->image.files + p->image.fill) * n);
	r |= run_note(o, "image_bytes", "%llu",
		      (unsigned long long)(p->image.bytes + p->image.rsrc_bytes) * n);
	return r;
}
