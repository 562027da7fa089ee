/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_TICKER_H
#define REPORT_TICKER_H

/*
 * What clients do while they do it, second by second: on a terminal one line that is written again
 * and again, with a curve of the rate; elsewhere a line every TICKER_LOG_S seconds; or an object of
 * JSON in a line for each second.
 */

#include "base/opt.h"
#include "run/load.h"

#include <stdbool.h>
#include <stdio.h>

#define TICKER_LOG_S 10
#define TICKER_CURVE 60 /* seconds of the curve, at most */

enum ticker_how { TICKER_SHOWN, TICKER_OFF, TICKER_JSON };

/* For struct opt.choice. */
extern const char *const ticker_choices[];

/* A row of a table of options, over a struct with an int as member "member". */
#define TICKER_OPTION(cfg_type, member, keys)                                                       \
	{                                                                                           \
		.name = "live", .arg = "HOW", .type = OPT_CHOICE,                                   \
		.offset = offsetof(cfg_type, member), .choice = ticker_choices,                     \
		.help =                                                                             \
		    "what is shown while it works: on a terminal a line with a curve of the rate, " \
		    "else a line every 10 s (on), nothing (off), or an object of JSON each second " \
		    "(json); on standard error (default: on)",                                      \
		.more = keys " `2>&1 >/dev/null | grep '^{'` leaves the objects, as other "         \
			     "messages are on standard error, too."                                 \
	}

/* A second, or several that were added. */
struct ticker_second {
	unsigned int number;  /* of the last one, from 1 */
	unsigned int seconds; /* how many they are */
	unsigned int silent;  /* until its end, in which no action ended; at least */
	const char *state;    /* "ramp", "measuring" */
	const char *phase;    /* of several that follow one another; NULL: there is one */
	const char *progress; /* how far it is, for a terminal; NULL: nothing is said */
	bool has_probe;
	bool drops; /* an open loop: what is dropped is shown */
	bool mixed; /* actions of several kinds, of which no quantile tells: their mean is shown */
	struct run_second clients, probe;
};

struct ticker {
	FILE *out;
	enum ticker_how how;
	bool terminal, utf8;
	size_t width;               /* of the terminal */
	struct ticker_second sum;   /* since the last line of a log */
	double curve[TICKER_CURVE]; /* actions a second, the last ones */
	size_t n_curve;
};

/* out is borrowed. */
void ticker_begin(struct ticker *l, FILE *out, enum ticker_how how);

/* The next second is over. */
void ticker_add(struct ticker *l, const struct ticker_second *s);

/* Nothing more comes: the terminal's line is removed. */
void ticker_end(struct ticker *l);

/* The line without a line's end, into out, of at most width columns; the curve is of a terminal. */
void ticker_line(const struct ticker *l, const struct ticker_second *s, char *out, size_t len);

#endif
