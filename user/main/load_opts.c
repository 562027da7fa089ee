/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of afpscope load: their table, what goes together, and how a run remembers them. */
#include "main/load.h"

#include "report/ticker.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS_MAX 100000
#define SECONDS_MAX 604800
#define NS_PER_S    1000000000ull

static const char *const arrivals_choices[] = { "fixed", "poisson", NULL };

/* A built-in one is not. */
static bool load_opts_mix_is_file(const struct load_cfg *cfg)
{
	return !cfg->has_mix && strpbrk(cfg->mix_name, "/.");
}

/* [mix] and [actions] of a job file. */
static int load_opts_take_section(void *cfg, const struct inifile_key *k, struct err *e)
{
	struct load_cfg *c = cfg;

	if (!c->has_mix)
		mix_begin(&c->mix);
	c->has_mix = true;
	return mix_take(&c->mix, k, e);
}

/* A mix that is not built in goes into the job file as it is: its file may change, or go. */
static int load_opts_show(const void *cfg, FILE *out, struct err *e)
{
	const struct load_cfg *c = cfg;
	struct mix mix = c->mix;
	int r = 0;

	if (!load_opts_mix_is_file(c) && !c->has_mix)
		return 0;
	if (!*mix.name)
		r = mix_find(&mix, c->mix_name, e);
	if (r)
		return r;
	mix_put(out, &mix);
	return 1;
}

const struct job_type load_job = {
	.command = "load",
	.options = load_options,
	.target = workload_take_target,
	.section = load_opts_take_section,
	.in_place_of = "mix",
	.show = load_opts_show,
};

/* A number, or how it changes. */
static int load_opts_take_rate(void *to, const char *arg, struct err *e)
{
	static const struct opt number = { .type = OPT_NUMBER };
	struct load_rate *rate = to;

	*rate = (struct load_rate) { 0 };
	if (!strchr(arg, ':'))
		return opt_decimal(&number, "", arg, &rate->per_s, NULL)
			   ? err_set(e, -EINVAL, "'%s' is not a number", arg)
			   : 0;
	rate->text = arg;
	rate->per_s = 1; /* until it is known for how long */
	return rate_parse(&rate->changes, arg, e) ? -EINVAL : 0;
}

/* A number, or how it changes. */
static int load_opts_take_clients(void *to, const char *arg, struct err *e)
{
	static const struct opt row = { .type = OPT_UINT, .min = 1, .max = CLIENTS_MAX };
	struct load_crowd *crowd = to;
	struct err why = { 0 };
	uint64_t n;
	double most;
	int r;

	*crowd = (struct load_crowd) { 0 };
	if (!strchr(arg, ':')) {
		if (opt_number(&row, "", arg, &n, &why))
			return err_set(e, -EINVAL, "%s", why.text + strlen(": "));
		crowd->n = (unsigned int)n;
		return 0;
	}
	r = rate_parse(&crowd->changes, arg, &why);
	if (r == -EINVAL)
		return err_set(e, -EINVAL,
			       "'%s' is not a number such as 50, or points SECONDS:CLIENTS such as "
			       "0:10,60:200",
			       arg);
	most = floor(rate_most(&crowd->changes));
	if (r && most > 0)
		return err_set(e, -EINVAL, "%s", why.text);
	if (most < 1 || most > CLIENTS_MAX)
		return err_set(e, -EINVAL, "'%s': the most clients are not in 1..%d", arg,
			       CLIENTS_MAX);
	crowd->n = (unsigned int)most;
	crowd->text = arg;
	return 0;
}

bool load_thinks(const struct load_cfg *cfg)
{
	return draw_most(&cfg->mix.think) > 0;
}

#define AT(field) offsetof(struct load_cfg, field)

