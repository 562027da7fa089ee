/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_SCREEN_H
#define REPORT_SCREEN_H

/* Between the files of the first screen (report_screen): its parts, in ASCII but for names. */

#include "report/grid.h"
#include "report/paint.h"

#include <stdarg.h>

#define SCREEN_WIDTH 100 /* at most */
#define SCREEN_LINES 40

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

/* One line per test, and which were unsteady. 0 or -ENOMEM. */
int screen_tests(const struct paint *p);
void screen_unsteady(const struct paint *p);
/*
 * Where the server's time went, and the commands that took most of it; full: with their number,
 * p99 and max. 0 or -ENOMEM.
 */
int screen_server(const struct paint *p, size_t commands, bool full);
/* The busiest sessions. 0 or -ENOMEM. */
int screen_sessions(const struct paint *p, size_t most);
/* One line per size, the works side by side, and the conclusion; at most this many lines. 0 or
 * -ENOMEM. */
int screen_transfers(const struct paint *p, size_t lines);

#endif
