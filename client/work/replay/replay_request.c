/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests of the image and of the replay name, and the parts of long reads and writes. */
#include "work/replay/replay_client_priv.h"
#include "work/replay/replay_priv.h"

#include <stdio.h>

bool replay_client_name(struct replay_client *c, uint32_t dir, uint32_t slot, uint32_t step,
			struct store_dir *at, const char **name, char *room)
{
	const struct replay_plan *p = c->c->plan;
	int len;

	*name = room;
	*room = '\0';
	*at = c->store->root[0];
	if (c->by_id) {
		at->id = atomic_load_explicit(&c->c->id[dir], memory_order_acquire);
		if (slot != REPLAY_NONE)
			replay_name(room, &p->slot[slot]);
		return at->id;
	}
	len = snprintf(room, REPLAY_PATH_MAX, "%s%s%s", c->c->base, c->c->below ? "/" : "",
		       c->c->below ? c->c->below : "");
	if (!replay_path_at(p, dir, slot, step, room + len + 1, REPLAY_PATH_MAX - (size_t)len - 1))
		return false;
	room[len] = room[len + 1] ? '/' : '\0';
	return true;
}

bool replay_client_move(struct replay_client *c, uint64_t offset, uint64_t len)
{
	const bool reads = c->op.verb == STORE_READ;
	uint64_t most = reads ? c->store->chunk_read : c->store->chunk_write;

	/* the same length again, also where it is not one of whole pages */
	if (c->op.again)
		most = reads ? c->sink_len : c->store->write_most;
	most = reads && most > c->sink_len ? c->sink_len : most;
	most = !reads && most > c->c->data_len ? c->c->data_len : most;
	len = len > REPLAY_LAST_BYTE ? REPLAY_LAST_BYTE : len;
	if (c->moved >= len && c->moved)
		return false;
	c->op.offset = offset + c->moved;
	c->op.len = len - c->moved < most ? len - c->moved : most;
	c->op.buf = c->sink;
	c->op.data = c->c->data;
	c->op.discard = true;
	c->again.length = c->op.len;
	if (!(c->again.flags & AFP_FROM_END))
		c->again.offset = c->op.offset;
	return true;
}

/* ---- the same command of AFP ---- */

/* Where a path begins, and the path. false: that directory is not there. */
static bool request_path(struct replay_client *c, const struct replay_where *at, unsigned int depth,
			 uint32_t *id, char *room)
{
	const struct replay_plan *p = c->c->plan;
	const uint32_t step = c->plan->step[c->at];
	uint32_t dir = at->from;

	if (!replay_path_from(p, at->from, at->dir, at->slot, step, depth, room, REPLAY_PATH_MAX)) {
		*room = '\0';
		dir = at->dir;
		if (at->slot != REPLAY_NONE)
			replay_name(room, &p->slot[at->slot]);
	}
	*id = (uint32_t)atomic_load_explicit(&c->c->id[dir], memory_order_acquire);
	return *id;
}

static bool request_is_dir(const struct replay_client *c, const struct replay_step *s)
{
	return s->object != REPLAY_NONE && c->c->plan->object[s->object].is_dir;
}

static bool request_names(struct replay_client *c, const struct replay_step *s)
{
	const struct replay_where at = { s->dir, s->slot, s->from };
	const struct replay_where to = { s->to_dir, s->to_slot, s->to_from };
	const struct replay_plan *p = c->c->plan;
	struct afp_again *a = &c->again;

	*c->name[0] = *c->name[1] = '\0';
	a->path = c->name[0];
	a->to_path = c->name[1];
	if (s->attr != REPLAY_NONE)
		replay_attr_name(c->name[1], &p->attr[s->attr]);
	if (s->effect == REPLAY_BY_ID)
		a->id = (uint32_t)atomic_load_explicit(&c->c->id[s->object], memory_order_acquire);
	if (s->effect == REPLAY_BY_ID)
		return a->id;
	if (s->from != REPLAY_NONE && !request_path(c, &at, s->depth, &a->dir, c->name[0]))
		return false;
	return s->to_from == REPLAY_NONE ||
	       request_path(c, &to, s->to_depth, &a->to_dir, c->name[1]);
}

bool replay_client_again(struct replay_client *c, const struct replay_step *s)
{
	const bool sets = s->command == AFP_SetFileDirParms || s->command == AFP_SetFileParms ||
			  s->command == AFP_SetDirParms;
	const bool is_dir = sets && request_is_dir(c, s);
	const uint32_t room = (uint32_t)(c->list_len - REPLAY_LIST_MORE);

	c->again = (struct afp_again) { .command = s->command,
					.layout = replay_layout(s->command),
					.bitmap = s->bitmap,
					.dir_bitmap = s->dir_bitmap,
					.flags = s->flags,
					.which = s->which,
					.room = s->room < room ? s->room : room,
					.offset = s->said_offset,
					.length = s->len,
					.place = c->place,
					.data = c->c->data };
	if (sets) /* what is made can be removed; others work there who now are other users */
		c->again.length = s->len | (is_dir ? 0700 : 0600);
	if (sets && c->c->for_all)
		c->again.length |= is_dir ? REPLAY_DIR_FOR_ALL : REPLAY_FILE_FOR_ALL;
	if (s->verb == STORE_SEARCH && !s->said_offset)
		memset(c->place, 0, sizeof(c->place));
	memcpy(c->op.place, c->place, sizeof(c->place));
	c->op.dir = c->store->root[0];
	c->op.again = &c->again;
	return request_names(c, s);
}
