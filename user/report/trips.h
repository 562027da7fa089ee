/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_TRIPS_H
#define REPORT_TRIPS_H

/* Round trips of what users do (run/load.h), for every kind of output. */

#include "report/view.h"

/* An action of a load or its probe, a test, or a transfer; per action, on average. */
struct trips_row {
	char name[96];
	uint64_t n; /* how many there were */
	double requests, trips, took_ns;
	double least;               /* round trips that would do; less than 0: cannot be told */
	double rtt_ns;              /* that was measured; 0: not known */
	bool fills;                 /* run_trips_fill() */
	bool is_action;             /* of a load's clients */
	const struct run_trips *of; /* NULL: of a test or transfer */
};

/* All of a run, in their order. */
void trips_each(const struct view *v, void (*take)(void *user, const struct trips_row *row),
		void *user);

/* Round-trip times that were asked for (--rtt). */
void trips_asked(const struct run *r, struct run_rtts *out);

/*
 * What is seen of a session of somebody else's client: requests, and which of them came when the
 * server had none of its. A burst is a row of requests with less than TRIPS_REST_NS from a reply to
 * the next request.
 */
#define TRIPS_REST_NS 1000000000u

struct trips_session {
	uint64_t requests;
	uint64_t trips; /* requests that came when none was in the server, as far as seen */
	uint64_t bursts;
};

/* false: of such a session it cannot be told. */
bool trips_of_session(const struct run_session *s, struct trips_session *out);

#endif
