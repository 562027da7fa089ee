/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_OPERATIONS_H
#define TRACE_OPERATIONS_H

/*
 * Records of what requests asked for. What is captured of a request, of its reply, and the record
 * that it was answered come one after another, but some of them may be lost, and requests be under
 * way at the same time: a connection's are answered in the order in which they came.
 */

#include "bpf/operations.h"
#include "bpf/records.h"
#include "trace/names.h"

struct operations;

/* names: hashes; it stays the caller's. NULL: no memory. */
struct operations *operations_open(struct names *names);
void operations_close(struct operations *o); /* NULL is allowed */

/* A part of a request or of a reply. */
void operations_captured(struct operations *o, const struct afs_captured *captured);

/* A request was answered: its record. */
void operations_answered(struct operations *o, const struct afs_record_requests *r,
			 struct afs_record_operations *out);

/* A connection begins or ends. */
void operations_session(struct operations *o, const struct afs_record_sessions *s);

#endif
