/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server's processes did, by class and object (down) and test (across). */
#include "report/section.h"

#include <errno.h>
#include <stdlib.h>

#define CELL_WIDTH 6
#define TESTS_MOST (SECTION_COLUMNS - 1) /* of one table */

/* A row of a matrix: one class on one object. */
struct item {
	uint8_t class, object;
	uint64_t weight; /* what rows are ordered by */
};

/* What a matrix shows of a cell. */
enum what { WHAT_CALLS, WHAT_TIME, WHAT_COMPAT };

struct matrix {
	struct section s;
	const struct view *v;
	unsigned int role;
	enum what what;
	size_t first, n_tests, n_items;
	struct item item[AFS_N_CLASSES * AFS_N_OBJECTS];
	char head[TESTS_MOST][12];
};

static const struct section_column columns[] = { { .head = "test", .name = "state", .width = 12 } };

static const struct section_type matrices[] = {
	[WHAT_CALLS] = {
		.key = "calls_by_test",
		.rest = ": calls per {operation}  class · object, most calls first",
		SECTION_OF(columns), .gap = 1, .blocks = true,
	},
	[WHAT_TIME] = {
		.key = "time_by_test",
		.rest = ": µs in calls per {operation}  most time first",
		SECTION_OF(columns), .gap = 1, .blocks = true,
	},
	[WHAT_COMPAT] = {
		.key = "reads_and_writes",
		.rest = "  calls per iteration",
		SECTION_OF(columns), .gap = 1, .blocks = true,
	},
};

static const struct section_type no_matrix = {
	.key = "calls_by_test",
	.rest = ": calls n/a (not measured)",
};

static uint64_t amount(const struct afs_cell *c, enum what what)
{
	return what == WHAT_TIME ? c->ns : c->calls;
}

static int matrix_by_weight(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	bool x_waits = x->class == AFS_CLASS_WAIT, y_waits = y->class == AFS_CLASS_WAIT;

	if (x_waits != y_waits)
		return x_waits ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	if (x->class != y->class)
		return (int)x->class - (int)y->class;
	return (int)x->object - (int)y->object;
}

size_t print_state(char out[static 64], unsigned int class, unsigned int object)
{
	if (class == AFS_CLASS_USER)
		snprintf(out, 64, "own code");
	else if (object == AFS_OBJECT_NONE)
		snprintf(out, 64, "%s", ledger_class_name(class));
	else
		snprintf(out, 64, "%s · %s", ledger_class_name(class), ledger_object_name(object));
	return text_columns(out);
}

/* The classes that /proc counts as reads (or writes). */
static bool in_compat(unsigned int class, bool writes)
{
	if (class == AFS_CLASS_SENDFILE || class == AFS_CLASS_COPY)
		return true;
	return class == (writes ? AFS_CLASS_WRITE : AFS_CLASS_READ);
}

static const struct ledger *matrix_ledger(const struct matrix *m, size_t i)
{
	return &m->v->test[m->first + i].ledger;
}

/* Rows that occur in any test, the heaviest first, waits last. */
static void matrix_find_items(struct matrix *m)
{
	m->n_items = 0;
	for (unsigned int c = 0; c < AFS_N_CLASSES; c++) {
		for (unsigned int o = 0; o < AFS_N_OBJECTS; o++) {
			struct item item = { .class = (uint8_t)c, .object = (uint8_t)o };
			uint64_t calls = 0;

			for (size_t i = 0; i < m->v->n; i++) {
				const struct ledger *l = &m->v->test[i].ledger;
				struct afs_cell cell = ledger_sum(l, m->role, c, o);

				calls += cell.calls;
				item.weight += amount(&cell, m->what);
			}
			if (calls)
				m->item[m->n_items++] = item;
		}
	}
	qsort(m->item, m->n_items, sizeof(m->item[0]), matrix_by_weight);
}

/* A table with a column for each of the tests from the first on. */
static void matrix_open(struct matrix *m, const struct paint *p, size_t first)
{
	size_t left = p->view.n - first;

	m->first = first;
	m->n_tests = left < TESTS_MOST ? left : TESTS_MOST;
	section_open(&m->s, p, &matrices[m->what]);
	section_title(&m->s, "%s", view_role_name(p->view.run, m->role));
	for (size_t i = 0; i < m->n_tests; i++) {
		snprintf(m->head[i], sizeof(m->head[i]), "%u", p->view.test[first + i].test);
		m->s.column[1 + i] = (struct section_column) {
			.head = m->head[i],
			.unit = m->what == WHAT_TIME ? "µs" : NULL,
			.width = CELL_WIDTH,
		};
	}
	m->s.n_columns += m->n_tests;
	/* As wide as all labels, also of rows that are left out. */
	for (size_t k = 0; k < m->n_items; k++) {
		char label[64];
		size_t width = print_state(label, m->item[k].class, m->item[k].object);

		if (width > m->s.column[0].width)
			m->s.column[0].width = (unsigned int)width;
	}
	if (m->what == WHAT_COMPAT)
		m->s.column[0].width += 2;
}

