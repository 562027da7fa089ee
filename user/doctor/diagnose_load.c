/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A diagnosis of a server by a run of our own clients. */
#include "doctor/diagnose.h"
#include "doctor/measure.h"

#include <stdlib.h>

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

/* Why figures of single clients are not known (doctor/clients.h): those without which nothing is.
 */
static void say_of_parts(struct run_figures *f)
{
	static const enum run_figure first[] = {
		RUN_FIGURE_TRIPS,  RUN_FIGURE_PAUSED, RUN_FIGURE_ACKS,
		RUN_FIGURE_LOST,   RUN_FIGURE_LINK,   RUN_FIGURE_UPLOAD,
		RUN_FIGURE_WINDOW, RUN_FIGURE_CHATTY, RUN_FIGURE_SESSION_RUN,
	};

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

/* Of a server of which only its processes are known. */
static int judge_watched(const struct diagnose *d, struct watch *w, bool whole, struct run *r)
{
	struct diagnose_own own;
	int e = diagnose_new_figures(r);

	if (!e && w)
		diagnose_look_tracers(w, 0, r);
	e = e ? e : doctor_measure(r->figures, r);
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
	if (!w || !found || !d->begun)
		return judge_watched(d, w, whole, r);
	if (!d->after.t_ns)
		e = diagnose_after(d, w, found);
	e = e ? e : diagnose_end(d, w, found, r);
	if (!e)
		hide_of_load(r->figures, found, whole);
	if (!e && r->n_phases != 1)
		say_of_parts(r->figures);
	return e;
}
