/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_TALLY_H
#define LOAD_TALLY_H

/* What a thread of the engine counts. Only for client/load; others use engine.h. */

#include "load/worker.h"

bool tally_open_loop(const struct worker *w);

/* Whether an action that was planned for this time is measured. */
bool tally_measures(const struct worker *w, uint64_t planned_ns);

/*
 * Closed loop: an action that began before the measured time, and now ends in it or after it. It is
 * in no latency, however long it took.
 */
void tally_early(struct worker *w, const struct actor *a, uint64_t now_ns);

/* When an action begins later than planned although its client was free: the generator's delay. */
void tally_late(struct worker *w, uint64_t planned_ns, uint64_t now_ns);

/* An arrival is due; it is dropped. */
void tally_planned(struct worker *w, uint64_t due_ns);
void tally_dropped(struct worker *w);

/* An action has ended. */
void tally_action(struct worker *w, struct actor *a, uint64_t end_ns, bool failed);

/* A request was answered. 0 or -ENOMEM. */
int tally_request(struct worker *w, const struct store_op *op, struct err *e);

#endif
