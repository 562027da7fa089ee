/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/saved.h"

#include <math.h>
#include <string.h>

#define MUCH 0x1p63 /* more nanoseconds, bytes or things than there can be */

static bool saved_can_be(enum run_figure which, double v)
{
	double most = strcmp(run_figures[which].unit, "share") ? MUCH : 1;

	return isfinite(v) && v >= 0 && v <= most && v < MUCH;
}

/* false: a number that cannot be. */
static bool saved_take(struct run_figures *out, enum run_figure which, const json_t *one)
{
	const json_t *value = json_object_get(one, "value");
	const char *who = json_string_value(json_object_get(one, "who"));

	if (json_is_number(value) && !saved_can_be(which, json_number_value(value))) {
		run_figure_who(out, which, "the run has an impossible number: %g",
			       json_number_value(value));
		return false;
	}
	if (json_is_number(value))
		run_figure_set(out, which, json_number_value(value));
	who = who ? who : json_string_value(json_object_get(one, "why"));
	if (who)
		run_figure_who(out, which, "%s", who);
	return true;
}

size_t saved_figures(struct run_figures *out, const json_t *run)
{
	const json_t *figures = json_object_get(run, "figures");
	const json_t *names = json_object_get(run, "names");
	size_t impossible = 0;

	for (unsigned int i = 0; i < N_RUN_FIGURES; i++)
		impossible += !saved_take(out, (enum run_figure)i,
					  json_object_get(figures, run_figures[i].key));
	for (unsigned int i = 0; i < RUN_N_NAMES; i++) {
		const char *name = json_string_value(json_object_get(names, run_names[i].key));

		if (name)
			run_name_set(out, (enum run_name)i, "%s", name);
	}
	return impossible;
}