/* clang-format off */
const struct opt load_options[] = {
	{ .type = OPT_HEADING, .help = "Load:" },
	{ .letter = 'n', .name = "clients", .arg = "N|S:N,S:N...", .type = OPT_CALL, .offset = AT(crowd), .call = load_opts_take_clients,
	  .help = "how many clients, each with a session of its own; S:N: so many at S seconds, such as "
		  "0:10,60:200 (default: " OPT_TEXT(LOAD_CLIENTS) ")",
	  .more = "At most 100,000. The number may change in a closed loop: of points SECONDS:CLIENTS, at most 32, each is a moment "
	 	"of the measured time and how many clients work then; between two of them it changes evenly, two at "
	 	"the same time are a step, before the first and after the last one it stays as it is there. The k-th "
	 	"client begins actions while the number is k or more. All sessions are opened before, and stay open. "
	 	"Without `--duration` the load ends with the last point. The report has a line for each part between points. "
	 	"Not together with --steady and --abort-on-slo." },
	{ .letter = 'm', .name = "mix", .arg = "NAME|FILE", .type = OPT_STRING, .offset = AT(mix_name),
	  .help = "what they do: browse (default), office, batch-read, batch-write, metadata, timemachine, "
		  "login-storm, idle, or an INI file whose name has a '/' or '.'",
	  .more = "See MIXES." },
	{ .name = "only", .arg = "ACTION", .type = OPT_STRING, .offset = AT(only),
	  .help = "of the mix's actions only this one, on the same files (default: all)",
	  .more = "What the server does in such a load is all of this action: so its CPU time and system "
	 	"calls are known for each action." },
	{ .name = "files", .arg = "N", .type = OPT_UINT, .offset = AT(files), .max = 99999,
	  .help = "files in each directory (default: the mix's)" },
	{ .name = "file-size", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(file_len), .max = 1ull << 40,
	  .help = "of each file (default: the mix's)" },
	{ .name = "request", .arg = "BYTES", .type = OPT_SIZE, .offset = AT(request_len), .min = 512, .max = 64u << 20,
	  .help = "most bytes of one read or write; the server's limit holds, too (default: the mix's)" },
	{ .name = "window", .arg = "N", .type = OPT_UINT, .offset = AT(window), .min = 1, .max = 64,
	  .help = "reads or writes of one file that are in flight together (default: the mix's)" },
	{ .name = "directories", .arg = "N", .type = OPT_UINT, .offset = AT(directories), .min = 1, .max = CLIENTS_MAX,
	  .help = "how many directories of files, dealt out among the clients; with one number the amount of data "
		  "is the same for any number of clients (default: as many as clients)",
	  .more = "Each client has at least one; a client with several chooses one of them for each action. With "
	 	"the same N loads of 10 and of 100 clients work on the same amount of data: else a server whose "
	 	"memory holds the files of 10 clients and not those of 100 seems to have reached another limit "
	 	"than it has. Not for mixes whose clients share one directory." },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_SECONDS, .offset = AT(duration_s),
	  .min = 1, .max = SECONDS_MAX, .help = "how long to measure (default: " OPT_TEXT(LOAD_DURATION_S) ", or to the last point of --rate)" },
	{ .name = "ramp", .arg = "SECONDS", .type = OPT_SECONDS, .offset = AT(ramp_s), .max = SECONDS_MAX,
	  .help = "let the clients begin one after the other within it, before the measured time (default: 1)",
	  .more = "This is of a closed loop: in an open one the load is the whole one from the start. The measured "
	 	"time begins after it." },
	{ .name = "steady", .arg = "SECONDS", .type = OPT_SECONDS, .offset = AT(steady_s), .min = 12, .max = SECONDS_MAX,
	  .help = "after the ramp, wait until the rate has changed by at most 5 % in 10 s, but no longer than SECONDS",
	  .more = "That is: the straight line through the actions of each of the last 10 seconds rises or falls by "
	 	"at most 5 % of their mean, or by no more than its standard error, in that time. Then the "
	 	"measured time begins. If that has not happened after SECONDS, it begins nevertheless, and a "
	 	"warning says by how much the rate still changed." },
	{ .name = "rate", .arg = "R|S:R,S:R...", .type = OPT_CALL, .offset = AT(rate), .call = load_opts_take_rate,
	  .help = "open loop: all clients together begin R actions a second, however fast the server is; S:R: so "
		  "many at S seconds, such as 0:100,60:500,120:500 "
		  "(default: closed loop, a client begins its next action when the last one has ended)",
	  .more = "0 is a closed loop, too. A rate may change: of points SECONDS:RATE, at most 32, each is a moment of the measured "
	 	"time and the rate then; between two of them it changes evenly, two at the same time are a step, before the "
	 	"first and after the last one it stays as it is there. `--rate 0:100,60:100,60:500,70:500,70:100,120:100` is "
	 	"a spike of ten seconds. Without `--duration` the load ends with the last point. The report has a line for "
	 	"each part between points. Not together with --steady." },
	{ .name = "arrivals", .arg = "HOW", .type = OPT_CHOICE, .offset = AT(arrivals), .choice = arrivals_choices,
	  .help = "open loop: when actions begin, at equal distances or at random (default: poisson)",
	  .more = "At random they are as those of many users who know nothing of each other." },
	{ .name = "queue", .arg = "N", .type = OPT_UINT, .offset = AT(queue), .min = 1, .max = 1000000,
	  .help = "open loop: how many actions may wait for a free client; others are dropped, and counted "
		  "(default: all)",
	  .more = "Those that are dropped, like those that still wait at the end, are in the percentiles as `at least` as "
	 	"long as from when they were due to the end. An action that waits takes 8 bytes of memory; there "
	 	"is room for rate x duration of them, at most 4,194,304." },
	{ .name = "think", .arg = "TIME", .type = OPT_STRING, .offset = AT(think_text),
	  .help = "closed loop: pause between two actions of a client, the mean of exponential ones, or fixed:0.5, "
		  "uniform:0.1-2, lognormal:0.5,1.5 or 0.1*60,2*40 (default: the mix's)",
	  .more = "Times are seconds, or have a unit, such as 200ms. Of lognormal ones the median is given, and the "
	 	"standard deviation of the logarithm; of a table, times and weights." },
	{ .name = "compressible", .arg = "PERCENT", .type = OPT_SHARE, .offset = AT(compressible), .max = 100,
	  .help = "how much of what is written can be compressed (default: the mix's; none)",
	  .more = "That share of each 512 bytes are zeros; the rest is random." },
	{ .name = "dedup", .arg = "PERCENT", .type = OPT_SHARE, .offset = AT(dedup), .max = 100,
	  .help = "how much of what is written is the same in all files (default: the mix's; none)",
	  .more = "It is the share of the parts of 128 KiB, or of smaller files." },
	{ .name = "verify", .type = OPT_FLAG, .offset = AT(verify),
	  .help = "compare what is read with what was written, and after the load read all files again",
	  .more = "A read whose bytes are not those that were written is an action that has failed. The comparison "
	 	"takes this program's time, which is in the latency of an action that has a request after it. After the measured time each client reads all its files; those that are not as they were "
	 	"written are a warning, and the exit code is 3. The server may answer from its memory: that its disk has the "
	 	"same is not shown. A write that the server has answered and lost is found where the file was written as "
	 	"a whole; of random-write, not if the block has bytes of an earlier one. "
	 	"Not together with --set-of and --mpi." },
	{ .name = "at", .arg = "'SECONDS COMMAND'", .type = OPT_CALL, .offset = AT(changes), .call = timeline_take_change, .repeats = true,
	  .help = "run this shell command so many seconds after the load began, and mark the moment; may be repeated",
	  .more = "The load begins with its ramp. There may be 16 of them. The command has the rights with which "
	 	"this program was started, and prints to standard error. That it failed, or that the load ended "
	 	"before it was due, is a warning; if it still runs at the end, it is ended. The quotes may be "
	 	"left out if the command is one word of the shell: `--at 30 ./relieve`." },
	{ .name = "slo", .arg = "LIMIT[,LIMIT]", .type = OPT_CALL, .offset = AT(slos), .call = slo_take, .repeats = true,
	  .help = "exit with 7 if this limit was not kept, with 8 if that cannot be told, such as p99<=50ms, "
		  "save.mean<=2s, probe.max<=1s, rate>=500, failed<=0.1%, dropped<=0; may be repeated",
	  .more = "There may be 8 of them. A limit is [SCOPE.]FIGURE<=TIME, [SCOPE.]`rate>=`ACTIONS a second, "
	 	"[SCOPE.]`failed<=`N or `dropped<=`N. FIGURE is `mean`, `p50`, `p90`, `p95`, `p99`, `p99.9` or `max`; "
	 	"TIME is a number with `ns`, `us`, `ms` or `s`, and `=` will do for it; N is a number of actions, or "
	 	"a share of them with `%`. SCOPE is an action of the mix or `probe`; without it the limit is one of "
	 	"all actions of the clients. In an open loop the time counts from when an action was due.\n"
	 	"Actions that failed or were dropped count as longer than any limit, and clients that had no "
	 	"session, lost it or completed nothing break a limit of a time. Where a limit of `failed` or "
	 	"`dropped` is given, it says how many actions may be, and other limits are of the rest; failed "
	 	"actions then give exit code 7 or none instead of 3. Whatever else went wrong (the load generator "
	 	"had no time left, sessions were lost, actions failed that no limit allows) and does not break "
	 	"a limit makes that it cannot be told whether it was kept. So does a figure of something that never "
	 	"happened." },
	{ .name = "abort-on-slo", .type = OPT_FLAG, .offset = AT(abort_on_slo),
	  .help = "end the load in the first second in which a limit is broken beyond doubt",
	  .more = "That is: it would be broken even if all that is still to come went well, which is in an open loop "
	 	"what is planned, in a closed one in each second ten times as many actions as in the best second so "
	 	"far; and only while no thread of the load generator is short of time. What was measured is saved, the files are removed, the exit code is 7. Limits of one kind of "
	 	"action and of a rate are only judged at the end. Not together with --mpi." },
	TICKER_OPTION(struct load_cfg, live,
		"The figures are those of the second: actions done, how long they took (mean and longest; of a mix with one "
		"kind of action median and 99th percentile), failed and, in an open loop, dropped actions, file data, the "
		"probe's longest action. Percentiles of a second are known to a sixteenth. "
		"The curve is of the last 60 s at most, scaled by the highest of them. The keys of the objects are `second` "
		"(from the begin, with the ramp), `state`, `actions`, `failed`, `dropped`, `bytes`, `silent_s` (for how many "
		"seconds no action has ended), `mean_ns`, `max_ns`, and `p50_ns`, `p99_ns` and `probe_p99_ns`, which are of all "
		"kinds of actions together. With --mpi they are those of the first process."),
	RUNS_RTT_OPTION(struct load_cfg, w.s.runs),
	{ .name = "interval", .arg = "SECONDS", .type = OPT_TIME, .offset = AT(interval_s),
	  .help = "how often the server's counts are read, for its curve in time (default: 1; 0: only at the end)",
	  .more = "Decimals are allowed. At 0 there is no curve." },
	{ .name = "seed", .arg = "N", .type = OPT_SIZE, .offset = AT(seed),
	  .help = "start of the random numbers: the same seed, the same choices (default: 1)",
	  .more = "With the same seed each client chooses the same actions and files in the same order." },
	SESSION_THREADS_OPTIONS(struct load_cfg, threads, realtime, " The probe always runs so: it needs little."),
	{ .name = "no-probe", .type = OPT_FLAG, .offset = AT(no_probe),
	  .help = "without the probe, the client that does once a second what a user does" },
	{ .name = "set-of", .arg = "PID", .type = OPT_UINT, .offset = AT(set_of), .job = OPT_JOB_ASKED, .min = 1, .max = 9999999,
	  .help = "use the files of this process (a script); if they do not exist, make them. They stay: the "
		  "script removes them with --remove-set",
	  .more = "This is for scripts that run several loads on the same files: PID is a process of this host, "
	 	"such as the script. The first load makes them, the others find them, and none removes them." },
	{ .name = "remove-set", .type = OPT_FLAG, .offset = AT(remove_set), .job = OPT_JOB_ASKED,
	  .help = "load nothing, only remove the files of --set-of",
	  .more = "Give the same mix and --directories as when they were made. When that process has ended, "
	 	"`afpscope-clean`(1) removes them, too." },
	{ .name = "mpi", .type = OPT_FLAG, .offset = AT(mpi),
	  .help = "mpirun has started several of this: share the clients",
	  .more = "The commands may be on one host or on several. They begin at the same moment; the first one "
	 	"prints and keeps the result of all. See docs/mpi.md. Not together with --steady and --set-of." },
	SESSION_FORCE_OPTION(struct load_cfg, w.s),
	{ .name = "direct", .type = OPT_FLAG, .offset = AT(direct),
	  .help = "of a DIRECTORY: past the page cache (O_DIRECT)",
	  .more = "Without it files are read and written as usual." },
	CONNECT_OPTIONS(struct load_cfg, w.s.c),
	{ .name = "users", .arg = "FILE", .type = OPT_STRING, .offset = AT(users_file),
	  .help = "who the clients log in as, in turn: a line for each user, "
		  "USER,PASSWORD or USER,PASSWORD,VOLUME (default: all as the user above)",
	  .more = "They are dealt out in turn: the first client is the first user, and after the last user comes "
	 	"the first one again. A line without a volume means that of the command line; at most 16 volumes "
	 	"are used. A password with a comma needs the volume behind it. Empty lines and lines that begin "
	 	"with # are passed over. FILE, of at most 8 MiB, should be readable by its owner only. The user "
	 	"of the command line opens the command's own session and the probe's; the directory of the load "
	 	"is made by this user with all rights for everybody (0777), so that each user can work in it." },
	WORKLOAD_OUTPUT_OPTIONS(struct load_cfg, w, WORKLOAD_ONE_SCREEN),
	{ .type = OPT_END },
};
/* clang-format on */

