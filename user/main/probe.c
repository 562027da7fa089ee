/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * afpscope probe: what one user feels, for as long as one likes: the probe of a load (work/probe.h)
 * without the load.
 */
#include "main/probe.h"

#include "base/clock.h"
#include "drive/load_clients.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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
	char why_lost[256]; /* its session, the last time */
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
	RUNS_RTT_OPTION(struct probe_cfg, w.s.runs),
	SESSION_FORCE_OPTION(struct probe_cfg, w.s),
	CONNECT_OPTIONS(struct probe_cfg, w.s.c),
	WORKLOAD_OUTPUT_OPTIONS(struct probe_cfg, w, WORKLOAD_ONE_SCREEN),
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

static void print_time(FILE *out, time_t when)
{
	struct tm tm;
	char text[16] = "";

	if (localtime_r(&when, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "%s  ", text);
}

/* "20:15:07  3 actions, the longest took 1.23 ms" */
static void print_second(FILE *out, const struct run_second *s, time_t when)
{
	print_time(out, when);
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

/* One line, with the time of day. */
static void probe_say(const struct probe_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void probe_say(const struct probe_run *r, const char *format, ...)
{
	FILE *out = r->w.s.progress;
	va_list args;

	if (r->cfg->quiet)
		return;
	print_time(out, time(NULL));
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
	fflush(out);
}

/* A line for each second from begin_ns on, which may be some time ahead. */
static void main_probe_wait_for_end(struct probe_run *r, uint64_t begin_ns)
{
	const uint64_t now_ns = clock_now_ns();
	const time_t began = time(NULL) + (time_t)(begin_ns > now_ns);
	struct run_second second;
	size_t shown = 0;

	while (!clients_wait(r->clients, TICK_NS)) {
		session_look_tick(&r->w.s, clock_now_ns());
		while (!r->cfg->quiet && clients_probed(r->clients, shown, &second)) {
			shown++;
			print_second(r->w.s.progress, &second, began + (time_t)shown);
		}
	}
}

/* Until end_ns it works, or until its session is lost: what it did is added to the phase. */
static int probe_do(struct probe_run *r, struct run_phase *p, uint64_t begin_ns, uint64_t end_ns,
		    struct err *e)
{
	const struct engine_job how = { .begin_ns = begin_ns, .duration_ns = end_ns - begin_ns };
	struct run_load *before = p->probe;
	int rc;

	p->probe = NULL;
	rc = clients_start(r->clients, &how, e);
	if (!rc) {
		main_probe_wait_for_end(r, begin_ns);
		rc = clients_join(r->clients, p, e);
	}
	if (p->probe)
		snprintf(r->why_lost, sizeof(r->why_lost), "%s", p->probe->why);
	if (!before)
		return rc;
	if (p->probe)
		run_load_append(before, p->probe);
	run_load_free(p->probe);
	p->probe = before;
	return rc;
}

/* Until there is a session again: tries each second. false: it is to end before that. */
static bool probe_come_back(struct probe_run *r, uint64_t end_ns)
{
	const struct timespec slice = { 0, TICK_NS };
	struct err e = { 0 }, last = { 0 };
	uint64_t again_ns;

	for (;;) {
		if (!clients_reopen_probe(r->clients, &e))
			return true;
		if (!cmd_stop && strcmp(e.text, last.text))
			probe_say(r, "no session: %s", e.text);
		last = e;
		for (again_ns = clock_now_ns() + NS_PER_S; clock_now_ns() < again_ns;) {
			if (cmd_stop || clock_now_ns() + NS_PER_S >= end_ns)
				return false;
			nanosleep(&slice, NULL);
			clients_wait(r->clients, 0); /* keeps the command's own session alive */
		}
	}
}

/*
 * Over losses of its session. The next part begins a whole number of seconds after the first one,
 * so that their seconds are the same.
 */
static int probe_do_all(struct probe_run *r, struct run_phase *p, uint64_t end_ns, struct err *e)
{
	const uint64_t first_ns = clock_now_ns();
	uint64_t lost_ns, begin_ns = first_ns;
	unsigned int lost = 0;
	char why[256];
	int rc;

	for (;;) {
		rc = probe_do(r, p, begin_ns, end_ns, e);
		if (rc || p->probe->n_lost == lost || cmd_stop)
			return rc;
		lost = p->probe->n_lost;
		lost_ns = p->probe->end_ns;
		snprintf(why, sizeof(why), "%s", r->why_lost);
		probe_say(r, "the session was lost: %s", why);
		if (!probe_come_back(r, end_ns)) {
			p->probe->end_ns = clock_now_ns();
			return run_load_note_gap(p->probe, lost_ns, 0, why);
		}
		begin_ns = clock_now_ns();
		begin_ns += NS_PER_S - (begin_ns - first_ns) % NS_PER_S;
		probe_say(r, "a session again, after %.1f s without",
			  (double)(begin_ns - lost_ns) / NS_PER_S);
		if (run_load_note_gap(p->probe, lost_ns, begin_ns, why))
			return err_set(e, -ENOMEM, "out of memory");
	}
}

/* Whether it had no session at the end. */
static bool probe_has_gone(const struct run_load *probe)
{
	return probe->client->lost;
}

static void note_gaps(struct session *s, const struct run_load *probe)
{
	if (!probe->n_gaps)
		return;
	s->gaps = true;
	if (s->watch)
		run_note(&s->run.warnings, "gaps",
			 "the server's figures are those of its processes that were there at the "
			 "begin: if it was restarted, they end there");
	run_note(&s->run.warnings, "gaps",
		 "the probe's session was lost %u time%s, and it had none for %.1f s in all; "
		 "that time is in no latency. The first time: %s",
		 probe->n_gaps, probe->n_gaps == 1 ? "" : "s", (double)probe->gaps_ns / NS_PER_S,
		 probe->gap->why);
}

static int main_probe_measure(struct probe_run *r, struct err *e)
{
	unsigned int duration_s = r->cfg->duration_s ? r->cfg->duration_s : SECONDS_MAX;
	const uint64_t end_ns = clock_now_ns() + (uint64_t)duration_s * NS_PER_S;
	struct session *s = &r->w.s;
	struct run_phase *p = run_phase(&s->run, 1, 1, "probe");
	struct run_action all;
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	session_region_begin(s, p);
	rc = probe_do_all(r, p, end_ns, e);
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
	r->w.faults.lost = p->probe->n_lost;
	if (probe_has_gone(p->probe))
		return err_set(e, -ECONNRESET, "the probe's session was lost: %s", r->why_lost);
	note_gaps(s, p->probe);
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
