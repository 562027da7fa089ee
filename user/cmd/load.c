/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope load: many clients on one server, and beside them a probe that does what one user does.
 * What the clients do is in client/work/mix.c, how they are driven in client/load.
 */
#include "cmd/crowd.h"
#include "cmd/workload.h"

#include "base/clock.h"
#include "work/mix.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS_MAX 100000
#define SECONDS_MAX 604800
#define TICK_NS     100000000u
#define NS_PER_S    1000000000u

enum { ARRIVALS_FIXED, ARRIVALS_POISSON };

static const char *const arrivals_choices[] = { "fixed", "poisson", NULL };

struct load_cfg {
	struct workload_cfg w;
	const char *mix_name;
	struct mix mix;
	unsigned int clients, threads, duration_s, ramp_s, queue, arrivals;
	uint64_t seed;
	double rate_per_s; /* 0: closed loop */
	double think_s;    /* < 0: the mix's */
	bool no_probe, direct;
};

/* One run. */
struct load_run {
	struct workload w;
	const struct load_cfg *cfg;
	struct crowd *crowd;
	unsigned int not_open, lost;
	uint64_t failed;
};

/* Options */

/* A decimal number that is not negative. */
static int take_number(void *to, const char *arg, struct err *e)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !isfinite(v) || v < 0)
		return err_set(e, -EINVAL, "'%s' is not a number from 0", arg);
	*(double *)to = v;
	return 0;
}

#define AT(field) offsetof(struct load_cfg, field)

