/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MAIN_DUMP_TEXT_H
#define MAIN_DUMP_TEXT_H

/* Records of a trace as lines of text, by the table of their fields. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dump_view {
	int64_t offset_ns; /* to wall time */
	uint64_t since_ns; /* with relative: times are given from here on */
	bool relative;
	bool named; /* the stream's name in front */
};

/* The names of the columns, a line. */
void dump_head(FILE *out, unsigned int stream, const struct dump_view *v);

/* One line. Numbers that have no name are shown as numbers. */
void dump_record(FILE *out, unsigned int stream, const void *record, const struct dump_view *v);

/* The text of a record of the stream texts, cleaned. */
void dump_name(FILE *out, const char *text);

/* A field of a record, signs extended; false: the stream has none of this name. */
bool dump_field(unsigned int stream, const char *name, const void *record, uint64_t *out);

/* The duration that the record describes, in ns; false: it has none. */
bool dump_length(unsigned int stream, const void *record, uint64_t *ns);

#endif
