/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/figures.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct run_figure_def run_figures[N_RUN_FIGURES] = {
#define X(name, key, unit, meaning) { key, unit, meaning },
	RUN_FIGURES(X)
#undef X
};

const struct run_name_def run_names[RUN_N_NAMES] = {
#define X(name, key, otherwise, meaning) { key, otherwise, meaning },
	RUN_NAMES(X)
#undef X
};

enum run_judged run_figure_of(enum run_figure which)
{
	static const unsigned char by[N_RUN_FIGURES] = {
#define X(name, key, unit, meaning) [RUN_FIGURE_##name] = RUN_JUDGED_CALLS,
		RUN_FIGURES_RX(X)
#undef X
#define X(name, key, unit, meaning) [RUN_FIGURE_##name] = RUN_JUDGED_BRICKS,
		    RUN_FIGURES_GLUSTER(X)
#undef X
#define X(name, key, unit, meaning) [RUN_FIGURE_##name] = RUN_JUDGED_SHARES,
			RUN_FIGURES_SMB(X)
#undef X
#define X(name, key, unit, meaning) [RUN_FIGURE_##name] = RUN_JUDGED_EXPORTS,
			    RUN_FIGURES_NFS(X)
#undef X
	};

	return (enum run_judged)by[which];
}

void run_figure_set(struct run_figures *f, enum run_figure which, double value)
{
	f->known[which] = true;
	f->at_least[which] = false;
	/* Two clocks may differ by a little. */
	if (!strcmp(run_figures[which].unit, "share"))
		value = value > 1 ? 1 : value < 0 ? 0 : value;
	f->value[which] = value;
}

void run_figure_share(struct run_figures *f, enum run_figure which, double part, double whole)
{
	if (whole > 0)
		run_figure_set(f, which, part / whole);
}

void run_figure_who(struct run_figures *f, enum run_figure which, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->who[which], sizeof(f->who[which]), fmt, ap);
	va_end(ap);
	text_clean(f->who[which]);
}

void run_name_set(struct run_figures *f, enum run_name which, const char *fmt, ...)
{
	char *to = f->name[which], text[RUN_NAME_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(to, text, sizeof(text));
	text_clean(text);
	if (n < 0 || (size_t)n >= sizeof(text) || strcmp(text, to) != 0 || strchr(to, '\n'))
		*to = '\0';
}
