/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_SESSIONS_H
#define DOCTOR_SESSIONS_H

/* The figures of a diagnosis that are about sessions: how many, how long, which one is busiest. */

#include "run/run.h"

/* Adds to out, from the sessions of a run that was watched for ns. */
void doctor_sessions(struct run_figures *out, const struct run *r, double ns);

/* "anna from 192.0.2.1:50000 (pid 7)" */
void doctor_session_who(struct run_figures *out, enum run_figure which,
			const struct run_session *s);

#endif