/* What is given on the command line replaces what the mix says. */
static void change_mix(struct load_cfg *cfg)
{
	struct mix *m = &cfg->mix;

	if (cfg->files != LOAD_OF_MIX)
		m->files = cfg->files;
	if (cfg->file_len != UINT64_MAX)
		m->sizes = (struct draw) { .value = cfg->file_len };
	if (cfg->request_len)
		m->request_len = cfg->request_len;
	if (cfg->window)
		m->window = cfg->window;
	if (cfg->think_text)
		m->think = cfg->think;
	if (cfg->compressible > 0)
		m->compressible = cfg->compressible;
	if (cfg->dedup > 0)
		m->duplicate = cfg->dedup;
	m->verify |= cfg->verify;
}

static int check_set(struct load_cfg *cfg, struct err *e)
{
	if (cfg->mix.shared) {
		if (cfg->directories > 1)
			return err_set(e, -EINVAL,
				       "--directories: all clients of mix %s share one directory",
				       cfg->mix.name);
		cfg->directories = 1;
	}
	if (!cfg->directories)
		cfg->directories = cfg->clients;
	if (cfg->directories < cfg->clients && !cfg->mix.shared)
		return err_set(
		    e, -EINVAL,
		    "--directories %u: %u clients need one each, or a mix with shared = yes",
		    cfg->directories, cfg->clients);
	return 0;
}

