/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two tables of what the client saw: by test, and by AFP command. */
#include "report/cell.h"
#include "report/paint.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_MIN 12

/* A line of the table of tests, before it is formatted. */
struct tests_line {
	const struct view *view;
	const struct view_test *test;
	const struct hist *latency;
};

static struct cell cell_iterations(const struct tests_line *l)
{
	struct cell c = cell_fixed((double)l->test->n_complete, 0);

	if (l->test->n_complete != l->test->n_started)
		snprintf(c.text, sizeof(c.text), "%zu/%zu", l->test->n_complete,
			 l->test->n_started);
	return c;
}

static struct cell tests_number(struct value x, struct cell (*format)(double))
{
	return x.known ? format(x.mean) : cell_na();
}

static struct cell tests_whole(double v)
{
	return cell_fixed(v, 0);
}

static struct cell cell_ops(const struct tests_line *l)
{
	return tests_number(view_metric(l->view, l->test, METRIC_OPS), tests_whole);
}

static struct cell cell_per_op(const struct tests_line *l)
{
	return tests_number(view_ratio(l->view, l->test, METRIC_ELAPSED, METRIC_OPS), cell_time);
}

static struct cell cell_deviation(const struct tests_line *l)
{
	struct value x = view_ratio(l->view, l->test, METRIC_ELAPSED, METRIC_OPS);

	if (!x.known)
		return cell_na();
	return l->test->n_complete > 1 ? cell_time(x.stddev) : cell_blank();
}

static struct cell cell_quantile(const struct tests_line *l, double q)
{
	if (!l->latency->n)
		return cell_na();
	return cell_time((double)hist_quantile(l->latency, q));
}

static struct cell cell_p50(const struct tests_line *l)
{
	return cell_quantile(l, 0.5);
}

static struct cell cell_p99(const struct tests_line *l)
{
	return cell_quantile(l, 0.99);
}

static struct cell cell_max(const struct tests_line *l)
{
	return cell_quantile(l, 1);
}

static struct cell cell_ops_s(const struct tests_line *l)
{
	struct value ops = view_sum(l->view, l->test, METRIC_OPS);
	struct value ns = view_sum(l->view, l->test, METRIC_ELAPSED);

	if (!ops.known || !ns.known || ns.mean <= 0)
		return cell_na();
	return cell_short(ops.mean * 1e9 / ns.mean);
}

static struct cell cell_mb_s(const struct tests_line *l)
{
	struct value bytes = view_sum(l->view, l->test, METRIC_BYTES);

	if (bytes.known && bytes.mean <= 0)
		return cell_blank();
	return tests_number(view_mb_s(l->view, l->test), cell_short);
}

static struct cell cell_afpd_calls(const struct tests_line *l)
{
	return tests_number(view_ratio(l->view, l->test, METRIC_AFPD_CALLS, METRIC_OPS),
			    cell_short);
}

static struct cell cell_afpd_time(const struct tests_line *l)
{
	return tests_number(view_ratio(l->view, l->test, METRIC_AFPD_CALL_TIME, METRIC_OPS),
			    cell_time);
}

static struct cell cell_cnid_calls(const struct tests_line *l)
{
	return tests_number(view_ratio(l->view, l->test, METRIC_CNID_CALLS, METRIC_OPS),
			    cell_short);
}

static struct cell cell_errors(const struct tests_line *l)
{
	return tests_number(view_sum(l->view, l->test, METRIC_ERRORS), tests_whole);
}

