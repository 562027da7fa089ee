/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of lantest 4.5 and 4.6, as text and CSV from one list of columns. */
#include "report/cell.h"
#include "report/report.h"
#include "report/view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_WIDTH   66
#define RULE_WIDTH    108 /* of the original, whatever the line above it */
#define OUTLIERS_FROM 6   /* iterations */

enum kind { KIND_MEAN, KIND_DEVIATION, KIND_LEAST, KIND_MOST, KIND_MEDIAN, KIND_RATE };

struct column {
	const char *head;
	enum kind kind;
	enum metric metric;
	double scale; /* metric * scale is what is shown */
	int width_io; /* in the layout with IO columns */
	int width;    /* in the layout without; 0 = no such column */
	bool spread;  /* in CSV of 4.6 only */
};

static const struct column columns[] = {
	{ "Time_ms", KIND_MEAN, METRIC_ELAPSED, 1e-6, 8, 7, false },
	{ "Time±", KIND_DEVIATION, METRIC_ELAPSED, 1e-6, 6, 6, false },
	{ "Min_ms", KIND_LEAST, METRIC_ELAPSED, 1e-6, 0, 0, true },
	{ "Max_ms", KIND_MOST, METRIC_ELAPSED, 1e-6, 0, 0, true },
	{ "Median_ms", KIND_MEDIAN, METRIC_ELAPSED, 1e-6, 0, 0, true },
	{ "AFPD_R", KIND_MEAN, METRIC_AFPD_SYSCR, 1, 6, 0, false },
	{ "AFPD_R±", KIND_DEVIATION, METRIC_AFPD_SYSCR, 1, 7, 0, false },
	{ "AFPD_W", KIND_MEAN, METRIC_AFPD_SYSCW, 1, 6, 0, false },
	{ "AFPD_W±", KIND_DEVIATION, METRIC_AFPD_SYSCW, 1, 7, 0, false },
	{ "CNID_R", KIND_MEAN, METRIC_CNID_SYSCR, 1, 6, 0, false },
	{ "CNID_R±", KIND_DEVIATION, METRIC_CNID_SYSCR, 1, 7, 0, false },
	{ "CNID_W", KIND_MEAN, METRIC_CNID_SYSCW, 1, 6, 0, false },
	{ "CNID_W±", KIND_DEVIATION, METRIC_CNID_SYSCW, 1, 7, 0, false },
	{ "MB/s", KIND_RATE, METRIC_BYTES, 1, 6, 6, false },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

struct peer_table {
	struct view view;
	bool io, csv, original, is_4_6;
	FILE *out;
};

/* Only the two tests of a large file have a rate in netatalk's table. */
static bool is_bulk(const struct peer_table *tab, const struct view_test *t)
{
	return t->test == 2 || t->test == (tab->is_4_6 ? 1 : 3);
}

/* 0: the table has no such column. */
static int lantest_table_width_of(const struct peer_table *tab, const struct column *c)
{
	if (c->spread)
		return tab->csv && tab->is_4_6;
	return tab->io ? c->width_io : c->width;
}

static void put_cell(const struct peer_table *tab, const struct column *c, const char *text)
{
	if (!lantest_table_width_of(tab, c))
		return;
	if (!tab->csv) {
		fputc(' ', tab->out);
		put_text(tab->out, text, lantest_table_width_of(tab, c));
		return;
	}
	fprintf(tab->out, ",%s", strcmp(text, "n/a") ? text : "");
}

/* First field of a line. */
static void lantest_table_put_title(const struct peer_table *tab, const char *title)
{
	if (!tab->csv) {
		put_text(tab->out, title, -TITLE_WIDTH);
		return;
	}
	if (tab->original || tab->is_4_6 || !strpbrk(title, ",\"\r\n")) {
		fputs(title, tab->out);
		return;
	}
	fputc('"', tab->out);
	for (; *title; title++)
		fprintf(tab->out, *title == '"' ? "\"\"" : "%c", *title);
	fputc('"', tab->out);
}

/* Of more than five iterations the original leaves out the smallest and the largest. */
static struct value lantest_table_metric(const struct peer_table *tab, const struct view_test *t,
					 enum metric m)
{
	struct value x = view_metric(&tab->view, t, m);
	const struct run *r = tab->view.run;
	double sum = 0, squares = 0, least = INFINITY, most = -INFINITY, v, n = 0;

	if (!tab->original || !x.known || t->n_complete < OUTLIERS_FROM)
		return x;
	for (size_t i = 0; i < r->n_phases; i++) {
		if (r->phase[i]->test != t->test || !r->phase[i]->complete)
			continue;
		v = (double)r->phase[i]->value[m];
		n++;
		sum += v;
		squares += (v - x.mean) * (v - x.mean);
		least = fmin(least, v);
		most = fmax(most, v);
	}
	n -= 2;
	squares -= (least - x.mean) * (least - x.mean) + (most - x.mean) * (most - x.mean);
	v = (sum - least - most) / n;
	squares -= n * (v - x.mean) * (v - x.mean);
	return (struct value) { true, v, squares > 0 ? sqrt(squares / (n - 1)) : 0 };
}

static int number_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of all complete iterations, also of those that the mean leaves out; .mean. */
static struct value lantest_table_spread(const struct peer_table *tab, const struct view_test *t,
					 enum kind kind, enum metric m)
{
	struct value x = view_metric(&tab->view, t, m);
	const struct run *r = tab->view.run;
	double *sorted = x.known ? calloc(t->n_complete, sizeof(*sorted)) : NULL;
	size_t n = 0;

	if (!sorted)
		return (struct value) { 0 };
	for (size_t i = 0; i < r->n_phases && n < t->n_complete; i++) {
		if (r->phase[i]->test == t->test && r->phase[i]->complete)
			sorted[n++] = (double)r->phase[i]->value[m];
	}
	qsort(sorted, n, sizeof(*sorted), number_order);
	if (kind == KIND_MEDIAN)
		x.mean = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	else
		x.mean = sorted[kind == KIND_LEAST ? 0 : n - 1];
	free(sorted);
	return x;
}

static struct value lantest_table_rate(const struct peer_table *tab, const struct view_test *t)
{
	struct value bytes = lantest_table_metric(tab, t, METRIC_BYTES);
	struct value ns = lantest_table_metric(tab, t, METRIC_ELAPSED);

	if (!tab->original || !bytes.known || !ns.known || ns.mean <= 0)
		return view_mb_s(&tab->view, t);
	return (struct value) { .known = true, .mean = bytes.mean * 1e3 / ns.mean };
}

static struct cell row_cell(const struct peer_table *tab, const struct column *c,
			    const struct view_test *t)
{
	struct value x;

	if (c->kind == KIND_RATE) {
		if (!is_bulk(tab, t))
			return cell_fixed(0, 0);
		x = lantest_table_rate(tab, t);
	} else if (c->spread) {
		x = lantest_table_spread(tab, t, c->kind, c->metric);
	} else {
		x = lantest_table_metric(tab, t, c->metric);
	}
	if (!x.known)
		return cell_na();
	if (c->kind == KIND_DEVIATION)
		return cell_fixed(x.stddev * c->scale, 1);
	return cell_fixed(round(x.mean * c->scale), 0);
}

/* The means of all tests added up, or their medians; not known when one of them is not. */
static struct value lantest_table_sum(const struct peer_table *tab, enum metric m, bool of_medians)
{
	struct value sum = { .known = true };

	for (size_t i = 0; i < tab->view.n; i++) {
		const struct view_test *t = &tab->view.test[i];
		struct value x = of_medians ? lantest_table_spread(tab, t, KIND_MEDIAN, m)
					    : lantest_table_metric(tab, t, m);

		sum.known = sum.known && x.known;
		sum.mean += x.mean;
	}
	return sum;
}

static struct value lantest_table_total(const struct peer_table *tab, enum metric m)
{
	return lantest_table_sum(tab, m, false);
}

/* N of "[~4,000 AFP ops]" at a title's end; 0: it has none. */
static double lantest_table_said(const char *title)
{
	const char *at = strrchr(title, '[');
	double n = 0;

	for (; at && *at && *at != ' '; at++)
		n = *at >= '0' && *at <= '9' ? n * 10 + (*at - '0') : n;
	return n;
}

/*
 * What the sum's row calls operations: in 4.6, as in the original, what the titles of the tests
 * say, which is a few more than are sent (docs/lantest.md); in 4.5 the commands that were sent.
 */
static struct value lantest_table_ops(const struct peer_table *tab)
{
	struct value ops = lantest_table_total(tab, METRIC_OPS);

	if (!tab->is_4_6 || !ops.known)
		return ops;
	ops.mean = 0;
	for (size_t i = 0; i < tab->view.n; i++)
		ops.mean += lantest_table_said(tab->view.test[i].title);
	return ops;
}

static void put_sum_row(const struct peer_table *tab)
{
	struct value ops = lantest_table_ops(tab);
	char label[64];

	snprintf(label, sizeof(label), "Sum of all AFP OPs = %s",
		 ops.known ? cell_fixed(round(ops.mean), 0).text : cell_na().text);
	lantest_table_put_title(tab, label);
	for (size_t k = 0; k < N_COLUMNS; k++) {
		const struct column *c = &columns[k];
		struct value x = lantest_table_total(tab, c->metric);

		if (c->kind != KIND_MEAN)
			put_cell(tab, c, "");
		else if (!x.known)
			put_cell(tab, c, cell_na().text);
		else
			put_cell(tab, c, cell_fixed(round(x.mean * c->scale), 0).text);
	}
	fputc('\n', tab->out);
}

static void lantest_table_put_heads(const struct peer_table *tab)
{
	lantest_table_put_title(tab, "Test");
	for (size_t k = 0; k < N_COLUMNS; k++)
		put_cell(tab, &columns[k], columns[k].head);
	fputc('\n', tab->out);
}

static void lantest_table_put_rows(const struct peer_table *tab)
{
	for (size_t i = 0; i < tab->view.n; i++) {
		lantest_table_put_title(tab, tab->view.test[i].title);
		for (size_t k = 0; k < N_COLUMNS; k++)
			put_cell(tab, &columns[k],
				 row_cell(tab, &columns[k], &tab->view.test[i]).text);
		fputc('\n', tab->out);
	}
}

static void put_rules(const struct peer_table *tab)
{
	put_rule(tab->out, '-', TITLE_WIDTH);
	for (size_t k = 0; k < N_COLUMNS; k++) {
		int width = lantest_table_width_of(tab, &columns[k]);

		if (!width)
			continue;
		fputc(' ', tab->out);
		put_rule(tab->out, '-', (size_t)width);
	}
	fputc('\n', tab->out);
}

static void put_banner(const struct peer_table *tab)
{
	char line[192];
	size_t n = 0;

	for (size_t i = 0; i < tab->view.n; i++) {
		if (tab->view.test[i].n_complete > n)
			n = tab->view.test[i].n_complete;
	}
	if (n == 1)
		snprintf(line, sizeof(line), "Netatalk Lantest Results (single iteration)");
	else
		snprintf(line, sizeof(line),
			 "Netatalk Lantest Results (Averages and standard deviations (±) for all "
			 "tests, across %zu iterations%s)",
			 n, n == 2 ? " (default)" : "");
	if (!tab->view.run->complete)
		strcat(line, " - INCOMPLETE, the run broke off");
	fprintf(tab->out, "%s\n", line);
	put_rule(tab->out, '=', tab->original ? RULE_WIDTH : text_columns(line));
	fputs("\n\n", tab->out);
}

static void put_average(const struct peer_table *tab, const char *what, struct value x,
			double scale, const char *unit)
{
	struct value ops = lantest_table_ops(tab);

	if (x.known && ops.known && ops.mean > 0)
		fprintf(tab->out, "Average %s per AFP OP: %.3f%s\n", what,
			x.mean * scale / ops.mean, unit);
	else
		fprintf(tab->out, "Average %s per AFP OP: n/a\n", what);
}

/* Only where it is not what the titles say. */
static void lantest_table_put_sent(const struct peer_table *tab)
{
	struct value said = lantest_table_ops(tab), sent = lantest_table_total(tab, METRIC_OPS);

	if (sent.known && round(sent.mean) != said.mean)
		fprintf(tab->out,
			"AFP OPs are those of the titles; commands that were sent: %.0f\n",
			round(sent.mean));
}

static void put_aggregates(const struct peer_table *tab)
{
	fputs("\nAggregates Summary:\n", tab->out);
	put_rule(tab->out, '-', TITLE_WIDTH);
	fputc('\n', tab->out);
	put_average(tab, "Time", lantest_table_sum(tab, METRIC_ELAPSED, tab->is_4_6), 1e-6,
		    tab->is_4_6 ? " ms (from per-test medians)" : " ms");
	if (tab->io) {
		put_average(tab, "AFPD Reads", lantest_table_total(tab, METRIC_AFPD_SYSCR), 1, "");
		put_average(tab, "AFPD Writes", lantest_table_total(tab, METRIC_AFPD_SYSCW), 1, "");
	}
	if (tab->is_4_6)
		lantest_table_put_sent(tab);
}

static int lantest_table_written(FILE *out)
{
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int report_peer_text(const struct run *r, unsigned int how, FILE *out)
{
	struct peer_table tab = { .io = how & REPORT_PEER_IO,
				  .original = how & REPORT_PEER_ORIGINAL,
				  .is_4_6 = how & REPORT_PEER_4_6,
				  .out = out };

	if (view_init(&tab.view, r))
		return -ENOMEM;
	put_banner(&tab);
	lantest_table_put_heads(&tab);
	put_rules(&tab);
	lantest_table_put_rows(&tab);
	put_rules(&tab);
	put_sum_row(&tab);
	put_aggregates(&tab);
	if (tab.original)
		fputs("See afp_lantest manpage for more information: "
		      "https://netatalk.io/manual/en/afp_lantest.1\n\n",
		      out);
	view_fini(&tab.view);
	return lantest_table_written(out);
}

int report_peer_csv(const struct run *r, unsigned int how, FILE *out)
{
	struct peer_table tab = { .io = how & REPORT_PEER_IO,
				  .csv = true,
				  .original = how & REPORT_PEER_ORIGINAL,
				  .is_4_6 = how & REPORT_PEER_4_6,
				  .out = out };

	if (view_init(&tab.view, r))
		return -ENOMEM;
	if (tab.original && !tab.is_4_6)
		put_banner(&tab);
	lantest_table_put_heads(&tab);
	lantest_table_put_rows(&tab);
	put_sum_row(&tab);
	if (tab.original && !tab.is_4_6)
		fputc('\n', out);
	view_fini(&tab.view);
	return lantest_table_written(out);
}
