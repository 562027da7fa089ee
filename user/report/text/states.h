/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_TEXT_STATES_H
#define REPORT_TEXT_STATES_H

#include "report/text/paint.h"
#include "run/requests.h"

/* The commands that cost most in detail: states of the serving thread and of cnid_dbd. */
int paint_states(const struct paint *p, const struct requests *r);

#endif
