/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the clients of a load did: how fast they were served, and how long they and the probe
 * waited. */
#include "report/screen/screen.h"
#include "run/bound.h"

#include <stdlib.h>
#include <string.h>

#define UNREAD 0.2  /* of all waits of the server for a CPU: worth a line */
#define RUNQ   0.05 /* of the time: worth a word */

enum {
	COL_NAME,
	COL_DONE,
	COL_RATE,
	COL_FAILED,
	COL_SHARE,
	COL_MEAN,
	COL_P50,
	COL_P90,
	COL_P99,
	COL_P999,
	COL_MAX
};

static const struct section_column columns[] = {
	[COL_NAME] = { .head = "action" },
	[COL_DONE] = { .head = "done", .unprinted = true },
	[COL_RATE] = { .head = "per" GLUE "s", .unit = "1/s" },
	[COL_FAILED] = { .head = "failed", .drop = 3 },
	[COL_SHARE] = { .head = "time%", .name = "share", .unit = "%", .drop = 4 },
	[COL_MEAN] = { .head = "mean" },
	[COL_P50] = { .head = "p50" },
	[COL_P90] = { .head = "p90", .drop = 2 },
	[COL_P99] = { .head = "p99" },
	[COL_P999] = { .head = "p99.9", .name = "p999", .drop = 1 },
	[COL_MAX] = { .head = "max" },
};

static const struct section_type load_section = {
	.key = "load",
	.title = "Actions of the clients",
	.begin = SECTION_AT_ONCE,
	SECTION_OF(columns),
};

static double screen_load_seconds_of(const struct run_load *l)
{
	return l->end_ns > l->measure_ns ? (double)(l->end_ns - l->measure_ns) / 1e9 : 0;
}

/* "10.2ms", ">= 10.2ms"; blank where so few ended that it would be the longest one. */
static struct cell bounded(const struct run_load *l, const struct run_action *a, uint64_t n,
			   double q)
{
	struct run_bound b = run_bound(l, a, q);
	char text[48];

	if (!b.known || (q > 0 && q < 1 && (double)n * (1 - q) <= 0.999))
		return q > 0 && q < 1 ? cell_blank() : cell_na();
	if (!b.at_least)
		return screen_time(b.ns);
	snprintf(text, sizeof(text), ">= %s", screen_time(b.ns).text);
	return cell_text(text, sizeof(text));
}

static double sum_ns(const struct run_action *a)
{
	return hist_mean(&a->planned) * (double)a->planned.n;
}

/* a NULL: all kinds, of whose times together only the mean and the longest say something. */
static void put_action(struct section *to, const char *name, const struct run_load *l,
		       const struct run_action *a, double s)
{
	const struct run_action *is;
	struct run_action all;
	struct cell *cell = section_row(to)->cell;
	uint64_t n;

	run_load_all(l, &all);
	is = a ? a : &all;
	n = is->planned.n + l->undone.n;
	cell[COL_NAME] = cell_text(name, 24);
	cell[COL_DONE] = cell_count(is->n - is->failed);
	cell[COL_RATE] = s > 0 ? cell_rate((double)(is->n - is->failed) / s) : cell_na();
	cell[COL_FAILED] = is->failed ? cell_count(is->failed) : cell_blank();
	cell[COL_SHARE] = a && sum_ns(&all) > 0 ? cell_fixed(100 * sum_ns(a) / sum_ns(&all), 1)
						: cell_blank();
	cell[COL_MEAN] = bounded(l, a, n, RUN_BOUND_MEAN);
	cell[COL_MAX] = bounded(l, a, n, RUN_BOUND_MAX);
	if (!a)
		return;
	cell[COL_P50] = bounded(l, a, n, 0.5);
	cell[COL_P90] = bounded(l, a, n, 0.9);
	cell[COL_P99] = bounded(l, a, n, 0.99);
	cell[COL_P999] = bounded(l, a, n, 0.999);
}

static void screen_load_put_rows(struct section *s, const struct run_load *l, const char *before)
{
	char name[64];

	for (size_t i = 0; i < l->n_actions; i++) {
		if (!l->action[i].n)
			continue;
		snprintf(name, sizeof(name), "%s%s", before, l->action[i].name);
		put_action(s, name, l, &l->action[i], screen_load_seconds_of(l));
		if (*before) /* another client: its time is not a part of theirs */
			s->row[s->n_rows - 1].cell[COL_SHARE] = cell_blank();
	}
}

