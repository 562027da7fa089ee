/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time left, from how long each test took the last time, or all so far on average. */
#include "main/estimate.h"

#include "base/clock.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

void estimate_init(struct estimate *e, FILE *out, uint32_t tests, unsigned int iterations)
{
	memset(e, 0, sizeof(*e));
	e->out = isatty(fileno(out)) ? out : NULL;
	e->tests = tests;
	e->iterations = iterations;
	e->last_ns = clock_now_ns();
}

void estimate_hide(const struct estimate *e)
{
	if (e->out)
		fputs("\r\033[K", e->out);
}

void estimate_show(struct estimate *e, unsigned int test, unsigned int iteration)
{
	uint64_t now_ns = clock_now_ns(), known_ns = 0, left_ns = 0;
	unsigned int n_known = 0, n_left = 0, more;

	e->took_ns[test] = now_ns - e->last_ns;
	e->last_ns = now_ns;
	if (!e->out)
		return;
	for (unsigned int n = 1; n <= ESTIMATE_TESTS; n++) {
		n_known += e->took_ns[n] > 0;
		known_ns += e->took_ns[n];
	}
	for (unsigned int n = 1; n <= ESTIMATE_TESTS; n++) {
		if (!(e->tests & 1u << (n - 1)))
			continue;
		more = e->iterations - iteration + (n > test);
		n_left += more;
		left_ns += more * (e->took_ns[n] ? e->took_ns[n] : known_ns / n_known);
	}
	if (n_left)
		fprintf(e->out, "%u to go, about %.0f s ", n_left, (double)left_ns / 1e9);
	fflush(e->out);
}
