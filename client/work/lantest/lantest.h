/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_LANTEST_LANTEST_H
#define WORK_LANTEST_LANTEST_H

/*
 * Two workload sets, those of netatalk's afp_lantest: the twelve tests of 4.5 ("lantest-4.5") and
 * the seventeen of 4.6 ("lantest-4.6"), with the same commands, names, order, counts and timed
 * regions as far as they are known. What differs or is not known: docs/lantest.md.
 */

#include "load/load.h"

#define LANTEST_TESTS_MAX 17

/* Set of tests: bit n - 1 is test n. */
#define LANTEST_BIT(n) (1u << ((n)-1))

struct lantest_test;

struct lantest_set {
	const char *name; /* "lantest-4.5": runs with the same one are comparable */
	unsigned int n_tests;
	uint32_t cache;                     /* the tests of -K */
	unsigned int write_test, read_test; /* those of one large file */
	bool fills_quantum;                 /* as much data in each as the server takes */
	const struct lantest_test *test;    /* by number, from 0 on */
};

extern const struct lantest_set lantest_4_5, lantest_4_6;

/* 4.5's for a netatalk older than 4.6, by what the server calls itself; 4.6's for any other. */
const struct lantest_set *lantest_set_of(const char *machine);

struct lantest_opts {
	const struct lantest_set *set;
	uint32_t tests;          /* LANTEST_BIT() of what was asked for; implied ones are added */
	unsigned int iterations; /* from 1 */
	uint64_t file_len;       /* of the two tests of a large file, bytes */
	bool force;              /* whatever is free on the volume */
	const char *file; /* is read, of the volume's root, in place of its own; may be NULL */
};

/* All tests of a set. */
uint32_t lantest_all(const struct lantest_set *set);

/*
 * Data of one request of a large file, never more than the file: the quantum less the frame,
 * as 4.5's tool has it; in 4.6's all that this server takes (afp/quantum.h).
 */
size_t lantest_chunk(const struct lantest_opts *opts, uint32_t quantum, const char *machine);

/* The tests that will run: asked for, and implied. */
uint32_t lantest_selection(const struct lantest_opts *opts);

/*
 * Runs it on an open volume: results go into l->run. machine is what the server calls itself (NULL:
 * not known). base receives the name of the directory in the volume's root and becomes "" again
 * when that has been removed, whatever happened. Returns as workloads do (load.h).
 */
int lantest_run(struct load *l, const struct lantest_opts *opts, const char *machine,
		char base[static 32], struct err *e);

#endif
