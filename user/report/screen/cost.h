/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_SCREEN_COST_H
#define REPORT_SCREEN_COST_H

/*
 * The CPU time that watching took: of the programs in the kernel, and of this program where that
 * does nothing but watch.
 */

#include "report/screen/screen_text.h"
#include "run/run.h"

/* Whether it is more than 1 % of one CPU over the watched time, and more than next to nothing. */
bool cost_is_high(const struct run *r);

/*
 * "; watching cost 540ms (kernel 93.0ms, afpscope 447ms)", after "before". Nothing if it is
 * not known. of_time: and how much of a CPU that is.
 */
void cost_add(struct screen_text *t, const struct run *r, const char *before, bool of_time);

#endif
