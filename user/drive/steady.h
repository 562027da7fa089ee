/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_STEADY_H
#define DRIVE_STEADY_H

/*
 * When a load has become steady: the straight line through its rate in the last 10 seconds rises or
 * falls by at most 5 % of the mean in that time, or by no more than its standard error.
 */

#include <stdbool.h>
#include <stdint.h>

#define STEADY_SECONDS 10
#define STEADY_CHANGE  0.05

struct steady {
	uint64_t from_ns, until_ns, next_ns; /* until_ns 0: it is not waited for */
	uint64_t found_ns;                   /* 0: not yet */
	uint64_t before;                     /* actions at the last second's end */
	unsigned int n;                      /* seconds that are known */
	double rate[STEADY_SECONDS];         /* actions in each of the last; a ring */
	double change; /* of the line in 10 s, relative to the mean; 0: not known yet */
};

/* Looks from from_ns (the ramp's end) on, for at most most_ns; 0: never. */
void steady_begin(struct steady *s, uint64_t from_ns, uint64_t most_ns);

/* done: actions that have ended until now. true, once: it has become steady. */
bool steady_tick(struct steady *s, uint64_t now_ns, uint64_t done);

#endif
