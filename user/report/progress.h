/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include "base/run.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The line the peers print after each test, and (io_columns) the one with the server's reads
 * and writes; a figure that was not measured is n/a. bulk: with size and rate.
 */
void report_progress(const struct run_phase *p, bool bulk, bool io_columns, FILE *out);

/* A transfer that is done: its median and what that comes to. Nothing when none was measured. */
void report_speed_progress(const struct run *r, const struct run_phase *p, FILE *out);

#endif
