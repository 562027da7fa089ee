/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What requests of the image and of the replay name, and the parts of long reads and writes. */
#include "work/replay/replay_client_priv.h"

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
	return true;
}
