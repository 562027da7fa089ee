/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server's processes did, by class and object (down) and test (across). */
#include "report/cell.h"
#include "report/paint.h"

#include <errno.h>
#include <stdlib.h>

#define CELL_WIDTH 6

/* A row of a matrix: one class on one object. */
struct item {
	uint8_t class, object;
	uint64_t weight; /* what rows are ordered by */
};

struct matrix {
	const struct paint *p;
	unsigned int role;
	size_t n_items, label_width;
	size_t gap; /* blanks not yet written, so that none end a line */
	struct item item[AFS_N_CLASSES * AFS_N_OBJECTS];
};

/* What a matrix shows of a cell. */
enum what { WHAT_CALLS, WHAT_TIME, WHAT_COMPAT };

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

/* Rows that occur in any test, the heaviest first, waits last. */
static void matrix_init(struct matrix *m, const struct paint *p, unsigned int role, enum what what)
{
	*m = (struct matrix) { .p = p, .role = role, .label_width = 12 };
	for (unsigned int c = 0; c < AFS_N_CLASSES; c++) {
		for (unsigned int o = 0; o < AFS_N_OBJECTS; o++) {
			struct item item = { .class = (uint8_t)c, .object = (uint8_t)o };
			uint64_t calls = 0;
			char label[64];

			for (size_t i = 0; i < p->view.n; i++) {
				const struct ledger *l = &p->view.test[i].ledger;
				struct afs_cell cell = ledger_sum(l, role, c, o);

				calls += cell.calls;
				item.weight += amount(&cell, what);
			}
			if (!calls)
				continue;
			if (print_state(label, item.class, item.object) > m->label_width)
				m->label_width = text_columns(label);
			m->item[m->n_items++] = item;
		}
	}
	qsort(m->item, m->n_items, sizeof(m->item[0]), matrix_by_weight);
}

static void matrix_put_label(struct matrix *m, const char *text)
{
	fprintf(m->p->out, "  %s", text);
	m->gap = m->label_width - text_columns(text);
}

static void matrix_put_number(struct matrix *m, struct cell c)
{
	m->gap += CELL_WIDTH + 1;
	if (!c.text[0])
		return;
	put_text(m->p->out, c.text, (int)m->gap);
	m->gap = 0;
}

static void end_line(struct matrix *m)
{
	m->gap = 0;
	fputc('\n', m->p->out);
}

/* Whether a test of this line has such a call; if none has, its row is left out. */
static bool occurs(const struct matrix *m, const struct item *it, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++) {
		const struct ledger *l = &m->p->view.test[i].ledger;

		if (ledger_sum(l, m->role, it->class, it->object).calls)
			return true;
	}
	return false;
}

/* Tests shown side by side. */
static size_t per_line(const struct matrix *m)
{
	size_t used = m->label_width + 2, n;

	n = m->p->width > used ? (m->p->width - used) / (CELL_WIDTH + 1) : 0;
	return n ? n : 1;
}

/* Calls (or µs) per AFP command of a test. */
static struct cell per_op(const struct matrix *m, const struct view_test *t, uint64_t sum,
			  enum what what)
{
	struct value ops = view_sum(&m->p->view, t, METRIC_OPS);
	double v;

	if (!view_has_calls(t, m->role) || !ops.known || ops.mean <= 0)
		return cell_na();
	if (!sum)
		return cell_blank();
	v = (double)sum / ops.mean;
	if (what == WHAT_TIME)
		v /= 1e3;
	if (v < 0.005)
		return (struct cell) { "<.01" };
	return v < 999.995 ? cell_fixed(v, 2) : cell_short(v);
}

static void put_numbers(struct matrix *m, size_t from, size_t n)
{
	matrix_put_label(m, "test");
	for (size_t i = from; i < from + n; i++)
		matrix_put_number(m, cell_fixed(m->p->view.test[i].test, 0));
	end_line(m);
}

/* The total of everything but waits. */
static void put_total(struct matrix *m, size_t from, size_t n, enum what what)
{
	matrix_put_label(m, "sum");
	for (size_t i = from; i < from + n; i++) {
		const struct ledger *l = &m->p->view.test[i].ledger;
		struct afs_cell all = ledger_sum(l, m->role, AFS_N_CLASSES, AFS_N_OBJECTS);
		struct afs_cell wait = ledger_sum(l, m->role, AFS_CLASS_WAIT, AFS_N_OBJECTS);

		matrix_put_number(m, per_op(m, &m->p->view.test[i],
					    amount(&all, what) - amount(&wait, what), what));
	}
	end_line(m);
}

static void matrix_put_row(struct matrix *m, const struct item *it, size_t from, size_t n,
			   enum what what)
{
	char label[64];

	print_state(label, it->class, it->object);
	matrix_put_label(m, label);
	for (size_t i = from; i < from + n; i++) {
		const struct view_test *t = &m->p->view.test[i];
		struct afs_cell c = ledger_sum(&t->ledger, m->role, it->class, it->object);

		matrix_put_number(m, per_op(m, t, amount(&c, what), what));
	}
	end_line(m);
}

