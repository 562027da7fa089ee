/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FAKE_STATION_H
#define FAKE_STATION_H

/*
 * A queueing station whose answers are known in advance: one queue, first come first served, and
 * any number of workers, computed in virtual time. An arrival is told at once when its answer is
 * due, and nothing that the program itself does late changes that.
 */

#include <stdbool.h>
#include <stdint.h>

struct station_opts {
	unsigned int workers; /* 0: as many as there are requests */
	double service_ns;    /* mean */
	bool fixed;           /* each takes the mean; else exponential */
	uint64_t seed;
	uint64_t stall_ns, every_ns; /* no answers for stall_ns, every every_ns; 0: always */
};

struct station {
	struct station_opts o;
	uint64_t begin_ns; /* the first stall ends one period later */
	uint64_t *free_ns; /* a worker each: when it is free, the earliest first: a heap */
	unsigned short random[3];
	uint64_t n;
	double sum_ns; /* of service times */
};

/* Aborts without memory. */
void station_init(struct station *s, const struct station_opts *o, uint64_t now_ns);
void station_fini(struct station *s);

/* One that arrives now: when its answer is due, and the work that it is. */
uint64_t station_arrive(struct station *s, uint64_t now_ns, uint64_t *service_ns);

#endif
