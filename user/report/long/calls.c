/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the server's processes did, for a run that is not made of tests: one table per role. */
#include "report/section.h"
#include "run/account.h"

#include <errno.h>
#include <stdlib.h>

#define LITTLE 1000 /* a row with less than this part of everything has no line of its own */

enum { COL_STATE, COL_CALLS, COL_ERRORS, COL_REQUEST, COL_TIME, COL_SHARE, COL_CALL, COL_MB };

/* Calls and errors as they are, the rest per request. */
static const struct section_column columns[] = {
	[COL_STATE] = { .head = "class" GLUE "·" GLUE "object", .name = "state" },
	[COL_CALLS] = { .head = "calls" },
	[COL_ERRORS] = { .head = "errors", .drop = 3 },
	[COL_REQUEST] = { .head = "calls /request", .name = "calls_per_request" },
	[COL_TIME] = { .head = "µs /request", .name = "time_per_request", .unit = "µs" },
	[COL_SHARE] = { .head = "time%", .name = "time", .unit = "%", .drop = 2 },
	[COL_CALL] = { .head = "mean call" },
	[COL_MB] = { .head = "MB", .name = "mb", .unit = "MB", .drop = 1 },
};

static const struct section_type calls_section = {
	.key = "calls",
	.rest = ": system calls  most time first, waits apart",
	SECTION_OF(columns),
};

static const struct section_type calls_unknown = {
	.key = "calls",
	.title = "System calls",
	.rest = ": n/a (not measured)",
};

static struct cell long_calls_per_request(double v, uint64_t requests)
{
	if (!requests)
		return cell_na();
	v /= (double)requests;
	return v > 0 && v < 0.005 ? cell_little(v) : cell_short(v);
}

/* "requests" 0: not known. share_of 0: no share. */
static void long_calls_put_row(struct section *s, const char *name, const struct afs_cell *c,
			       uint64_t requests, uint64_t share_of)
{
	struct cell *cell = section_row(s)->cell;

	cell[COL_STATE] = cell_name(name);
	cell[COL_CALLS] = cell_count(c->calls);
	cell[COL_ERRORS] = c->errors ? cell_count(c->errors) : cell_zero();
	cell[COL_REQUEST] = long_calls_per_request((double)c->calls, requests);
	cell[COL_TIME] = long_calls_per_request((double)c->ns / 1e3, requests);
	cell[COL_SHARE] = share_of ? cell_fixed(100 * (double)c->ns / (double)share_of, 1)
				   : cell_blank();
	cell[COL_CALL] = cell_time(c->calls ? (double)c->ns / (double)c->calls : 0);
	cell[COL_MB] = c->bytes ? cell_short((double)c->bytes / 1e6) : cell_zero();
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

static void long_calls_fill(struct section *s, unsigned int role, const struct ledger_row *row,
			    size_t n)
{
	const struct ledger *l = &s->p->view.all;
	struct afs_cell all = ledger_sum(l, role, AFS_N_CLASSES, AFS_N_OBJECTS), rest;
	struct afs_cell wait = ledger_sum(l, role, AFS_CLASS_WAIT, AFS_N_OBJECTS);
	uint64_t requests = ledger_answered(l);
	size_t i, others = 0;
	char name[64];

	long_calls_take(&all, &wait);
	rest = all;
	for (i = 0; i < n; i++)
		others += long_calls_is_little(&row[i], &all);
	if (others == 1)
		others = 0;
	for (i = 0; i < n && row[i].class != AFS_CLASS_WAIT; i++) {
		if (others && long_calls_is_little(&row[i], &all))
			continue;
		long_calls_take(&rest, &row[i].cell);
		print_state(name, row[i].class, row[i].object);
		long_calls_put_row(s, name, &row[i].cell, requests, all.ns);
	}
	snprintf(name, sizeof(name), "%zu others", others);
	if (others)
		long_calls_put_row(s, name, &rest, requests, all.ns);
	long_calls_put_row(s, "sum", &all, requests, all.ns);
	for (; i < n; i++) {
		print_state(name, row[i].class, row[i].object);
		long_calls_put_row(s, name, &row[i].cell, requests, 0);
	}
}

static int long_calls_put_role(const struct paint *p, unsigned int role)
{
	const struct ledger *l = &p->view.all;
	struct ledger_row *row;
	struct section s;
	size_t n;

	row = ledger_rows_of(l, role, &n);
	if (!row)
		return -ENOMEM;
	section_open(&s, p, &calls_section);
	section_title(&s, "%s", view_role_name(p->view.run, role));
	s.column[COL_REQUEST].off = s.column[COL_TIME].off = !l->has_requests ||
							     !run_is_by_session(p->view.run);
	if (n)
		long_calls_fill(&s, role, row, n);
	free(row);
	return section_close(&s);
}

int paint_calls(const struct paint *p)
{
	struct section s;
	int e = 0;

	if (!p->view.all.has_calls) {
		section_open(&s, p, &calls_unknown);
		return section_close(&s);
	}
	for (unsigned int role = 0; role < AFS_N_ROLES && !e; role++)
		e = long_calls_put_role(p, role);
	return e;
}
