/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

/*
 * What requests name, as records: by a hash whose key is made for this trace, kept in memory only
 * and thrown away with it, so that equal names are equal and nobody can try names out on it.
 */

#include "base/err.h"
#include "bpf/paths.h"
#include "bpf/records.h"

#include <stdbool.h>

struct names;

/* texts: names shall also be told in words. 0, or a negative errno and why. */
int names_open(struct names **out, bool texts, struct err *e);
void names_close(struct names *n); /* NULL is allowed */

/* The record of a command that the programs saw. */
void names_record(struct names *n, const struct afs_named *seen, struct afs_record_names *out);

/*
 * Whether the name of record, which is that of seen, is to be told in words now: it is wanted, was
 * read, and was not told lately. Then *out is its record.
 */
bool names_text(struct names *n, const struct afs_named *seen,
		const struct afs_record_names *record, struct afs_record_texts *out);

#endif
