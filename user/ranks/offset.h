/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RANKS_OFFSET_H
#define RANKS_OFFSET_H

/*
 * How far the clock (CLOCK_MONOTONIC) of another host is ahead of ours, from round trips: the
 * shortest one counts, because delays by others only make them longer. The error is at most half of
 * it, and that only if one way took all of the time.
 */

#include <stdbool.h>
#include <stdint.h>

struct offset {
	unsigned int n;   /* round trips; 0: nothing is known */
	int64_t ahead_ns; /* the other's clock less ours */
	uint64_t trip_ns; /* the shortest round trip, without the other's own time */
};

/* One round trip: sent and back by our clock, came and left by the other's. */
struct offset_trip {
	uint64_t sent_ns, came_ns, left_ns, back_ns;
};

/* Ignores one whose times make no sense. */
void offset_add(struct offset *o, const struct offset_trip *t);

/* A moment of ours by the other's clock. */
uint64_t offset_there(const struct offset *o, uint64_t here_ns);

/* How far apart two measurements of one clock are. */
uint64_t offset_between(const struct offset *a, const struct offset *b);

#endif
