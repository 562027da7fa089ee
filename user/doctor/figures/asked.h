/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_ASKED_H
#define DOCTOR_ASKED_H

/*
 * The figures of a diagnosis that are about what sessions ask their CNID server again. A session
 * remembers the answers of the last questions, as many as its directory cache holds, and forgets
 * one earlier only if it finds that the file has changed. So a question that it asked long ago is
 * one that the cache had no room for; one that it asked a moment ago says nothing of its size.
 */

#include "run/run.h"

/*
 * Adds to out; nothing where questions were not counted. Of the requests' own time, work_ns, they
 * waited for the CNID server for cnid_ns.
 */
void doctor_asked(struct run_figures *out, const struct run *r, double cnid_ns, double work_ns);

#endif
