/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that cost most, state by state, and what the server does outside requests. */
#include "report/long/states.h"

#include "report/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEAREST       5  /* commands at most */
#define DEAREST_SHARE 90 /* per cent of all time that is enough */
#define STATES        8  /* of one role, at most */
#define STATES_SHARE  97

enum {
	COL_STATE,
	COL_US,
	COL_SHARE,
	COL_CALLS,
	COL_CPU,
	COL_BLOCKED,
	COL_RUNQ,
	COL_STOPPED,
	N_COLS
};

static const unsigned int drops[] = { COL_RUNQ, COL_SHARE };

static const char *const inside_names[AFS_N_INSIDE] = {
	[AFS_INSIDE_CPU] = "on" GLUE "CPU",   [AFS_INSIDE_RUNQ] = "run" GLUE "queue",
	[AFS_INSIDE_SYNC] = "fsync",          [AFS_INSIDE_LOCK] = "lock",
	[AFS_INSIDE_IO] = "other" GLUE "I/O", [AFS_INSIDE_IDLE] = "idle",
	[AFS_INSIDE_STOPPED] = "stopped",     [AFS_INSIDE_UNKNOWN] = "not" GLUE "seen",
};

static uint64_t part_ns(const struct afs_part *p)
{
	return p->cpu_ns + p->blocked_ns + p->runq_ns + p->stopped_ns;
}

static int states_by_time(const void *a, const void *b)
{
	const struct ledger_part *x = a, *y = b;
	uint64_t p = part_ns(&x->part), q = part_ns(&y->part);

	if (p != q)
		return p < q ? 1 : -1;
	if (x->part.calls != y->part.calls)
		return x->part.calls < y->part.calls ? 1 : -1;
	return (int)AFS_STATE(x->class, x->object) - (int)AFS_STATE(y->class, y->object);
}

/* One role's parts of an account, most time first. */
static struct ledger_part *parts_of(const struct ledger *l, unsigned int role, unsigned int number,
				    size_t *n)
{
	struct ledger_part *out = calloc(AFS_N_STATES, sizeof(*out));

	*n = 0;
	for (size_t i = 0; out && i < l->n_parts && *n < AFS_N_STATES; i++)
		if (l->part[i].role == role && l->part[i].account == number)
			out[(*n)++] = l->part[i];
	if (out)
		qsort(out, *n, sizeof(*out), states_by_time);
	return out;
}

struct states {
	const struct paint *p;
	struct grid g;
	const struct request *request;
};

static struct cell per_call(const struct states *s, uint64_t calls)
{
	double v = (double)calls / (double)requests_n(s->request);

	if (!calls)
		return (struct cell) { "-" };
	return v < 0.005 ? (struct cell) { "<.01" } : cell_short(v);
}

static int states_put_state(struct states *s, const char *name, const struct afs_part *part,
			    bool share)
{
	double n = (double)requests_n(s->request);
	struct grid_row *row = grid_row(&s->g);
	struct cell *cell;

	if (!row)
		return -ENOMEM;
	cell = row->cell;
	snprintf(cell[COL_STATE].text, sizeof(cell[COL_STATE].text), "  %s", name);
	cell[COL_US] = cell_us((double)part_ns(part) / n);
	if (share)
		cell[COL_SHARE] = cell_fixed(
		    requests_percent(part_ns(part), s->request->service_ns), 1);
	cell[COL_CALLS] = per_call(s, part->calls);
	cell[COL_CPU] = cell_us((double)part->cpu_ns / n);
	cell[COL_BLOCKED] = cell_us((double)part->blocked_ns / n);
	cell[COL_RUNQ] = cell_us((double)part->runq_ns / n);
	cell[COL_STOPPED] = cell_us((double)part->stopped_ns / n);
	return 0;
}

