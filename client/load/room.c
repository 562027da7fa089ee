/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a load may be put where people work. */
#include "load/room.h"

#include "load/load.h"

int room_check(struct store *s, const struct room_need *need, struct err *e)
{
	const char *force = need->force ? need->force : "--force";
	struct store_op op = { .verb = STORE_ROOM, .dir = s->root[need->volume] };
	int r = store_call(s, &op, e);

	if (r || op.result != STORE_OK)
		return r;
	if (op.keeps_backups)
		return err_set(e, LOAD_REFUSED,
			       "%s is a destination of Time Machine: a load may spoil the backups "
			       "of Macs or take their room (use another volume, or %s)",
			       need->where, force);
	if (op.done / 2 >= need->bytes)
		return 0;
	return err_set(e, LOAD_REFUSED,
		       "the files of this run take %.1f MB, and %s has %.1f MB free: twice as much "
		       "must be, as others would find it full (fewer or smaller files, another "
		       "volume, or %s)",
		       (double)need->bytes / 1e6, need->where, (double)op.done / 1e6, force);
}
