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
 * but how often: a session that asked less than that had no question of long ago.
 */

#include "run/run.h"

struct asked_seen {
	double n;       /* questions, by their calls, at most, in requests that change nothing */
	double cnid_ns; /* of all requests: waiting for the CNID server */
	double work_ns; /* of all requests: their own time */
};

/* Adds to out, which has CNID. */
void doctor_asked(struct run_figures *out, const struct run *r, const struct asked_seen *seen);

#endif