/* "while it waited, cnid_dbd: fsync 540.0 µs, ..." */
static int states_put_inside(struct states *s)
{
	const __u64 *inside = s->request->a.sum.inside;
	bool done[AFS_N_INSIDE] = { 0 };
	const char *comma = " ";
	char text[256] = "";
	size_t at = 0;

	for (size_t n = 0; n < AFS_N_INSIDE; n++) {
		size_t most = AFS_N_INSIDE;

		for (size_t i = 0; i < AFS_N_INSIDE; i++)
			if (!done[i] && (most == AFS_N_INSIDE || inside[i] > inside[most]))
				most = i;
		done[most] = true;
		/* What would be shown as 0 is left out. */
		if (inside[most] / 50 < requests_n(s->request))
			continue;
		at += (size_t)snprintf(
		    text + at, sizeof(text) - at, "%s%s" GLUE "%s", comma, inside_names[most],
		    cell_us((double)inside[most] / (double)requests_n(s->request)).text);
		comma = ", ";
	}
	return at ? grid_text(&s->g, INK_NONE, "      while it waited, %s:%s",
			      view_role_name(s->p->view.run, AFS_ROLE_BACKEND), text)
		  : 0;
}

static bool states_is_cnid(const struct ledger_part *part)
{
	return part->object == AFS_OBJECT_BACKEND && part->part.blocked_ns;
}

/* One role's largest states, and the sum of the others. */
static int states_put_role(struct states *s, const struct ledger_part *part, size_t n, bool afpd)
{
	uint64_t all = 0, shown = 0;
	struct afs_part rest = { 0 };
	bool inside = afpd;
	char name[64];
	size_t i;
	int e = 0;

	for (i = 0; i < n; i++)
		all += part_ns(&part[i].part);
	for (i = 0; i < n && i < STATES && !e; i++) {
		if (n - i > 1 && requests_percent(shown, all) >= STATES_SHARE)
			break;
		shown += part_ns(&part[i].part);
		print_state(name, part[i].class, part[i].object);
		e = states_put_state(s, name, &part[i].part, afpd);
		if (!e && inside && states_is_cnid(&part[i])) {
			e = states_put_inside(s);
			inside = false;
		}
	}
	if (e || i == n)
		return e;
	snprintf(name, sizeof(name), "%zu others", n - i);
	for (; i < n; i++) {
		rest.calls += part[i].part.calls;
		rest.cpu_ns += part[i].part.cpu_ns;
		rest.blocked_ns += part[i].part.blocked_ns;
		rest.runq_ns += part[i].part.runq_ns;
		rest.stopped_ns += part[i].part.stopped_ns;
	}
	/* What would be shown as 0 is left out. */
	if (part_ns(&rest) / 50 < requests_n(s->request) &&
	    rest.calls * 200 < requests_n(s->request))
		return 0;
	return states_put_state(s, name, &rest, afpd);
}

static int states_put_request(struct states *s, const struct requests *all)
{
	const struct ledger *l = &s->p->view.all;
	const struct request *r = s->request;
	char name[ACCOUNT_NAME_MAX];
	struct ledger_part *part;
	size_t n;
	int e;

	e = s->g.n_rows ? grid_text(&s->g, INK_NONE, "%s", "") : 0;
	if (e)
		return e;
	e = grid_text(&s->g, INK_BOLD, "  %s: %s × %s, %.1f %% of all time",
		      account_name(r->number, name), cell_count(requests_n(r)).text,
		      cell_time((double)r->service_ns / (double)requests_n(r)).text,
		      requests_percent(r->service_ns, all->all.service_ns));
	part = parts_of(l, AFS_ROLE_SERVER, r->number, &n);
	if (!e)
		e = part ? states_put_role(s, part, n, true) : -ENOMEM;
	free(part);
	if (e)
		return e;
	part = parts_of(l, AFS_ROLE_BACKEND, r->number, &n);
	if (!part)
		return -ENOMEM;
	if (n)
		e = grid_text(&s->g, INK_NONE, "    %s for it, also after its answer:",
			      view_role_name(s->p->view.run, AFS_ROLE_BACKEND));
	if (!e)
		e = states_put_role(s, part, n, false);
	free(part);
	return e;
}