static struct cell *matrix_row(struct matrix *m, const char *label)
{
	struct cell *cell = section_row(&m->s)->cell;

	cell[0] = cell_name(label);
	return cell + 1;
}

/* Calls (or µs) per AFP command of a test. */
static struct cell per_op(const struct matrix *m, size_t i, uint64_t sum)
{
	const struct view_test *t = &m->v->test[m->first + i];
	struct value ops = view_sum(m->v, t, METRIC_OPS);
	double v;

	if (!view_has_calls(t, m->role) || !ops.known || ops.mean <= 0)
		return cell_na();
	if (!sum)
		return cell_blank();
	v = (double)sum / ops.mean;
	if (m->what == WHAT_TIME)
		v /= 1e3;
	if (v < 0.005)
		return cell_little(v);
	return v < 999.995 ? cell_fixed(v, 2) : cell_short(v);
}

/* A cell of a row that is left out where none of the tests beside each other has such a call. */
static struct cell matrix_cell(struct cell c, const struct afs_cell *of)
{
	if (!of->calls)
		c.kind = CELL_ABSENT;
	return c;
}

/* The total of everything but waits. */
static void put_total(struct matrix *m)
{
	struct cell *cell = matrix_row(m, "sum");

	for (size_t i = 0; i < m->n_tests; i++) {
		const struct ledger *l = matrix_ledger(m, i);
		struct afs_cell all = ledger_sum(l, m->role, AFS_N_CLASSES, AFS_N_OBJECTS);
		struct afs_cell wait = ledger_sum(l, m->role, AFS_CLASS_WAIT, AFS_N_OBJECTS);

		cell[i] = per_op(m, i, amount(&all, m->what) - amount(&wait, m->what));
	}
}

static void matrix_put_item(struct matrix *m, const struct item *it)
{
	char label[64];
	struct cell *cell;

	print_state(label, it->class, it->object);
	cell = matrix_row(m, label);
	for (size_t i = 0; i < m->n_tests; i++) {
		struct afs_cell c = ledger_sum(matrix_ledger(m, i), m->role, it->class, it->object);

		cell[i] = matrix_cell(per_op(m, i, amount(&c, m->what)), &c);
	}
}

static int put_matrix(struct matrix *m, const struct paint *p, enum what what)
{
	size_t waits;
	int e = 0;

	m->what = what;
	matrix_find_items(m);
	if (!m->n_items)
		return 0;
	waits = m->n_items;
	while (waits && m->item[waits - 1].class == AFS_CLASS_WAIT)
		waits--;
	for (size_t first = 0; first < p->view.n && !e; first += m->n_tests) {
		matrix_open(m, p, first);
		for (size_t k = 0; k <= m->n_items; k++) {
			if (k == waits)
				put_total(m);
			if (k < m->n_items)
				matrix_put_item(m, &m->item[k]);
		}
		e = section_close(&m->s);
	}
	return e;
}

static bool any_calls(const struct paint *p, unsigned int role)
{
	for (size_t i = 0; i < p->view.n; i++) {
		if (view_has_calls(&p->view.test[i], role))
			return true;
	}
	return false;
}

int paint_roles(const struct paint *p)
{
	struct matrix *m = malloc(sizeof(*m));
	int e = 0;

	if (!m)
		return -ENOMEM;
	m->v = &p->view;
	for (m->role = 0; m->role < AFS_N_ROLES && !e; m->role++) {
		if (any_calls(p, m->role)) {
			e = put_matrix(m, p, WHAT_CALLS);
			e = e ? e : put_matrix(m, p, WHAT_TIME);
		} else if (m->role <= AFS_ROLE_BACKEND) {
			section_open(&m->s, p, &no_matrix);
			section_title(&m->s, "%s", view_role_name(p->view.run, m->role));
			e = section_close(&m->s);
		}
	}
	free(m);
	return e;
}

/* A count of one test per iteration. */
static struct cell per_iteration(const struct view_test *t, double sum)
{
	double v = sum / (double)t->n_complete;

	if (v > -0.005 && v < 0.005)
		return cell_blank();
	if (v >= 1e6 || v <= -1e6)
		return cell_short(v);
	return cell_fixed(v, v == (double)(int64_t)v || v >= 1e4 ? 0 : 1);
}

