/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_CLOSED_H
#define LOAD_CLOSED_H

/* When the next action of a client begins in a closed loop. Only for client/load. */

#include "load/worker.h"

/* Its first action of the job, and the one after an action that ended at now_ns: a->next_ns. */
void closed_first(struct worker *w, struct actor *a);
void closed_plan(struct worker *w, struct actor *a, uint64_t now_ns);

/* Whether the action that is due may begin, which a script can forbid: then it is asked again soon.
 * Always in an open loop. */
bool closed_may_begin(const struct worker *w, struct actor *a, uint64_t now_ns);

/*
 * For when the action that begins now was planned, and since when it could have begun: what is
 * later than that is this program's delay. Also in an open loop.
 */
uint64_t closed_due_ns(const struct worker *w, const struct actor *a);
uint64_t closed_free_ns(const struct worker *w, const struct actor *a);

#endif
