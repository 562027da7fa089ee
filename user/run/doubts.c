/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/doubts.h"

#include <stdio.h>

const char *run_doubt_name(enum run_doubt which)
{
	static const char *const names[] = {
		[RUN_DOUBT_DROPPED] = "dropped", [RUN_DOUBT_FAILED] = "failed",
		[RUN_DOUBT_MISSING] = "missing", [RUN_DOUBT_LOST] = "lost",
		[RUN_DOUBT_STARVED] = "starved", [RUN_DOUBT_SATURATED] = "saturated",
		[RUN_DOUBT_PAUSED] = "paused",
	};

	return names[which];
}

static uint64_t run_doubts_missing(const struct run_load *l)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < l->n_clients; i++)
		n += !l->client[i].opened && !l->client[i].lost;
	return n;
}

/* "3 of 100 actions failed" */
static bool run_doubts_put(char text[RUN_DOUBT_LEN], uint64_t n, uint64_t of, const char *what)
{
	snprintf(text, RUN_DOUBT_LEN, "%llu of %llu %s", (unsigned long long)n,
		 (unsigned long long)of, what);
	return n;
}

static bool run_doubts_saturated(const struct run_load *l, char text[RUN_DOUBT_LEN])
{
	snprintf(text, RUN_DOUBT_LEN,
		 "a thread of the load generator ran, or waited for a CPU, %.0f%% of the time",
		 run_load_busiest(l) * 100);
	if (run_load_saturated(l))
		return true;
	snprintf(text, RUN_DOUBT_LEN,
		 "a thread of the load generator ran, or waited for a CPU, %.0f%% of a second",
		 (double)l->busy_second_ns / 1e7);
	return run_load_saturated_once(l);
}

/* The probe gets another one. */
static bool run_doubts_lost(const struct run_load *l, char text[RUN_DOUBT_LEN])
{
	if (!l->n_gaps)
		return run_doubts_put(text, l->n_lost, l->n_clients, "sessions were lost");
	snprintf(text, RUN_DOUBT_LEN, "there was no session for %.1f s", (double)l->gaps_ns / 1e9);
	return true;
}

static bool run_doubts_paused(const struct run_load *l, char text[RUN_DOUBT_LEN])
{
	snprintf(text, RUN_DOUBT_LEN, "the load generator did not run for %.1f s",
		 (double)l->paused_ns / 1e9);
	return l->n_pauses;
}

static bool run_doubts_has(const struct run_load *l, enum run_doubt which, char text[RUN_DOUBT_LEN])
{
	struct run_action all;

	switch (which) {
	case RUN_DOUBT_DROPPED:
		return run_doubts_put(text, l->n_no_room, l->n_arrivals, "actions were dropped");
	case RUN_DOUBT_FAILED:
		run_load_all(l, &all);
		return run_doubts_put(text, all.failed, all.n, "actions failed");
	case RUN_DOUBT_MISSING:
		return run_doubts_put(text, run_doubts_missing(l), l->n_clients,
				      "clients had no session");
	case RUN_DOUBT_LOST:
		return run_doubts_lost(l, text);
	case RUN_DOUBT_STARVED:
		return run_doubts_put(text, l->starved, l->n_clients,
				      "clients completed no action");
	case RUN_DOUBT_SATURATED:
		return run_doubts_saturated(l, text);
	default:
		return run_doubts_paused(l, text);
	}
}

bool run_load_doubt(const struct run_load *l, enum run_doubt which, char text[RUN_DOUBT_LEN])
{
	bool has = run_doubts_has(l, which, text);

	if (!has)
		*text = '\0';
	return has;
}
