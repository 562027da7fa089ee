/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours and headings. */
#include "report/paint.h"

void paint_ink(const struct paint *p, enum ink ink)
{
	static const char *const codes[] = {
		[INK_NONE] = "\033[0m",
		[INK_BOLD] = "\033[1m",
		[INK_RED] = "\033[1;31m",
		[INK_YELLOW] = "\033[33m",
	};

	if (p->color)
		fputs(codes[ink], p->out);
}

void paint_heading(const struct paint *p, const char *what, const char *rest)
{
	fputc('\n', p->out);
	paint_ink(p, INK_BOLD);
	fputs(what, p->out);
	paint_ink(p, INK_NONE);
	fprintf(p->out, "%s\n", rest);
}
