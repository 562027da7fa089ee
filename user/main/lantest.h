/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_LANTEST_H
#define MAIN_LANTEST_H

/* The options of afpscope lantest. */

#include "drive/workload.h"
#include "work/lantest/lantest.h"

#define LANTEST_ITERATIONS 2
#define LANTEST_FILE_LEN   104857600ull /* 100 MiB */

enum lantest_set_choice {
	LANTEST_SET_OF_SERVER, /* that of the server's own version */
	LANTEST_SET_4_5,
	LANTEST_SET_4_6,
};

struct lantest_cfg {
	struct workload_cfg w;
	struct lantest_opts o;
	int format; /* 1: lines of metrics in place of tables */
	int set;    /* enum lantest_set_choice */
	bool named; /* tests, even if there are none of that name */
	bool cache; /* those of -K, whichever they are in the set */
};

extern const struct job_type lantest_job;

/*
 * The set: as chosen; else 4.5 for a netatalk older than 4.6, 4.6 for any other server. machine:
 * what the server calls itself.
 */
const struct lantest_set *lantest_choose(const struct lantest_cfg *cfg, const char *machine);

/*
 * The tests of this set that were asked for. 0; -EINVAL and a text: one is not of the set.
 */
int lantest_resolve(uint32_t *out, const struct lantest_cfg *cfg, const struct lantest_set *set,
		    struct err *e);

/*
 * Defaults, and what the arguments say; argv[0] decides whether to behave as netatalk's tool
 * (compat/peer.h). Opens nothing. 0, or a negative errno (-ERANGE: a number) and a text.
 */
int lantest_parse(struct lantest_cfg *cfg, struct job *j, struct err *e);

#endif
