/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_LONG_STATES_H
#define REPORT_LONG_STATES_H

#include "report/paint.h"
#include "run/requests.h"

/* The commands that cost most in detail: states of the serving thread and of cnid_dbd. */
int paint_states(const struct paint *p, const struct requests *r);

#endif
