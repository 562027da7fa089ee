/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Round trips of the actions of a load, in a line, and whether they are most of the time. */
#include "report/screen/screen.h"
#include "report/trips.h"

#define EXAMPLE 20e6 /* ns: of the round-trip times asked about, the longest up to this */
#define MOST    0.5  /* share of the actions' time */
#define LEAST   2e5  /* ns: what is shorter is this machine, or a switch */

struct screen_trips_lines {
	double at_ns;
	struct screen_text counts, at;
	double trips_ns, all_ns, most; /* round trips of all actions, all their time; a share */
	char most_name[64];
	bool probe; /* that is what it is about */
};

static const char *screen_trips_number(double v, char out[static 24])
{
	snprintf(out, 24, "%.*f", v == (double)(uint64_t)v ? 0 : 1, v);
	return out;
}

static void screen_trips_add(void *user, const struct trips_row *row)
{
	struct screen_trips_lines *t = user;
	char trips[24];
	double share;

	if (row->is_action == t->probe)
		return;
	screen_add(&t->counts, "%s%s %s", *t->counts.text ? ", " : "", row->name,
		   screen_trips_number(row->trips, trips));
	if (row->rtt_ns <= 0)
		return;
	screen_add(&t->at, "%s%s %s%s", *t->at.text ? ", " : "", row->name, row->fills ? ">=" : "",
		   screen_time(run_trips_at(row->took_ns, row->trips, row->rtt_ns, t->at_ns)).text);
	share = run_trips_share(row->took_ns, row->trips, row->rtt_ns);
	t->trips_ns += (double)row->n * row->took_ns * share;
	t->all_ns += (double)row->n * row->took_ns;
	if (share <= t->most)
		return;
	t->most = share;
	snprintf(t->most_name, sizeof(t->most_name), "%.63s", row->name);
}

static double screen_trips_example(const struct run *r)
{
	struct run_rtts asked;
	double best;

	trips_asked(r, &asked);
	best = asked.ns[0];
	for (size_t i = 1; i < asked.n; i++)
		if (asked.ns[i] <= EXAMPLE || best > EXAMPLE)
			best = asked.ns[i];
	return best;
}

/* "Round trips (25us each here): look 1, save 12; at 20.0ms: look 20.1ms, save 249ms" */
void screen_trips(const struct paint *p, const struct run_phase *phase)
{
	const struct run_load *l = phase->load ? phase->load : phase->probe;
	struct screen_trips_lines t = { .at_ns = screen_trips_example(p->view.run),
					.probe = !phase->load };
	struct screen_text all = { 0 };
	double rtt_ns = run_load_rtt(l);
	bool likely;

	trips_each(&p->view, screen_trips_add, &t);
	if (!*t.counts.text)
		return;
	screen_add(&all, "Round trips of an action");
	if (rtt_ns > 0)
		screen_add(&all, " (%s each here)", screen_time(rtt_ns).text);
	screen_add(&all, ": %s", t.counts.text);
	if (*t.at.text)
		screen_add(&all, "; at %s: %s", screen_time(t.at_ns).text, t.at.text);
	likely = rtt_ns >= LEAST && t.trips_ns > MOST * t.all_ns;
	screen_put(p, INK_NONE, all.text, likely ? 1 : 2);
	if (!likely)
		return;
	all = (struct screen_text) { 0 };
	screen_add(&all,
		   "Likely limited by the network's round trips: %s of the time of all actions, "
		   "%s of %s",
		   screen_percent(t.trips_ns, t.all_ns).text, screen_percent(t.most, 1).text,
		   t.most_name);
	screen_put(p, INK_NONE, all.text, 1);
}
