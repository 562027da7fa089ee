/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the terminal, and what is printed. */
#include "app/output.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct report_opts output_terminal(void)
{
	struct report_opts o = { 0 };
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return o;
	o.color = !getenv("NO_COLOR");
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		o.width = size.ws_col;
	return o;
}

const char *const output_table_choices[] = {
	"screen", "netatalk", "afpscope", "both", "peer", NULL
};

enum output_table output_table(int given, unsigned int verbose, enum output_table all,
			       bool compatible)
{
	if (given == OUTPUT_PEER)
		return OUTPUT_NETATALK;
	if (given != OUTPUT_NOT_GIVEN)
		return (enum output_table)given;
	if (compatible)
		return OUTPUT_NETATALK;
	return verbose ? all : OUTPUT_SCREEN;
}