static int check_slos(const struct load_cfg *cfg, struct err *e)
{
	const char *scope;
	unsigned int k;

	if (cfg->abort_on_slo && !cfg->slos.n)
		return err_set(e, -EINVAL, "--abort-on-slo needs a limit: --slo");

	for (unsigned int i = 0; i < cfg->slos.n; i++) {
		scope = cfg->slos.slo[i].scope;
		if (!*scope)
			continue;
		if (!strcmp(scope, "probe") && !cfg->no_probe)
			continue;
		for (k = 0; k < N_MIX_ACTIONS; k++)
			if (cfg->mix.weight[k] && !strcmp(mix_action_name(k), scope))
				break;
		if (k == N_MIX_ACTIONS)
			return err_set(e, -EINVAL, "--slo %s: mix %s has no action '%s'",
				       cfg->slos.slo[i].text, cfg->mix.name, scope);
	}
	return 0;
}

static int read_users(struct load_cfg *cfg, struct err *e)
{
	const char *volume;
	int r;

	r = users_read(&cfg->users, cfg->users_file, e);
	for (unsigned int i = 0; !r && cfg->mix.shared && i < cfg->users.n; i++) {
		volume = cfg->users.user[i].volume;
		if (volume && strcmp(volume, cfg->w.s.c.volume))
			r = err_set(e, -EINVAL,
				    "--users: the clients of mix %s share one directory, on volume "
				    "%s: none can be on %s",
				    cfg->mix.name, cfg->w.s.c.volume, volume);
	}
	return r;
}