static int put_costliest(const struct paint *p, const struct requests *r)
{
	struct states s = { .p = p, .g = { .n_columns = N_COLS, .gap = 2 } };
	uint64_t shown = 0;
	int e = 0;

	s.g.column[COL_US].head = "µs";
	s.g.column[COL_SHARE].head = "time%";
	s.g.column[COL_CALLS].head = "calls";
	s.g.column[COL_CPU].head = "on" GLUE "CPU";
	s.g.column[COL_BLOCKED].head = "blocked";
	s.g.column[COL_RUNQ].head = "run" GLUE "queue";
	s.g.column[COL_STOPPED].head = "stopped";
	s.g.column[COL_STOPPED].off = !r->all.time_ns[ACCOUNT_STOPPED];
	for (size_t i = 0; i < r->n && i < DEAREST && !e; i++) {
		if (!requests_n(&r->request[i]) ||
		    requests_percent(shown, r->all.service_ns) >= DEAREST_SHARE)
			break;
		shown += r->request[i].service_ns;
		if (r->request[i].a.sum.handed)
			continue; /* what threads did for it is not known */
		s.request = &r->request[i];
		e = states_put_request(&s, r);
	}
	if (!e) {
		paint_heading(
		    p, "The commands that cost most, state by state",
		    "  µs and calls per request of the\n"
		    "       serving thread; a state is the class · object of the call it is in");
		grid_fit(&s.g, p->width, drops, sizeof(drops) / sizeof(drops[0]));
		grid_put(&s.g, p);
	}
	grid_clear(&s.g);
	return e;
}

/* Outside requests */

enum { OUT_NAME, OUT_ROLE, OUT_CALLS, OUT_USER, OUT_IN_CALLS, OUT_RUNQ, N_OUT };

static int put_outside_row(const struct paint *p, struct grid *g, unsigned int number,
			   unsigned int role)
{
	const struct ledger *l = &p->view.all;
	struct afs_part user = ledger_part_sum(l, role, number, AFS_CLASS_USER, LEDGER_ALL);
	struct afs_part all = ledger_part_sum(l, role, number, LEDGER_ALL, LEDGER_ALL);
	char name[ACCOUNT_NAME_MAX];
	struct grid_row *row;

	if (!all.calls && !all.cpu_ns)
		return 0;
	row = grid_row(g);
	if (!row)
		return -ENOMEM;
	snprintf(row->cell[OUT_NAME].text, sizeof(row->cell[OUT_NAME].text), "%s",
		 account_name(number, name));
	snprintf(row->cell[OUT_ROLE].text, sizeof(row->cell[OUT_ROLE].text), "%s",
		 view_role_name(p->view.run, role));
	row->cell[OUT_CALLS] = cell_count(all.calls);
	row->cell[OUT_USER] = cell_time((double)user.cpu_ns);
	row->cell[OUT_IN_CALLS] = cell_time((double)(all.cpu_ns - user.cpu_ns));
	row->cell[OUT_RUNQ] = cell_time((double)all.runq_ns);
	return 0;
}

static int states_put_outside(const struct paint *p)
{
	struct grid g = { .n_columns = N_OUT, .gap = 2 };
	int e = 0;

	g.column[OUT_NAME].head = "account";
	g.column[OUT_ROLE] = (struct grid_column) { .head = "process", .left = true };
	g.column[OUT_CALLS].head = "calls";
	g.column[OUT_USER].head = "own code";
	g.column[OUT_IN_CALLS].head = "in calls";
	g.column[OUT_RUNQ].head = "run" GLUE "queue";
	for (unsigned int i = AFS_ACCOUNT_BETWEEN; i < AFS_N_ACCOUNTS && !e; i++)
		for (unsigned int role = 0; role < AFS_N_ROLES && !e; role++)
			e = put_outside_row(p, &g, i, role);
	if (!e && g.n_rows) {
		paint_heading(p, "Outside requests", "  in all; waiting for work is left out");
		grid_put(&g, p);
	}
	grid_clear(&g);
	return e;
}

int paint_states(const struct paint *p, const struct requests *r)
{
	int e = put_costliest(p, r);

	return e ? e : states_put_outside(p);
}
