/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_ASKED_H
#define DOCTOR_ASKED_H

/*
 * The figures of a diagnosis that are about what sessions ask their CNID server again. A session
 * remembers the answers of the last questions, as many as its directory cache holds, and forgets
 * one earlier only if it finds that the file has changed. So a question that it asked long ago is
 * one that the cache had no room for; one that it asked a moment ago says nothing of its size.
 *
 * Of a CNID database that sessions read themselves (SQLite, MySQL) it is not seen what they ask,
 * but how often. Nor is it seen what a session asked for before the watch.
 */

#include "run/run.h"

/* Of requests that change nothing. */
struct asked_seen {
	double cnid_ns; /* they waited for the CNID server */
	double most_ns; /* of their time, what a cache may have saved at most */
	double unseen;  /* questions of which is not seen what they ask, by their calls */
	double work_ns; /* own time of all requests */
};

/* Adds to out. */
void doctor_asked(struct run_figures *out, const struct run *r, const struct asked_seen *seen);

#endif