/* All that depends on the mix, once it is known. */
static int load_opts_judge(struct load_cfg *cfg, struct err *e)
{
	int r = 0;

	change_mix(cfg);
	if (cfg->only && mix_keep(&cfg->mix, cfg->only))
		r = err_set(e, -EINVAL, "--only: mix %s has no action '%s'", cfg->mix.name,
			    cfg->only);
	r = r ? r : mix_check(&cfg->mix, e);
	if (!r && cfg->mix.verify && (cfg->set_of || cfg->mpi))
		r = err_set(e, -EINVAL,
			    cfg->set_of ? "--verify: files of --set-of may hold what other runs "
					  "have written"
					: "--verify cannot be used with --mpi");
	if (!r && cfg->w.s.local && mix_needs_afp(&cfg->mix))
		r = err_set(e, -EINVAL,
			    "'%s' of mix %s needs an AFP server: elsewhere there are no resource "
			    "forks, nothing that exchanges files, and no sessions",
			    mix_needs_afp(&cfg->mix), cfg->mix.name);
	r = r ? r : check_set(cfg, e);
	return r ? r : check_slos(cfg, e);
}

/* How long it is, and what a rate that changes comes to on average. */
static int load_opts_check_rate(struct load_cfg *cfg, struct err *e)
{
	const struct rate *r = &cfg->rate.changes;
	const struct rate *longest = r->n ? r : &cfg->crowd.changes;
	double last_s = longest->n ? ceil(longest->point[longest->n - 1].s) : 0;

	if (!cfg->duration_s)
		cfg->duration_s = last_s > 0 ? (unsigned int)last_s : LOAD_DURATION_S;
	if (!r->n)
		return 0;
	if (cfg->steady_s)
		return err_set(e, -EINVAL,
			       "--steady waits for a steady rate, and that of --rate %s changes",
			       cfg->rate.text);
	cfg->rate.per_s = rate_until(r, cfg->duration_s) / cfg->duration_s;
	if (cfg->rate.per_s > 0)
		return 0;
	return err_set(e, -EINVAL, "--rate %s: no action begins within %u s (--duration)",
		       cfg->rate.text, cfg->duration_s);
}

