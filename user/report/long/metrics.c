/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics that have a title in run/run.h, by test: a column each. */
#include "report/section.h"
#include "report/transfer.h"

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

static void metrics_put_test(struct section *s, const struct view_test *t, const enum metric *shown)
{
	const char *end = strstr(t->title, " [");
	struct section_row *row = section_row(s);
	char text[128];

	snprintf(text, sizeof(text), "%.*s", end ? (int)(end - t->title) : 100, t->title);
	row->cell[0] = t->test ? cell_test(t->test) : cell_blank();
	row->cell[1] = cell_text(text, TITLE_COLS);
	for (size_t k = 2; k < s->n_columns; k++)
		row->cell[k] = cell_metric(&s->p->view, t, shown[k]);
}

static const struct section_column columns[] = {
	{ .head = " #", .name = "number" },
	{ .head = "test", .left = true },
};

static const struct section_type metrics_section = {
	.key = "metrics",
	.title = "Other metrics",
	.rest = "  mean of an iteration",
	SECTION_OF(columns),
};

int paint_metrics(const struct paint *p)
{
	enum metric shown[SECTION_COLUMNS];
	struct section s;

	section_open(&s, p, &metrics_section);
	for (unsigned int m = 0; m < N_METRICS && s.n_columns < SECTION_COLUMNS; m++) {
		if (!run_metrics[m].title || !is_known(&p->view, m))
			continue;
		s.column[s.n_columns].head = run_metrics[m].title;
		s.column[s.n_columns].name = run_metrics[m].key;
		s.column[s.n_columns].unit = run_metrics[m].unit;
		shown[s.n_columns++] = m;
	}
	for (size_t i = 0; i < p->view.n && s.n_columns > 2; i++)
		metrics_put_test(&s, &p->view.test[i], shown);
	return section_close(&s);
}
