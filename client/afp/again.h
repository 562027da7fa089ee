/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFP_AGAIN_H
#define AFP_AGAIN_H

/*
 * A command as another client has sent it, with names and ids of this server. Its layout has a
 * letter for each field behind its number, as AFS_OPERATIONS (bpf/operations.h) has them.
 */

#include "afp/afp.h"

#include <stdbool.h>
#include <stdint.h>

/* In flags of writes and locks: the offset is from the end of the file. */
#define AFP_FROM_END 0x80

struct afp_again {
	uint8_t command;
	const char *layout;
	uint16_t fork, bitmap, dir_bitmap, flags;
	uint8_t which;            /* the resource fork; data of Finder that are not all 0 */
	uint32_t dir, to_dir, id; /* of this server */
	uint32_t room;            /* most bytes of the reply */
	const char *path;         /* components with / between them; "": dir itself */
	const char *to_path;      /* likewise; or the name of an attribute */
	uint64_t offset, length;  /* of FPSetFileDirParms: length is the permission bits */
	const uint8_t *place;     /* of a search: AFP_PLACE_LEN bytes */
	const void *data;         /* of writes and attributes: length bytes, borrowed */
};

/*
 * Encodes it, for a's volume. The reply goes into buf, of cap bytes, which are borrowed as data is.
 * false: it is longer than a command may be, or there is nothing that stands for a field of it.
 */
bool afp_prep_again(struct afp_op *op, const struct afp *a, const struct afp_again *what, void *buf,
		    size_t cap);

/* Whether a search by these bits of its request, which are flags, can be made: by one name only. */
static inline bool afp_again_can_search(uint16_t flags)
{
	return flags == AFP_BIT_NAME || flags == AFP_BIT_LONG_NAME;
}

#endif
