/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_OPERATION_H
#define TRACE_OPERATION_H

/*
 * What an AFP request asked for and what its reply said, from the bytes that the programs copied
 * of both (bpf/operations.h), as fields of a record: ids and paths as hashes. Bytes are a client's:
 * whatever they say, nothing else is read, and what cannot be is marked.
 */

#include "bpf/operations.h"
#include "bpf/records.h"
#include "trace/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From a request with the command that r has: bytes after its number, of which "have" were copied
 * of "len".
 */
void operation_request(struct afs_record_operations *r, struct names *names, const uint8_t *bytes,
		       size_t have, size_t len);

/* From the begin of its reply. */
void operation_reply(struct afs_record_operations *r, struct names *names, const uint8_t *bytes,
		     size_t have);

/* How many bytes after its number are copied of a request of len bytes. */
size_t operation_wants(uint16_t command, size_t len);

/* How many bytes are copied of its reply of len bytes. */
size_t operation_reply_wants(uint16_t command, size_t len);

/* Whether something is expected of a reply without an error. */
bool operation_expects(uint16_t command);

#endif
