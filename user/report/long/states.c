/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that cost most, state by state, and what the server does outside requests. */
#include "report/long/states.h"

#include "report/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEAREST       5  /* commands at most */
#define DEAREST_SHARE 90 /* per cent of all time that is enough */
#define STATES        8  /* of one role, at most */
#define STATES_SHARE  97

enum { COL_STATE, COL_US, COL_SHARE, COL_CALLS, COL_CPU, COL_BLOCKED, COL_RUNQ, COL_STOPPED };

static const struct section_column columns[] = {
	[COL_STATE] = { .name = "state" },
	[COL_US] = { .head = "µs", .name = "time" },
	[COL_SHARE] = { .head = "time%", .name = "share", .unit = "%", .drop = 2 },
	[COL_CALLS] = { .head = "calls" },
	[COL_CPU] = { .head = "on" GLUE "CPU", .name = "on_cpu" },
	[COL_BLOCKED] = { .head = "blocked" },
	[COL_RUNQ] = { .head = "run" GLUE "queue", .drop = 1 },
	[COL_STOPPED] = { .head = "stopped" },
};

static const struct section_type states_section = {
	.key = "states",
	.title = "The commands that cost most, state by state",
	.rest = "  µs and calls per request of the\n"
		"       serving thread; a state is the class · object of the call it is in",
	SECTION_OF(columns),
};

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
	struct section s;
	const struct request *request;
};

static struct cell per_call(const struct states *s, uint64_t calls)
{
	double v = (double)calls / (double)requests_n(s->request);

	if (!calls)
		return cell_zero();
	return v < 0.005 ? cell_little(v) : cell_short(v);
}

static void states_put_state(struct states *s, const char *name, const struct afs_part *part,
			     bool share)
{
	double n = (double)requests_n(s->request);
	struct cell *cell = section_row(&s->s)->cell;

	snprintf(cell[COL_STATE].text, sizeof(cell->text), "  %s", name);
	cell[COL_US] = cell_us((double)part_ns(part) / n);
	cell[COL_SHARE] = share ? cell_fixed(
				      requests_percent(part_ns(part), s->request->service_ns), 1)
				: cell_blank();
	cell[COL_CALLS] = per_call(s, part->calls);
	cell[COL_CPU] = cell_us((double)part->cpu_ns / n);
	cell[COL_BLOCKED] = cell_us((double)part->blocked_ns / n);
	cell[COL_RUNQ] = cell_us((double)part->runq_ns / n);
	cell[COL_STOPPED] = cell_us((double)part->stopped_ns / n);
}

/* "while it waited, cnid_dbd: fsync 540.0 µs, ..." */
static void states_put_inside(struct states *s)
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
	if (at)
		section_text(&s->s, INK_NONE, "      while it waited, %s:%s",
			     view_role_name(s->s.p->view.run, AFS_ROLE_BACKEND), text);
}

static bool states_is_cnid(const struct ledger_part *part)
{
	return part->object == AFS_OBJECT_BACKEND && part->part.blocked_ns;
}

/* One role's largest states, and the sum of the others. */
static void states_put_role(struct states *s, const struct ledger_part *part, size_t n, bool afpd)
{
	uint64_t all = 0, shown = 0;
	struct afs_part rest = { 0 };
	bool inside = afpd;
	char name[64];
	size_t i;

	for (i = 0; i < n; i++)
		all += part_ns(&part[i].part);
	for (i = 0; i < n && i < STATES; i++) {
		if (n - i > 1 && requests_percent(shown, all) >= STATES_SHARE)
			break;
		shown += part_ns(&part[i].part);
		print_state(name, part[i].class, part[i].object);
		states_put_state(s, name, &part[i].part, afpd);
		if (inside && states_is_cnid(&part[i])) {
			states_put_inside(s);
			inside = false;
		}
	}
	if (i == n)
		return;
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
		return;
	states_put_state(s, name, &rest, afpd);
}