int load_parse(struct workload_cfg *base, struct job *j, struct err *e)
{
	struct load_cfg *cfg = (struct load_cfg *)base;
	int r = workload_parse(base, j, true, e);

	if (!r && cfg->think_text)
		r = draw_parse(&cfg->think, DRAW_NS, "--think", cfg->think_text, e);
	if (r || base->help)
		return r;
	if (cfg->rate.per_s > 0 && cfg->think_text)
		return err_set(e, -EINVAL, "--think is for a closed loop, --rate for an open one");
	if (cfg->rate.per_s <= 0 && (cfg->queue || cfg->arrivals != LOAD_NOT_GIVEN))
		return err_set(e, -EINVAL, "--%s needs --rate", cfg->queue ? "queue" : "arrivals");
	if (cfg->crowd.text && (cfg->rate.per_s > 0 || cfg->steady_s || cfg->abort_on_slo))
		return err_set(
		    e, -EINVAL,
		    "--clients %s: clients whose number changes cannot be used with --%s",
		    cfg->crowd.text,
		    cfg->rate.per_s > 0 ? "rate, whose own points say how much comes"
		    : cfg->steady_s     ? "steady"
					: "abort-on-slo");
	if (cfg->crowd.n)
		cfg->clients = cfg->crowd.n;
	if (cfg->remove_set && !cfg->set_of)
		return err_set(e, -EINVAL, "--remove-set needs --set-of PID: whose files?");
	if (cfg->users_file && base->s.local)
		return err_set(e, -EINVAL,
			       "--users: only sessions of an AFP server log in as several users");
	if (cfg->mpi && (cfg->abort_on_slo || cfg->steady_s || cfg->set_of))
		return err_set(e, -EINVAL, "--%s cannot be used with --mpi",
			       cfg->abort_on_slo ? "abort-on-slo"
			       : cfg->steady_s   ? "steady"
						 : "set-of");
	if (cfg->arrivals == LOAD_NOT_GIVEN)
		cfg->arrivals = LOAD_POISSON;
	base->s.buffered = !cfg->direct;
	r = load_opts_check_rate(cfg, e);
	if (r)
		return r;
	if (load_opts_mix_is_file(cfg))
		return 0;
	if (cfg->has_mix)
		r = mix_end(&cfg->mix, j->file, e);
	else
		r = mix_find(&cfg->mix, cfg->mix_name, e);
	return r ? r : load_opts_judge(cfg, e);
}

