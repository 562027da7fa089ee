/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope probe: what one user feels, for as long as one likes: the probe of a load (work/probe.h)
 * without the load.
 */
#include "main/probe.h"

#include "drive/load_clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_NS     100000000u
#define NS_PER_S    1000000000u
#define SECONDS_MAX 604800

struct probe_run {
	struct workload w;
	const struct probe_cfg *cfg;
	struct mix mix; /* nothing: only the probe works */
	struct clients *clients;
};

#define AT(field) offsetof(struct probe_cfg, field)

/* clang-format off */
const struct opt probe_options[] = {
	{ .type = OPT_HEADING, .help = "Probe:" },
	{ .letter = 'd', .name = "duration", .arg = "SECONDS", .type = OPT_SECONDS, .offset = AT(duration_s),
	  .min = 1, .max = SECONDS_MAX, .help = "how long (default: until ^C, at most a week)" },
	{ .name = "slo", .arg = "LIMIT[,LIMIT]", .type = OPT_CALL, .offset = AT(slos), .call = slo_take, .repeats = true,
	  .help = "exit with 7 if this limit was not kept, with 8 if that cannot be told, such as p99<=50ms, "
		  "max<=1s or failed<=0; may be repeated",
	  .more = "There may be 8 of them, of the three actions together; `afpscope-load`(1) says what they are." },
	{ .letter = 'q', .name = "quiet", .type = OPT_FLAG, .offset = AT(quiet),
	  .help = "do not print a line each second" },
	{ .name = "direct", .type = OPT_FLAG, .offset = AT(direct),
	  .help = "of a DIRECTORY: past the page cache (O_DIRECT)" },
	SESSION_FORCE_OPTION(struct probe_cfg, w.s),
	CONNECT_OPTIONS(struct probe_cfg, w.s.c),
	{ .type = OPT_HEADING, .help = "Watch and output:" },
	JOB_OPTION(struct probe_cfg, w.show_job),
	SESSION_WATCH_OPTIONS(struct probe_cfg, w.s),
	RUNS_OPTIONS(struct probe_cfg, w.s.runs),
	{ .letter = 'v', .name = "verbose", .type = OPT_COUNT, .offset = AT(w.verbose),
	  .help = "print all that was measured",
	  .more = "Without it the report is one screen." },
	{ .name = "help", .type = OPT_FLAG, .job = OPT_JOB_NEVER, .offset = AT(w.help), .help = "this text" },
	CMD_VERSION_OPTION,
	{ .type = OPT_END },
};
/* clang-format on */

const struct job_type probe_job = {
	.command = "probe",
	.options = probe_options,
	.target = workload_take_target,
};

int probe_parse(struct workload_cfg *base, struct job *j, struct err *e)
{
	struct probe_cfg *cfg = (struct probe_cfg *)base;
	int r = workload_parse(base, j, true, e);

	if (r || base->help)
		return r;
	for (unsigned int i = 0; i < cfg->slos.n; i++)
		if (*cfg->slos.slo[i].scope && strcmp(cfg->slos.slo[i].scope, "probe"))
			return err_set(e, -EINVAL,
				       "--slo %s: only the probe is known here, such as p99<=50ms",
				       cfg->slos.slo[i].text);
	base->s.buffered = !cfg->direct;
	return 0;
}

