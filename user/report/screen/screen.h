/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_SCREEN_SCREEN_H
#define REPORT_SCREEN_SCREEN_H

/* Between the files of the first screen (report_screen): its parts. */

#include "report/paint.h"
#include "report/screen/screen_text.h"
#include "report/section.h"

#define SCREEN_WIDTH 100 /* at most */
#define SCREEN_LINES 40

/* One line per test, and which were unsteady. 0 or -ENOMEM. */
int screen_tests(const struct paint *p);
void screen_unsteady(const struct paint *p);
/*
 * Where the server's time went, and the commands that took most of it; full: with their number,
 * p99 and max. 0 or -ENOMEM.
 */
int screen_server(const struct paint *p, size_t commands, bool full);
/* A program whose protocol is not known: at most this many lines. 0 or -ENOMEM. */
int screen_any(const struct paint *p, size_t lines);
/* How fast many clients were served, and how long they and the probe waited. 0 or -ENOMEM. */
int screen_load(const struct paint *p);
/* Whether the phases are loads of small files. */
bool screen_is_of_files(const struct run *r);
/* These in a line each; each client's share of them. 0 or -ENOMEM. */
int screen_files(const struct paint *p);
int paint_each(const struct paint *p);
/* Calls over Rx in a line each. 0 or -ENOMEM. */
int screen_calls(const struct paint *p);
/* How their times are distributed, in a table for each test. 0 or -ENOMEM. */
int screen_call_times(const struct paint *p);
/* Blank where there are too few latencies for it: the longest is shown anyway. */
struct cell screen_quantile(const struct hist *h, double q);

/* The parts of a load; prints nothing where it has none. 0 or -ENOMEM. */
int screen_stages(const struct paint *p, const struct run_load *l);
/* What a replay did beside what was recorded; nothing of other loads. 0 or -ENOMEM. */
int screen_replay(const struct paint *p, const struct run_phase *phase);
/* For how long none of what its clients did ended, if that was long; what: such as "action"; of:
 * which load of several, or NULL. */
void screen_silence(const struct paint *p, const char *of, const char *what,
		    const struct run_load *l);
/* Round trips of the actions of a load, in at most two lines; none where they are not known. */
void screen_trips(const struct paint *p, const struct run_phase *phase);
/* The processes that shared these phases, in a line; none, if there was one. */
void screen_ranks(const struct paint *p, struct run_phase *const *phase, size_t n);
/* What is wrong, from figures; brief: a line for each finding. 0 or -ENOMEM. */
int screen_doctor(const struct paint *p, const struct run_figures *f, bool brief);

/* In a few lines, below other figures. 0 or -ENOMEM. */
int screen_opinion(const struct paint *p, const struct run_figures *f);
/* The same in a sentence, above other figures; requests that hang first. 0 or -ENOMEM. */
int screen_doctor_line(const struct paint *p, const struct run_figures *f);
/* The busiest sessions. 0 or -ENOMEM. */
int screen_sessions(const struct paint *p, size_t most);
/* One line per size, the works side by side, and the conclusion; at most this many lines. 0 or
 * -ENOMEM. */
int screen_transfers(const struct paint *p, size_t lines);

#endif