static uint64_t failed_probes(const struct run_load *probe)
{
	struct run_action all = { 0 };

	if (probe)
		run_load_all(probe, &all);
	return all.failed;
}

static int screen_load_put_table(const struct paint *p, const struct run_phase *phase)
{
	const struct run_load *l = phase->load;
	unsigned int kinds = l ? run_load_kinds(l) : 0;
	struct run_action all = { 0 };
	struct section s;

	section_open(&s, p, &load_section);
	if (l)
		run_load_all(l, &all);
	s.column[COL_SHARE].off = kinds < 2;
	s.column[COL_FAILED].off = !all.failed && !failed_probes(phase->probe);
	if (l)
		screen_load_put_rows(&s, l, "");
	if (kinds > 1)
		put_action(&s, "all", l, NULL, screen_load_seconds_of(l));
	if (phase->probe)
		screen_load_put_rows(&s, phase->probe, "probe: ");
	return section_close(&s);
}

/* What was to be done and was not: "Actions not done: 60 dropped: ...". */
static void put_undone(const struct paint *p, const struct run_load *l)
{
	const struct {
		uint64_t n;
		const char *what;
	} all[] = {
		{ l->n_no_room, "dropped: they would have had to wait, and the queue was full" },
		{ l->n_waiting, "still waited for a client at the end" },
		{ l->n_cut, "cut off with their sessions" },
		{ run_load_outlasted(l) ? l->n_outlasting : 0,
		  "under way when the measured time was over" },
	};
	struct screen_text t = { 0 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].n)
			screen_add(&t, "%s%s %s",
				   *t.text ? "; " : "Actions not done: ", cell_count(all[i].n).text,
				   all[i].what);
	if (l->n_held)
		screen_add(&t, "; %s of these were due while this program did not run",
			   cell_count(l->n_held).text);
	if (*t.text)
		screen_put(p, INK_NONE, t.text, 2);
}

/* Of an open loop: what the server did later than the rate says, if that is more than a twentieth.
 */
static void put_ended_after(const struct paint *p, const struct run_load *l, uint64_t done)
{
	const double s = screen_load_seconds_of(l);
	uint64_t backlog = run_load_backlog(l);
	struct screen_text t = { 0 };

	if (s <= 0 || backlog <= done / 20 || backlog > done)
		return;
	screen_add(&t,
		   "%s of these ended after the measured time; within it only %s actions/s were "
		   "done",
		   cell_count(backlog).text, cell_rate((double)(done - backlog) / s).text);
	screen_put(p, INK_YELLOW, t.text, 2);
}

/* Which clients, and what they do. */
static void screen_load_add_who(struct screen_text *t, const struct run_phase *phase)
{
	const struct run_load *l = phase->load;

	if (phase->replay) {
		screen_add(t, "%u client%s, %s requests of a recording", l->n_clients,
			   l->n_clients == 1 ? "" : "s", cell_count(phase->replay->planned).text);
		return;
	}
	screen_add(t, "%s%u client%s, mix %s, ", l->stages_of_clients ? "up to " : "", l->n_clients,
		   l->n_clients == 1 ? "" : "s", phase->title);
	if (l->rate_per_s > 0)
		screen_add(t, "open loop of %s actions/s%s", cell_rate(l->rate_per_s).text,
			   l->n_stages ? " on average" : "");
	else
		screen_add(t, "closed loop");
}

/* "10 clients, mix browse, closed loop, 30.0s: 1,234 actions/s, 12.3 MB/s" */
static void put_headline(const struct paint *p, const struct run_phase *phase)
{
	const struct run_load *l = phase->load;
	double s = screen_load_seconds_of(l);
	struct run_action all;
	struct screen_text t = { 0 };

	run_load_all(l, &all);
	screen_load_add_who(&t, phase);
	if (s > 0)
		screen_add(&t, ", %s: %s actions/s, %s MB/s", screen_time(s * 1e9).text,
			   cell_rate((double)(all.n - all.failed) / s).text,
			   cell_rate((double)phase->value[METRIC_BYTES] / s / 1e6).text);
	fputc('\n', p->out);
	screen_put(p, INK_BOLD, t.text, 2);
	put_ended_after(p, l, all.n - all.failed);
	put_undone(p, l);
}