int load_check(struct workload_cfg *base, struct err *e)
{
	struct load_cfg *cfg = (struct load_cfg *)base;
	int r = 0;

	if (load_opts_mix_is_file(cfg)) {
		r = mix_find(&cfg->mix, cfg->mix_name, e);
		r = r ? r : load_opts_judge(cfg, e);
	}
	if (!cfg->threads)
		cfg->threads = session_threads(&cfg->w.s, cfg->clients,
					       cfg->rate.per_s > 0 ? 0 : SESSION_THREADS_MAX);
	if (cfg->threads > cfg->clients)
		cfg->threads = cfg->clients;
	if (!r && cfg->users_file)
		r = read_users(cfg, e);
	if (!r && cfg->mpi)
		r = launch_start(&cfg->launch, cfg->clients, e); /* now one of several processes */
	if (r || cfg->launch.rank)
		return r;
	return timeline_prepare(&cfg->changes, e);
}

/* The share of the queue of arrivals. */
static unsigned int load_opts_queue_of(const struct load_cfg *cfg)
{
	unsigned int ranks = cfg->mpi ? cfg->launch.size : 1;

	return cfg->queue ? (cfg->queue + ranks - 1) / ranks : ENGINE_QUEUE_ALL;
}

void load_plan(const struct load_cfg *cfg, struct engine_job *out)
{
	*out = (struct engine_job) {
		.duration_ns = cfg->duration_s * NS_PER_S,
		.ramp_ns = cfg->ramp_s * NS_PER_S,
		.settle_ns = cfg->steady_s * NS_PER_S,
		.think = load_thinks(cfg) ? &cfg->mix.think : NULL,
		.pace = { cfg->rate.per_s <= 0            ? PACE_CLOSED
			  : cfg->arrivals == LOAD_POISSON ? PACE_POISSON
							  : PACE_FIXED,
			  cfg->rate.per_s, cfg->seed },
		.rate = cfg->rate.changes.n ? &cfg->rate.changes : NULL,
		.crowd = cfg->crowd.changes.n ? &cfg->crowd.changes : NULL,
		.queue = load_opts_queue_of(cfg),
	};
}

