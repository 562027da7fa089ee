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

void diagnose_look_stops(const struct diagnose *d, const struct watch *w, struct run_figures *out)
{
	static const enum run_figure which[] = {
		[AFS_ROLE_SERVER] = RUN_FIGURE_STOPS, [AFS_ROLE_BACKEND] = RUN_FIGURE_CNID_STOPS
	};

	for (unsigned int role = AFS_ROLE_SERVER; role <= AFS_ROLE_BACKEND; role++) {
		struct watch_stops now = watch_stops(w, role);
		char name[32] = "process", when[RUN_FIGURE_WHO];
		uint64_t n = now.n - d->stops[role];

		if (now.n <= d->stops[role])
			continue;
		run_figure_set(out, which[role], (double)n);
		procfs_thread_name(name, sizeof(name), now.last, now.last);
		pauses_say(when, sizeof(when), &now, n, d->begun_ns);
		run_figure_who(out, which[role], "last %s (pid %d): %s", name, now.last, when);
	}
}
