/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time series of a run as one line per process; the points themselves are for JSON. */
#include "report/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES 20 /* shown; JSON has all */

enum {
	COL_PROCESS,
	COL_SEEN,
	COL_POINTS,
	COL_READS,
	COL_WRITES,
	COL_CPU,
	COL_RUNQ,
	COL_DELAY,
	COL_SWITCHES,
	COL_FAULTS
};

static const struct section_column columns[] = {
	[COL_PROCESS] = { .head = "process" },
	[COL_SEEN] = { .head = "seen", .drop = 2 },
	[COL_POINTS] = { .head = "readings", .drop = 1 },
	[COL_READS] = { .head = "syscr", .drop = 3 },
	[COL_WRITES] = { .head = "syscw", .drop = 4 },
	[COL_CPU] = { .head = "CPU%", .name = "cpu", .unit = "%" },
	[COL_RUNQ] = { .head = "run" GLUE "queue%", .name = "run_queue", .unit = "%" },
	[COL_DELAY] = { .head = "block" GLUE "I/O", .name = "block_io" },
	[COL_SWITCHES] = { .head = "switches /s", .name = "switches_per_s", .unit = "1/s" },
	[COL_FAULTS] = { .head = "major faults" },
};

static const struct section_type series_section = {
	.key = "series",
	.title = "Sampled",
	.rest = "  what /proc says of each process, over the time it was seen",
	SECTION_OF(columns),
};

/* What the columns are made of. */
static const char *const shown[] = { "syscr",       "syscw",     "cpu",         "runq",
				     "blkio_delay", "voluntary", "involuntary", "majflt" };
#define N_SHOWN (sizeof(shown) / sizeof(shown[0]))

static const struct run_series_value *long_series_find(const struct run_series *s, const char *key)
{
	for (size_t k = 0; k < s->n_values; k++)
		if (!strcmp(s->value[k].key, key))
			return &s->value[k];
	return NULL;
}

/* Since the series began; false: not measured. */
static bool long_series_total(const struct run_series *s, const char *key, double *out)
{
	const struct run_series_value *v = long_series_find(s, key);

	if (!v || v->why || !s->n)
		return false;
	*out = (double)s->point[(s->n - 1) * s->n_values + (size_t)(v - s->value)];
	return true;
}

static double seen_ns(const struct run_series *s)
{
	return s->n ? (double)s->t_ns[s->n - 1] : 0;
}

static struct cell long_series_share(const struct run_series *s, const char *key)
{
	double v;

	return long_series_total(s, key, &v) && seen_ns(s) > 0 ? cell_fixed(100 * v / seen_ns(s), 1)
							       : cell_na();
}

static struct cell long_series_count(const struct run_series *s, const char *key)
{
	double v;

	return long_series_total(s, key, &v) ? cell_count((uint64_t)v) : cell_na();
}

static void put_process(struct section *to, const struct run_series *s)
{
	struct cell *c = section_row(to)->cell;
	double v, more;

	snprintf(c[COL_PROCESS].text, sizeof(c->text), "%s %d%s", s->role, s->pid,
		 s->ended ? " (ended)" : "");
	c[COL_SEEN] = cell_time(seen_ns(s));
	c[COL_POINTS] = cell_count(s->n);
	c[COL_READS] = long_series_count(s, "syscr");
	c[COL_WRITES] = long_series_count(s, "syscw");
	c[COL_CPU] = long_series_share(s, "cpu");
	c[COL_RUNQ] = long_series_share(s, "runq");
	c[COL_DELAY] = long_series_total(s, "blkio_delay", &v) ? cell_time(v) : cell_na();
	c[COL_SWITCHES] = cell_na();
	if (long_series_total(s, "voluntary", &v) && long_series_total(s, "involuntary", &more) &&
	    seen_ns(s) > 0)
		c[COL_SWITCHES] = cell_short((v + more) * 1e9 / seen_ns(s));
	c[COL_FAULTS] = long_series_count(s, "majflt");
}

static int by_cpu(const void *a, const void *b)
{
	const struct run_series *x = *(struct run_series *const *)a;
	const struct run_series *y = *(struct run_series *const *)b;
	double cpu_x = 0, cpu_y = 0;

	long_series_total(x, "cpu", &cpu_x);
	long_series_total(y, "cpu", &cpu_y);
	if (cpu_x != cpu_y)
		return cpu_x < cpu_y ? 1 : -1;
	return x < y ? -1 : 1;
}

static bool same_reason(const struct run_series *s, const char *key, const char *why)
{
	const struct run_series_value *v = long_series_find(s, key);

	return v && v->why && !strcmp(v->why, why);
}

/* One line for all figures that have no value for this reason. */
static void long_series_put_reason(struct section *s, const struct run *r, const char *why)
{
	const char *comma = " (";
	bool hit;

	section_note(s, "n/a because", "%s", why);
	for (size_t k = 0; k < N_SHOWN; k++) {
		hit = false;
		for (size_t i = 0; i < r->n_series; i++)
			hit |= same_reason(&r->series[i], shown[k], why);
		if (!hit)
			continue;
		section_more(s, "%s%s", comma, shown[k]);
		comma = ", ";
	}
	section_more(s, ")");
}

/* Whether an earlier process or figure had the reason of this one. */
static bool is_told(const struct run *r, size_t i, size_t k, const char *why)
{
	for (size_t before = 0; before < i; before++)
		for (size_t any = 0; any < N_SHOWN; any++)
			if (same_reason(&r->series[before], shown[any], why))
				return true;
	for (size_t any = 0; any < k; any++)
		if (same_reason(&r->series[i], shown[any], why))
			return true;
	return false;
}

static void long_series_put_reasons(struct section *s, const struct run *r)
{
	section_below(s);
	for (size_t i = 0; i < r->n_series; i++) {
		for (size_t k = 0; k < N_SHOWN; k++) {
			const struct run_series_value *v;

			v = long_series_find(&r->series[i], shown[k]);
			if (v && v->why && !is_told(r, i, k, v->why))
				long_series_put_reason(s, r, v->why);
		}
	}
}

int paint_series(const struct paint *p)
{
	const struct run *r = p->view.run;
	size_t show = r->n_series > PROCESSES + 1 ? PROCESSES : r->n_series;
	struct run_series **list;
	struct section s;

	if (!r->n_series)
		return 0;
	list = calloc(r->n_series, sizeof(struct run_series *));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_series; i++)
		list[i] = &r->series[i];
	qsort(list, r->n_series, sizeof(struct run_series *), by_cpu);
	section_open(&s, p, &series_section);
	for (size_t i = 0; i < show; i++)
		put_process(&s, list[i]);
	if (show < r->n_series)
		section_text(&s, INK_NONE, "  %zu others with less CPU time", r->n_series - show);
	long_series_put_reasons(&s, r);
	free(list);
	return section_close(&s);
}
