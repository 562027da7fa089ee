/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_READER_H
#define TRACE_READER_H

/*
 * Reads one stream of a saved trace by its layout (docs/trace.md), so that also traces of other
 * versions are read, which have more fields. Packets that are torn or damaged are left out and
 * counted.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_reader;

/* What was found in the packets until now. */
struct trace_read {
	uint64_t records, packets;
	/* Packets whose sum is wrong, or that are of something else, come again or too late. */
	uint64_t damaged;
	uint64_t missing;   /* packets: by their numbers there were so many more */
	uint64_t torn_b;    /* bytes at the end that are no whole packet */
	uint64_t discarded; /* records that were lost while the trace was made */
};

/*
 * folder: a trace, or the folder of a run that has one. 0; -ENOENT: it has no such stream; or
 * another negative errno, with a text.
 */
int trace_reader_open(struct trace_reader **out, const char *folder, const char *stream,
		      struct err *e);
void trace_reader_close(struct trace_reader *t);

/* The trace's number, 32 hexadecimal digits. */
const char *trace_reader_uuid(const struct trace_reader *t);

/* A field's number, or -ENOENT: the trace has none of that name, or it is no number. */
int trace_reader_field(const struct trace_reader *t, const char *name);

/* The next record, valid until the next call. 1; 0: there is none; negative errno with a text. */
int trace_reader_next(struct trace_reader *t, struct err *e);

/* The field of this record; 0 of one that the trace does not have (negative number). */
uint64_t trace_reader_value(const struct trace_reader *t, int field);

/* From the first record on again. */
void trace_reader_rewind(struct trace_reader *t);

void trace_reader_found(const struct trace_reader *t, struct trace_read *out);

#endif
