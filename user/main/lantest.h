/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_LANTEST_H
#define MAIN_LANTEST_H

/* The options of afpscope lantest. */

#include "drive/workload.h"
#include "work/lantest/lantest.h"

#define LANTEST_ITERATIONS 2
#define LANTEST_FILE_LEN   104857600ull /* 100 MiB */

struct lantest_cfg {
	struct workload_cfg w;
	struct lantest_opts o;
	bool named; /* tests, even if there are none of that name */
};

extern const struct job_type lantest_job;

/*
 * Defaults, and what the arguments say; argv[0] decides whether to behave as netatalk's tool
 * (compat/peer.h). Opens nothing. 0, or a negative errno (-ERANGE: a number) and a text.
 */
int lantest_parse(struct lantest_cfg *cfg, struct job *j, struct err *e);

#endif
