/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_PAINT_H
#define REPORT_PAINT_H

/* What the parts of the own report share while they are written. */

#include "report/view.h"

#include <stdio.h>

struct section_sink;

struct paint {
	struct view view;
	FILE *out;
	struct section_sink *sink; /* takes the sections instead; NULL: they are printed */
	bool color;
	size_t width;
};

enum ink { INK_NONE, INK_BOLD, INK_RED, INK_YELLOW };

/* Switches colour on; INK_NONE switches it off. Nothing without colour. */
void paint_ink(const struct paint *p, enum ink ink);
/* An empty line, and a heading with what follows it in plain ink. */
void paint_heading(const struct paint *p, const char *what, const char *rest);

/* What was run, on which server, and whether to trust it. 0 or -ENOMEM. */
int paint_head(const struct paint *p);
struct section;
/* What a run of transfers was asked to do: one line, or more. */
void paint_options(struct section *s);
/* How each layer was observed: one line each, or more. 0 or -ENOMEM. */
int paint_rungs(struct section *s);
/* Why the requests or the storage ledger (by these keys) is missing; valid as long as the run. */
const char *rungs_why(const struct run *r, const char *key);
/* One line per test. 0 or -ENOMEM. */
int paint_tests(const struct paint *p);
/* The metrics with a title, one line per test; nothing where none is known. 0 or -ENOMEM. */
int paint_metrics(const struct paint *p);
/* One line per AFP command. 0 or -ENOMEM. */
int paint_commands(const struct paint *p);
/* "write · data file", "own code"; returns its columns. */
size_t print_state(char out[static 64], unsigned int class, unsigned int object);
/* One line per AFP command as served, and where the server's time went. 0 or -ENOMEM. */
int paint_requests(const struct paint *p);
/* By AFP command: what reached file system, page cache, block devices. 0 or -ENOMEM. */
int paint_below(const struct paint *p);
/* One line per session. 0 or -ENOMEM. */
int paint_sessions(const struct paint *p);
/* One line per request of a kind whose requests change threads, at most so many. 0 or -ENOMEM. */
int paint_procedures(const struct paint *p, size_t most);
/* Threads by name, at most so many. 0 or -ENOMEM. */
int paint_threads(const struct paint *p, size_t most);
/* Per role: calls and time of the whole run. 0 or -ENOMEM. */
int paint_calls(const struct paint *p);
/* Per role: calls and time per AFP command by class and object. 0 or -ENOMEM. */
int paint_roles(const struct paint *p);
/* What AFPD_R and AFPD_W are made of. 0 or -ENOMEM. */
int paint_compat(const struct paint *p);

/* One line per transfer: how fast, then at what cost; 0 or -ENOMEM. */
int paint_transfers(const struct paint *p);
/* Per work: where the time of its largest file went, and what limits it. 0 or -ENOMEM. */
int paint_verdicts(const struct paint *p);
/* Per work: how fast, what limits it, what to do; the end of the report. 0 or -ENOMEM. */
int paint_brief(const struct paint *p);
/* How the server copies, and through the client; nothing without ServerCopy. 0 or -ENOMEM. */
int paint_copies(const struct paint *p);
/* Round trips of actions, tests and transfers; nothing where none are known. 0 or -ENOMEM. */
int paint_trips(const struct paint *p);
/* The same of the sessions of other people's clients. 0 or -ENOMEM. */
int paint_session_trips(const struct paint *p);
/* Both ends of the TCP connection; nothing without looks at it. 0 or -ENOMEM. */
int paint_connection(const struct paint *p);

/* Which causes were found, ruled out, not seen; nothing where nothing can be said. 0 or -ENOMEM. */
int paint_looked_for(const struct paint *p);

/* What was sampled, one line per process; nothing without series. 0 or -ENOMEM. */
int paint_series(const struct paint *p);

#endif
