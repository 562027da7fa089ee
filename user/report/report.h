/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

/*
 * A run as output. Every function only reads the run. A figure is taken over the complete
 * phases of a test and shown when it is known in all of them; else the cell is n/a (text), empty
 * (CSV) or null (JSON), never 0. All return 0, -ENOMEM, or a negative errno of writing.
 */

#include "base/err.h"
#include "run/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * How netatalk's table is printed: with columns of what afpd and its CNID server read and wrote;
 * and as under netatalk's own name: its rule, its last line, titles without quotes, and of more
 * than five iterations without the smallest and the largest value.
 */
#define REPORT_PEER_IO       0x1u
#define REPORT_PEER_ORIGINAL 0x2u
/* The tests are those of 4.6: which have a rate, columns of CSV, averages of medians. */
#define REPORT_PEER_4_6 0x4u

/*
 * The table of lantest 4.5: same columns, widths, titles. io_columns: with the server's read
 * and write counts. What differs on purpose: means are rounded from nanoseconds and real counts,
 * MB/s is of the bytes moved, the sum row has the number of commands that were really timed.
 */
int report_peer_text(const struct run *r, unsigned int how, FILE *out);

/*
 * The same columns as RFC 4180 CSV (lines end in \n), without banner and aggregates. That of 4.6
 * has the least, the largest and the middle time behind the deviation, and no quotes around titles:
 * its readers take the last six numbers of a line for the columns and what is before them for the
 * title. With IO columns, which stand before the rate, a line does not end in six such numbers.
 */
int report_peer_csv(const struct run *r, unsigned int how, FILE *out);

/*
 * A line for each test, as netatalk's workflow passes them between its steps (docs/lantest.md):
 * "table|lantest.KEY.mean_ms|LABEL|ms|MEAN", and one for the sum. A test without a complete
 * iteration has no line, and then there is no sum.
 */
int report_peer_metrics(const struct run *r, FILE *out);

/*
 * netatalk 4.5's speedtest: text (compat/speed.h says what differs and has it piece by piece)
 * and CSV. Both are for runs whose phases all move files.
 */
int report_speed_peer(const struct run *r, bool statistics, FILE *out);
int report_speed_csv(const struct run *r, FILE *out);

struct report_opts {
	bool color;     /* ANSI sequences */
	unsigned width; /* columns of the terminal; 0 = 116, of the first screen 100 */
};

/*
 * The first screen, at most 40 lines of 100 columns (or of the terminal's, if fewer): first what
 * makes the run doubtful, then the results, and where the server's time went.
 */
int report_screen(const struct run *r, const struct report_opts *opts, FILE *out);

/*
 * A diagnosis, as the first screen of a run of doctor has it. brief: a line for each finding.
 */
int report_doctor(const struct run_figures *f, const struct report_opts *opts, bool brief,
		  FILE *out);

/* Its first sentence: of the first finding, else of the verdict. Cut to fit. 0 or -ENOMEM. */
int report_doctor_first(const struct run_figures *f, char *out, size_t len);

/*
 * The report for people: trust first, then tests or transfers, AFP commands, and what the server
 * did. The option "units" of a run of transfers, "binary" or "decimal", is what it counts bytes in.
 */
int report_own(const struct run *r, const struct report_opts *opts, FILE *out);

/*
 * The whole run as one JSON object (docs/data-model.md), at the user's path (base/file.h); "-" is
 * stdout. A file appears complete or not at all.
 */
int report_json(const struct run *r, const char *path, struct err *e);

/* The same as a file in a folder, which path names for people. */
int report_json_in(const struct run *r, int folder, const char *name, const char *path,
		   struct err *e);

struct section_sink;

/* The sections of report_own, in their order, each with all columns (report/section.h). */
int report_sections(const struct run *r, struct section_sink *to);

/* These as tables.json in the folder. */
int report_tables_in(const struct run *r, int folder, const char *path, struct err *e);

#endif
