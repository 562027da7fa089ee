/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_ESTIMATE_H
#define MAIN_ESTIMATE_H

/* How much longer: a line on a terminal between the lines of the tests that are done. */

#include <stdint.h>
#include <stdio.h>

#define ESTIMATE_TESTS 32

struct estimate {
	FILE *out;      /* NULL: no terminal, says nothing */
	uint32_t tests; /* bit n - 1: test n runs */
	unsigned int iterations;
	uint64_t last_ns;                     /* when the last test was done */
	uint64_t took_ns[ESTIMATE_TESTS + 1]; /* by test, last iteration, set-up included */
};

void estimate_init(struct estimate *e, FILE *out, uint32_t tests, unsigned int iterations);

/* Takes the line away, so that something else can be printed. */
void estimate_hide(const struct estimate *e);

/* Test n of this iteration is done: notes how long it took, shows what is left. */
void estimate_show(struct estimate *e, unsigned int test, unsigned int iteration);

#endif
