/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

/*
 * Writes a trace: a folder in the Common Trace Format 1.8, one file for each kind of record
 * (docs/trace.md). A separate thread takes the records and writes them, in bounded memory; the
 * makers of records never wait for it. If writing fails (disk full, limit reached) it ends, but not
 * the run: what was written stays, and trace_note reports it.
 */

#include "base/err.h"
#include "bpf/records.h"
#include "run/run.h"

struct trace_opts {
	bool only_requests; /* neither calls nor waits */
	bool names;         /* as text, beside their hashes */
	bool replayable;    /* with operations */
	bool pinned;        /* the writer runs on cpu */
	unsigned int cpu;
	uint64_t max_len;            /* bytes, all files together, 1 MiB or more; 0: no limit */
	const char *run, *command;   /* of the run; for the metadata */
	const struct run_kind *kind; /* of the server; NULL: AFP's */
};

/* The source of the server's records: like watch_pull and watch_pull_lost. user NULL: none. */
struct trace_source {
	void *user;
	int (*pull)(void *user, int timeout_ms);
	uint64_t (*lost)(const void *user, unsigned int stream);
};

struct trace;

/*
 * Makes the folder dir if it is missing (not those above it), readable only by this user like all
 * its files, and writes the metadata. folder: the last part of dir is made in it, and dir is only
 * for messages; or AT_FDCWD. A symbolic link in that place is not followed. -EEXIST: it has a
 * trace.
 */
int trace_open(struct trace **out, int folder, const char *dir, const struct trace_opts *opts,
	       struct err *e);

/* AFS_TRACE_: which records the source should make. */
unsigned int trace_wants(const struct trace *t);

/*
 * A record from the source, within pull; of names a struct afs_named, of operations a struct
 * afs_captured. trace is a struct trace.
 */
void trace_put(void *trace, unsigned int stream, const void *record);

/* Begins; the source must live until trace_stop. -EINVAL: there is no such CPU. */
int trace_start(struct trace *t, const struct trace_source *source, struct err *e);

/* The client's own record: from one thread, at any time. Never waits. */
void trace_client(struct trace *t, const struct afs_record_client *record);

/*
 * Writes the rest of the source's records and ends. Does nothing the second time, or before
 * trace_start.
 */
void trace_stop(struct trace *t);

/* After trace_stop: what was written, what was lost. 0 or -ENOMEM. */
int trace_note(const struct trace *t, struct run *r);

/* Records of a stream that are in the files; after trace_stop. */
uint64_t trace_written(const struct trace *t, unsigned int stream);

/* Stops it, too. NULL is allowed. */
void trace_close(struct trace *t);

#endif
