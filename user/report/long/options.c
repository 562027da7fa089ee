/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run of transfers was asked to do, from the options it noted. */
#include "report/section.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MANY 6 /* with more sizes only their number and range are printed */

/* Options that are printed only when they differ from this default. */
static const struct {
	const char *key, *usual, *text;
} special[] = {
	{ "flush", "yes", "no flush" },
	{ "sparse", "no", "sparse files" },
	{ "recreate", "no", "files made anew for each" },
	{ "verify", "no", "verified" },
	{ "direct", "yes", "buffered" },
};

static const char *noted(const struct run *r, const char *key, const char *without)
{
	const char *text = run_note_find(&r->options, key);

	return text ? text : without;
}

/* "size 4 KiB", "sizes 4 KiB, 1 MiB", "sweep of 18 sizes from 4 KiB to 512 MiB" */
static void options_say_sizes(struct section *s, const struct run *r)
{
	const char *list = run_note_find(&r->options, "sizes_bytes"), *comma = " ";
	char size[RUN_SIZE_MAX], glued[RUN_SIZE_MAX], *end;
	size_t n = 1;

	if (!list)
		return;
	if (*list < '0' || *list > '9') {
		section_more(s, "; size: %s", list);
		return;
	}
	for (const char *at = list; *at; at++)
		n += *at == ',';
	if (n > MANY) {
		section_more(s, "; sweep of %zu sizes from ", n);
		section_more(
		    s, "%s",
		    text_glued(glued, sizeof(glued), run_size(strtoull(list, NULL, 10), size)));
		section_more(s, " to ");
		section_more(
		    s, "%s",
		    text_glued(glued, sizeof(glued),
			       run_size(strtoull(strrchr(list, ',') + 1, NULL, 10), size)));
		return;
	}
	section_more(s, "; size%s", n > 1 ? "s" : "");
	for (const char *at = list; *at; at = *end ? end + 1 : end) {
		uint64_t bytes = strtoull(at, &end, 10);

		section_more(s, "%s", comma);
		section_more(s, "%s", text_glued(glued, sizeof(glued), run_size(bytes, size)));
		comma = ", ";
		end += strcspn(end, ",");
	}
}

static void options_say_count(struct section *s, const struct run *r, const char *key,
			      const char *one, const char *more)
{
	const char *n = run_note_find(&r->options, key);

	if (n)
		section_more(s, "; %s" GLUE "%s", n, strcmp(n, "1") ? more : one);
}

static void options_say_special(struct section *s, const struct run *r)
{
	const char *data = noted(r, "data", "zero"), *delay = noted(r, "delay_s", "0");
	const char *file = run_note_find(&r->options, "file");
	const char *second = run_note_find(&r->options, "second_volume");

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (strcmp(noted(r, special[i].key, special[i].usual), special[i].usual))
			section_more(s, "; %s", special[i].text);
	if (strcmp(data, "zero"))
		section_more(s, "; %s data", data);
	if (strcmp(delay, "0"))
		section_more(s, "; %s" GLUE "s between iterations", delay);
	if (file)
		section_more(s, "; file %s", file);
	if (second)
		section_more(s, "; copies to volume %s", second);
	if (r->set && strcmp(r->set, r->command))
		section_more(s, "; set %s", r->set);
}

void paint_options(struct section *s)
{
	const struct run *r = s->p->view.run;
	const char *comma = "";
	size_t len;

	section_indented(s, "Options", SECTION_LABEL);
	for (const char *at = noted(r, "tests", "no tests noted"); *at; at += *at == ',') {
		len = strcspn(at, ",");
		section_more(s, "%s%.*s", comma, (int)len, at);
		at += len;
		comma = ", ";
	}
	options_say_sizes(s, r);
	options_say_count(s, r, "iterations", "iteration", "iterations");
	options_say_count(s, r, "warmup", "warm-up", "warm-ups");
	options_say_count(s, r, "outstanding", "request under way", "requests under way at most");
	options_say_special(s, r);
}