/* "drop": in a narrow terminal the column with the highest goes first; 0 stays. */
static const struct tests_column {
	const char *head;
	int width, drop;
	struct cell (*cell)(const struct tests_line *l);
} columns[] = {
	{ "iter", 4, 1, cell_iterations },   { "ops", 6, 0, cell_ops },
	{ "time/op", 7, 0, cell_per_op },    { "±", 6, 5, cell_deviation },
	{ "p50", 6, 4, cell_p50 },           { "p99", 6, 0, cell_p99 },
	{ "max", 6, 2, cell_max },           { "ops/s", 6, 6, cell_ops_s },
	{ "MB/s", 6, 3, cell_mb_s },         { "calls", 6, 0, cell_afpd_calls },
	{ "in-call", 7, 0, cell_afpd_time }, { "cnid", 5, 0, cell_cnid_calls },
	{ "err", 4, 0, cell_errors },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Columns left for the title; *limit becomes the "drop" from which columns are left out. */
static size_t title_width(const struct paint *p, int *limit)
{
	for (*limit = 7; *limit > 1; --*limit) {
		size_t used = 4; /* the number and its blanks */

		for (size_t k = 0; k < N_COLUMNS; k++) {
			if (columns[k].drop < *limit)
				used += (size_t)columns[k].width + 1;
		}
		if (used + TITLE_MIN <= p->width)
			return p->width - used;
	}
	return TITLE_MIN;
}

/* "Open, stat and read [8,000 AFP ops]" -> without the bracket. */
static void put_short_title(const struct paint *p, const char *title, size_t width)
{
	const char *end = strstr(title, " [");
	char text[128];

	snprintf(text, sizeof(text), "%.*s", end ? (int)(end - title) : (int)strlen(title), title);
	put_cut(p->out, text, width);
}

static void tests_put_test(const struct paint *p, const struct tests_line *l, size_t width,
			   int limit)
{
	struct value errors = view_sum(l->view, l->test, METRIC_ERRORS);
	bool red = l->test->n_complete != l->test->n_started || (errors.known && errors.mean > 0);

	if (red)
		paint_ink(p, INK_RED);
	fprintf(p->out, "%3u ", l->test->test);
	put_short_title(p, l->test->title, width);
	for (size_t k = 0; k < N_COLUMNS; k++) {
		if (columns[k].drop >= limit)
			continue;
		fputc(' ', p->out);
		put_text(p->out, columns[k].cell(l).text, columns[k].width);
	}
	if (red)
		paint_ink(p, INK_NONE);
	fputc('\n', p->out);
}

static const char tests_text[] =
    "  time/op: elapsed / ops, ± over iterations; p50, p99, max: one request;\n"
    "       ops: per iteration; calls, in-call: {server}'s system calls and their time\n"
    "       (waits apart) per op; cnid: the {backend}'s calls per op";

void paint_tests(const struct paint *p)
{
	char said[2 * sizeof(tests_text)];
	struct hist latency;
	size_t width;
	int limit;

	width = title_width(p, &limit);
	paint_heading(p, "Tests", run_text(p->view.run, tests_text, said, sizeof(said)));
	fputs("  # ", p->out);
	put_text(p->out, "test", -(int)width);
	for (size_t k = 0; k < N_COLUMNS; k++) {
		if (columns[k].drop >= limit)
			continue;
		fputc(' ', p->out);
		put_text(p->out, columns[k].head, columns[k].width);
	}
	fputc('\n', p->out);
	for (size_t i = 0; i < p->view.n; i++) {
		struct tests_line l = { &p->view, &p->view.test[i], &latency };

		run_latency(p->view.run, l.test->test, -1, &latency);
		tests_put_test(p, &l, width, limit);
	}
}

/* One AFP command over the whole run. */
struct total {
	const char *name;
	uint8_t code;
	uint64_t errors;
	double busy_ns; /* this command's part of the time that the client waited for answers */
	struct hist latency;
};

#define COMMANDS_WIDTH 88 /* of the table of commands with all its columns */

static const struct {
	const char *name;
	double q;
	bool always; /* in a narrow terminal, too */
} quantiles[] = {
	{ "p50", 0.5, true },      { "p95", 0.95, false }, { "p99", 0.99, true },
	{ "p99.9", 0.999, false }, { "max", 1, true },
};
#define N_QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static int tests_by_time(const void *a, const void *b)
{
	const struct total *x = *(struct total *const *)a, *y = *(struct total *const *)b;

	if (x->busy_ns < y->busy_ns || x->busy_ns > y->busy_ns)
		return x->busy_ns < y->busy_ns ? 1 : -1;
	return (int)x->code - (int)y->code;
}

/*
 * Requests that are in flight together wait at the same time: their latencies may add up to many
 * times the phase. Each counts for its part of the phase only.
 */
static double overlap(const struct run_phase *phase)
{
	double all_ns = 0, elapsed_ns = (double)phase->value[METRIC_ELAPSED];

	for (size_t i = 0; i < phase->n_commands; i++)
		all_ns += (double)phase->command[i]->latency.sum;
	return phase->known[METRIC_ELAPSED] && all_ns > elapsed_ns ? elapsed_ns / all_ns : 1;
}

static int collect(struct total *by_code[256], const struct run_phase *phase)
{
	double part = overlap(phase);

	for (size_t i = 0; i < phase->n_commands; i++) {
		const struct run_command *c = phase->command[i];
		struct total **t = &by_code[c->code];

		if (!*t)
			*t = calloc(1, sizeof(**t));
		if (!*t)
			return -ENOMEM;
		(*t)->name = c->name;
		(*t)->code = c->code;
		(*t)->errors += c->errors;
		(*t)->busy_ns += (double)c->latency.sum * part;
		hist_merge(&(*t)->latency, &c->latency);
	}
	return 0;
}

static void tests_put_command(const struct paint *p, const struct total *t, double share)
{
	const struct hist *h = &t->latency;

	fprintf(p->out, "%3u %-17s %10s %6s", t->code, t->name, cell_count(h->n).text,
		cell_count(t->errors).text);
	put_text(p->out, cell_fixed(100 * share, 1).text, 6);
	put_text(p->out, h->n ? cell_time(hist_mean(h)).text : "n/a", 8);
	for (size_t i = 0; i < N_QUANTILES; i++) {
		struct cell c = h->n ? cell_time((double)hist_quantile(h, quantiles[i].q))
				     : cell_na();

		if (p->width >= COMMANDS_WIDTH || quantiles[i].always)
			put_text(p->out, c.text, 8);
	}
	fputc('\n', p->out);
}

static void tests_put_commands(const struct paint *p, struct total *const *list, size_t n)
{
	double all_ns = 0;

	for (size_t i = 0; i < n; i++)
		all_ns += list[i]->busy_ns;
	paint_heading(p, transfer_is_local(p->view.run) ? "System calls" : "AFP commands",
		      "  from request sent to last byte of the reply, most time first;\n"
		      "       time%: requests that were in flight together share the time");
	fprintf(p->out, "  # %-17s %10s %6s%6s%8s", "command", "count", "errors", "time%", "mean");
	for (size_t i = 0; i < N_QUANTILES; i++) {
		if (p->width >= COMMANDS_WIDTH || quantiles[i].always)
			put_text(p->out, quantiles[i].name, 8);
	}
	fputc('\n', p->out);
	for (size_t i = 0; i < n; i++)
		tests_put_command(p, list[i], all_ns > 0 ? list[i]->busy_ns / all_ns : 0);
}

int paint_commands(const struct paint *p)
{
	const struct run *r = p->view.run;
	struct total *list[256] = { 0 };
	size_t n = 0;
	int e = 0;

	for (size_t i = 0; i < r->n_phases && !e; i++) {
		if (r->phase[i]->complete)
			e = collect(list, r->phase[i]);
	}
	for (size_t i = 0; i < 256; i++) {
		struct total *t = list[i];

		list[i] = NULL;
		if (t)
			list[n++] = t;
	}
	if (!e && n) {
		qsort(list, n, sizeof(list[0]), tests_by_time);
		tests_put_commands(p, list, n);
	}
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	return e;
}
