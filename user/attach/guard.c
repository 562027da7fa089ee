/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach/guard.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NS_PER_S 1000000000u

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_usec * 1000;
}

uint64_t guard_own_ns(void)
{
	struct rusage ended;
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	getrusage(RUSAGE_CHILDREN, &ended);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec + timeval_ns(&ended.ru_utime) +
	       timeval_ns(&ended.ru_stime);
}

/* Of this process, the others and, where it is known, of the programs in the kernel. */
static uint64_t used_ns(struct guard *g, struct watch *w)
{
	uint64_t programs = 0;

	g->knows_programs = watch_price(w, &programs);
	return guard_own_ns() + g->others_ns + (g->knows_programs ? programs : 0);
}

void guard_begin(struct guard *g, double most, struct watch *w)
{
	*g = (struct guard) { .most = most, .others_ns = g->others_ns, .t_ns = clock_now_ns() };
	g->used_ns = used_ns(g, w);
}

bool guard_judge(struct guard *g, uint64_t now_ns, uint64_t used)
{
	uint64_t ns = now_ns - g->t_ns;

	if (!(g->most > 0) || ns < GUARD_WINDOW_NS)
		return false;
	g->share = used > g->used_ns ? (double)(used - g->used_ns) / (double)ns : 0;
	g->t_ns = now_ns;
	g->used_ns = used;
	return g->share > g->most;
}

bool guard_over(struct guard *g, struct watch *w)
{
	return g->most > 0 && guard_judge(g, clock_now_ns(), used_ns(g, w));
}

char *guard_text(const struct guard *g, char buf[GUARD_TEXT_MAX])
{
	snprintf(
	    buf, GUARD_TEXT_MAX,
	    "watching took %.2g%% of a CPU%s, more than --max-cpu=%.3g%%, so the watch was ended",
	    g->share * 100, g->knows_programs ? "" : " (without the programs in the kernel)",
	    g->most * 100);
	return buf;
}