/* "Files: 20 directories of 100 files of 16 KiB, 32.8 MB in all" */
static void put_files(const struct paint *p)
{
	const struct run *r = p->view.run;
	uint64_t homes = run_note_number(&r->options, "directories"),
		 files = run_note_number(&r->options, "files");
	uint64_t len = run_note_number(&r->options, "file_bytes");
	const char *shared = run_note_find(&r->options, "shared");
	struct screen_text t = { 0 };
	char size[RUN_SIZE_MAX];

	if (!files)
		return;
	screen_add(&t, "Files: %s director%s", cell_count(homes).text, homes == 1 ? "y" : "ies");
	if (shared && !strcmp(shared, "yes"))
		screen_add(&t, ", which all clients share,");
	screen_add(&t, " of %s ", cell_count(files).text);
	if (!len)
		screen_add(&t, "empty ");
	screen_add(&t, "file%s", files == 1 ? "" : "s");
	if (len)
		screen_add(&t, " of %s%s, %s MB in all", run_size(len, size),
			   run_note_find(&r->options, "file_sizes") ? " on average" : "",
			   cell_rate((double)run_note_number(&r->options, "set_bytes") / 1e6).text);
	screen_put(p, INK_NONE, t.text, 2);
}

static void put_contended(const struct paint *p, const struct run_load *l)
{
	struct screen_text t = { 0 };

	if (!l->n_contended)
		return;
	screen_add(
	    &t, "Locks: %s of the actions found their range locked by another client, and left it",
	    cell_count(l->n_contended).text);
	screen_put(p, INK_NONE, t.text, 2);
}

/* "Verified after the load: 40 files, 10.5 MB, all as they were written" */
static void put_verified(const struct paint *p, const struct run_load *l)
{
	struct screen_text t = { 0 };

	if (!l->verified_files)
		return;
	screen_add(&t, "Verified after the load: %s file%s, %s MB, ",
		   cell_count(l->verified_files).text, l->verified_files == 1 ? "" : "s",
		   cell_rate((double)l->verified_bytes / 1e6).text);
	if (l->verified_wrong)
		screen_add(&t, "%s NOT as written", cell_count(l->verified_wrong).text);
	else
		screen_add(&t, "all as they were written");
	screen_put(p, l->verified_wrong ? INK_YELLOW : INK_NONE, t.text, 2);
}

/* What the times of the table are. */
static void screen_load_put_caption(const struct paint *p, const struct run_phase *phase)
{
	const struct run_load *l = phase->load;
	struct screen_text t = { 0 };

	screen_add(&t, "One action took%s", l && l->rate_per_s > 0 ? ", from when it was due" : "");
	if (l && phase->probe)
		screen_add(&t, " (probe: one more client, one action of each kind a second)");
	else if (!l)
		screen_add(&t, " (each is done once a second)");
	screen_add(&t, ":");
	fputc('\n', p->out);
	screen_put(p, INK_NONE, t.text, 2);
}

/* How much of an open loop's times was no waiting for a free client. */
static void put_begun(const struct paint *p, const struct run_load *l)
{
	struct screen_text t = { 0 };
	struct run_action all;

	run_load_all(l, &all);
	if (l->rate_per_s <= 0 || !all.begun.n)
		return;
	if (run_load_kinds(l) < 2)
		screen_add(&t, "Without waiting for a free client: mean %s, p50 %s, p99 %s, max %s",
			   screen_time(hist_mean(&all.begun)).text,
			   screen_time((double)hist_quantile(&all.begun, 0.5)).text,
			   screen_time((double)hist_quantile(&all.begun, 0.99)).text,
			   screen_time((double)all.begun.max).text);
	else
		screen_add(&t, "Without waiting for a free client: mean %s, max %s",
			   screen_time(hist_mean(&all.begun)).text,
			   screen_time((double)all.begun.max).text);
	screen_put(p, INK_NONE, t.text, 2);
}

/* A user waits, too, before he does the next thing. */
static void put_left_out(const struct paint *p, const struct run_load *probe)
{
	struct screen_text t = { 0 };

	if (!probe->n_no_room)
		return;
	screen_add(&t, "Probe: %s action%s left out, while an earlier one had not ended",
		   cell_count(probe->n_no_room).text, probe->n_no_room == 1 ? "" : "s");
	screen_put(p, INK_YELLOW, t.text, 2);
}

/* What a user could not do at all is no latency. */
static void screen_load_put_gaps(const struct paint *p, const struct run_load *probe)
{
	struct screen_text t = { 0 };

	if (!probe->n_gaps)
		return;
	screen_add(
	    &t, "Probe: without a session %u time%s, for %s in all; that is in no time above",
	    probe->n_gaps, probe->n_gaps == 1 ? "" : "s", screen_time((double)probe->gaps_ns).text);
	screen_put(p, INK_RED, t.text, 2);
}