/* "20:15:07  3 actions, the longest took 1.23 ms" */
static void print_second(FILE *out, const struct run_second *s, time_t when)
{
	struct tm tm;
	char text[16] = "";

	if (localtime_r(&when, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "%s  ", text);
	if (s->n)
		fprintf(out, "%u action%s", s->n, s->n == 1 ? "" : "s");
	else
		fputs("no answer", out);
	if (s->n > s->failed)
		fprintf(out, ", the longest took %.2f ms", (double)s->max_ns / 1e6);
	if (s->failed)
		fprintf(out, ", %u FAILED", s->failed);
	fputc('\n', out);
	fflush(out);
}

static void main_probe_wait_for_end(struct probe_run *r)
{
	struct run_second second;
	time_t began = time(NULL);
	size_t shown = 0;

	while (!clients_wait(r->clients, TICK_NS)) {
		while (!r->cfg->quiet && clients_probed(r->clients, shown, &second)) {
			shown++;
			print_second(r->w.s.progress, &second, began + (time_t)shown);
		}
	}
}

static int main_probe_measure(struct probe_run *r, struct err *e)
{
	unsigned int duration_s = r->cfg->duration_s ? r->cfg->duration_s : SECONDS_MAX;
	const struct engine_job how = { .duration_ns = (uint64_t)duration_s * NS_PER_S };
	struct session *s = &r->w.s;
	struct run_phase *p = run_phase(&s->run, 1, 1, "probe");
	struct run_action all;
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	session_region_begin(s);
	rc = clients_start(r->clients, &how, e);
	if (rc)
		return rc;
	main_probe_wait_for_end(r);
	rc = clients_join(r->clients, p, e);
	session_region_end(s, p);
	if (rc)
		return rc;
	run_load_all(p->probe, &all);
	run_set(p, METRIC_ELAPSED, p->probe->end_ns - p->probe->begin_ns);
	run_set(p, METRIC_ERRORS, all.failed);
	run_set(p, METRIC_CLIENT_CPU, p->probe->cpu_ns);
	r->w.faults.refused = all.failed && !slo_has(&r->cfg->slos, SLO_FAILED, "");
	workload_judge(
	    &r->w, slo_judge(&r->cfg->slos, p->probe, p->probe, cmd_stop && r->cfg->duration_s));
	if (all.failed)
		run_note(&s->run.warnings, "failed", "%llu actions failed, the first: %s",
			 (unsigned long long)all.failed, p->probe->first_failure);
	/* ^C is how it ends that was given no end */
	if (!r->cfg->duration_s)
		cmd_stop = 0;
	if (cmd_stop)
		return err_set(e, -EINTR, "interrupted");
	if (p->probe->n_lost)
		return err_set(e, -ECONNRESET, "the probe's session was lost: %s", p->probe->why);
	p->complete = true;
	return 0;
}

static int main_probe_work(struct workload *w, struct err *e)
{
	struct probe_run *r = (struct probe_run *)w;
	const struct load_clients_opts o = {
		.mix = &r->mix, .session = &w->s, .threads = 1, .probe = true
	};
	unsigned int not_open;
	int rc;

	r->cfg = (const struct probe_cfg *)w->cfg;
	rc = load_clients_open(&r->clients, &o, &not_open, e);
	w->faults.none_open = rc == -ECONNREFUSED;
	rc = rc ? rc : load_clients_prepare(r->clients, e);
	rc = rc ? rc : load_clients_make(r->clients, e);
	if (!rc) {
		load_ready(&w->load);
		rc = main_probe_measure(r, e);
	}
	clients_close(r->clients, NULL);
	return rc;
}

static int main_probe_describe(struct workload *w)
{
	const struct probe_cfg *cfg = (const struct probe_cfg *)w->cfg;

	return run_note(&w->s.run.options, "duration_s", "%u", cfg->duration_s);
}

int cmd_probe(int argc, char **argv)
{
	static const struct workload_type type = {
		.name = "probe",
		.set = "probe-1",
		.job = &probe_job,
		.help =
		    "Does once a second what a user does (stat of a file, read and write of 4 KiB),\n"
		    "and measures how long that takes.",
		.window = 1,
		.has_store = true,
		.many = true,
		.parse = probe_parse,
		.describe = main_probe_describe,
		.work = main_probe_work,
		.size = sizeof(struct probe_run),
	};
	struct probe_cfg cfg = { .w = WORKLOAD_DEFAULTS };

	return workload_main(&type, &cfg.w, argc, argv);
}
