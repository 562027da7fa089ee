/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_OUTPUT_H
#define APP_OUTPUT_H

/* What is printed of a run, how wide, and whether with colours (NO_COLOR is obeyed). */

#include "base/opt.h"
#include "report/report.h"

struct report_opts output_terminal(void);

enum output_table {
	OUTPUT_SCREEN,   /* the first screen */
	OUTPUT_NETATALK, /* the table of netatalk's own tool */
	OUTPUT_OWN,      /* the long report */
	OUTPUT_BOTH,     /* the last two */
	OUTPUT_PEER,     /* old name of OUTPUT_NETATALK */
	OUTPUT_NOT_GIVEN,
};

/* clang-format off */
extern const char *const output_table_choices[];
#define OUTPUT_TABLE_OPTION(cfg_type, member)                                                      \
	{ .name = "table", .arg = "WHICH", .type = OPT_CHOICE,                                     \
	  .offset = offsetof(cfg_type, member),                                                    \
	  .choice = output_table_choices,                                                          \
	  .help = "what to print: the first screen (default), the table of netatalk's own tool "   \
		  "(peer: its old name), afpscope's long report, or both of these",                \
	  .more = "The first screen has the verdict on the run, a line for each test or size, "    \
		  "and where the server's time went or what limits it. Under the name of "         \
		  "netatalk's tool, its table is the default." }
/* clang-format on */

/*
 * What the options come to: all is what -v prints; compatible: the program has the name of
 * netatalk's tool.
 */
enum output_table output_table(int given, unsigned int verbose, enum output_table all,
			       bool compatible);

#endif