static int states_put_request(struct states *s, const struct requests *all)
{
	const struct view *v = &s->s.p->view;
	const struct request *r = s->request;
	struct ledger_part *own, *backend;
	char name[ACCOUNT_NAME_MAX];
	size_t n_own, n_backend;
	int e = 0;

	if (s->s.n_rows)
		section_text(&s->s, INK_NONE, "%s", "");
	section_text(&s->s, INK_BOLD, "  %s: %s × %s, %.1f %% of all time",
		     account_name(r->number, name), cell_count(requests_n(r)).text,
		     cell_time((double)r->service_ns / (double)requests_n(r)).text,
		     requests_percent(r->service_ns, all->all.service_ns));
	own = parts_of(&v->all, AFS_ROLE_SERVER, r->number, &n_own);
	backend = parts_of(&v->all, AFS_ROLE_BACKEND, r->number, &n_backend);
	if (own && backend) {
		states_put_role(s, own, n_own, true);
		if (n_backend)
			section_text(&s->s, INK_NONE, "    %s for it, also after its answer:",
				     view_role_name(v->run, AFS_ROLE_BACKEND));
		states_put_role(s, backend, n_backend, false);
	} else {
		e = -ENOMEM;
	}
	free(own);
	free(backend);
	return e;
}

static int put_costliest(const struct paint *p, const struct requests *r)
{
	uint64_t shown = 0;
	struct states s;
	int e = 0, ret;

	section_open(&s.s, p, &states_section);
	s.s.column[COL_STOPPED].off = !r->all.time_ns[ACCOUNT_STOPPED];
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
	ret = section_close(&s.s);
	return e ? e : ret;
}

/* Outside requests */

enum { OUT_NAME, OUT_ROLE, OUT_CALLS, OUT_USER, OUT_IN_CALLS, OUT_RUNQ };

static const struct section_column outside_columns[] = {
	[OUT_NAME] = { .head = "account" },      [OUT_ROLE] = { .head = "process", .left = true },
	[OUT_CALLS] = { .head = "calls" },       [OUT_USER] = { .head = "own code" },
	[OUT_IN_CALLS] = { .head = "in calls" }, [OUT_RUNQ] = { .head = "run" GLUE "queue" },
};

static const struct section_type outside_section = {
	.key = "outside",
	.title = "Outside requests",
	.rest = "  in all; waiting for work is left out",
	SECTION_OF(outside_columns),
};

static void put_outside_row(struct section *s, unsigned int number, unsigned int role)
{
	const struct ledger *l = &s->p->view.all;
	struct afs_part user = ledger_part_sum(l, role, number, AFS_CLASS_USER, LEDGER_ALL);
	struct afs_part all = ledger_part_sum(l, role, number, LEDGER_ALL, LEDGER_ALL);
	char name[ACCOUNT_NAME_MAX];
	struct cell *cell;

	if (!all.calls && !all.cpu_ns)
		return;
	cell = section_row(s)->cell;
	cell[OUT_NAME] = cell_name(account_name(number, name));
	cell[OUT_ROLE] = cell_name(view_role_name(s->p->view.run, role));
	cell[OUT_CALLS] = cell_count(all.calls);
	cell[OUT_USER] = cell_time((double)user.cpu_ns);
	cell[OUT_IN_CALLS] = cell_time((double)(all.cpu_ns - user.cpu_ns));
	cell[OUT_RUNQ] = cell_time((double)all.runq_ns);
}

static int states_put_outside(const struct paint *p)
{
	struct section s;

	section_open(&s, p, &outside_section);
	for (unsigned int i = AFS_ACCOUNT_BETWEEN; i < AFS_N_ACCOUNTS; i++)
		for (unsigned int role = 0; role < AFS_N_ROLES; role++)
			put_outside_row(&s, i, role);
	return section_close(&s);
}

int paint_states(const struct paint *p, const struct requests *r)
{
	int e = put_costliest(p, r);

	return e ? e : states_put_outside(p);
}
