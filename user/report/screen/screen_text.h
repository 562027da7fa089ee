/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_SCREEN_SCREEN_TEXT_H
#define REPORT_SCREEN_SCREEN_TEXT_H

/* What the parts of the first screen are written with: ASCII but for names. */

#include "report/cell.h"
#include "report/paint.h"

#include <stdarg.h>

/* A text of limited size; what does not fit is cut. */
struct screen_text {
	char text[1024];
	size_t len;
};

void screen_add(struct screen_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "38.6us", "1.04s" */
struct cell screen_time(double ns);
/* cell_about; n/a of 0. */
struct cell screen_about(double ns, double max_ns);
/* "68%" */
struct cell screen_percent(double part, double whole);

/* Prints wrapped, on about this many lines at most; the rest is replaced by "...". */
void screen_put(const struct paint *p, enum ink ink, const char *text, unsigned int lines);

#endif