/* Its times are from when its actions were due: what this program was late is in them. */
static void put_late_probe(const struct paint *p, const struct run_load *probe)
{
	struct screen_text t = { 0 };

	if (!probe->late_n)
		return;
	screen_add(&t,
		   "Probe: %s of its actions%s more than 1 ms late because of this machine, not of "
		   "the server (at most %s); that is in its times",
		   cell_count(probe->late_n).text, probe->late_n == 1 ? " was" : " were",
		   screen_time((double)probe->late_max_ns).text);
	screen_put(p, INK_YELLOW, t.text, 2);
}

/* Whether the generator itself was what limited the load. */
static void put_generator(const struct paint *p, const struct run_load *l)
{
	double s = l->done_ns > l->begin_ns ? (double)(l->done_ns - l->begin_ns) / 1e9 : 0;
	struct screen_text t = { 0 };
	double busiest = s > 0 ? (double)l->cpu_max_ns / 1e9 / s : 0;
	double waited = s > 0 ? (double)l->runq_max_ns / 1e9 / s : 0;
	bool saturated = run_load_saturated(l);

	if (l->n_clients > 1 && l->done_ns && !l->stages_of_clients)
		screen_add(&t, "Fairness among clients (Jain's index): %s; 1 is even. ",
			   cell_fixed(run_load_fairness(l), 2).text);
	screen_add(&t, "Load generator: ");
	if (l->n_threads > 1)
		screen_add(&t, "busiest of %u threads ", l->n_threads);
	screen_add(&t, "%s of a CPU", screen_percent(busiest, 1).text);
	if (waited >= RUNQ)
		screen_add(&t, ", waited for one %s of the time", screen_percent(waited, 1).text);
	if (saturated)
		screen_add(&t,
			   ", SATURATED: it may be the limit, not the server; more --threads, or "
			   "a faster client");
	else if (run_load_saturated_once(l))
		screen_add(&t, "; in its busiest second it ran or waited for a CPU %s of the time",
			   screen_percent((double)l->busy_second_ns / 1e9, 1).text);
	if (l->late_n)
		screen_add(&t, "; %s action%s more than 1 ms late (at most %s)",
			   cell_count(l->late_n).text, l->late_n == 1 ? "" : "s",
			   screen_time((double)l->late_max_ns).text);
	if (l->unoffered_ns)
		screen_add(&t,
			   "; it could not offer %s actions/s: at the end it was %s behind, and "
			   "offered %s",
			   cell_rate(l->rate_per_s).text, screen_time((double)l->unoffered_ns).text,
			   cell_rate((double)l->n_arrivals / screen_load_seconds_of(l)).text);
	fputc('\n', p->out);
	screen_put(p, saturated || l->unoffered_ns ? INK_YELLOW : INK_NONE, t.text, 3);
}

/* A request that has come is not begun before the process of its session gets a CPU. */
static void put_unread(const struct paint *p, const struct run_phase *phase)
{
	const struct ledger *l = &phase->ledger;
	struct screen_text t = { 0 };
	struct afs_part before, within;

	before = ledger_part_sum(l, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN, LEDGER_ALL, LEDGER_ALL);
	within = ledger_part_sum(l, AFS_ROLE_SERVER, LEDGER_ALL, LEDGER_ALL, LEDGER_ALL);
	if (!l->has_requests || (double)before.runq_ns < UNREAD * (double)within.runq_ns)
		return;
	screen_add(&t, "Before the server read them, requests waited %s for a CPU",
		   screen_time((double)before.runq_ns).text);
	screen_put(p, INK_NONE, t.text, 2);
}

/* A figure in the unit of a limit: "12.3ms", "314/s", "0.52%", "3". */
static const char *screen_load_in_unit(char out[48], enum run_slo_unit unit, double v)
{
	if (unit == RUN_SLO_NS)
		snprintf(out, 48, "%s", screen_time(v).text);
	else if (unit == RUN_SLO_PER_S)
		snprintf(out, 48, "%s/s", cell_rate(v).text);
	else if (unit == RUN_SLO_SHARE)
		snprintf(out, 48, "%s%%", cell_rate(v * 100).text);
	else
		snprintf(out, 48, "%s", cell_count((uint64_t)v).text);
	return out;
}

