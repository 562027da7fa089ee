/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_READER_H
#define TRACE_READER_H

/*
 * Reads a trace that this version wrote, safely from any bytes: each packet is checked as in
 * docs/trace.md before a record of it is returned, and left out if it is damaged. Memory is
 * bounded: one packet for each stream. Never waits for a file that is not regular.
 */

#include "base/err.h"
#include "bpf/records.h"

#include <stdbool.h>
#include <stdint.h>

/* What was read of a stream so far, and what was not. */
struct trace_read {
	bool there;         /* the file exists and can be read */
	uint64_t records;   /* returned */
	uint64_t packets;   /* that they came from */
	uint64_t damaged;   /* packets left out */
	uint64_t missing;   /* packets missing in the sequence, without damaged ones */
	uint64_t torn_len;  /* bytes after the last whole packet */
	uint64_t discarded; /* records that the recorder lost, as far as is known */
};

/* Gets what is wrong: one line each, a few for each stream, then their number. */
struct trace_listener {
	void *user;
	void (*say)(void *user, const char *text);
};

struct trace_reader;

/*
 * All streams, from their begin. -ENOENT: there is no trace; -EBADMSG: its metadata is damaged;
 * -EPROTO: it was written by another version; -ENODATA: no stream can be read; other errnos of open
 * and read. *l is copied.
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

/* What was read of one stream; final at its end. */
const struct trace_read *trace_reader_read(const struct trace_reader *r, unsigned int stream);

/* Whether anything was reported, so that records are missing. */
bool trace_reader_flawed(const struct trace_reader *r);

/* Added to a timestamp it gives wall time. */
int64_t trace_reader_offset_ns(const struct trace_reader *r);

/* NULL is allowed. */
void trace_reader_close(struct trace_reader *r);

#endif
