/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/screen/screen.h"

/* Of such a time each client of a closed loop has one latency. */
void screen_silence(const struct paint *p, const char *of, const char *what,
		    const struct run_load *l)
{
	struct screen_text t = { 0 };
	struct run_silence s;

	if (!run_load_silence(l, &s))
		return;
	screen_add(&t, "%s%s %s ended for at least %.0f s, from second %.0f on", of ? of : "",
		   of ? ": no" : "No", what, (double)s.ns / 1e9, (double)s.from_ns / 1e9);
	if (s.n_clients)
		screen_add(&t, "; %u of %u client%s had one that took so long", s.n_clients,
			   l->n_clients, l->n_clients == 1 ? "" : "s");
	if (s.n_ranks < l->n_ranks)
		screen_add(&t, " (of %u of %zu ranks: what the others did is not known)", s.n_ranks,
			   l->n_ranks);
	if (l->rate_per_s <= 0)
		screen_add(&t, ". p99 hides it: clients that wait send nothing%s",
			   of ? "" : "; with --rate all actions that were due count");
	screen_put(p, INK_RED, t.text, 3);
}
