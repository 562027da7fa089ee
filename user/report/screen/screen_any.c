/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen of a program whose protocol is not known: its time, calls and threads. */
#include "report/screen/screen.h"

#include <errno.h>
#include <stdlib.h>

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
		screen_add(&text, ", paused %s", screen_time((double)t.stopped_ns).text);
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

enum { CALL_NAME, CALL_CALLS, CALL_ERRORS, CALL_TIME, CALL_MEAN, CALL_MB };

static const struct section_column call_columns[] = {
	[CALL_NAME] = { .head = "call" GLUE "·" GLUE "object", .name = "state" },
	[CALL_CALLS] = { .head = "calls" },
	[CALL_ERRORS] = { .head = "errors" },
	[CALL_TIME] = { .head = "time" },
	[CALL_MEAN] = { .head = "mean" },
	[CALL_MB] = { .head = "MB", .name = "mb", .unit = "MB" },
};

static const struct section_type any_calls_section = {
	.key = "any_calls",
	.begin = SECTION_BLANK_LINE,
	SECTION_OF(call_columns),
};

static void screen_any_put_call(struct section *s, const struct ledger_row *row)
{
	struct cell *cell = section_row(s)->cell;
	const struct afs_cell *c = &row->cell;
	char name[64];

	print_state(name, row->class, row->object);
	cell[CALL_NAME] = cell_text(name, 36);
	cell[CALL_CALLS] = cell_count(c->calls);
	cell[CALL_ERRORS] = c->errors ? cell_count(c->errors) : cell_blank();
	cell[CALL_TIME] = screen_time((double)c->ns);
	cell[CALL_MEAN] = c->calls ? screen_time((double)c->ns / (double)c->calls) : cell_na();
	cell[CALL_MB] = c->bytes ? cell_short((double)c->bytes / 1e6) : cell_blank();
}

static int screen_any_put_calls(const struct paint *p, size_t most)
{
	const struct ledger *l = &p->view.all;
	struct ledger_row *row;
	struct section s;
	size_t n;

	row = ledger_rows_of(l, AFS_ROLE_SERVER, &n);
	if (!row)
		return -ENOMEM;
	section_open(&s, p, &any_calls_section);
	for (size_t i = 0; i < n && s.n_rows < most; i++)
		screen_any_put_call(&s, &row[i]);
	free(row);
	return section_close(&s);
}

/* Threads */

enum { THREAD_NAME, THREAD_N, THREAD_CPU, THREAD_RUNQ };

static const struct section_column thread_columns[] = {
	[THREAD_NAME] = { .head = "threads" },
	[THREAD_N] = { .head = "number" },
	[THREAD_CPU] = { .head = "CPU", .name = "cpu" },
	[THREAD_RUNQ] = { .head = "run" GLUE "queue" },
};

static const struct section_type threads_section = {
	.key = "threads",
	.title = "Threads",
	.begin = SECTION_BLANK_LINE,
	SECTION_OF(thread_columns),
};

int paint_threads(const struct paint *p, size_t most)
{
	const struct run *r = p->view.run;
	struct section s;

	section_open(&s, p, &threads_section);
	for (size_t i = 0; i < r->n_threads && i < most; i++) {
		struct cell *cell = section_row(&s)->cell;

		cell[THREAD_NAME] = cell_text(r->threads[i].name, 36);
		cell[THREAD_N] = r->threads[i].n ? cell_count(r->threads[i].n) : cell_blank();
		cell[THREAD_CPU] = screen_time((double)r->threads[i].cpu_ns);
		cell[THREAD_RUNQ] = screen_time((double)r->threads[i].runq_ns);
	}
	section_below(&s);
	if (r->n_threads > most) {
		section_indented(&s, "  and ", 0);
		section_more(&s, "%zu more names (-v shows them)", r->n_threads - most);
	}
	return section_close(&s);
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
