/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of transfers goes, and what limits them, as text. */
#include "doctor/verdict.h"
#include "report/section.h"
#include "report/transfer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define INDENT     13
#define LEAST_TOLD 0.05 /* per cent */
#define N_SHARES   (ACCOUNT_N_COLUMNS + 1)
#define SHARE_IDLE ACCOUNT_N_COLUMNS

static const struct section_type verdicts_section = {
	.key = "verdicts",
	.title = "What holds it up",
	.rest = "  per work, its largest file, then where the time went (client\n"
		"       and server work at the same time: no need to add up to 100 %)",
};

/* No line ends between a number and its per cent sign. */
static void verdicts_say(struct section *s, char *text)
{
	for (char *at = text; (at = strstr(at, " %"));)
		*at = GLUE[0];
	section_more(s, "%s", text);
}

static void verdicts_say_shares(struct section *s, const struct transfer_cost *c)
{
	double share[N_SHARES];
	const char *comma = "";
	char glued[32];

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		share[i] = 100 * (double)c->column[i] / c->elapsed.v;
	share[SHARE_IDLE] = 100 * (c->elapsed.v - c->busy) / c->elapsed.v;
	for (size_t n = 0; n < N_SHARES; n++) {
		const char *name = "without a request";
		size_t most = 0;

		for (size_t i = 1; i < N_SHARES; i++)
			most = share[i] > share[most] ? i : most;
		if (share[most] < LEAST_TOLD)
			break;
		if (most != SHARE_IDLE)
			name = run_column_name(s->p->view.run, most);
		section_more(s, "%s%s" GLUE "%.1f" GLUE "%%", comma,
			     text_glued(glued, sizeof(glued), name), share[most]);
		comma = ", ";
		share[most] = 0;
	}
}

static void verdicts_say_client(struct section *s, const struct transfer_cost *c)
{
	double cpu, runq;

	if (!c->client_cpu.known || c->elapsed.v <= 0) {
		section_more(s, " the client's CPU time n/a;");
		return;
	}
	cpu = 100 * c->client_cpu.v / c->elapsed.v;
	section_more(s, " the client on a CPU" GLUE "%.1f" GLUE "%%", cpu);
	/* As in verdict_figures.c: a wait that began before is counted as a whole. */
	runq = fmin(100 * c->client_runq.v / c->elapsed.v, fmax(0, 100 - cpu));
	if (c->client_runq.known && runq >= LEAST_TOLD)
		section_more(s, ", waiting for one" GLUE "%.1f" GLUE "%%", runq);
	section_more(s, ";");
}

/* "64 MiB in 18.2ms: client's CPU 30.1 %; afpd: in calls 45.2 %, ..." */
static int verdicts_put_time(struct section *s, const struct run_phase *phase)
{
	char size[RUN_SIZE_MAX], glued[RUN_SIZE_MAX];
	struct transfer_cost c;
	struct stats stats;

	if (transfer_stats(phase->transfer, &stats))
		return -ENOMEM;
	transfer_cost(phase, &c);
	section_indented(s, "", INDENT);
	section_more(
	    s, "%s in %s:", text_glued(glued, sizeof(glued), run_size(phase->transfer->size, size)),
	    cell_time(stats.median).text);
	verdicts_say_client(s, &c);
	section_more(s, " {server}: ");
	if (c.has_times && c.elapsed.v > 0)
		verdicts_say_shares(s, &c);
	else
		section_more(s, "n/a (%s)", rungs_why(s->p->view.run, "requests"));
	return 0;
}

/* ". Other sizes: 2 mixed, 1 client-bound" */
static int verdicts_say_others(struct section *s, const struct run *r,
			       const struct run_phase *largest)
{
	size_t n[VERDICT_N_KINDS] = { 0 };
	const char *gap = ". Other sizes: ";
	struct verdict v;
	char glued[32];

	for (size_t i = 0; i < r->n_phases; i++) {
		if (r->phase[i] == largest ||
		    strcmp(r->phase[i]->transfer->work, largest->transfer->work))
			continue;
		if (verdict_of(&v, r, r->phase[i]))
			return -ENOMEM;
		n[v.kind]++;
	}
	for (size_t k = 0; k < VERDICT_N_KINDS; k++) {
		if (!n[k])
			continue;
		section_more(s, "%s%zu" GLUE "%s", gap, n[k],
			     text_glued(glued, sizeof(glued), verdict_kinds[k].words));
		gap = ", ";
	}
	return 0;
}

/* A line for all works together. */
static int verdicts_put_all(struct section *s)
{
	struct verdict all;

	if (verdict_of_run(&all, s->p->view.run))
		return -ENOMEM;
	section_indented(s, "  all", INDENT);
	verdicts_say(s, all.text);
	return 0;
}

static int verdicts_put_work(struct section *s, const char *work)
{
	const struct run *r = s->p->view.run;
	const struct run_phase *phase = transfer_largest(r, work, true);
	char label[INDENT + 16], size[RUN_SIZE_MAX], glued[RUN_SIZE_MAX];
	struct verdict v;

	if (!phase)
		phase = transfer_largest(r, work, false);
	if (verdict_of(&v, r, phase))
		return -ENOMEM;
	snprintf(label, sizeof(label), "  %s", work);
	section_indented(s, label, INDENT);
	section_more(
	    s, "%s %s: ", text_glued(glued, sizeof(glued), run_size(phase->transfer->size, size)),
	    verdict_kinds[v.kind].words);
	verdicts_say(s, v.text);
	if (verdicts_say_others(s, r, phase))
		return -ENOMEM;
	/* Without a server the verdict has said it all. */
	if (transfer_is_local(r) || (!v.known[FIGURE_CLIENT_CPU] && !v.known[FIGURE_SERVER_CPU]))
		return 0;
	return verdicts_put_time(s, phase);
}

int paint_verdicts(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct section s;
	int e = 0, ret;

	section_open(&s, p, &verdicts_section);
	if (transfer_is_local(r))
		s.rest = "  per work, its largest file: this program and the file system";
	for (size_t i = 0; i < r->n_phases && !e; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(r->phase[k]->transfer->work, r->phase[i]->transfer->work);
		e = seen ? 0 : verdicts_put_work(&s, r->phase[i]->transfer->work);
	}
	if (!e && r->n_phases > 1)
		e = verdicts_put_all(&s);
	ret = section_close(&s);
	return e ? e : ret;
}
