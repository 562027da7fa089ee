/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef COMPAT_GFAPI_TEXT_H
#define COMPAT_GFAPI_TEXT_H

/* What gfapi_perf_tool prints of a run, and below it what it does not measure. */

#include "run/run.h"

#include <stdio.h>

/* What one thread did, or all. */
struct gfapi_result {
	int thread; /* -1: all */
	uint64_t files_read, files_written, files_deleted;
	uint64_t files_missing; /* that were to be deleted and were not there */
	uint64_t transfers, bytes;
	uint64_t failed;           /* files */
	uint64_t begin_ns, end_ns; /* first begin and last end, one clock; 0: it did nothing */
};

struct gfapi_way {
	const char *what; /* the load: "random read" */
	bool mixed;       /* files are read and written */
	bool rates;       /* all that was to be done was done */
	bool debug;
};

/* sum is all 0 before, but for thread. */
void gfapi_result_add(struct gfapi_result *sum, const struct gfapi_result *one);

void gfapi_put_result(FILE *out, const struct gfapi_result *r, const struct gfapi_way *way);

/* Of each operation on the store, and of a file as a whole. */
void gfapi_put_latencies(FILE *out, const struct run_phase *p);

#endif
