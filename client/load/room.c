/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a load may be put where people work. */
#include "load/room.h"

#include "base/vec.h"
#include "load/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Time Machine has this in each bundle of its own; others that use such disk images do not. */
#define TIME_MACHINES "com.apple.TimeMachine.MachineID.plist"

struct room_bundles {
	size_t n;
	char **name; /* owned, each */
	bool no_memory;
};

static void room_found(struct store_op *op, const char *name)
{
	struct room_bundles *b = op->user;
	const char *end = strrchr(name, '.');
	char *copy;

	if (!end || (strcasecmp(end, ".sparsebundle") && strcasecmp(end, ".backupbundle")))
		return;
	copy = strdup(name);
	if (!copy || VEC_PUSH(b->name, b->n, copy)) {
		free(copy);
		b->no_memory = true;
	}
}

/* *keeps: it is one of Time Machine's; one that may not be looked into is none. */
static int room_look_into(struct store *s, struct store_dir dir, const char *name, bool *keeps,
			  struct err *e)
{
	struct store_op op = { .verb = STORE_PROBE, .dir = dir };
	char *path; /* and no STORE_LOOKUP, which would keep each of them open */
	int r;

	if (asprintf(&path, "%s/" TIME_MACHINES, name) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	op.name = path;
	r = store_call(s, &op, e);
	*keeps = op.result == STORE_OK;
	free(path);
	return r;
}

/* *keeps: there are backups of Time Machine in dir. Where dir may not be listed it is not known. */
static int room_look(struct store *s, struct store_dir dir, bool *keeps, struct err *e)
{
	struct room_bundles b = { 0 };
	struct store_op op;
	int r = store_list(s, dir, room_found, &b, &op, e);

	r = r > 0 ? 0 : r;
	for (size_t i = 0; !r && i < b.n && !*keeps; i++)
		r = room_look_into(s, dir, b.name[i], keeps, e);
	if (!r && b.no_memory && !*keeps)
		r = err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < b.n; i++)
		free(b.name[i]);
	free(b.name);
	return r;
}

int room_check(struct store *s, const struct room_need *need, struct err *e)
{
	const char *force = need->force ? need->force : "--force";
	struct store_op op = { .verb = STORE_ROOM, .dir = s->root[need->volume] };
	int r = store_call(s, &op, e);
	bool keeps = op.keeps_backups;

	if (!r && !op.tells_backups)
		r = room_look(s, s->root[need->volume], &keeps, e);
	if (r)
		return r;
	if (keeps)
		return err_set(e, LOAD_REFUSED,
			       "%s is a destination of Time Machine: a load may spoil the backups "
			       "of Macs or take their room (use another volume, or %s)",
			       need->where, force);
	if (op.result != STORE_OK || op.done / 2 >= need->bytes)
		return 0;
	return err_set(e, LOAD_REFUSED,
		       "the files of this run take %.1f MB, and %s has %.1f MB free: twice as much "
		       "must be, as others would find it full (fewer or smaller files, another "
		       "volume, or %s)",
		       (double)need->bytes / 1e6, need->where, (double)op.done / 1e6, force);
}
