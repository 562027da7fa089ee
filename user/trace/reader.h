/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_READER_H
#define TRACE_READER_H

/*
 * Reads a trace that this version of the writer wrote, from any bytes: each packet is checked as
 * docs/trace.md says before a record of it is given out, and one that is damaged is left out.
 * Memory is bounded: one packet for each stream. What is no regular file is never waited for.
 */

#include "base/err.h"
#include "bpf/records.h"

#include <stdbool.h>
#include <stdint.h>

/* What was read of a stream so far, and what was not. */
struct trace_read {
	bool there;         /* a file that can be read */
	uint64_t records;   /* given out */
	uint64_t packets;   /* they came from */
	uint64_t damaged;   /* packets left out */
	uint64_t missing;   /* packets that the numbers of the others tell of, damaged ones apart */
	uint64_t torn_len;  /* bytes after the last whole packet */
	uint64_t discarded; /* records that the recorder lost, as far as is known */
};

/* Told of what is wrong: one line each, a few for each stream, then their number. */
struct trace_listener {
	void *user;
	void (*say)(void *user, const char *text);
};

struct trace_reader;

/*
 * All streams, from their begin. -ENOENT: there is no trace; -EBADMSG: its metadata is damaged;
 * -EPROTO: it is another version's; -ENODATA: no stream can be read; other errnos of open and
 * read. *l is copied.
 */
int trace_reader_open(struct trace_reader **out, const char *folder, const struct trace_listener *l,
		      struct err *e);

/* From the begin again, only streams of the mask: 1 << enum afs_stream_number. */
void trace_reader_choose(struct trace_reader *r, unsigned int mask);

/*
 * The next record, by timestamp, and its stream: a struct afs_record_..., aligned, valid until the
 * next call. NULL: the end of all streams.
 */
const void *trace_reader_next(struct trace_reader *r, unsigned int *stream);

/* Of one stream; the totals are final at its end. */
const struct trace_read *trace_reader_read(const struct trace_reader *r, unsigned int stream);

/* Whether anything was said: what was given out is not all there was. */
bool trace_reader_flawed(const struct trace_reader *r);

/* What makes wall time of a timestamp, by addition. */
int64_t trace_reader_offset_ns(const struct trace_reader *r);

/* NULL is allowed. */
void trace_reader_close(struct trace_reader *r);

#endif
