/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for people: the order of its parts. */
#include "report/paint.h"
#include "report/report.h"

#include <errno.h>

#define DEFAULT_WIDTH 116

int report_own(const struct run *r, const struct report_opts *opts, FILE *out)
{
	struct paint p = { .out = out, .color = opts->color, .width = DEFAULT_WIDTH };
	int e;

	if (opts->width)
		p.width = opts->width;
	if (view_init(&p.view, r))
		return -ENOMEM;
	e = paint_head(&p);
	if (!e) {
		paint_tests(&p);
		e = paint_commands(&p);
	}
	if (!e)
		e = paint_roles(&p);
	if (!e)
		e = paint_compat(&p);
	view_fini(&p.view);
	if (!e && (fflush(out) || ferror(out)))
		e = errno ? -errno : -EIO;
	return e;
}
