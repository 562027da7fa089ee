/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

/*
 * How much was done by when, for any length of time in constant memory: the time since the begin
 * is divided into at most RUN_PROGRESS_SLOTS slots of 2^shift ns, which become twice as long
 * whenever they are too few.
 */

#include <stdint.h>

#define RUN_PROGRESS_SLOTS 1024

struct run_progress {
	unsigned int shift; /* below 64 */
	uint64_t n[RUN_PROGRESS_SLOTS], bytes[RUN_PROGRESS_SLOTS];
};

/* One more at at_ns from the begin. NULL is allowed. */
void run_progress_add(struct run_progress *p, uint64_t at_ns, uint64_t bytes);

void run_progress_merge(struct run_progress *to, const struct run_progress *from);

/* What was done until at_ns; of the slot that is under way then, the part that is over. */
void run_progress_until(const struct run_progress *p, uint64_t at_ns, uint64_t *n, uint64_t *bytes);

#endif
