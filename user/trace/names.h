/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

/*
 * Records of the names in requests: as hashes with a key that is made for this trace and only kept
 * in memory, so that equal names have equal hashes but names cannot be found by trying.
 */

#include "base/err.h"
#include "bpf/paths.h"
#include "bpf/records.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names;

/* texts: write names as text, too. 0, or a negative errno and why. */
int names_open(struct names **out, bool texts, struct err *e);
void names_close(struct names *n); /* NULL is allowed */

/* Of a name, never 0, and of the id of a file or directory, which up to 2, the root's, is itself.
 */
uint64_t names_hash(struct names *n, const uint8_t *name, size_t len);
uint64_t names_id(struct names *n, uint32_t id);

/* The record of a command that the programs saw. */
void names_record(struct names *n, const struct afs_named *seen, struct afs_record_names *out);

/*
 * Whether the name of record, found in seen, must be written as text now: if texts are wanted, the
 * name was read, and was not written lately. Then *out is its record.
 */
bool names_text(struct names *n, const struct afs_named *seen,
		const struct afs_record_names *record, struct afs_record_texts *out);

/* The name as text, cut to fit, with / for the byte 0; false, empty: it could not be read. */
bool names_words(const struct afs_named *seen, char text[AFS_TEXT_LEN]);

#endif
