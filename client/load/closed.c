/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/closed.h"

#include "load/draw.h"
#include "load/tally.h"

/*
 * How soon a script is asked again whether its action may begin: after a part of the time that it
 * has waited, so that a thousand clients that wait for long leave the CPU to those that work.
 */
#define ASK_AGAIN_NS      100000u
#define ASK_AGAIN_MOST_NS 10000000u
#define ASK_AGAIN_PART    16

/* A client of a crowd that changes waits until it is one of those that work. */
static uint64_t closed_turn(const struct worker *w, const struct actor *a, uint64_t next_ns)
{
	const struct rate *crowd = w->job->crowd;
	double from_s = ((double)next_ns - (double)w->measure_ns) / 1e9, s;

	if (!crowd)
		return next_ns;
	s = rate_reaches(crowd, a->of_all + 1, from_s);
	if (s <= from_s)
		return next_ns;
	return s < 1e9 ? w->measure_ns + (uint64_t)(s * 1e9) : UINT64_MAX;
}

/* When its script says. */
static void closed_follow(const struct worker *w, struct actor *a, uint64_t now_ns)
{
	const uint64_t ns = a->script->type->due(a->script);

	a->due_ns = ns < UINT64_MAX - w->begin_ns ? w->begin_ns + ns : now_ns;
	a->next_ns = a->due_ns;
	a->free_ns = now_ns;
	a->asked_ns = 0;
}

void closed_first(struct worker *w, struct actor *a)
{
	if (a->script->type->due)
		closed_follow(w, a, w->begin_ns);
	else
		a->next_ns = closed_turn(w, a,
					 w->begin_ns + w->job->ramp_ns / w->n_clients * a->of_all);
}

void closed_plan(struct worker *w, struct actor *a, uint64_t now_ns)
{
	const struct engine_job *job = w->job;

	if (a->script->type->due) {
		closed_follow(w, a, now_ns);
	} else {
		a->next_ns = now_ns + job->pause_ns;
		if (job->think)
			a->next_ns += draw_next(job->think, a->random);
		a->next_ns = closed_turn(w, a, a->next_ns);
	}
	if (a->next_ns >= w->end_ns)
		a->next_ns = UINT64_MAX;
}

static bool closed_follows(const struct worker *w, const struct actor *a)
{
	return !tally_open_loop(w) && a->script->type->due;
}

static uint64_t closed_ask_again_ns(uint64_t waited_ns)
{
	const uint64_t ns = waited_ns / ASK_AGAIN_PART;

	if (ns < ASK_AGAIN_NS)
		return ASK_AGAIN_NS;
	return ns < ASK_AGAIN_MOST_NS ? ns : ASK_AGAIN_MOST_NS;
}

bool closed_may_begin(const struct worker *w, struct actor *a, uint64_t now_ns)
{
	const struct script_type *type = a->script->type;

	if (!closed_follows(w, a) || !type->may_begin)
		return true;
	a->asked_ns = a->asked_ns ? a->asked_ns : now_ns;
	if (type->may_begin(a->script, now_ns - a->asked_ns))
		return true;
	a->free_ns = a->next_ns = now_ns + closed_ask_again_ns(now_ns - a->asked_ns);
	return false;
}

uint64_t closed_due_ns(const struct worker *w, const struct actor *a)
{
	return closed_follows(w, a) ? a->due_ns : a->next_ns;
}

uint64_t closed_free_ns(const struct worker *w, const struct actor *a)
{
	const uint64_t due_ns = closed_due_ns(w, a);

	return closed_follows(w, a) && a->free_ns > due_ns ? a->free_ns : due_ns;
}
