/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake/station.h"

#include <math.h>
#include <stdlib.h>

void station_init(struct station *s, const struct station_opts *o, uint64_t now_ns)
{
	*s = (struct station) { .o = *o, .begin_ns = now_ns };
	s->random[0] = 0x330e; /* as srand48() */
	s->random[1] = (unsigned short)o->seed;
	s->random[2] = (unsigned short)(o->seed >> 16);
	s->free_ns = calloc(o->workers + 1u, sizeof(*s->free_ns));
	if (!s->free_ns)
		abort();
}

void station_fini(struct station *s)
{
	free(s->free_ns);
}

static uint64_t draw(struct station *s)
{
	double x = s->o.service_ns;

	if (!s->o.fixed)
		x *= -log1p(-erand48(s->random));
	return (uint64_t)llround(x);
}

/* The worker at the heap's top is free at ns from now on. */
static void sink(struct station *s, uint64_t ns)
{
	uint64_t *heap = s->free_ns;
	unsigned int at = 0, next;

	for (; (next = 2 * at + 1) < s->o.workers; at = next) {
		next += next + 1 < s->o.workers && heap[next + 1] < heap[next];
		if (heap[next] >= ns)
			break;
		heap[at] = heap[next];
	}
	heap[at] = ns;
}

/* The last stall_ns of each period are a stall: what is due in it comes at its end. */
static uint64_t after_stall(const struct station *s, uint64_t due_ns)
{
	uint64_t in_period;

	if (!s->o.every_ns)
		return due_ns;
	in_period = (due_ns - s->begin_ns) % s->o.every_ns;
	if (in_period < s->o.every_ns - s->o.stall_ns)
		return due_ns;
	return due_ns + s->o.every_ns - in_period;
}

uint64_t station_arrive(struct station *s, uint64_t now_ns, uint64_t *service_ns)
{
	uint64_t start_ns = now_ns, due_ns;

	*service_ns = draw(s);
	s->n++;
	s->sum_ns += (double)*service_ns;
	if (s->o.workers && s->free_ns[0] > now_ns)
		start_ns = s->free_ns[0];
	due_ns = start_ns + *service_ns;
	if (s->o.workers)
		sink(s, due_ns);
	return after_stall(s, due_ns);
}
