/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/timers.h"

static void timers_put(struct timers *t, size_t at, struct timer *x)
{
	t->heap[at] = x;
	x->at = at;
}

static void up(struct timers *t, size_t at, struct timer *x)
{
	for (; at > 1 && t->heap[at / 2]->due_ns > x->due_ns; at /= 2)
		timers_put(t, at, t->heap[at / 2]);
	timers_put(t, at, x);
}

static void down(struct timers *t, size_t at, struct timer *x)
{
	size_t next;

	for (; (next = 2 * at) <= t->n; at = next) {
		if (next < t->n && t->heap[next + 1]->due_ns < t->heap[next]->due_ns)
			next++;
		if (t->heap[next]->due_ns >= x->due_ns)
			break;
		timers_put(t, at, t->heap[next]);
	}
	timers_put(t, at, x);
}

void timers_sooner(struct timers *t, struct timer *x, uint64_t due_ns)
{
	if (x->at && x->due_ns <= due_ns)
		return;
	x->due_ns = due_ns;
	up(t, x->at ? x->at : ++t->n, x);
}

void timers_remove(struct timers *t, struct timer *x)
{
	size_t at = x->at;
	struct timer *last;

	if (!at)
		return;
	x->at = 0;
	last = t->heap[t->n--];
	if (last == x)
		return;
	if (at > 1 && t->heap[at / 2]->due_ns > last->due_ns)
		up(t, at, last);
	else
		down(t, at, last);
}
