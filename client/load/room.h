/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LOAD_ROOM_H
#define LOAD_ROOM_H

/*
 * Whether a load may be put where people work: every load asks before its first byte, unless it is
 * forced.
 */

#include "store/store.h"

/* What a load will have there at once. */
struct room_need {
	unsigned int volume; /* root of the store: 0, or 1 for the second */
	const char *where;   /* its name in messages */
	uint64_t bytes;
	const char *force; /* what begins it nevertheless; NULL: --force */
};

/*
 * Whether the volume is no destination of Time Machine backups, and has twice the bytes free, as
 * its server or file system reports it, quotas included: others go on working there. Which volumes
 * are destinations an AFP server says; elsewhere those are that have a bundle of Time Machine's
 * beside what the load will make. 0, also where nobody reports what is free; LOAD_REFUSED or a
 * negative errno with a text.
 */
int room_check(struct store *s, const struct room_need *need, struct err *e);

#endif
