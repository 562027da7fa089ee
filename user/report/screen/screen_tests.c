/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen's table of tests. */
#include "report/screen/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_COLS 24
#define UNSTEADY   10 /* per cent of the mean; the standard deviation of an unsteady test */
#define MORE_RUNS  3  /* times as many iterations are suggested if some tests are unsteady */

enum {
	COL_TEST,
	COL_NAME,
	COL_ITERATIONS,
	COL_TIME,
	COL_DEVIATION,
	COL_OP,
	COL_CALLS,
	COL_CNID,
	COL_MB,
	COL_ERRORS,
	N_COLS
};

static const struct grid_column heads[N_COLS] = {
	[COL_TEST] = { .head = " #" },         [COL_NAME] = { .head = "test", .left = true },
	[COL_ITERATIONS] = { .head = "done" }, [COL_TIME] = { .head = "time" },
	[COL_DEVIATION] = { .head = "+-%" },   [COL_OP] = { .head = "per" GLUE "op" },
	[COL_CALLS] = { .head = "calls" },     [COL_CNID] = { .head = "cnid" },
	[COL_MB] = { .head = "MB/s" },         [COL_ERRORS] = { .head = "errors" },
};

static const unsigned int drops[] = { COL_DEVIATION, COL_CNID, COL_OP };

/* The twelve of lantest in few words, by number; "%s" is the size of the large file. */
static const char *const names[] = {
	NULL,           "open/stat/read", "write %s",     "read %s",     "lock/unlock",
	"create files", "enumerate",      "delete files", "create dirs", "cache hits",
	"mixed cache",  "deep paths",     "validation",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static struct cell cell_name(const struct view *v, const struct view_test *t)
{
	const char *large = run_note_find(&v->run->options, "large_file_bytes");
	const char *end = t->title ? strstr(t->title, " [") : NULL;
	char text[128], size[RUN_SIZE_MAX] = "large file", *blank;
	bool known = v->run->set && !strncmp(v->run->set, "lantest-", strlen("lantest-"));

	if (large) {
		run_size(strtoull(large, NULL, 10), size);
		while ((blank = strchr(size, ' ')))
			memmove(blank, blank + 1, strlen(blank));
	}
	if (known && t->test < N_NAMES && names[t->test])
		snprintf(text, sizeof(text), names[t->test], size);
	else
		snprintf(text, sizeof(text), "%.*s", end ? (int)(end - t->title) : 100,
			 t->title ? t->title : "");
	return cell_text(text, TITLE_COLS);
}

/* The standard deviation in per cent of the mean; -1: not known. */
static double deviation(const struct view *v, const struct view_test *t)
{
	struct value x = view_metric(v, t, METRIC_ELAPSED);

	return x.known && t->n_complete > 1 && x.mean > 0 ? 100 * x.stddev / x.mean : -1;
}

static struct cell cell_value(struct value x, struct cell (*format)(double))
{
	return x.known ? format(x.mean) : cell_na();
}

/* Calls for one command: "10.0". */
static struct cell cell_calls(double v)
{
	return cell_fixed(v, v < 99.95 ? 1 : 0);
}

static int screen_tests_put_test(struct grid *g, const struct view *v, const struct view_test *t)
{
	struct value errors = view_sum(v, t, METRIC_ERRORS), bytes = view_sum(v, t, METRIC_BYTES);
	struct value cnid = view_ratio(v, t, METRIC_CNID_CALLS, METRIC_OPS);
	bool partial = t->n_complete != t->n_started;
	struct grid_row *row = grid_row(g);
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	row->ink = partial || errors.mean > 0 ? INK_RED : INK_NONE;
	snprintf(cell[COL_TEST].text, sizeof(cell[COL_TEST].text), "%2u", t->test);
	cell[COL_NAME] = cell_name(v, t);
	snprintf(cell[COL_ITERATIONS].text, sizeof(cell[COL_ITERATIONS].text), "%zu of %zu",
		 t->n_complete, t->n_started);
	cell[COL_TIME] = cell_value(view_metric(v, t, METRIC_ELAPSED), screen_time);
	if (deviation(v, t) >= 0)
		cell[COL_DEVIATION] = cell_fixed(deviation(v, t), 0);
	cell[COL_OP] = cell_value(view_ratio(v, t, METRIC_ELAPSED, METRIC_OPS), screen_time);
	cell[COL_CALLS] = cell_value(view_ratio(v, t, METRIC_AFPD_CALLS, METRIC_OPS), cell_calls);
	if (!cnid.known || cnid.mean > 0)
		cell[COL_CNID] = cell_value(cnid, cell_calls);
	/* With few bytes among many other commands a rate is meaningless. */
	if (!bytes.known || bytes.mean >= 1e6 * (double)t->n_complete)
		cell[COL_MB] = cell_value(view_mb_s(v, t), cell_rate);
	cell[COL_ERRORS] = cell_value(errors, cell_calls);
	if (errors.known)
		cell[COL_ERRORS] = cell_count((uint64_t)(errors.mean + 0.5));
	g->column[COL_ITERATIONS].off &= !partial;
	g->column[COL_ERRORS].off &= !errors.known || errors.mean <= 0;
	return 0;
}

/* Hides a column without known values: the reason was printed above the table. */
static void hide_unknown(struct grid *g, unsigned int k)
{
	for (size_t i = 0; i < g->n_rows; i++) {
		const char *text = g->row[i].cell[k].text;

		if (*text && strcmp(text, "n/a"))
			return;
	}
	g->column[k].off = true;
}

int screen_tests(const struct paint *p)
{
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	int e = 0;

	memcpy(g.column, heads, sizeof(heads));
	g.column[COL_ITERATIONS].off = g.column[COL_ERRORS].off = true;
	for (size_t i = 0; i < p->view.n && !e; i++)
		e = screen_tests_put_test(&g, &p->view, &p->view.test[i]);
	if (!e) {
		hide_unknown(&g, COL_CALLS);
		hide_unknown(&g, COL_CNID);
		hide_unknown(&g, COL_MB);
		hide_unknown(&g, COL_DEVIATION);
		fputc('\n', p->out);
		grid_fit(&g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		grid_put(&g, p);
	}
	grid_clear(&g);
	return e;
}

void screen_unsteady(const struct paint *p)
{
	const struct view *v = &p->view;
	struct screen_text t = { 0 };
	size_t most = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (deviation(v, &v->test[i]) < UNSTEADY)
			continue;
		screen_add(&t, "%s%u",
			   t.len ? ", " : "Unsteady (+-10% or more): ", v->test[i].test);
		most = v->test[i].n_complete > most ? v->test[i].n_complete : most;
	}
	if (!t.len)
		return;
	screen_add(&t, "; try -n %zu", MORE_RUNS * most);
	fputc('\n', p->out);
	screen_put(p, INK_NONE, t.text, 2);
}
