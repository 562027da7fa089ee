/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_PAUSE_H
#define LOAD_PAUSE_H

/* Times in which a thread of the engine did not run. Only for client/load. */

#include "load/worker.h"

/*
 * The time; what must read it more often than twice a second to be believed. A larger gap is a time
 * in which the whole thread did not run: it was stopped, or its machine, or had no CPU.
 */
#define PAUSE_LEAST_NS 500000000u
uint64_t pause_now(struct worker *w);

/* A call that blocks has ended at now_ns: what of it was a pause, as the engine's pulse shows. Of
 * a time before the last look there is nothing to say. */
void pause_called(struct worker *w, uint64_t now_ns);

/* How much of the time from begin to end the last pause took. */
uint64_t pause_within_ns(const struct worker *w, uint64_t begin_ns, uint64_t end_ns);

/* It did not run within these, at least so long. */
void pause_note(struct worker *w, uint64_t from_ns, uint64_t to_ns, uint64_t ns);

#endif
