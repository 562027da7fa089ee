/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded: the wall clock goes on by ten years each time it is read, as if somebody set it
 * all the time. gcc -shared -fPIC -o clockstep.so clockstep.c
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP_S (10 * 365 * 86400L)

int clock_gettime(clockid_t clock, struct timespec *out)
{
	static long steps;
	int r = (int)syscall(SYS_clock_gettime, clock, out);

	if (!r && clock == CLOCK_REALTIME)
		out->tv_sec += __atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED) % 100 * STEP_S;
	return r;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