static void put_matrix(struct matrix *m, enum what what)
{
	size_t step = per_line(m), waits = m->n_items;

	while (waits && m->item[waits - 1].class == AFS_CLASS_WAIT)
		waits--;
	for (size_t from = 0; from < m->p->view.n; from += step) {
		size_t n = m->p->view.n - from < step ? m->p->view.n - from : step;

		put_numbers(m, from, n);
		for (size_t k = 0; k <= m->n_items; k++) {
			if (k == waits)
				put_total(m, from, n, what);
			if (k < m->n_items && occurs(m, &m->item[k], from, n))
				matrix_put_row(m, &m->item[k], from, n, what);
		}
	}
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

	if (!m)
		return -ENOMEM;
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		const char *name = view_role_name(p->view.run, role);

		if (!any_calls(p, role)) {
			if (role <= AFS_ROLE_BACKEND)
				paint_heading(p, name, ": calls n/a (not measured)");
			continue;
		}
		matrix_init(m, p, role, WHAT_CALLS);
		if (!m->n_items)
			continue;
		paint_heading(p, name, ": calls per AFP command  class · object, most calls first");
		put_matrix(m, WHAT_CALLS);
		matrix_init(m, p, role, WHAT_TIME);
		paint_heading(p, name, ": µs in calls per AFP command  most time first");
		put_matrix(m, WHAT_TIME);
	}
	free(m);
	return 0;
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
static void put_difference(struct matrix *m, size_t from, size_t n, bool writes)
{
	bool any = false;

	for (size_t i = from; i < from + n; i++) {
		const struct view_test *t = &m->p->view.test[i];

		any |= both_measured(m, t) && explained(m, t, writes) != compat_of(m, t, writes);
	}
	if (!any)
		return;
	matrix_put_label(m, "? no such call");
	for (size_t i = from; i < from + n; i++) {
		const struct view_test *t = &m->p->view.test[i];

		matrix_put_number(m, both_measured(m, t)
					 ? per_iteration(t, (double)compat_of(m, t, writes) -
								(double)explained(m, t, writes))
					 : cell_na());
	}
	end_line(m);
}

/* The calls of one row, for every test. */
static void matrix_put_part(struct matrix *m, const struct item *it, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++) {
		const struct view_test *t = &m->p->view.test[i];
		struct afs_cell c = ledger_sum(&t->ledger, m->role, it->class, it->object);

		matrix_put_number(m, both_measured(m, t) ? per_iteration(t, (double)c.calls)
							 : cell_na());
	}
	end_line(m);
}

static void put_compat(struct matrix *m, size_t from, size_t n, bool writes)
{
	static const char *const names[AFS_N_ROLES][2] = {
		[AFS_ROLE_SERVER] = { "AFPD_R", "AFPD_W" },
		[AFS_ROLE_BACKEND] = { "CNID_R", "CNID_W" },
	};
	const char *sign = "=";

	matrix_put_label(m, names[m->role][writes]);
	for (size_t i = from; i < from + n; i++) {
		const struct view_test *t = &m->p->view.test[i];

		matrix_put_number(m, has_compat(m, t)
					 ? per_iteration(t, (double)compat_of(m, t, writes))
					 : cell_na());
	}
	end_line(m);
	for (size_t k = 0; k < m->n_items; k++) {
		char name[64], label[80];

		if (!in_compat(m->item[k].class, writes) || !occurs(m, &m->item[k], from, n))
			continue;
		print_state(name, m->item[k].class, m->item[k].object);
		snprintf(label, sizeof(label), "%s %s", sign, name);
		sign = "+";
		matrix_put_label(m, label);
		matrix_put_part(m, &m->item[k], from, n);
	}
	put_difference(m, from, n, writes);
}

static bool any_compat(const struct matrix *m)
{
	for (size_t i = 0; i < m->p->view.n; i++) {
		if (has_compat(m, &m->p->view.test[i]))
			return true;
	}
	return false;
}

int paint_compat(const struct paint *p)
{
	struct matrix *m = malloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	for (unsigned int role = AFS_ROLE_SERVER; role <= AFS_ROLE_BACKEND; role++) {
		size_t step;

		matrix_init(m, p, role, WHAT_COMPAT);
		if (!any_compat(m))
			continue;
		m->label_width += 2;
		step = per_line(m);
		paint_heading(p,
			      role == AFS_ROLE_SERVER ? "What AFPD_R and AFPD_W are"
						      : "What CNID_R and CNID_W are",
			      "  calls per iteration");
		for (size_t from = 0; from < p->view.n; from += step) {
			size_t n = p->view.n - from < step ? p->view.n - from : step;

			put_numbers(m, from, n);
			put_compat(m, from, n, false);
			put_compat(m, from, n, true);
		}
	}
	free(m);
	return 0;
}
