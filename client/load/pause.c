/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/pause.h"

#include "base/clock.h"

void pause_note(struct worker *w, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	w->pause_from_ns = from_ns;
	w->pause_to_ns = to_ns;
	w->pause_ns = ns;
	if (!w->load || w->job->what != ENGINE_WORK)
		return;
	arrivals_hold(w->arrivals, w, true);
	w->load->n_pauses++;
	w->load->paused_ns += ns;
	w->load->paused_measured_ns += pause_within_ns(w, w->measure_ns, w->end_ns);
	if (ns > w->load->longest_pause_ns)
		w->load->longest_pause_ns = ns;
}

uint64_t pause_now(struct worker *w)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns > w->alive_ns + PAUSE_LEAST_NS)
		pause_note(w, w->alive_ns, now_ns, now_ns - w->alive_ns);
	w->alive_ns = now_ns;
	return now_ns;
}

void pause_called(struct worker *w, uint64_t now_ns)
{
	const uint64_t begun_ns = w->alive_ns;
	uint64_t from_ns, to_ns;

	if (now_ns < begun_ns)
		return;
	w->alive_ns = now_ns;
	if (now_ns < begun_ns + PAUSE_LEAST_NS ||
	    !pulse_missed(w->pulse, begun_ns, now_ns, &from_ns, &to_ns) ||
	    to_ns - from_ns < PAUSE_LEAST_NS)
		return;
	pause_note(w, from_ns, to_ns, to_ns - from_ns - PULSE_NS);
}

uint64_t pause_within_ns(const struct worker *w, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from_ns = begin_ns > w->pause_from_ns ? begin_ns : w->pause_from_ns;
	uint64_t to_ns = end_ns < w->pause_to_ns ? end_ns : w->pause_to_ns;

	if (from_ns >= to_ns)
		return 0;
	return to_ns - from_ns < w->pause_ns ? to_ns - from_ns : w->pause_ns;
}
