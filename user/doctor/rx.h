/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_RX_H
#define DOCTOR_RX_H

/* The figures of a server over Rx and of its clients (run/figures_rx.h). */

#include "report/view.h"
#include "run/run.h"

/* ns: watched. Adds to out. */
void doctor_rx(struct run_figures *out, const struct run *r, const struct view *v, double ns);

#endif
