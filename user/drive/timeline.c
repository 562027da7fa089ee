/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/timeline.h"

#include "base/clock.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- commands at given moments ---- */

int timeline_take_change(void *to, const char *arg, struct err *e)
{
	struct timeline_changes *c = to;
	struct timeline_change *new = &c->change[c->n];
	const char *end;
	double at_s;

	if (!text_decimal(arg, &end, &at_s) || *end != ' ' || !isfinite(at_s) || at_s < 0 ||
	    !end[strspn(end, " ")])
		return err_set(e, -EINVAL, "'%s' is not 'SECONDS COMMAND', such as '30 COMMAND'",
			       arg);
	if (c->n == TIMELINE_CHANGES)
		return err_set(e, -EINVAL, "at most %d times", TIMELINE_CHANGES);
	*new = (struct timeline_change) { .at_s = at_s, .command = end + strspn(end, " ") };
	new->child.gate = -1;
	c->n++;
	return 0;
}

int timeline_join_arguments(int *argc, char **argv)
{
	int to = 1;

	for (int i = 1; i < *argc; i++) {
		bool at = !strcmp(argv[i], "--at") && i + 2 < *argc;

		argv[to++] = argv[i];
		if (!at || argv[i + 1][strspn(argv[i + 1], "0123456789.")])
			continue;
		if (asprintf(&argv[to++], "%s %s", argv[i + 1], argv[i + 2]) < 0)
			return -ENOMEM;
		i += 2;
	}
	argv[to] = NULL;
	*argc = to;
	return 0;
}

int timeline_prepare(struct timeline_changes *c, struct err *e)
{
	int r = 0;

	for (unsigned int i = 0; !r && i < c->n; i++) {
		/* standard output is the load's */
		char *argv[] = { "/bin/sh",
				 "-c",
				 "exec >&2; eval \"$1\"",
				 "sh",
				 (char *)(uintptr_t)c->change[i].command,
				 NULL };

		r = child_start(&c->change[i].child, argv, e);
	}
	return r;
}

void timeline_end_changes(struct timeline_changes *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		child_end(&c->change[i].child);
}

static void drive_timeline_mark(struct timeline *t, uint64_t now_ns, const char *text)
{
	if (run_timeline_mark(t->kept, now_ns - t->begin_ns, text))
		t->no_memory = true;
}

static void begin_change(struct timeline *t, struct timeline_change *c, uint64_t now_ns)
{
	struct err e = { 0 };

	c->begun = true;
	drive_timeline_mark(t, now_ns, c->command);
	if (!child_go(&c->child, &e))
		return;
	c->ended = true;
	run_note(&t->session->run.warnings, "at", "--at: %s", e.text);
}

/* A command that failed changed nothing, or something else than was meant. */
static void drive_timeline_note_end(struct timeline *t, struct timeline_change *c)
{
	int status;

	if (!child_ended(&c->child))
		return;
	c->ended = true;
	status = c->child.status;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	run_note(&t->session->run.warnings, "at", "--at: '%.200s' ended with %s %d", c->command,
		 WIFEXITED(status) ? "exit status" : "signal",
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void tick_changes(struct timeline *t, uint64_t now_ns)
{
	struct timeline_change *c;

	for (unsigned int i = 0; t->changes && i < t->changes->n; i++) {
		c = &t->changes->change[i];
		if (!c->begun && (double)(now_ns - t->begin_ns) >= c->at_s * 1e9)
			begin_change(t, c, now_ns);
		if (c->begun && !c->ended)
			drive_timeline_note_end(t, c);
	}
}

/* ---- intervals ---- */

int timeline_begin(struct timeline *t, struct session *s, struct timeline_changes *changes,
		   uint64_t interval_ns)
{
	*t = (struct timeline) { .session = s, .changes = changes, .interval_ns = interval_ns };
	t->kept = calloc(1, sizeof(*t->kept));
	if (!t->kept)
		return -ENOMEM;
	t->begin_ns = clock_now_ns();
	t->next_ns = t->begin_ns + interval_ns;
	if (s->watch && interval_ns)
		t->has_before = !watch_glance(s->watch, &t->before);
	return 0;
}

static void take_interval(struct timeline *t, uint64_t now_ns)
{
	struct ledger after = { 0 }, done = { 0 };
	bool known = t->has_before && !watch_glance(t->session->watch, &after) &&
		     !ledger_diff(&done, &after, &t->before);

	if (run_timeline_interval(t->kept, now_ns - t->begin_ns, known ? &done : NULL))
		t->no_memory = true;
	ledger_fini(&done);
	ledger_fini(&t->before);
	t->before = after;
}

void timeline_tick(struct timeline *t, uint64_t now_ns)
{
	if (!t->kept)
		return;
	tick_changes(t, now_ns);
	if (!t->session->watch || !t->interval_ns || now_ns < t->next_ns)
		return;
	take_interval(t, now_ns);
	/* an interval that was missed is part of the next one */
	while (t->next_ns <= now_ns)
		t->next_ns += t->interval_ns;
}

/* A change that never began is missing from the graphs, and its mark as well. */
static void note_not_begun(struct timeline *t)
{
	for (unsigned int i = 0; t->changes && i < t->changes->n; i++)
		if (!t->changes->change[i].begun)
			run_note(&t->session->run.warnings, "at",
				 "--at: '%.200s' was not started: the load ended before %g s",
				 t->changes->change[i].command, t->changes->change[i].at_s);
}

void timeline_end(struct timeline *t, struct run_phase *p)
{
	note_not_begun(t);
	if (t->session->watch && t->interval_ns)
		take_interval(t, clock_now_ns());
	ledger_fini(&t->before);
	if (t->no_memory)
		run_note(&t->session->run.warnings, "timeline",
			 "out of memory: intervals or marks are missing");
	p->timeline = t->kept;
	t->kept = NULL;
}
