/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two tables of what the client saw: by test, and by AFP command. */
#include "report/section.h"
#include "report/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	COL_NUMBER,
	COL_TITLE,
	COL_ITERATIONS,
	COL_OPS,
	COL_PER_OP,
	COL_DEVIATION,
	COL_MAX,
	COL_OPS_S,
	COL_MB_S,
	COL_CALLS,
	COL_IN_CALL,
	COL_CNID,
	COL_ERRORS,
	COL_MOST
};

static const struct section_column columns[] = {
	[COL_NUMBER] = { .head = GLUE GLUE "#", .name = "number" },
	[COL_TITLE] = { .head = "test", .left = true, .stretch = true },
	[COL_ITERATIONS] = { .head = "iter", .name = "iterations", .drop = 6 },
	[COL_OPS] = { .head = "ops", .width = 6 },
	[COL_PER_OP] = { .head = "time/op", .name = "time_per_op" },
	[COL_DEVIATION] = { .head = "±", .name = "deviation", .drop = 2, .width = 6 },
	[COL_MAX] = { .head = "max", .drop = 5, .width = 6 },
	[COL_OPS_S] = { .head = "ops/s",
			.name = "ops_per_s",
			.unit = "1/s",
			.drop = 1,
			.width = 6 },
	[COL_MB_S] = { .head = "MB/s", .name = "mb_per_s", .unit = "MB/s", .drop = 4, .width = 6 },
	[COL_CALLS] = { .head = "calls", .width = 6 },
	[COL_IN_CALL] = { .head = "in-call", .name = "in_call" },
	[COL_CNID] = { .head = "{asked.lower}", .name = "cnid", .width = 5 },
	[COL_ERRORS] = { .head = "err", .name = "errors", .width = 4 },
	[COL_MOST] = { .head = "mostly", .left = true, .drop = 3 },
};

#define TESTS_REST                                                                                 \
	"  time/op: elapsed / ops, ± over iterations; max: one request; ops: per\n"               \
	"       iteration; mostly: the command with most of the requests' time"
#define TESTS_SERVER                                                                               \
	";\n"                                                                                      \
	"       calls, in-call: {server}'s system calls and their time (waits apart) per op"

static const struct section_type tests_section = {
	.key = "tests",
	.title = "Tests",
	.rest = TESTS_REST TESTS_SERVER ";\n       {asked.lower}: the {backend}'s calls per op",
	SECTION_OF(columns),
	.gap = 1,
	.flush = true,
	.silent = true,
};

static struct cell cell_iterations(const struct view_test *t)
{
	struct cell c = cell_fixed((double)t->n_complete, 0);

	if (t->n_complete != t->n_started)
		snprintf(c.text, sizeof(c.text), "%zu/%zu", t->n_complete, t->n_started);
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

static struct cell cell_quantile(const struct hist *h, double q)
{
	return h->n ? cell_time((double)hist_quantile(h, q)) : cell_na();
}

static struct cell cell_ops_s(const struct view *v, const struct view_test *t)
{
	struct value ops = view_sum(v, t, METRIC_OPS), ns = view_sum(v, t, METRIC_ELAPSED);

	if (!ops.known || !ns.known || ns.mean <= 0)
		return cell_na();
	return cell_short(ops.mean * 1e9 / ns.mean);
}

static struct cell cell_mb_s(const struct view *v, const struct view_test *t)
{
	struct value bytes = view_sum(v, t, METRIC_BYTES);

	if (bytes.known && bytes.mean <= 0)
		return cell_blank();
	return tests_number(view_mb_s(v, t), cell_short);
}

/* For one command; "±" is its deviation over iterations. */
static void tests_per_op(struct cell *cell, const struct view *v, const struct view_test *t)
{
	struct value x = view_ratio(v, t, METRIC_ELAPSED, METRIC_OPS);

	cell[COL_PER_OP] = tests_number(x, cell_time);
	cell[COL_DEVIATION] = x.known ? cell_blank() : cell_na();
	if (x.known && t->n_complete > 1)
		cell[COL_DEVIATION] = cell_time(x.stddev);
	x = view_ratio(v, t, METRIC_AFPD_CALLS, METRIC_OPS);
	cell[COL_CALLS] = tests_number(x, cell_short);
	x = view_ratio(v, t, METRIC_AFPD_CALL_TIME, METRIC_OPS);
	cell[COL_IN_CALL] = tests_number(x, cell_time);
	x = view_ratio(v, t, METRIC_CNID_CALLS, METRIC_OPS);
	cell[COL_CNID] = tests_number(x, cell_short);
}

/*
 * A test mixes commands that take 10 and 1,000 us: its median would lie where there are no
 * requests. What its time went into says more.
 */
static struct cell tests_most(const struct run *r, unsigned int test)
{
	uint64_t sum[256] = { 0 }, all = 0, most = 0;
	const char *name = NULL;
	struct cell c;

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct run_phase *phase = r->phase[i];

		for (size_t k = 0; phase->complete && phase->test == test && k < phase->n_commands;
		     k++) {
			const struct run_command *one = phase->command[k];

			sum[one->code] += one->latency.sum;
			all += one->latency.sum;
			if (sum[one->code] > most) {
				most = sum[one->code];
				name = one->name;
			}
		}
	}
	if (!all)
		return cell_na();
	c = cell_name(name);
	snprintf(c.text, sizeof(c.text), "%.30s %.0f%%", name, 100.0 * (double)most / (double)all);
	return c;
}

