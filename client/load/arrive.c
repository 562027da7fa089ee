/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open loop: what is due, and which client begins it. */
#include "load/actions.h"
#include "load/pause.h"
#include "load/tally.h"

/* Arrivals before the clients get their turn. */
#define ARRIVALS_TURN 256

/* The client that has been free for longest; NULL: none. Those that were lost since then are not.
 */
static struct actor *take_idle(struct worker *w)
{
	struct actor *a;

	do {
		a = w->idle;
		if (!a)
			return NULL;
		w->idle = a->next;
		if (!w->idle)
			w->idle_tail = &w->idle;
	} while (!a->idle);
	return a;
}

/* The client that has been free for longest begins it. */
static void begin_arrival(struct worker *w, const struct arrival *x)
{
	struct actor *a = take_idle(w);

	a->idle = a->queued = false;
	a->arrival = *x;
	a->next_ns = x->due_ns;
	actions_go_on(w, a);
}

/* Looks at the next arrival, which is due. */
static void arrive(struct worker *w, uint64_t due_ns, uint64_t now_ns)
{
	struct arrival x = { .due_ns = due_ns,
			     .measured = tally_measures(w, due_ns),
			     .late = now_ns - due_ns > TALLY_LATE_NS,
			     .held = pause_within_ns(w, due_ns, now_ns) != 0 };
	enum arrival_way way = arrivals_come(w->arrivals, w, &x);

	w->later = way == ARRIVAL_LATER;
	if (w->later)
		return;
	pace_next(&w->pace);
	tally_late(w, due_ns, now_ns);
	tally_arrival(w, &x, way == ARRIVAL_WAITS || way == ARRIVAL_DROPPED);
	if (way == ARRIVAL_BEGINS)
		begin_arrival(w, &x);
	else if (way == ARRIVAL_DROPPED)
		tally_dropped(w, &x);
}

void actors_arrive(struct worker *w, uint64_t now_ns)
{
	unsigned int turn = ARRIVALS_TURN;
	struct arrival x;
	uint64_t due_ns;

	if (!tally_open_loop(w))
		return;
	w->later = false;
	for (; turn && !w->later; turn--) {
		due_ns = pace_due_ns(&w->pace);
		if (due_ns > now_ns || due_ns >= w->end_ns)
			break;
		arrive(w, due_ns, now_ns);
	}
	while (now_ns < w->end_ns && arrivals_take(w->arrivals, w, &x))
		begin_arrival(w, &x);
	if (arrivals_is_held(w->arrivals, w) && pace_due_ns(&w->pace) > now_ns)
		arrivals_hold(w->arrivals, w, false);
}
