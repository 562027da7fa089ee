/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_SAMPLER_H
#define ATTACH_SAMPLER_H

/*
 * The time series of a command's run: which processes are sampled (those that are watched), when
 * (at the caller's ticks, or in a separate thread while the caller is busy), and into which run.
 * Every function but sampler_open accepts NULL and then does nothing.
 *
 * A reading of one process takes some 40 µs of this program's CPU time, and 20 µs more for each
 * further thread, and of the server only the locks that /proc takes; the total CPU time is noted in
 * the run.
 */

#include "run/run.h"
#include "watch/watch.h"

/* For an option's row. */
#define SAMPLER_HELP "read /proc of the server's processes this often, as a time series"
#define SAMPLER_MORE                                                                               \
	"Where the kernel accounts delays, taskstats is read, too. There is a line for each "      \
	"process in the report, and all points are in the JSON. A thread of this program does "    \
	"it; the report says what that cost."
#define SAMPLER_HZ 10 /* if nothing but sampling is possible */

struct sampler;

/* Begins with the processes that w watches now; w must live as long. 0 or a negative errno. */
int sampler_open(struct sampler **out, unsigned int hz, struct watch *w, struct err *e);

uint64_t sampler_period_ns(const struct sampler *s);

/* Adds processes that w has found since. */
void sampler_look(struct sampler *s);

/* A reading; missed: ticks that were too late to be made. */
void sampler_tick(struct sampler *s, uint64_t missed);

/* From here to sampler_note a thread ticks, and the caller must not touch s. */
int sampler_start(struct sampler *s, struct err *e);

/* A last reading, and everything into the run. 0 or -ENOMEM. */
int sampler_note(struct sampler *s, struct run *r);

void sampler_close(struct sampler *s);

/* The next due time after now, in steps of period_ns; *missed: those that have passed. */
uint64_t sampler_next(uint64_t due_ns, uint64_t period_ns, uint64_t now_ns, uint64_t *missed);

#endif
