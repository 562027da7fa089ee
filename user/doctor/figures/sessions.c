/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that is full turns clients away: netatalk 4.5 with an answer, which the watch counts; up
 * to 4.2 a process serves the client for a moment, until its parent kills it.
 */
#include "doctor/figures/sessions.h"

#define SHORT_LIVED_NS 10000000000u
#define NS_PER_S       1e9
#define UNACCEPTED_NS  0.9e9 /* from one look to the next */

void doctor_session_who(struct run_figures *out, enum run_figure which, const struct run_session *s)
{
	run_figure_who(out, which, "%s from %s (pid %d)", s->user ? s->user : "nobody",
		       s->address ? s->address : "an unknown address", s->pid);
}

static bool is_brief(const struct run_session *s)
{
	return s->begun_ns && s->ended_ns && s->ended_ns - s->begun_ns <= SHORT_LIVED_NS;
}

/* Whether it came when as many sessions as there may be were there, all of which lasted. */
static bool is_turned_away(const struct run *r, const struct run_session *s)
{
	uint64_t there = 0;

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *o = &r->session[i];

		there += !is_brief(o) && o->begun_ns <= s->begun_ns &&
			 (!o->ended_ns || o->ended_ns > s->begun_ns);
	}
	return r->limit.sessions && there >= r->limit.sessions;
}

/* That nobody was refused is known where a refusal is an answer, or the limit is known. */
static void put_refused(struct run_figures *out, const struct run *r, double refused)
{
	if (!(refused > 0) && !r->limit.sessions && !r->limit.tells) {
		if (r->limit.changed)
			run_figure_who(
			    out, RUN_FIGURE_REFUSED,
			    "the configuration may have been changed after the server began");
		else
			run_figure_who(out, RUN_FIGURE_REFUSED,
				       "how many sessions the server may have is not known");
		return;
	}
	run_figure_set(out, RUN_FIGURE_REFUSED, refused);
	run_figure_share(out, RUN_FIGURE_REFUSED_SHARE, refused,
			 refused + (double)(r->n_sessions + r->n_rest));
}

static void look_brief(struct run_figures *out, const struct run *r, double ns)
{
	double brief = 0, refused = (double)r->refused;

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i];

		if (!is_brief(s))
			continue;
		if (is_turned_away(r, s)) {
			refused++;
			continue;
		}
		/* Who has not logged in was refused, or has said nothing. */
		if (!s->user)
			continue;
		brief++;
		run_figure_who(out, RUN_FIGURE_SHORT_LIVED, "%s from %s",
			       s->user ? s->user : "nobody", s->address ? s->address : "?");
	}
	run_figure_share(out, RUN_FIGURE_SHORT_LIVED, brief * NS_PER_S, ns);
	put_refused(out, r, refused);
	if (r->limit.sessions)
		run_figure_set(out, RUN_FIGURE_LIMIT, (double)r->limit.sessions);
}

/* Whether a session has begun since then: the server accepts connections, if slowly. */
static bool accepts_since(const struct run *r, uint64_t ns)
{
	for (size_t i = 0; i < r->n_sessions; i++)
		if (r->session[i].begun_ns > ns)
			return true;
	return false;
}

static void doctor_sessions_look_unaccepted(struct run_figures *out, const struct run *r, double ns)
{
	const struct run_unaccepted *u = &r->unaccepted;
	double end_ns = r->n_phases ? (double)r->phase[0]->start_ns + ns : 0, for_ns;
	double sessions = (double)(r->n_sessions + r->n_rest), n = 0;

	if (!u->known)
		return;
	for_ns = u->since_ns ? end_ns - (double)u->since_ns : 0;
	if (for_ns >= UNACCEPTED_NS && !accepts_since(r, u->since_ns))
		n = (double)u->n;
	run_figure_set(out, RUN_FIGURE_UNACCEPTED, n);
	run_figure_share(out, RUN_FIGURE_UNACCEPTED_SHARE, n, n + sessions);
	if (n > 0)
		run_figure_set(out, RUN_FIGURE_UNACCEPTED_FOR, for_ns);
}

static void look_denied(struct run_figures *out, const struct run *r)
{
	const struct run_session *most = NULL;

	for (size_t i = 0; i < r->n_sessions; i++)
		if (r->session[i].denied > (most ? most->denied : 0))
			most = &r->session[i];
	if (most)
		doctor_session_who(out, RUN_FIGURE_DENIED_SHARE, most);
}

static void look_busy(struct run_figures *out, const struct run *r, double ns)
{
	double busy = (double)r->rest.busy_ns, used = (double)r->n_rest;
	const struct run_session *top = NULL;

	for (size_t i = 0; i < r->n_sessions; i++) {
		const struct run_session *s = &r->session[i];

		used += s->requests > 0;
		busy += (double)s->busy_ns;
		if (!top || s->busy_ns > top->busy_ns)
			top = s;
	}
	run_figure_set(out, RUN_FIGURE_SESSIONS, used);
	if (!top)
		return;
	run_figure_share(out, RUN_FIGURE_TOP_SESSION, (double)top->busy_ns, busy);
	run_figure_share(out, RUN_FIGURE_TOP_BUSY, (double)top->busy_ns, ns);
	run_figure_who(out, RUN_FIGURE_TOP_SESSION, "%s (pid %d)", top->user ? top->user : "nobody",
		       top->pid);
}

void doctor_sessions(struct run_figures *out, const struct run *r, double ns)
{
	look_busy(out, r, ns);
	look_brief(out, r, ns);
	look_denied(out, r);
	doctor_sessions_look_unaccepted(out, r, ns);
}
