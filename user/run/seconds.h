/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_SECONDS_H
#define RUN_SECONDS_H

/* The seconds of a load, put together. Only for user/run; others use load.h. */

#include "run/load.h"

/* from began so many seconds later. Rows of to become as long as those of from, if need be. */
void run_seconds_merge(struct run_load *to, const struct run_load *from, uint64_t later_s);

#endif
