/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DOCTOR_SAY_H
#define DOCTOR_SAY_H

/* A rule's texts with figures in them (doctor/rules.h). */

#include "run/figures.h"

#include <stddef.h>

/* Cut to fit; a figure that is not known is "n/a". Returns out. */
char *doctor_say(char *out, size_t len, const struct run_figures *f, const char *text);

/* "58%", "12.3ms", "4.2/s", "n/a" */
char *doctor_value(char *out, size_t len, const struct run_figures *f, enum run_figure which);

#endif