/* clang-format off */
const struct opt load_options[] = {
	{ .type = OPT_HEADING, .help = "Load:" },
	{ .letter = 'n', .name = "clients", .arg = "N", .type = OPT_UINT, .offset = AT(clients),
	  .min = 1, .max = CLIENTS_MAX, .help = "clients, each with a session of its own (default: 10)" },
	{ .letter = 'm', .name = "mix", .arg = "NAME|FILE", .type = OPT_STRING, .offset = AT(mix_name),
	  .help = "what they do: browse (default), office, batch-read, batch-write, metadata, timemachine, "
		  "idle, or an INI file" },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_UINT, .offset = AT(duration_s),
	  .min = 1, .max = SECONDS_MAX, .help = "how long is measured (default: 30)" },
	{ .name = "ramp", .arg = "SECONDS", .type = OPT_UINT, .offset = AT(ramp_s), .max = SECONDS_MAX,
	  .help = "the clients begin one after the other within it, before the measured time (default: 1)" },
	{ .name = "rate", .arg = "R", .type = OPT_CALL, .offset = AT(rate_per_s), .call = take_number,
	  .help = "open loop: R actions a second of all clients together, however fast the server is "
		  "(default: closed loop, each client begins when its last action has ended)" },
	{ .name = "arrivals", .arg = "HOW", .type = OPT_CHOICE, .offset = AT(arrivals), .choice = arrivals_choices,
	  .help = "open loop: at equal distances or as a Poisson process (default: poisson)" },
	{ .name = "queue", .arg = "N", .type = OPT_UINT, .offset = AT(queue), .min = 1, .max = 1000000,
	  .help = "open loop: actions that may wait for a free client; more are dropped and counted "
		  "(default: as many as clients)" },
	{ .name = "think", .arg = "SECONDS", .type = OPT_CALL, .offset = AT(think_s), .call = take_number,
	  .help = "closed loop: mean pause between a client's actions (default: the mix's)" },
	{ .name = "seed", .arg = "N", .type = OPT_SIZE, .offset = AT(seed),
	  .help = "of the random numbers (default: 1)" },
	{ .name = "threads", .arg = "N", .type = OPT_UINT, .offset = AT(threads), .min = 1, .max = 256,
	  .help = "that drive the clients (default: 1 for each 200 clients, at most half the CPUs)" },
	{ .name = "no-probe", .type = OPT_FLAG, .offset = AT(no_probe),
	  .help = "without the client that does once a second what a user does" },
	{ .name = "direct", .type = OPT_FLAG, .offset = AT(direct),
	  .help = "DIRECTORY: past the page cache (O_DIRECT)" },
	CONNECT_OPTIONS(struct load_cfg, w.s.c),
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	SESSION_WATCH_OPTIONS(struct load_cfg, w.s),
	RUNS_OPTIONS(struct load_cfg, w.s.runs),
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = AT(w.verbose),
	  .help = "print all that was measured" },
	{ .name = "help", .type = OPT_FLAG, .offset = AT(w.help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

static unsigned int default_threads(unsigned int clients)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int most = cpus > 3 ? (unsigned int)cpus / 2 : 1, wanted = (clients + 199) / 200;

	return wanted < most ? wanted : most;
}

static int check(struct workload_cfg *base, struct err *e)
{
	struct load_cfg *cfg = (struct load_cfg *)base;
	int r = mix_find(&cfg->mix, cfg->mix_name, e);

	if (r)
		return r;
	if (cfg->rate_per_s > 0 && cfg->think_s >= 0)
		return err_set(e, -EINVAL, "--think is of a closed loop, --rate of an open one");
	if (cfg->think_s >= 0)
		cfg->mix.think_ns = (uint64_t)(cfg->think_s * 1e9);
	if (!cfg->threads)
		cfg->threads = default_threads(cfg->clients);
	if (cfg->threads > cfg->clients)
		cfg->threads = cfg->clients;
	if (!cfg->queue)
		cfg->queue = cfg->clients;
	base->s.buffered = !cfg->direct;
	return 0;
}

static int describe(struct workload *base)
{
	const struct load_cfg *cfg = ((struct load_run *)base)->cfg;
	const struct mix *m = &cfg->mix;
	struct run_notes *o = &base->s.run.options;
	uint64_t set = mix_set_bytes(m) * (m->shared ? 1 : cfg->clients);
	int r = 0;

	r |= run_note(o, "clients", "%u", cfg->clients);
	r |= run_note(o, "mix", "%s", m->name);
	r |= run_note(o, "files", "%u", m->files);
	r |= run_note(o, "file_bytes", "%llu", (unsigned long long)m->file_len);
	r |= run_note(o, "set_bytes", "%llu", (unsigned long long)set);
	r |= run_note(o, "shared", "%s", m->shared ? "yes" : "no");
	r |= run_note(o, "loop", "%s", cfg->rate_per_s > 0 ? "open" : "closed");
	if (cfg->rate_per_s > 0) {
		r |= run_note(o, "rate_per_s", "%g", cfg->rate_per_s);
		r |= run_note(o, "arrivals", "%s", arrivals_choices[cfg->arrivals]);
		r |= run_note(o, "queue", "%u", cfg->queue);
	} else {
		r |= run_note(o, "think_s", "%g", (double)m->think_ns / 1e9);
	}
	r |= run_note(o, "duration_s", "%u", cfg->duration_s);
	r |= run_note(o, "ramp_s", "%u", cfg->ramp_s);
	r |= run_note(o, "seed", "%llu", (unsigned long long)cfg->seed);
	r |= run_note(o, "threads", "%u", cfg->threads);
	r |= run_note(o, "probe", "%s", cfg->no_probe ? "no" : "yes");
	return r;
}

/* The phase */

static void show(const struct load_run *l, uint64_t begun_ns)
{
	FILE *out = l->w.s.progress;
	unsigned int all_s = l->cfg->ramp_s + l->cfg->duration_s;

	if (!isatty(fileno(out)))
		return;
	fprintf(out, "\r\033[K%u clients, %s: %.0f s of %u", l->cfg->clients, l->cfg->mix.name,
		(double)(clock_now_ns() - begun_ns) / NS_PER_S, all_s);
	fflush(out);
}

static void wait_for_end(struct load_run *l)
{
	uint64_t begun_ns = clock_now_ns(), shown_ns = 0, now_ns;

	while (!crowd_wait(l->crowd, TICK_NS)) {
		now_ns = clock_now_ns();
		if (l->w.s.watch)
			watch_tick(l->w.s.watch);
		if (now_ns - shown_ns >= NS_PER_S)
			show(l, begun_ns);
		if (now_ns - shown_ns >= NS_PER_S)
			shown_ns = now_ns;
	}
	if (isatty(fileno(l->w.s.progress)))
		fputs("\r\033[K", l->w.s.progress);
}

static uint64_t commands_of(const struct run_phase *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->n_commands; i++)
		n += p->command[i]->latency.n;
	return n;
}

static void set_metrics(struct run_phase *p)
{
	const struct run_load *load = p->load;
	struct run_action all;
	uint64_t bytes = 0;

	run_load_all(load, &all);
	for (unsigned int i = 0; i < load->n_clients; i++)
		bytes += load->client[i].bytes;
	run_set(p, METRIC_ELAPSED,
		load->done_ns > load->begin_ns ? load->done_ns - load->begin_ns
					       : load->end_ns - load->begin_ns);
	run_set(p, METRIC_OPS, commands_of(p));
	run_set(p, METRIC_ERRORS, all.failed);
	run_set(p, METRIC_BYTES, bytes);
	run_set(p, METRIC_CLIENT_CPU, load->cpu_ns);
}

