/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_LANTEST_LANTEST_H
#define WORK_LANTEST_LANTEST_H

/*
 * The workload set "lantest-4.5": the twelve tests of netatalk 4.5's afp_lantest, the same
 * commands with the same bitmaps, names, order, counts and timed regions. What differs is not
 * on the wire of a timed region: see docs/lantest.md.
 */

#include "load/load.h"

#define LANTEST_SET   "lantest-4.5"
#define LANTEST_TESTS 12

/* Set of tests: bit n - 1 is test n. */
#define LANTEST_BIT(n) (1u << ((n)-1))
#define LANTEST_ALL    (LANTEST_BIT(LANTEST_TESTS + 1) - 1)
#define LANTEST_CACHE  (LANTEST_BIT(9) | LANTEST_BIT(10) | LANTEST_BIT(11) | LANTEST_BIT(12))

struct lantest_opts {
	uint32_t tests;          /* LANTEST_BIT() of what was asked for; implied ones are added */
	unsigned int iterations; /* from 1 */
	uint64_t file_len;       /* of tests 2 and 3, bytes */
	bool force;              /* whatever is free on the volume */
	const char *file;        /* test 3 reads this file of the volume's root; NULL: its own */
};

/* netatalk's title of a test: the key by which results are compared. */
const char *lantest_title(unsigned int test);

/*
 * Data of one request of tests 2 and 3: the quantum less the frame, as netatalk's tool has it, and
 * never more than the file.
 */
size_t lantest_chunk(uint32_t quantum, uint64_t file_len);

/* The tests that will run: asked for, and implied (3: 2, unless a file is given; 6, 7: 5). */
uint32_t lantest_selection(const struct lantest_opts *opts);

/*
 * Runs it on an open volume: results go into l->run. base receives the name of the directory in the
 * volume's root and becomes "" again when that has been removed, whatever happened.
 * Returns as workloads do (load.h).
 */
int lantest_run(struct load *l, const struct lantest_opts *opts, char base[static 32],
		struct err *e);

#endif
