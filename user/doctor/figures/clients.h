/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_CLIENTS_H
#define DOCTOR_CLIENTS_H

/* The figures of a diagnosis that are about single clients (run/figures_clients.h). */

#include "run/run.h"

#define CLIENT_PAUSES 30 /* fewer say nothing about a client */

/* Adds to out, from the sessions of a run in which the server's requests were counted. */
void doctor_clients(struct run_figures *out, const struct run *r);
/* Of those only the round trips of a load's actions, whose clients are this program's. */
void doctor_actions(struct run_figures *out, const struct run *r);
/*
 * Of a load of several parts single clients are not looked at, but what a cause needs may be more
 * than there is: of requests that came so fast none can have waited long on its way.
 */
void doctor_parts(struct run_figures *out, const struct run *r);

#endif
