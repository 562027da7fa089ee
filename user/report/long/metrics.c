/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics that have a title in run/run.h, by test: a column each. */
#include "report/grid.h"
#include "report/transfer.h"

#include <errno.h>
#include <string.h>

#define TITLE_COLS 44

/* A transfer's metrics are sums over its iterations that count. */
static size_t iterations(const struct view *v, const struct view_test *t)
{
	size_t n = 0;

	for (size_t i = 0; i < v->run->n_phases; i++) {
		const struct run_phase *p = v->run->phase[i];

		if (p->test != t->test || !p->complete || !p->transfer)
			continue;
		for (size_t k = 0; k < p->transfer->n_samples; k++)
			n += transfer_counts(&p->transfer->sample[k]);
	}
	return n ? n : t->n_complete;
}

static struct cell cell_metric(const struct view *v, const struct view_test *t, enum metric m)
{
	struct value x = view_sum(v, t, m);

	return x.known ? cell_measured(x.mean / (double)iterations(v, t), run_metrics[m].unit)
		       : cell_na();
}

static bool is_known(const struct view *v, enum metric m)
{
	for (size_t i = 0; i < v->n; i++) {
		if (view_metric(v, &v->test[i], m).known)
			return true;
	}
	return false;
}

static int metrics_put_test(struct grid *g, const struct view *v, const struct view_test *t,
			    const enum metric *shown)
{
	const char *end = strstr(t->title, " [");
	struct grid_row *row = grid_row(g);
	char text[128];

	if (!row)
		return -ENOMEM;
	snprintf(text, sizeof(text), "%.*s", end ? (int)(end - t->title) : 100, t->title);
	if (t->test)
		snprintf(row->cell[0].text, sizeof(row->cell[0].text), "%2u", t->test);
	row->cell[1] = cell_text(text, TITLE_COLS);
	for (size_t k = 2; k < g->n_columns; k++)
		row->cell[k] = cell_metric(v, t, shown[k]);
	return 0;
}

int paint_metrics(const struct paint *p)
{
	struct grid g = { .gap = 2, .n_columns = 2, .column = { { .head = " #" } } };
	enum metric shown[GRID_COLUMNS];
	int e = 0;

	g.column[1] = (struct grid_column) { .head = "test", .left = true };
	for (unsigned int m = 0; m < N_METRICS && g.n_columns < GRID_COLUMNS; m++) {
		if (!run_metrics[m].title || !is_known(&p->view, m))
			continue;
		g.column[g.n_columns].head = run_metrics[m].title;
		shown[g.n_columns++] = m;
	}
	for (size_t i = 0; i < p->view.n && g.n_columns > 2 && !e; i++)
		e = metrics_put_test(&g, &p->view, &p->view.test[i], shown);
	if (!e && g.n_rows) {
		paint_heading(p, "Other metrics", "  mean of an iteration");
		grid_put(&g, p);
	}
	grid_clear(&g);
	return e;
}
