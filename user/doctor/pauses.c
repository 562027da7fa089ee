/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of the server that were paused: how often, when, and for how long. */
#include "doctor/diagnose.h"
#include "host/proc/procfs.h"
#include "report/cell.h"
#include "watch/watch.h"

#include <stdio.h>

#define NS_PER_S 1e9

void pauses_say(char *out, size_t len, const struct watch_stops *s, uint64_t n, uint64_t begun_ns)
{
	size_t told = n < s->n_kept ? n : s->n_kept, at = 0;

	*out = '\0';
	for (size_t i = s->n_kept - told; i < s->n_kept && at < len; i++) {
		const struct watch_stop *is = &s->kept[i];
		uint64_t from = is->from_ns > begun_ns ? is->from_ns : begun_ns;
		uint64_t ns = is->to_ns > from ? is->to_ns - from : 0;
		double when = (double)(from - begun_ns) / NS_PER_S;

		if (at)
			at += (size_t)snprintf(out + at, len - at, ", for %s at %.1fs",
					       cell_time((double)ns).text, when);
		else if (told < n)
			at += (size_t)snprintf(out, len,
					       "the last ones for %s at %.1fs of the watch",
					       cell_time((double)ns).text, when);
		else
			at += (size_t)snprintf(out, len, "for %s at %.1fs of the watch",
					       cell_time((double)ns).text, when);
	}
}

/* Of how many processes the last n of those that are kept are. */
static size_t pauses_processes(const struct watch_stops *s, uint64_t n)
{
	size_t first = s->n_kept - (n < s->n_kept ? n : s->n_kept), of = 0, k;

	for (size_t i = first; i < s->n_kept; i++) {
		for (k = first; k < i && s->kept[k].pid != s->kept[i].pid; k++)
			;
		of += k == i;
	}
	return of;
}

void pauses_who(struct run_figures *out, enum run_figure which, const struct watch_stops *s,
		uint64_t n, uint64_t begun_ns)
{
	pid_t last = s->n_kept ? s->kept[s->n_kept - 1].pid : 0;
	char name[32] = "process", when[RUN_FIGURE_WHO];
	size_t of = pauses_processes(s, n);

	procfs_thread_name(name, sizeof(name), last, last);
	pauses_say(when, sizeof(when), s, n, begun_ns);
	if (n > s->n_kept && of < 2)
		run_figure_who(out, which, "the last %zu pauses all of %s (pid %d): %s", s->n_kept,
			       name, last, when);
	else if (n > s->n_kept)
		run_figure_who(out, which, "last %s (pid %d), in %zu or more processes: %s", name,
			       last, of, when);
	else if (of > 1)
		run_figure_who(out, which, "last %s (pid %d), in %zu processes: %s", name, last, of,
			       when);
	else
		run_figure_who(out, which, "last %s (pid %d): %s", name, last, when);
}

void diagnose_look_stops(const struct diagnose *d, const struct watch *w, struct run_figures *out)
{
	static const enum run_figure which[] = {
		[AFS_ROLE_SERVER] = RUN_FIGURE_STOPS, [AFS_ROLE_BACKEND] = RUN_FIGURE_CNID_STOPS
	};

	for (unsigned int role = AFS_ROLE_SERVER; role <= AFS_ROLE_BACKEND; role++) {
		struct watch_stops now = watch_stops(w, role);
		uint64_t n = now.n - d->stops[role];

		if (now.n <= d->stops[role])
			continue;
		run_figure_set(out, which[role], (double)n);
		pauses_who(out, which[role], &now, n, d->begun_ns);
	}
}