static void tests_put_test(struct section *s, const struct view_test *t)
{
	const struct view *v = &s->p->view;
	struct value errors = view_sum(v, t, METRIC_ERRORS);
	struct section_row *row = section_row(s);
	const char *end = strstr(t->title, " [");
	struct cell *cell = row->cell;
	struct hist latency;

	if (t->n_complete != t->n_started || (errors.known && errors.mean > 0))
		row->ink = INK_RED;
	/* "Open, stat and read [8,000 AFP ops]" -> without the bracket. */
	snprintf(row->name, sizeof(row->name), "%.*s",
		 end ? (int)(end - t->title) : (int)strlen(t->title), t->title);
	cell[COL_NUMBER] = cell_test(t->test);
	snprintf(cell[COL_NUMBER].text, sizeof(cell->text), "%3u", t->test);
	cell[COL_ITERATIONS] = cell_iterations(t);
	cell[COL_OPS] = tests_number(view_metric(v, t, METRIC_OPS), tests_whole);
	tests_per_op(cell, v, t);
	run_latency(v->run, t->test, -1, &latency);
	cell[COL_MAX] = cell_quantile(&latency, 1);
	cell[COL_OPS_S] = cell_ops_s(v, t);
	cell[COL_MB_S] = cell_mb_s(v, t);
	cell[COL_ERRORS] = tests_number(errors, tests_whole);
	cell[COL_MOST] = tests_most(v->run, t->test);
}

/* Of a server that is not watched, or asks nobody, nothing is said. */
static void tests_open(struct section *s, const struct paint *p)
{
	const bool local = transfer_is_local(p->view.run);
	struct section_type type = tests_section;

	if (local)
		type.rest = TESTS_REST;
	else if (!run_has_backend(p->view.run))
		type.rest = TESTS_REST TESTS_SERVER;
	section_open(s, p, &type);
	s->type = &tests_section;
	s->column[COL_CALLS].off = s->column[COL_IN_CALL].off = local;
	s->column[COL_CNID].off = local || !run_has_backend(p->view.run);
}

int paint_tests(const struct paint *p)
{
	struct section s;

	tests_open(&s, p);
	for (size_t i = 0; i < p->view.n; i++)
		tests_put_test(&s, &p->view.test[i]);
	return section_close(&s);
}

/* One AFP command over the whole run. */
struct total {
	const char *name;
	uint8_t code;
	uint64_t errors;
	double busy_ns; /* this command's part of the time that the client waited for answers */
	struct hist latency;
};

enum {
	CMD_CODE,
	CMD_NAME,
	CMD_COUNT,
	CMD_ERRORS,
	CMD_SHARE,
	CMD_MEAN,
	CMD_P50,
	CMD_P95,
	CMD_P99,
	CMD_P999,
	CMD_MAX
};

static const struct section_column command_columns[] = {
	[CMD_CODE] = { .head = GLUE GLUE "#", .name = "code" },
	[CMD_NAME] = { .head = "command", .left = true, .width = 17 },
	[CMD_COUNT] = { .head = "count", .width = 10 },
	[CMD_ERRORS] = { .head = "errors" },
	[CMD_SHARE] = { .head = "time%", .name = "time", .unit = "%" },
	[CMD_MEAN] = { .head = "mean", .width = 7 },
	[CMD_P50] = { .head = "p50", .width = 7 },
	[CMD_P95] = { .head = "p95", .drop = 1, .width = 7 },
	[CMD_P99] = { .head = "p99", .width = 7 },
	[CMD_P999] = { .head = "p99.9", .name = "p999", .drop = 1, .width = 7 },
	[CMD_MAX] = { .head = "max", .width = 7 },
};

static const struct section_type commands_section = {
	.key = "commands",
	.title = "Calls of the clients",
	.rest = "  from request sent to last byte of the reply, most time first;\n"
		"       time%: requests that were in flight together share the time",
	SECTION_OF(command_columns),
	.gap = 1,
	.flush = true,
	.silent = true,
};

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

static void tests_put_command(struct section *s, const struct total *t, double share)
{
	struct cell *cell = section_row(s)->cell;
	const struct hist *h = &t->latency;

	cell[CMD_CODE] = cell_test(t->code);
	snprintf(cell[CMD_CODE].text, sizeof(cell->text), "%3u", t->code);
	cell[CMD_NAME] = cell_name(t->name);
	cell[CMD_COUNT] = cell_count(h->n);
	cell[CMD_ERRORS] = cell_count(t->errors);
	cell[CMD_SHARE] = cell_fixed(100 * share, 1);
	cell[CMD_MEAN] = h->n ? cell_time(hist_mean(h)) : cell_na();
	cell[CMD_P50] = cell_quantile(h, 0.5);
	cell[CMD_P95] = cell_quantile(h, 0.95);
	cell[CMD_P99] = cell_quantile(h, 0.99);
	cell[CMD_P999] = cell_quantile(h, 0.999);
	cell[CMD_MAX] = cell_quantile(h, 1);
}

static int tests_put_commands(const struct paint *p, struct total *const *list, size_t n)
{
	double all_ns = 0;
	struct section s;

	section_open(&s, p, &commands_section);
	if (transfer_is_local(p->view.run))
		section_title(&s, "System calls");
	else if (run_own_word(p->view.run, RUN_WORD_OPERATION))
		section_title(&s, "%ss", run_word(p->view.run, RUN_WORD_OPERATION));
	for (size_t i = 0; i < n; i++)
		all_ns += list[i]->busy_ns;
	for (size_t i = 0; i < n; i++)
		tests_put_command(&s, list[i], all_ns > 0 ? list[i]->busy_ns / all_ns : 0);
	return section_close(&s);
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
		e = tests_put_commands(p, list, n);
	}
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	return e;
}
