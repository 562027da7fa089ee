/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server's processes did, for a run that is not made of tests: one table per role. */
#include "report/grid.h"
#include "run/account.h"

#include <errno.h>
#include <stdlib.h>

#define LITTLE 1000 /* a row with less than this part of everything has no line of its own */

enum {
	COL_STATE,
	COL_CALLS,
	COL_ERRORS,
	COL_REQUEST,
	COL_TIME,
	COL_SHARE,
	COL_CALL,
	COL_MB,
	N_COLS
};

/* Calls and errors as they are, the rest per request. */
static const struct grid_column heads[N_COLS] = {
	[COL_STATE] = { .head = "class" GLUE "·" GLUE "object" },
	[COL_CALLS] = { .head = "calls" },
	[COL_ERRORS] = { .head = "errors" },
	[COL_REQUEST] = { .head = "calls /request" },
	[COL_TIME] = { .head = "µs /request" },
	[COL_SHARE] = { .head = "time%" },
	[COL_CALL] = { .head = "mean call" },
	[COL_MB] = { .head = "MB" },
};

static const unsigned int drops[] = { COL_MB, COL_SHARE, COL_ERRORS };

static struct cell long_calls_per_request(double v, uint64_t requests)
{
	if (!requests)
		return cell_na();
	v /= (double)requests;
	return v > 0 && v < 0.005 ? (struct cell) { "<.01" } : cell_short(v);
}

/* "requests" 0: not known. share_of 0: no share. */
static int long_calls_put_row(struct grid *g, const char *name, const struct afs_cell *c,
			      uint64_t requests, uint64_t share_of)
{
	struct grid_row *row = grid_row(g);
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	snprintf(cell[COL_STATE].text, sizeof(cell[COL_STATE].text), "%s", name);
	cell[COL_CALLS] = cell_count(c->calls);
	cell[COL_ERRORS] = c->errors ? cell_count(c->errors) : (struct cell) { "-" };
	cell[COL_REQUEST] = long_calls_per_request((double)c->calls, requests);
	cell[COL_TIME] = long_calls_per_request((double)c->ns / 1e3, requests);
	if (share_of)
		cell[COL_SHARE] = cell_fixed(100 * (double)c->ns / (double)share_of, 1);
	cell[COL_CALL] = cell_time(c->calls ? (double)c->ns / (double)c->calls : 0);
	cell[COL_MB] = c->bytes ? cell_short((double)c->bytes / 1e6) : (struct cell) { "-" };
	return 0;
}

static void long_calls_take(struct afs_cell *from, const struct afs_cell *what)
{
	from->calls -= what->calls;
	from->errors -= what->errors;
	from->bytes -= what->bytes;
	from->ns -= what->ns;
}

/* Whether both its time and its number are too small for a row. */
static bool long_calls_is_little(const struct ledger_row *row, const struct afs_cell *all)
{
	return row->class != AFS_CLASS_WAIT && row->cell.calls < all->calls / LITTLE &&
	       (row->cell.ns < all->ns / LITTLE || !all->ns);
}

static int long_calls_fill(struct grid *g, const struct ledger *l, unsigned int role,
			   const struct ledger_row *row, size_t n)
{
	struct afs_cell all = ledger_sum(l, role, AFS_N_CLASSES, AFS_N_OBJECTS), rest;
	struct afs_cell wait = ledger_sum(l, role, AFS_CLASS_WAIT, AFS_N_OBJECTS);
	uint64_t requests = ledger_answered(l);
	size_t i, others = 0;
	char name[64];
	int e = 0;

	long_calls_take(&all, &wait);
	rest = all;
	for (i = 0; i < n; i++)
		others += long_calls_is_little(&row[i], &all);
	if (others == 1)
		others = 0;
	for (i = 0; i < n && row[i].class != AFS_CLASS_WAIT && !e; i++) {
		if (others && long_calls_is_little(&row[i], &all))
			continue;
		long_calls_take(&rest, &row[i].cell);
		print_state(name, row[i].class, row[i].object);
		e = long_calls_put_row(g, name, &row[i].cell, requests, all.ns);
	}
	snprintf(name, sizeof(name), "%zu others", others);
	if (!e && others)
		e = long_calls_put_row(g, name, &rest, requests, all.ns);
	if (!e)
		e = long_calls_put_row(g, "sum", &all, requests, all.ns);
	for (; i < n && !e; i++) {
		print_state(name, row[i].class, row[i].object);
		e = long_calls_put_row(g, name, &row[i].cell, requests, 0);
	}
	return e;
}

static void set_columns(struct grid *g, bool by_request)
{
	for (size_t k = 0; k < N_COLS; k++)
		g->column[k] = heads[k];
	g->column[COL_REQUEST].off = g->column[COL_TIME].off = !by_request;
}

static int long_calls_put_role(const struct paint *p, unsigned int role)
{
	struct grid g = { .n_columns = N_COLS, .gap = 2 };
	const struct ledger *l = &p->view.all;
	struct ledger_row *row = calloc(l->n_rows + 1, sizeof(*row));
	size_t n = 0;
	int e = 0;

	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_rows; i++)
		if (l->row[i].role == role)
			row[n++] = l->row[i];
	qsort(row, n, sizeof(*row), ledger_row_order);
	set_columns(&g, l->has_requests && run_is_by_session(p->view.run));
	if (n)
		e = long_calls_fill(&g, l, role, row, n);
	if (!e && n) {
		paint_heading(p, view_role_name(p->view.run, role),
			      ": system calls  most time first, waits apart");
		grid_fit(&g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		grid_put(&g, p);
	}
	grid_clear(&g);
	free(row);
	return e;
}

int paint_calls(const struct paint *p)
{
	int e = 0;

	if (!p->view.all.has_calls) {
		paint_heading(p, "System calls", ": n/a (not measured)");
		return 0;
	}
	for (unsigned int role = 0; role < AFS_N_ROLES && !e; role++)
		e = long_calls_put_role(p, role);
	return e;
}
