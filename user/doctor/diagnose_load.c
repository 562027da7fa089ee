/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis of a server by a run of our own clients, and which exit code follows of one. */
#include "doctor/diagnose.h"
#include "doctor/figures/measure.h"
#include "doctor/judge.h"

#include <stdlib.h>
#include <string.h>

/* Its main process is the one that was found. */
static bool main_lives(const struct kind_found *found)
{
	struct procstat st;

	return found && found->servers.n && found->servers.entry[0].master &&
	       !procstat_read(&st, found->servers.entry[0].master) && procstat_lives(&st) &&
	       st.started == found->servers.entry[0].started;
}

/* What a run of our own clients does not show, though its ledger and sessions have numbers. */
static void hide_of_load(struct run_figures *f, const struct kind_found *found, bool whole)
{
	static const enum run_figure ends[] = { RUN_FIGURE_SERVER_ENDED,
						RUN_FIGURE_SERVER_RESTARTED };
	static const enum run_figure loads[] = { RUN_FIGURE_SHORT_LIVED };
	static const enum run_figure others[] = {
		RUN_FIGURE_REFUSED,       RUN_FIGURE_REFUSED_SHARE, RUN_FIGURE_CRASHED,
		RUN_FIGURE_CRASHED_SHARE, RUN_FIGURE_KILLED,        RUN_FIGURE_KILLED_SHARE,
		RUN_FIGURE_TOP_SESSION,   RUN_FIGURE_TOP_BUSY,      RUN_FIGURE_SESSIONS,
	};

	diagnose_hide(f, loads, sizeof(loads) / sizeof(loads[0]),
		      "a load ends its own sessions, and does not look for it");
	if (!main_lives(found))
		diagnose_hide(f, ends, sizeof(ends) / sizeof(ends[0]),
			      "a load does not look for it");
	if (!whole)
		diagnose_hide(f, others, sizeof(others) / sizeof(others[0]),
			      "only one session was watched");
}

/* As of the host's counter: of all its connections, and so of each. */
static void bound_lost(struct run_figures *f)
{
	if (f->known[RUN_FIGURE_LOST] || !f->known[RUN_FIGURE_RETRANS] ||
	    f->value[RUN_FIGURE_RETRANS] > 0)
		return;
	run_figure_set(f, RUN_FIGURE_LOST, 0);
	run_figure_set(f, RUN_FIGURE_LOST_N, 0);
	run_figure_set(f, RUN_FIGURE_WINDOW_LOST, 0);
}

/* What comes by the loopback interface passes none that has a speed. */
static void bound_link(struct run_figures *f, const struct run *r)
{
	for (size_t i = 0; i < r->n_sessions; i++) {
		const char *from = r->session[i].address;

		if (!from || (strncmp(from, "127.", 4) && strncmp(from, "[::1]", 5) &&
			      strncmp(from, "[::ffff:127.", 12)))
			return;
	}
	if (!r->n_sessions || r->n_rest || f->known[RUN_FIGURE_LINK_USED])
		return;
	run_figure_set(f, RUN_FIGURE_LINK_USED, 0);
	run_figure_who(f, RUN_FIGURE_LINK_USED, "lo");
}

/* Why figures of single clients are not known (doctor/clients.h): those without which nothing is.
 */
static void say_of_parts(struct run_figures *f)
{
	static const enum run_figure first[] = {
		RUN_FIGURE_TRIPS,  RUN_FIGURE_PAUSED, RUN_FIGURE_ACKS,
		RUN_FIGURE_LOST,   RUN_FIGURE_LINK,   RUN_FIGURE_UPLOAD,
		RUN_FIGURE_WINDOW, RUN_FIGURE_CHATTY, RUN_FIGURE_SESSION_RUN,
	};

	bound_lost(f);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (!f->known[first[i]])
			diagnose_hide(
			    f, &first[i], 1,
			    "of a load of several parts single clients are not looked at");
}

void diagnose_machine_begin(struct diagnose *d, const struct watch *w)
{
	if (!d->before.t_ns)
		machine_look(&d->before, watch_process(w, AFS_ROLE_SERVER, &(size_t) { 0 }));
}

void diagnose_machine_after(struct diagnose *d, const struct watch *w)
{
	machine_fini(&d->after);
	machine_look(&d->after, watch_process(w, AFS_ROLE_SERVER, &(size_t) { 0 }));
}

/* What was in the way; where nothing was, the user's own wish. */
static void say_unwatched(const struct watch *w, struct run *r)
{
	const char *why = run_note_find(&r->absent, "*");

	if (!why && w)
		return;
	run_figure_set(r->figures, RUN_FIGURE_UNWATCHED, 1);
	run_figure_who(r->figures, RUN_FIGURE_UNWATCHED, "%s", why ? why : "--watch=off");
}

/* Of a server of which only its processes are known. */
static int judge_watched(const struct diagnose *d, struct watch *w, bool whole, struct run *r)
{
	struct diagnose_own own;
	int e = diagnose_new_figures(r);

	if (!e && w)
		diagnose_look_tracers(w, 0, r);
	e = e ? e : doctor_measure(r->figures, r);
	if (!e)
		say_unwatched(w, r);
	if (!e)
		diagnose_look_passed_on(w, r);
	if (!e && r->about != RUN_ABOUT_CALLS)
		hide_of_load(r->figures, NULL, whole);
	if (!e && w && d->before.t_ns && d->after.t_ns) {
		e = diagnose_own(&own, w);
		e = e ? e : diagnose_machine(&d->before, &d->after, &own, NULL, 0, r);
		free(own.pid);
	}
	return e;
}

int diagnose_load(struct diagnose *d, struct watch *w, const struct kind_found *found, bool whole,
		  struct run *r)
{
	bool served = w || run_note_find(&r->server, "host") || r->about == RUN_ABOUT_CALLS;
	int e = 0;

	if (!served)
		return 0;
	if (!w || !found || !d->begun) {
		e = judge_watched(d, w, whole, r);
		if (!e)
			bound_link(r->figures, r);
		return e;
	}
	if (!d->after.t_ns)
		e = diagnose_after(d, w, found);
	e = e ? e : diagnose_end(d, w, found, r);
	if (!e)
		hide_of_load(r->figures, found, whole);
	if (!e)
		bound_link(r->figures, r);
	if (!e && r->n_phases != 1)
		say_of_parts(r->figures);
	return e;
}

enum outcome diagnose_outcome(const struct run_figures *f)
{
	static const enum outcome outcomes[] = {
		[DOCTOR_FOUND] = OUTCOME_FAILED,      [DOCTOR_SLOW] = OUTCOME_FAILED,
		[DOCTOR_HEALTHY] = OUTCOME_OK,        [DOCTOR_IDLE] = OUTCOME_OK,
		[DOCTOR_TOO_FEW] = OUTCOME_UNTRUSTED, [DOCTOR_LOST] = OUTCOME_UNTRUSTED,
		[DOCTOR_UNSEEN] = OUTCOME_UNTRUSTED,  [DOCTOR_PARTLY] = OUTCOME_UNTRUSTED,
	};
	enum outcome o = OUTCOME_FAILED;
	struct diagnosis d;

	if (!doctor_judge(&d, f)) {
		o = outcomes[d.verdict];
		diagnosis_fini(&d);
	}
	return o;
}
