/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_REPORT_TEXT_H
#define TESTS_UNIT_REPORT_TEXT_H

/* A run's outputs as strings, and what is in them. */

#include "report/cell.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum output { PEER_TEXT, PEER_TEXT_PLAIN, PEER_CSV, PEER_CSV_PLAIN, OWN, OWN_COLOR, OWN_NARROW };

/* One output as a string that the caller frees. */
static inline char *output(const struct run *r, enum output what)
{
	const struct report_opts opts = { .color = what == OWN_COLOR,
					  .width = what == OWN_NARROW ? 80 : 0 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int e;

	if (what == PEER_TEXT || what == PEER_TEXT_PLAIN)
		e = report_peer_text(r, what == PEER_TEXT, f);
	else if (what == PEER_CSV || what == PEER_CSV_PLAIN)
		e = report_peer_csv(r, what == PEER_CSV, f);
	else
		e = report_own(r, &opts, f);
	assert_int_equal(e, 0);
	fclose(f);
	return text;
}

static inline void has(const struct run *r, enum output what, const char *part)
{
	char *text = output(r, what);

	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
	free(text);
}

static inline void has_not(const struct run *r, enum output what, const char *part)
{
	char *text = output(r, what);

	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
	free(text);
}

/* No line is wider than 80 columns; frees the text. */
static inline void is_narrow(char *text)
{
	char *save = NULL, *line;
	bool head = true;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		/* the first line is as long as its facts */
		if (text_columns(line) > 80 && !head)
			fail_msg("too wide: %s", line);
		head = false;
	}
	free(text);
}

#endif
