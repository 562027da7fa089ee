/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of transfers goes, and what limits them, as text. */
#include "report/cell.h"
#include "report/paint.h"
#include "report/transfer.h"
#include "report/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INDENT     13
#define LEAST_TOLD 0.05 /* per cent */
#define N_SHARES   (ACCOUNT_N_COLUMNS + 1)
#define SHARE_IDLE ACCOUNT_N_COLUMNS

/* A text within which no line may end. */
static void verdicts_print_glued(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc(*text == ' ' ? GLUE[0] : *text, to);
}

/* The same for a number and its per cent sign only. */
static void print_tight(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc(*text == ' ' && text[1] == '%' ? GLUE[0] : *text, to);
}

static void print_shares(FILE *to, const struct run *r, const struct transfer_cost *c)
{
	double share[N_SHARES];
	const char *comma = "";

	for (size_t i = 0; i < ACCOUNT_N_COLUMNS; i++)
		share[i] = 100 * (double)c->column[i] / c->elapsed.v;
	share[SHARE_IDLE] = 100 * (c->elapsed.v - c->busy) / c->elapsed.v;
	for (size_t n = 0; n < N_SHARES; n++) {
		size_t most = 0;

		for (size_t i = 1; i < N_SHARES; i++)
			most = share[i] > share[most] ? i : most;
		if (share[most] < LEAST_TOLD)
			break;
		fputs(comma, to);
		verdicts_print_glued(to, most == SHARE_IDLE ? "without a request"
							    : run_column_name(r, most));
		fprintf(to, GLUE "%.1f" GLUE "%%", share[most]);
		comma = ", ";
		share[most] = 0;
	}
}

static void verdicts_print_client(FILE *to, const struct transfer_cost *c)
{
	if (!c->client_cpu.known || c->elapsed.v <= 0) {
		fputs(" the client's CPU time n/a;", to);
		return;
	}
	fprintf(to, " the client on a CPU" GLUE "%.1f" GLUE "%%",
		100 * c->client_cpu.v / c->elapsed.v);
	if (c->client_runq.known && 100 * c->client_runq.v / c->elapsed.v >= LEAST_TOLD)
		fprintf(to, ", waiting for one" GLUE "%.1f" GLUE "%%",
			100 * c->client_runq.v / c->elapsed.v);
	fputc(';', to);
}

/* "64 MiB in 18.2ms: client's CPU 30.1 %; afpd: in calls 45.2 %, ..." */
static int verdicts_put_time(const struct paint *p, const struct run_phase *phase)
{
	char *text = NULL, size[RUN_SIZE_MAX];
	struct transfer_cost c;
	struct stats s;
	size_t len;
	FILE *to;

	if (transfer_stats(phase->transfer, &s))
		return -ENOMEM;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	transfer_cost(phase, &c);
	verdicts_print_glued(to, run_size(phase->transfer->size, size));
	fprintf(to, " in %s:", cell_time(s.median).text);
	verdicts_print_client(to, &c);
	fprintf(to, " %s: ", run_word(p->view.run, RUN_WORD_SERVER));
	if (c.has_times && c.elapsed.v > 0)
		print_shares(to, p->view.run, &c);
	else
		fprintf(to, "n/a (%s)", rungs_why(p->view.run, "requests"));
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	put_indented(p->out, "", text, INDENT, p->width);
	free(text);
	return 0;
}

/* ". Other sizes: 2 mixed, 1 client-bound" */
static int print_others(FILE *to, const struct run *r, const struct run_phase *largest)
{
	size_t n[VERDICT_N_KINDS] = { 0 };
	const char *gap = ". Other sizes: ";
	struct verdict v;

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
		fprintf(to, "%s%zu" GLUE, gap, n[k]);
		verdicts_print_glued(to, verdict_kinds[k].words);
		gap = ", ";
	}
	return 0;
}

/* A line for all works together. */
static int verdicts_put_all(const struct paint *p)
{
	struct verdict all;
	char *text = NULL;
	size_t len;
	FILE *to;

	if (verdict_of_run(&all, p->view.run))
		return -ENOMEM;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	print_tight(to, all.text);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	put_indented(p->out, "  all", text, INDENT, p->width);
	free(text);
	return 0;
}

static int verdicts_put_work(const struct paint *p, const char *work)
{
	const struct run_phase *phase = transfer_largest(p->view.run, work, true);
	char *text = NULL, label[INDENT + 16], size[RUN_SIZE_MAX];
	struct verdict v;
	size_t len;
	FILE *to;
	int e;

	if (!phase)
		phase = transfer_largest(p->view.run, work, false);
	if (verdict_of(&v, p->view.run, phase))
		return -ENOMEM;
	to = open_memstream(&text, &len);
	if (!to)
		return -ENOMEM;
	verdicts_print_glued(to, run_size(phase->transfer->size, size));
	fprintf(to, " %s: ", verdict_kinds[v.kind].words);
	print_tight(to, v.text);
	e = print_others(to, p->view.run, phase);
	if (fclose(to) || e) {
		free(text);
		return -ENOMEM;
	}
	snprintf(label, sizeof(label), "  %s", work);
	put_indented(p->out, label, text, INDENT, p->width);
	free(text);
	/* Without a server the verdict has said it all. */
	if (transfer_is_local(p->view.run))
		return 0;
	return v.known[FIGURE_CLIENT_CPU] || v.known[FIGURE_SERVER_CPU]
		   ? verdicts_put_time(p, phase)
		   : 0;
}

int paint_verdicts(const struct paint *p)
{
	const struct run *r = p->view.run;
	int e;

	paint_heading(p, "What holds it up",
		      transfer_is_local(r)
			  ? "  per work, its largest file: this program and the file system"
			  : "  per work, its largest file, then where the time went (client\n"
			    "       and server work at the same time: no need to add up to 100 %)");
	for (size_t i = 0; i < r->n_phases; i++) {
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(r->phase[k]->transfer->work, r->phase[i]->transfer->work);
		e = seen ? 0 : verdicts_put_work(p, r->phase[i]->transfer->work);
		if (e)
			return e;
	}
	return r->n_phases > 1 ? verdicts_put_all(p) : 0;
}
