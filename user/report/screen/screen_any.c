/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen of a program whose protocol is not known: its time, calls and threads. */
#include "report/screen/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS    8
#define PROCEDURES 12

/* Where the time of a role's threads went; without waits. */
struct any_time {
	uint64_t own_ns, calls_ns, runq_ns, blocked_ns, stopped_ns;
};

static struct any_time screen_any_time_of(const struct ledger *l, unsigned int role)
{
	struct any_time t = { 0 };

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct ledger_part *p = &l->part[i];

		if (p->role != role)
			continue;
		*(p->class == AFS_CLASS_USER ? &t.own_ns : &t.calls_ns) += p->part.cpu_ns;
		if (p->class != AFS_CLASS_WAIT)
			t.blocked_ns += p->part.blocked_ns;
		t.runq_ns += p->part.runq_ns;
		t.stopped_ns += p->part.stopped_ns;
	}
	return t;
}

/* "CPU 3.21s (32% of one): own code 1.20s, system calls 2.01s; run queue 40ms, ..." */
static void screen_any_put_time(const struct paint *p)
{
	const struct run_phase *phase = p->view.run->n_phases ? p->view.run->phase[0] : NULL;
	struct any_time t = screen_any_time_of(&p->view.all, AFS_ROLE_SERVER);
	const struct run_kind *kind = p->view.run->kind;
	struct any_time other = screen_any_time_of(&p->view.all, AFS_ROLE_OTHER);
	uint64_t cpu_ns = t.own_ns + t.calls_ns;
	struct screen_text text = { 0 };

	screen_add(&text, "CPU %s", screen_time((double)cpu_ns).text);
	if (phase && phase->known[METRIC_ELAPSED])
		screen_add(
		    &text, " (%s of one)",
		    screen_percent((double)cpu_ns, (double)phase->value[METRIC_ELAPSED]).text);
	screen_add(&text, ": own code %s, system calls %s; ", screen_time((double)t.own_ns).text,
		   screen_time((double)t.calls_ns).text);
	screen_add(&text, "run queue %s, blocked in calls other than waits %s",
		   screen_time((double)t.runq_ns).text, screen_time((double)t.blocked_ns).text);
	if (t.stopped_ns)
		screen_add(&text, ", stopped %s", screen_time((double)t.stopped_ns).text);
	screen_put(p, INK_NONE, text.text, 2);
	if (!other.own_ns && !other.calls_ns)
		return;
	text = (struct screen_text) { 0 };
	screen_add(&text, "%s: CPU %s; -v shows their calls",
		   kind && kind->role[AFS_ROLE_OTHER] ? kind->role[AFS_ROLE_OTHER]
						      : "Programs that it started",
		   screen_time((double)(other.own_ns + other.calls_ns)).text);
	screen_put(p, INK_NONE, text.text, 1);
}

/* Calls */

enum { CALL_NAME, CALL_CALLS, CALL_ERRORS, CALL_TIME, CALL_MEAN, CALL_MB, CALL_COLS };

static const struct grid_column call_heads[CALL_COLS] = {
	[CALL_NAME] = { .head = "call" GLUE "·" GLUE "object" },
	[CALL_CALLS] = { .head = "calls" },
	[CALL_ERRORS] = { .head = "errors" },
	[CALL_TIME] = { .head = "time" },
	[CALL_MEAN] = { .head = "mean" },
	[CALL_MB] = { .head = "MB" },
};

static int screen_any_put_call(struct grid *g, const struct ledger_row *row)
{
	struct grid_row *to = grid_row(g);
	const struct afs_cell *c = &row->cell;
	char name[64];

	if (!to)
		return -ENOMEM;
	print_state(name, row->class, row->object);
	to->cell[CALL_NAME] = cell_text(name, 36);
	to->cell[CALL_CALLS] = cell_count(c->calls);
	to->cell[CALL_ERRORS] = c->errors ? cell_count(c->errors) : cell_blank();
	to->cell[CALL_TIME] = screen_time((double)c->ns);
	to->cell[CALL_MEAN] = c->calls ? screen_time((double)c->ns / (double)c->calls) : cell_na();
	if (c->bytes)
		to->cell[CALL_MB] = cell_short((double)c->bytes / 1e6);
	return 0;
}

static int screen_any_put_calls(const struct paint *p, size_t most)
{
	struct grid g = { .n_columns = CALL_COLS, .gap = 2 };
	const struct ledger *l = &p->view.all;
	struct ledger_row *row = calloc(l->n_rows + 1, sizeof(*row));
	int e = 0;

	if (!row)
		return -ENOMEM;
	memcpy(row, l->row, l->n_rows * sizeof(*row));
	qsort(row, l->n_rows, sizeof(*row), ledger_row_order);
	memcpy(g.column, call_heads, sizeof(call_heads));
	for (size_t i = 0; i < l->n_rows && g.n_rows < most && !e; i++)
		if (row[i].role == AFS_ROLE_SERVER)
			e = screen_any_put_call(&g, &row[i]);
	if (!e && g.n_rows) {
		fputc('\n', p->out);
		grid_put(&g, p);
	}
	grid_clear(&g);
	free(row);
	return e;
}

/* Threads */

enum { THREAD_NAME, THREAD_N, THREAD_CPU, THREAD_RUNQ, THREAD_COLS };

static const struct grid_column thread_heads[THREAD_COLS] = {
	[THREAD_NAME] = { .head = "threads" },
	[THREAD_N] = { .head = "number" },
	[THREAD_CPU] = { .head = "CPU" },
	[THREAD_RUNQ] = { .head = "run" GLUE "queue" },
};

int paint_threads(const struct paint *p, size_t most)
{
	struct grid g = { .n_columns = THREAD_COLS, .gap = 2 };
	const struct run *r = p->view.run;
	int e = 0;

	memcpy(g.column, thread_heads, sizeof(thread_heads));
	for (size_t i = 0; i < r->n_threads && i < most && !e; i++) {
		struct grid_row *row = grid_row(&g);

		if (!row) {
			e = -ENOMEM;
			break;
		}
		row->cell[THREAD_NAME] = cell_text(r->threads[i].name, 36);
		row->cell[THREAD_N] = r->threads[i].n ? cell_count(r->threads[i].n) : cell_blank();
		row->cell[THREAD_CPU] = screen_time((double)r->threads[i].cpu_ns);
		row->cell[THREAD_RUNQ] = screen_time((double)r->threads[i].runq_ns);
	}
	if (!e && g.n_rows) {
		fputc('\n', p->out);
		grid_put(&g, p);
	}
	if (!e && r->n_threads > most)
		fprintf(p->out, "  and %zu more names (-v shows them)\n", r->n_threads - most);
	grid_clear(&g);
	return e;
}

int screen_any(const struct paint *p, size_t lines)
{
	size_t threads = p->view.run->n_threads < THREADS ? p->view.run->n_threads : THREADS;
	int e;

	fputc('\n', p->out);
	if (p->view.all.has_requests)
		screen_any_put_time(p);
	e = paint_procedures(p, PROCEDURES);
	if (run_has_requests(p->view.run))
		lines = lines > PROCEDURES ? lines - PROCEDURES : 0;
	e = e ? e : screen_any_put_calls(p, lines > threads + 10 ? lines - threads - 10 : 5);
	return e ? e : paint_threads(p, THREADS);
}