/* "it was >= 80.0ms of the others" */
static void screen_load_put_value(struct screen_text *t, const struct run_slo *s)
{
	char text[48];

	screen_add(t, "it was %s%s%s", s->value_at_least ? ">= " : "",
		   screen_load_in_unit(text, s->unit, s->value),
		   !s->value_of_others ? ""
		   : *s->why           ? " of the others"
				       : " of those that were not dropped");
}

/* Where it is not kept: "it was 80.0ms, 30.0ms too long". */
static void put_beyond(struct screen_text *t, const struct run_slo *s)
{
	static const char *const than[] = { "too long", "too few", "too many", "too many" };
	double beyond = s->at_least ? s->limit - s->value : s->value - s->limit;
	char text[48];

	screen_add(t, ": NOT KEPT, ");
	if (*s->why)
		screen_add(t, "%s%s", s->why, s->known ? "; " : "");
	if (s->known)
		screen_load_put_value(t, s);
	if (s->known && beyond > 0)
		screen_add(t, ", %s%s %s", s->value_at_least ? "at least " : "",
			   screen_load_in_unit(text, s->unit, beyond), than[s->unit]);
}

/*
 * "Limit p99=50ms: kept, it was 12.3ms", or by how much it was not kept, or why that cannot be
 * told.
 */
static void screen_load_put_slo(const struct paint *p, const struct run_slo *s)
{
	static const enum ink inks[] = { INK_NONE, INK_RED, INK_YELLOW };
	struct screen_text t = { 0 };

	screen_add(&t, "Limit %s", s->text);
	if (s->verdict == RUN_SLO_BROKEN) {
		put_beyond(&t, s);
	} else if (s->verdict == RUN_SLO_KEPT) {
		screen_add(&t, ": kept, ");
		screen_load_put_value(&t, s);
	} else {
		screen_add(&t, ": CANNOT TELL, ");
		if (s->known)
			screen_load_put_value(&t, s);
		screen_add(&t, "%s%s", s->known ? ", but " : "", s->why);
	}
	screen_put(p, inks[s->verdict], t.text, s->verdict == RUN_SLO_UNSURE ? 3 : 2);
}

static void put_slos(const struct paint *p, const struct run_load *l)
{
	for (unsigned int i = 0; i < l->n_slos; i++)
		screen_load_put_slo(p, &l->slo[i]);
}

/* When it became steady, and what was changed meanwhile. */
static void put_moments(const struct paint *p, const struct run_phase *phase)
{
	const struct run_timeline *line = phase->timeline;
	struct screen_text t = { 0 };

	if (phase->load->steady_ns) {
		screen_add(&t, "The rate was steady %s after the start; measured from then on",
			   screen_time((double)phase->load->steady_ns).text);
		screen_put(p, INK_NONE, t.text, 1);
	}
	for (size_t i = 0; line && i < line->n_marks; i++) {
		t = (struct screen_text) { 0 };
		screen_add(&t, "After %s: %s", screen_time((double)line->mark[i].at_ns).text,
			   line->mark[i].text);
		screen_put(p, INK_NONE, t.text, 1);
	}
}

static int put_phase(const struct paint *p, struct run_phase *phase)
{
	const struct run_load *load = phase->load;
	int e;

	if (load)
		put_headline(p, phase);
	else if (phase->probe->n_slos)
		fputc('\n', p->out);
	put_slos(p, load ? load : phase->probe);
	if (load) {
		put_files(p);
		put_verified(p, load);
		put_contended(p, load);
	}
	if (phase->replay) {
		e = screen_replay(p, phase);
	} else {
		screen_load_put_caption(p, phase);
		e = screen_load_put_table(p, phase);
	}
	if (load) {
		put_begun(p, load);
		screen_silence(p, NULL, "action", load);
		e = e ? e : screen_stages(p, load);
	}
	if (phase->probe) {
		screen_load_put_gaps(p, phase->probe);
		put_left_out(p, phase->probe);
		put_late_probe(p, phase->probe);
	}
	if (!phase->replay)
		screen_trips(p, phase);
	if (load) {
		put_generator(p, load);
		put_unread(p, phase);
	}
	screen_ranks(p, &phase, 1);
	if (load)
		put_moments(p, phase);
	return e;
}

int screen_load(const struct paint *p)
{
	const struct run *r = p->view.run;
	int e = 0;

	for (size_t i = 0; i < r->n_phases && !e; i++)
		if (r->phase[i]->load || r->phase[i]->probe)
			e = put_phase(p, r->phase[i]);
	return e;
}
