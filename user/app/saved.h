/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_SAVED_H
#define APP_SAVED_H

/* The figures of a saved run, which may be damaged, or written by hand. */

#include "run/figures.h"

#include <jansson.h>

/*
 * Adds the figures and names of run.json to out. A number that no run can have (not finite, below
 * 0, 2^63 or more, a share above 1) is left unknown, and its .who says so: nothing is concluded
 * from it. Returns how many such numbers there are.
 */
size_t saved_figures(struct run_figures *out, const json_t *run);

#endif