/* Sum of the class·object rows that make up syscr (syscw) of a test. */
static uint64_t explained(const struct matrix *m, const struct view_test *t, bool writes)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < m->n_items; k++) {
		if (in_compat(m->item[k].class, writes))
			sum += ledger_sum(&t->ledger, m->role, m->item[k].class, m->item[k].object)
				   .calls;
	}
	return sum;
}

static uint64_t compat_of(const struct matrix *m, const struct view_test *t, bool writes)
{
	const struct afs_compat *c = &t->ledger.compat[m->role];

	return writes ? c->syscw : c->syscr;
}

static bool has_compat(const struct matrix *m, const struct view_test *t)
{
	return t->n_complete && t->ledger.has_compat[m->role];
}

static bool both_measured(const struct matrix *m, const struct view_test *t)
{
	return view_has_calls(t, m->role) && has_compat(m, t);
}

/* What the rows do not explain; no line if it is 0, as almost always. */
static void put_difference(struct matrix *m, bool writes)
{
	struct cell *cell = matrix_row(m, "? no such call");

	for (size_t i = 0; i < m->n_tests; i++) {
		const struct view_test *t = &m->v->test[m->first + i];
		uint64_t all = compat_of(m, t, writes), sum = explained(m, t, writes);

		cell[i] = both_measured(m, t) ? per_iteration(t, (double)all - (double)sum)
					      : cell_na();
		if (!both_measured(m, t) || all == sum)
			cell[i].kind = CELL_ABSENT;
	}
}

/* The calls of one row, for every test. */
static void matrix_put_part(struct matrix *m, const struct item *it, const char *sign)
{
	char name[64], label[80];
	struct cell *cell;

	print_state(name, it->class, it->object);
	snprintf(label, sizeof(label), "%s %s", sign, name);
	cell = matrix_row(m, label);
	for (size_t i = 0; i < m->n_tests; i++) {
		const struct view_test *t = &m->v->test[m->first + i];
		struct afs_cell c = ledger_sum(&t->ledger, m->role, it->class, it->object);

		cell[i] = matrix_cell(
		    both_measured(m, t) ? per_iteration(t, (double)c.calls) : cell_na(), &c);
	}
}

static void put_compat(struct matrix *m, bool writes)
{
	/* As netatalk calls them: AFPD_R. */
	static const char *const names[AFS_N_ROLES][2] = {
		[AFS_ROLE_SERVER] = { "{server.upper}_R", "{server.upper}_W" },
		[AFS_ROLE_BACKEND] = { "{asked.upper}_R", "{asked.upper}_W" },
	};
	char label[RUN_WORD_MAX + 2];
	struct cell *cell;
	const char *sign = "=";

	run_text(m->v->run, names[m->role][writes], label, sizeof(label));
	cell = matrix_row(m, label);
	for (size_t i = 0; i < m->n_tests; i++) {
		const struct view_test *t = &m->v->test[m->first + i];

		cell[i] = has_compat(m, t) ? per_iteration(t, (double)compat_of(m, t, writes))
					   : cell_na();
	}
	for (size_t k = 0; k < m->n_items; k++) {
		if (!in_compat(m->item[k].class, writes))
			continue;
		matrix_put_part(m, &m->item[k], sign);
		sign = "+";
	}
	put_difference(m, writes);
}

static bool any_compat(const struct matrix *m)
{
	for (size_t i = 0; i < m->v->n; i++)
		if (has_compat(m, &m->v->test[i]))
			return true;
	return false;
}

int paint_compat(const struct paint *p)
{
	static const char *const titles[AFS_N_ROLES] = {
		[AFS_ROLE_SERVER] = "What {server.upper}_R and {server.upper}_W are",
		[AFS_ROLE_BACKEND] = "What {asked.upper}_R and {asked.upper}_W are",
	};
	struct matrix *m = malloc(sizeof(*m));
	char title[sizeof(m->s.title)];
	int e = 0;

	if (!m)
		return -ENOMEM;
	m->v = &p->view;
	m->what = WHAT_COMPAT;
	for (m->role = AFS_ROLE_SERVER; m->role <= AFS_ROLE_BACKEND && !e; m->role++) {
		if (!any_compat(m))
			continue;
		matrix_find_items(m);
		for (size_t first = 0; first < p->view.n && !e; first += m->n_tests) {
			matrix_open(m, p, first);
			section_title(&m->s, "%s",
				      run_text(p->view.run, titles[m->role], title, sizeof(title)));
			put_compat(m, false);
			put_compat(m, true);
			e = section_close(&m->s);
		}
	}
	free(m);
	return e;
}
