/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TRACE_PATH_H
#define TRACE_PATH_H

/* A path of AFP from a directory, as its components, and what a trace says of it. */

#include "bpf/operations.h"
#include "bpf/records.h"
#include "trace/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All 0: the directory itself. Components with a 0 between them, and one behind. */
struct path {
	uint8_t bytes[AFS_COMMAND_LEN + 1];
	size_t len, last; /* last: where the last component begins */
	unsigned int depth;
	bool utf8; /* the last one is; else it is in a Macintosh encoding */
	bool bad;  /* it goes above the directory, or found no room */
};

/* Where a record has what is said of one. */
struct path_fields {
	__u64 *name, *parent;
	__u16 *len;
	__u8 *depth, *kind, *ext;
};

/*
 * Adds a name as it is on the wire, which may be a path itself: a 0 parts components, a first 0
 * means nothing, more than one go up.
 */
void path_add(struct path *p, const uint8_t *name, size_t len, bool utf8);

void path_up(struct path *p);

/* Another one's last component. */
void path_add_last(struct path *p, const struct path *from);

/* Hashes, lengths and kind; of a bad path, or the directory itself, nothing. */
void path_tell(const struct path *p, struct names *names, const struct path_fields *to);

#endif
