/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run of transfers was asked to do, from the options it noted. */
#include "report/cell.h"
#include "report/paint.h"

#include <errno.h>
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

static void options_print_glued(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc(*text == ' ' ? GLUE[0] : *text, to);
}

/* "size 4 KiB", "sizes 4 KiB, 1 MiB", "sweep of 18 sizes from 4 KiB to 512 MiB" */
static void print_sizes(FILE *to, const struct run *r)
{
	const char *list = run_note_find(&r->options, "sizes_bytes"), *comma = " ";
	char size[RUN_SIZE_MAX], *end;
	size_t n = 1;

	if (!list)
		return;
	if (*list < '0' || *list > '9') {
		fprintf(to, "; size: %s", list);
		return;
	}
	for (const char *at = list; *at; at++)
		n += *at == ',';
	if (n > MANY) {
		fprintf(to, "; sweep of %zu sizes from ", n);
		options_print_glued(to, run_size(strtoull(list, NULL, 10), size));
		fputs(" to ", to);
		options_print_glued(to, run_size(strtoull(strrchr(list, ',') + 1, NULL, 10), size));
		return;
	}
	fprintf(to, "; size%s", n > 1 ? "s" : "");
	for (const char *at = list; *at; at = *end ? end + 1 : end) {
		uint64_t bytes = strtoull(at, &end, 10);

		fputs(comma, to);
		options_print_glued(to, run_size(bytes, size));
		comma = ", ";
		end += strcspn(end, ",");
	}
}

static void options_print_count(FILE *to, const struct run *r, const char *key, const char *one,
				const char *more)
{
	const char *n = run_note_find(&r->options, key);

	if (n)
		fprintf(to, "; %s" GLUE "%s", n, strcmp(n, "1") ? more : one);
}

static void print_special(FILE *to, const struct run *r)
{
	const char *data = noted(r, "data", "zero"), *delay = noted(r, "delay_s", "0");
	const char *file = run_note_find(&r->options, "file");
	const char *second = run_note_find(&r->options, "second_volume");

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (strcmp(noted(r, special[i].key, special[i].usual), special[i].usual))
			fprintf(to, "; %s", special[i].text);
	if (strcmp(data, "zero"))
		fprintf(to, "; %s data", data);
	if (strcmp(delay, "0"))
		fprintf(to, "; %s" GLUE "s between iterations", delay);
	if (file)
		fprintf(to, "; file %s", file);
	if (second)
		fprintf(to, "; copies to volume %s", second);
	if (r->set && strcmp(r->set, r->command))
		fprintf(to, "; set %s", r->set);
}

int paint_options(const struct paint *p)
{
	const struct run *r = p->view.run;
	const char *comma = "";
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return -ENOMEM;
	for (const char *at = noted(r, "tests", "no tests noted"); *at; at += *at == ',') {
		len = strcspn(at, ",");
		fprintf(to, "%s%.*s", comma, (int)len, at);
		at += len;
		comma = ", ";
	}
	print_sizes(to, r);
	options_print_count(to, r, "iterations", "iteration", "iterations");
	options_print_count(to, r, "warmup", "warm-up", "warm-ups");
	options_print_count(to, r, "outstanding", "request under way",
			    "requests under way at most");
	print_special(to, r);
	if (fclose(to)) {
		free(text);
		return -ENOMEM;
	}
	put_wrapped(p->out, "Options", text, p->width);
	free(text);
	return 0;
}
