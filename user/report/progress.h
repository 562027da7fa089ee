/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include "run/run.h"

#include <stdbool.h>
#include <stdio.h>

enum progress_size {
	PROGRESS_NO_SIZE,
	PROGRESS_SIZE,          /* with bytes and rate; MB are 10^6 bytes */
	PROGRESS_NETATALK_SIZE, /* as netatalk's tool: MB are 2^20 bytes, those of MB/s are 10^6 */
};

/*
 * The line that netatalk's tool prints after each test, and (io_columns) the one with the server's
 * reads and writes; a figure that was not measured is n/a.
 */
void report_progress(const struct run *r, const struct run_phase *p, enum progress_size size,
		     bool io_columns, FILE *out);

/* A transfer that is done: its median and what that comes to. Nothing when none was measured. */
void report_speed_progress(const struct run *r, const struct run_phase *p, FILE *out);

#endif
