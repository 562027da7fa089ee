/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ATTACH_THREADS_H
#define ATTACH_THREADS_H

/*
 * CPU time and run queue of a program's threads by their names, or by what they do with clients'
 * datagrams, from
 * /proc/PID/task/TID/{comm,schedstat}. Sampled: what a thread did after the last look before its
 * end is missing, and a thread that begins and ends between two looks is not seen.
 */

#include "run/run.h"
#include "watch/watch.h"

struct threads;

struct threads *threads_new(void); /* NULL: no memory */
void threads_free(struct threads *t);

/* Looks at all threads of the server's processes. The first look is where counting begins. */
void threads_look(struct threads *t, const struct watch *w);

/* The same, but of very many threads only every tenth time: to be called ten times a second. */
void threads_tick(struct threads *t, const struct watch *w);

/*
 * Fills r->threads, most CPU time first. If counted has the exact times of all threads, what was
 * not sampled becomes a row of its own. 0 or -ENOMEM.
 */
int threads_note(const struct threads *t, const struct ledger *counted, struct run *r);

#endif
