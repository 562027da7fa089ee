/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranks/offset.h"

void offset_add(struct offset *o, const struct offset_trip *t)
{
	uint64_t trip_ns;

	if (t->back_ns < t->sent_ns || t->left_ns < t->came_ns ||
	    t->back_ns - t->sent_ns < t->left_ns - t->came_ns)
		return;
	trip_ns = (t->back_ns - t->sent_ns) - (t->left_ns - t->came_ns);
	if (o->n++ && trip_ns >= o->trip_ns)
		return;
	o->trip_ns = trip_ns;
	/* unsigned differences wrap, their halves must not */
	o->ahead_ns = (int64_t)(t->came_ns - t->sent_ns) / 2 +
		      (int64_t)(t->left_ns - t->back_ns) / 2;
}

uint64_t offset_there(const struct offset *o, uint64_t here_ns)
{
	return here_ns + (uint64_t)o->ahead_ns;
}

uint64_t offset_between(const struct offset *a, const struct offset *b)
{
	return a->ahead_ns > b->ahead_ns ? (uint64_t)(a->ahead_ns - b->ahead_ns)
					 : (uint64_t)(b->ahead_ns - a->ahead_ns);
}
