/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns: the base of every time in a run, the kernel's records included. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The wall clock in ns. */
static inline int64_t clock_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The wall clock minus clock_now_ns(). */
static inline int64_t clock_wall_offset_ns(void)
{
	return clock_wall_ns() - (int64_t)clock_now_ns();
}

/* A wall time, in UTC, as "2026-11-21T17:22:05.123456789Z"; "" for one that no calendar has. */
#define CLOCK_WALL_MAX 48
void clock_wall_text(char out[CLOCK_WALL_MAX], int64_t wall_ns);

/* 0, or an error's number: a signal came before. */
static inline int clock_sleep_until(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

#endif
