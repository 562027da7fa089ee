/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_TIMERS_H
#define LOAD_TIMERS_H

/* Due times of many things, the earliest first: a binary heap of the caller's memory. */

#include <stddef.h>
#include <stdint.h>

/* In the thing itself. */
struct timer {
	uint64_t due_ns;
	size_t at; /* in the heap, from 1; 0: not in it */
};

struct timers {
	size_t n;
	struct timer **heap; /* room for one more than there are things */
};

/* Due at due_ns, if that is earlier than what it was. Cheap where it is not. */
void timers_sooner(struct timers *t, struct timer *x, uint64_t due_ns);

/* The earliest; NULL: none. */
static inline struct timer *timers_first(const struct timers *t)
{
	return t->n ? t->heap[1] : NULL;
}

/* Takes it out. Does nothing where it is not in. */
void timers_remove(struct timers *t, struct timer *x);

#endif