/* What the clients do, and on which files. */
static int describe_mix(const struct load_cfg *cfg, struct run_notes *o)
{
	const struct mix *m = &cfg->mix;
	uint64_t set = 0, longest = 0;
	char sizes[512];
	int r = 0;

	for (unsigned int i = 0; i < cfg->directories; i++)
		set += mix_dir_bytes(m, cfg->seed, i, cfg->directories, &longest);
	r |= run_note(o, "mix", "%s", m->name);
	if (cfg->only)
		r |= run_note(o, "only", "%s", cfg->only);
	r |= run_note(o, "files", "%u", m->files);
	r |= run_note(o, "file_bytes", "%.0f", draw_mean(&m->sizes));
	if (m->sizes.kind != DRAW_FIXED) {
		draw_text(sizes, sizeof(sizes), DRAW_BYTES, &m->sizes);
		r |= run_note(o, "file_sizes", "%s", sizes);
	}
	if (m->zipf > 0)
		r |= run_note(o, "zipf", "%g", m->zipf);
	if (m->weight[MIX_RANDOM_READ] || m->weight[MIX_RANDOM_WRITE])
		r |= run_note(o, "requests", "%u", m->requests);
	r |= run_note(o, "directories", "%u", cfg->directories);
	r |= run_note(o, "set_bytes", "%llu", (unsigned long long)set);
	r |= run_note(o, "shared", "%s", m->shared ? "yes" : "no");
	r |= run_note(o, "request_bytes", "%llu", (unsigned long long)m->request_len);
	r |= run_note(o, "window", "%u", m->window);
	if (m->compressible > 0)
		r |= run_note(o, "compressible", "%g", m->compressible);
	if (m->duplicate > 0)
		r |= run_note(o, "dedup", "%g", m->duplicate);
	if (m->verify)
		r |= run_note(o, "verify", "yes");
	return r;
}

int load_describe(const struct load_cfg *cfg, struct run_notes *o)
{
	const struct mix *m = &cfg->mix;
	char sizes[512];
	int r = 0;

	r |= run_note(o, "clients", "%u", cfg->clients);
	if (cfg->crowd.text)
		r |= run_note(o, "clients_points", "%s", cfg->crowd.text);
	r |= describe_mix(cfg, o);
	if (cfg->users.n)
		r |= run_note(o, "users", "%u", cfg->users.n);
	r |= run_note(o, "loop", "%s", cfg->rate.per_s > 0 ? "open" : "closed");
	if (cfg->rate.per_s > 0) {
		r |= run_note(o, "rate_per_s", "%g", cfg->rate.per_s);
		if (cfg->rate.changes.n)
			r |= run_note(o, "rate_points", "%s", cfg->rate.text);
		r |= run_note(o, "arrivals", "%s", arrivals_choices[cfg->arrivals]);
		if (cfg->queue)
			r |= run_note(o, "queue", "%u", cfg->queue);
		else
			r |= run_note(o, "queue", "unlimited");
	} else {
		r |= run_note(o, "think_s", "%g", draw_mean(&m->think) / 1e9);
		draw_text(sizes, sizeof(sizes), DRAW_NS, &m->think);
		if (load_thinks(cfg) && m->think.kind != DRAW_EXPONENTIAL)
			r |= run_note(o, "think", "%s", sizes);
	}
	r |= run_note(o, "duration_s", "%u", cfg->duration_s);
	r |= run_note(o, "interval_s", "%g", cfg->interval_s);
	if (cfg->steady_s)
		r |= run_note(o, "steady_s", "%u", cfg->steady_s);
	r |= run_note(o, "ramp_s", "%u", cfg->ramp_s);
	r |= run_note(o, "seed", "%llu", (unsigned long long)cfg->seed);
	r |= run_note(o, "threads", "%u", cfg->threads);
	if (cfg->mpi)
		r |= run_note(o, "ranks", "%u", cfg->launch.size);
	r |= run_note(o, "probe", "%s", cfg->no_probe ? "no" : "yes");
	return r;
}
