/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_TALLY_H
#define LOAD_TALLY_H

/* What a thread of the engine counts. Only for client/load; others use engine.h. */

#include "load/worker.h"

#define TALLY_LATE_NS 1000000u

bool tally_open_loop(const struct worker *w);

/* Whether an action that was planned for this time is measured. */
bool tally_measures(const struct worker *w, uint64_t planned_ns);

/*
 * A client's own time: in a closed loop it stands still while its script does what is no part of
 * its action (script.aside_ns), so that is in no latency, and in no rate.
 */
uint64_t tally_own_ns(const struct worker *w, const struct actor *a, uint64_t ns);

/* An action under way ends with its session. */
void tally_cut(struct worker *w, const struct actor *a, uint64_t now_ns);

/* Its script has moved so many bytes of files with an answer that came then. */
void tally_bytes(struct worker *w, struct actor *a, uint64_t bytes, uint64_t answered_ns);

/*
 * The generator's own delay: when an action begins later than planned although its client was free,
 * or an arrival is looked at later. More than TALLY_LATE_NS is late.
 */
void tally_late(struct worker *w, uint64_t planned_ns, uint64_t now_ns);

/* Likewise, that a thread of its store carried it out later; counts: its action is not late yet. */
void tally_handed(struct worker *w, uint64_t late_ns, bool counts);

/*
 * Open loop: an arrival came, was dropped, or had no client until the end. It has waited at least
 * from then to the end. That is in l->undone, unless the program itself did not run.
 */
void tally_arrival(struct worker *w, const struct arrival *x, bool waits);
void tally_dropped(struct worker *w, const struct arrival *x);
void tally_waiting(struct run_load *l, const struct arrival *x, uint64_t end_ns);

/* The end, until which those that were dropped wait, comes earlier than planned, by ns. */
void tally_end_earlier(struct worker *w, uint64_t ns);

/*
 * An action has ended. Of an open loop those count that were due in the measured time, of a closed
 * one for a given time those that end in it; those that end after it are counted apart, with the
 * longest of them. Of a given amount of work all count.
 */
void tally_action(struct worker *w, struct actor *a, uint64_t end_ns, bool failed);

/* The job is over: how far the server is from this client, if it has a session. */
void tally_rtt(struct worker *w, const struct actor *a);

/* A request was answered. 0 or -ENOMEM. */
int tally_request(struct worker *w, const struct store_op *op, struct err *e);

#endif