static int measure(struct load_run *l, struct err *e)
{
	const struct load_cfg *cfg = l->cfg;
	const struct crowd_load how = {
		.duration_ns = (uint64_t)cfg->duration_s * NS_PER_S,
		.ramp_ns = (uint64_t)cfg->ramp_s * NS_PER_S,
		.think_ns = cfg->mix.think_ns,
		.pace = { cfg->rate_per_s <= 0                ? PACE_CLOSED
			  : cfg->arrivals == ARRIVALS_POISSON ? PACE_POISSON
							      : PACE_FIXED,
			  cfg->rate_per_s, cfg->seed },
		.queue = cfg->queue,
	};
	struct session *s = &l->w.s;
	struct run_phase *p = run_phase(&s->run, 1, 1, cfg->mix.name);
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	session_region_begin(s);
	p->start_ns = clock_now_ns();
	r = crowd_start(l->crowd, &how, e);
	if (r)
		return r;
	wait_for_end(l);
	r = crowd_join(l->crowd, p, e);
	session_region_end(s, p);
	if (r)
		return r;
	set_metrics(p);
	l->lost = p->load->n_lost;
	l->failed = (uint64_t)p->value[METRIC_ERRORS];
	p->complete = !cmd_stop;
	if (p->load->n_lost)
		run_note(&s->run.warnings, "lost", "%u of %u sessions were lost: %s",
			 p->load->n_lost, p->load->n_clients, p->load->why);
	if (l->failed)
		run_note(&s->run.warnings, "failed", "%llu actions failed, the first: %s",
			 (unsigned long long)l->failed, p->load->first_failure);
	return cmd_stop ? err_set(e, -EINTR, "interrupted") : 0;
}

static int work(struct workload *w, struct err *e)
{
	struct load_run *l = (struct load_run *)w;
	const struct crowd_opts o = { .mix = &l->cfg->mix,
				      .session = &w->s,
				      .clients = l->cfg->clients,
				      .threads = l->cfg->threads,
				      .seed = l->cfg->seed,
				      .probe = !l->cfg->no_probe };
	struct err gone = { 0 };
	int r = crowd_open(&l->crowd, &o, &l->not_open, e);

	if (!r && l->not_open)
		run_note(&w->s.run.warnings, "sessions",
			 "%u of %u sessions could not be opened: %s", l->not_open, l->cfg->clients,
			 e->text);
	r = r ? r : crowd_make(l->crowd, e);
	if (!r) {
		load_ready(&w->load);
		r = measure(l, e);
	}
	if (crowd_close(l->crowd, &gone))
		run_note(&w->s.run.warnings, "left", "%s", gone.text);
	l->crowd = NULL;
	return r;
}

/* What the server refused or lost is an error of its own, also where the run is complete. */
static int exit_code(const struct workload *w, enum outcome o)
{
	const struct load_run *l = (const struct load_run *)w;

	if (o != OUTCOME_OK && o != OUTCOME_UNTRUSTED)
		return (int)o;
	if (l->lost)
		return OUTCOME_LOST;
	return l->not_open || l->failed ? OUTCOME_REFUSED : (int)o;
}

static enum outcome prepare(struct workload *w, struct err *e)
{
	(void)e;
	((struct load_run *)w)->cfg = (const struct load_cfg *)w->cfg;
	return OUTCOME_OK;
}

int cmd_load(int argc, char **argv)
{
	static const struct workload_type type = {
		.name = "load",
		.set = "load-1",
		.options = load_options,
		.help =
		    "Loads a server, or a directory, with many clients, and measures how long they and one "
		    "user wait.",
		.window = 1,
		.has_store = true,
		.many = true,
		.check = check,
		.prepare = prepare,
		.describe = describe,
		.work = work,
		.exit_code = exit_code,
		.size = sizeof(struct load_run),
	};
	struct load_cfg cfg = { .w = WORKLOAD_DEFAULTS,
				.mix_name = "browse",
				.clients = 10,
				.duration_s = 30,
				.ramp_s = 1,
				.arrivals = ARRIVALS_POISSON,
				.seed = 1,
				.think_s = -1 };

	return workload_main(&type, &cfg.w, argc, argv);
}
