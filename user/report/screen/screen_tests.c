/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen's table of tests. */
#include "report/screen/screen.h"

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
	COL_ERRORS
};

static const struct section_column columns[] = {
	[COL_TEST] = { .head = " #" },
	[COL_NAME] = { .head = "test", .left = true },
	[COL_ITERATIONS] = { .head = "done" },
	[COL_TIME] = { .head = "time" },
	[COL_DEVIATION] = { .head = "+-%", .drop = 1 },
	[COL_OP] = { .head = "per" GLUE "op", .drop = 3 },
	[COL_CALLS] = { .head = "calls" },
	[COL_CNID] = { .head = "{asked.lower}", .name = "cnid", .drop = 2 },
	[COL_MB] = { .head = "MB/s" },
	[COL_ERRORS] = { .head = "errors" },
};

static const struct section_type tests_section = {
	.key = "tests",
	.begin = SECTION_BLANK_LINE,
	SECTION_OF(columns),
};

/* The tests of lantest in few words, by number; "%s" is the size of the large file. */
#define NAMES_MAX 18
static const struct {
	const char *set;
	const char *name[NAMES_MAX];
} names[] = {
	{ "lantest-4.5",
	  { NULL, "open/stat/read", "write %s", "read %s", "lock/unlock", "create files",
	    "enumerate", "delete files", "create dirs", "cache hits", "mixed cache", "deep paths",
	    "validation" } },
	{ "lantest-4.6",
	  { NULL, "write %s", "read %s", "create files", "write files", "read files", "copy files",
	    "server copies", "stat files", "enumerate", "lock forks", "delete files", "lock ranges",
	    "create dirs", "cache hits", "mixed cache", "deep paths", "validation" } },
};
#define N_SETS (sizeof(names) / sizeof(names[0]))

static const char *short_name(const struct run *r, unsigned int test)
{
	for (size_t i = 0; r->set && i < N_SETS; i++) {
		if (!strcmp(r->set, names[i].set))
			return test < NAMES_MAX ? names[i].name[test] : NULL;
	}
	return NULL;
}

static struct cell cell_title(const struct view *v, const struct view_test *t)
{
	const char *large = run_note_find(&v->run->options, "large_file_bytes");
	const char *end = t->title ? strstr(t->title, " [") : NULL;
	char text[128], size[RUN_SIZE_MAX] = "large file", *blank;
	const char *name = short_name(v->run, t->test);

	if (large) {
		run_size(strtoull(large, NULL, 10), size);
		while ((blank = strchr(size, ' ')))
			memmove(blank, blank + 1, strlen(blank));
	}
	if (name && strchr(name, '%'))
		snprintf(text, sizeof(text), "%.*s%s", (int)(strchr(name, '%') - name), name, size);
	else if (name)
		snprintf(text, sizeof(text), "%s", name);
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

static void screen_tests_put_test(struct section *s, const struct view *v,
				  const struct view_test *t)
{
	struct value errors = view_sum(v, t, METRIC_ERRORS), bytes = view_sum(v, t, METRIC_BYTES);
	struct value cnid = view_ratio(v, t, METRIC_CNID_CALLS, METRIC_OPS);
	bool partial = t->n_complete != t->n_started;
	struct section_row *row = section_row(s);
	struct cell *cell = row->cell;

	row->ink = partial || errors.mean > 0 ? INK_RED : INK_NONE;
	cell[COL_TEST] = cell_test(t->test);
	cell[COL_NAME] = cell_title(v, t);
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
	s->column[COL_ITERATIONS].off &= !partial;
	s->column[COL_ERRORS].off &= !errors.known || errors.mean <= 0;
}

int screen_tests(const struct paint *p)
{
	struct section s;

	section_open(&s, p, &tests_section);
	s.column[COL_ITERATIONS].off = s.column[COL_ERRORS].off = true;
	for (size_t i = 0; i < p->view.n; i++)
		screen_tests_put_test(&s, &p->view, &p->view.test[i]);
	/* Why a value is not known was printed above the table. */
	section_hide_empty(&s, COL_CALLS, COL_MB + 1);
	section_hide_empty(&s, COL_DEVIATION, COL_DEVIATION + 1);
	return section_close(&s);
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
