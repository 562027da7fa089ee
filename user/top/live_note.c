/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a diagnosis needs of a watch that goes on, and what a watch cannot see itself. */
#include "top/live_priv.h"

#include "base/clock.h"
#include "run/account.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void live_known_noted(struct live_known *k)
{
	k->noted.requests = k->requests;
	k->noted.bytes_in = k->bytes_in;
	k->noted.bytes_out = k->bytes_out;
	k->noted.busy_ns = k->busy_ns;
	k->noted.denied = k->denied;
	k->noted.habit = k->habit;
	k->noted.asking = k->asking;
}

/*
 * Of n requests so many are the account that most are: each of it has raised the count by one, and
 * each other one lowered it. If that was another account before, the count began in this time.
 */
static uint32_t most_since(const struct afs_habit *now, const struct afs_habit *then, uint64_t n)
{
	int64_t most = now->most_n;

	if (now->most == then->most && then->most_n)
		most = ((int64_t)n + now->most_n - then->most_n) / 2;
	return most < 0 ? 0 : (uint64_t)most > n ? (uint32_t)n : (uint32_t)most;
}

/* What came since then. */
void live_since_noted(const struct live_known *k, struct run_session *to)
{
	to->requests = k->requests - k->noted.requests;
	to->bytes_in = k->bytes_in - k->noted.bytes_in;
	to->bytes_out = k->bytes_out - k->noted.bytes_out;
	to->busy_ns = k->busy_ns - k->noted.busy_ns;
	to->denied = k->denied - k->noted.denied;
	to->habit = k->habit;
	to->habit.pause_ns -= k->noted.habit.pause_ns;
	to->habit.upload_ns -= k->noted.habit.upload_ns;
	for (size_t i = 0; i < AFS_PAUSE_BUCKETS; i++)
		to->habit.pause[i] -= k->noted.habit.pause[i];
	to->habit.most_n = most_since(&k->habit, &k->noted.habit, to->requests);
	to->asking.n = k->asking.n - k->noted.asking.n;
	for (size_t i = 0; i < AFS_ASKING_BUCKETS; i++)
		to->asking.again[i] = k->asking.again[i] - k->noted.asking.again[i];
}

/* An address without its port. */
const char *live_host(const char *address, char *out, size_t len)
{
	const char *colon = address ? strrchr(address, ':') : NULL;

	if (colon)
		snprintf(out, len, "%.*s", (int)(colon - address), address);
	else
		snprintf(out, len, "%s", address ? address : "");
	return out;
}

/* It waited for the same thing all the time that it spent in the step. */
static void older_time(struct live_sum *to, const struct live_step *step,
		       const struct run_service *is)
{
	uint64_t step_ns = step->ended_ns - step->begun_ns;
	uint64_t ns = is->age_ns < step_ns ? is->age_ns : step_ns;

	to->ns += ns;
	to->service_ns += ns;
	to->time_ns[is->column] += ns;
}

static void older_row(struct live *l, enum live_by by, const char *name,
		      const struct run_service *is)
{
	struct live_row *r = live_table_row(l->last[by], name);

	if (!r)
		return;
	older_time(&r->sum, &l->step[1], is);
	r->in_service++;
	if (is->age_ns > r->oldest_ns)
		r->oldest_ns = is->age_ns;
	if (by == LIVE_SESSION)
		r->pid = is->pid;
}

void live_older(struct live *l, const struct run_service *is)
{
	struct live_step *step = &l->step[1];
	char host[LIVE_NAME_MAX], session[LIVE_NAME_MAX];

	older_time(&step->all, step, is);
	step->in_service++;
	step->active++;
	if (step->sessions < step->active)
		step->sessions = step->active;
	if (is->age_ns > step->oldest_ns)
		step->oldest_ns = is->age_ns;
	live_host(is->address, host, sizeof(host));
	snprintf(session, sizeof(session), "%s %s (%d)", *is->user ? is->user : "-",
		 *is->address ? is->address : "-", is->pid);
	older_row(l, LIVE_SESSION, session, is);
	older_row(l, LIVE_CLIENT, host, is);
	older_row(l, LIVE_USER, is->user, is);
	older_row(l, LIVE_COMMAND, RUN_SERVICE_EARLIER, is);
}

/* For a diagnosis */

static int note_session(struct run *r, struct live_known *k)
{
	struct run_session *to = run_session(r);
	const struct run_session *from = &k->label;

	if (!to)
		return -ENOMEM;
	to->pid = from->pid;
	to->user = from->user ? strdup(from->user) : NULL;
	to->address = from->address ? strdup(from->address) : NULL;
	to->begun_ns = from->begun_ns;
	live_since_noted(k, to);
	live_known_noted(k);
	return (from->user && !to->user) || (from->address && !to->address) ? -ENOMEM : 0;
}

static int note_sessions(struct live *l, struct run *r)
{
	struct run_session *to;
	int e = 0;

	for (size_t i = 0; i < WATCH_CONNECTIONS && !e; i++)
		if (l->known[i].id)
			e = note_session(r, &l->known[i]);
	while (l->n_gone && !e) {
		to = run_session(r);
		e = to ? 0 : -ENOMEM;
		if (to)
			*to = l->gone[--l->n_gone];
	}
	return e;
}

int live_note(struct live *l, struct run *r)
{
	struct run_phase *p = run_phase(r, 0, 1, "live");
	struct ledger now = { 0 };
	uint64_t at = clock_now_ns();
	int e = p ? watch_glance(l->w, &now) : -ENOMEM;

	watch_span(l->w); /* the shortest and longest of what follows are another diagnosis's */
	e = e ? e : ledger_diff(&p->ledger, &now, &l->noted);
	if (e) {
		ledger_fini(&now);
		return e;
	}
	p->start_ns = l->noted_ns;
	run_set(p, METRIC_ELAPSED, at - l->noted_ns);
	run_phase_from_ledger(p);
	run_phase_times(r, p);
	p->complete = r->complete = true;
	l->noted_ns = at;
	ledger_fini(&l->noted);
	l->noted = now;
	r->has_asking = watch_has_asking(l->w);
	e = watch_losses(l->w, r);
	return e ? e : note_sessions(l, r);
}
