/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_ABOUT_H
#define REPORT_ABOUT_H

/*
 * What the reports of a run have, by what it is about: report_about_NAME for each of RUN_ABOUTS, in
 * the file that prints it. NULL: the usual parts, by what was measured. All return 0 or -ENOMEM.
 */

#include "report/paint.h"

struct report_about {
	/* The results on the first screen, below what any run has; at most so many lines. */
	int (*screen)(struct paint *p, size_t lines);
	/* Of the usual ones, what clients of a load did. */
	int (*clients)(const struct paint *p);
	/* The tables of -v, of tables.json and of the HTML report. */
	int (*own)(const struct paint *p);
};

#define X(NAME, name) extern const struct report_about report_about_##name;
RUN_ABOUTS(X)
#undef X

const struct report_about *report_about(const struct run *r);

#endif
