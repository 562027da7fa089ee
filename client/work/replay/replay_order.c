/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which requests of other clients must have been answered before one may be sent: what made,
 * removed or moved what it is about or the directory where that is; of those that change this also
 * whoever used it before. Locks of a file keep their order, and what reads a file follows what made
 * it longer. The order of a client's own requests is kept anyway.
 */
#include "base/vec.h"
#include "work/replay/replay_priv.h"

#include <errno.h>

/* The same one twice does no harm. */
static int order_push(struct replay_plan *p, uint32_t step, uint32_t before)
{
	struct replay_step *s = &p->step[step];
	size_t n = p->n_needs;
	int r;

	if (before == REPLAY_NONE || before == step || p->step[before].client == s->client)
		return 0;
	r = VEC_PUSH(p->need, n, before);
	p->n_needs = (uint32_t)n;
	s->n_needs += !r;
	return r;
}

static int order_need(struct replay_plan *p, uint32_t step, uint32_t before)
{
	const struct replay_step *s = &p->step[step];

	for (uint32_t i = 0; i < s->n_needs; i++)
		if (p->need[s->first_need + i] == before)
			return 0;
	return order_push(p, step, before);
}

/* It looks at what is in the slot. Thousands of clients may, as in a folder of all. */
static int order_use(struct replay_plan *p, uint32_t step, uint32_t slot)
{
	struct replay_maps *m = p->maps;
	const uint64_t key = replay_key(slot, p->step[step].client, 7);
	uint32_t i;
	int r;

	if (slot == REPLAY_NONE)
		return 0;
	r = order_need(p, step, p->slot[slot].changed);
	i = replay_map_get(&m->uses, key);
	if (i != REPLAY_NONE && i >= p->slot[slot].first_user) {
		m->user[i].step = step;
		return r;
	}
	i = (uint32_t)m->n_users;
	r = r ? r : replay_map_put(&m->uses, key, i);
	r = r ? r
	      : VEC_PUSH(m->user, m->n_users, (struct replay_user) { step, p->slot[slot].users });
	if (!r)
		p->slot[slot].users = i;
	return r;
}

/* It changes what is there. */
static int order_change(struct replay_plan *p, uint32_t step, uint32_t slot)
{
	int r;

	if (slot == REPLAY_NONE)
		return 0;
	r = order_need(p, step, p->slot[slot].changed);
	for (uint32_t i = p->slot[slot].users; !r && i != REPLAY_NONE; i = p->maps->user[i].next)
		r = order_push(p, step, p->maps->user[i].step);
	p->slot[slot].changed = step;
	p->slot[slot].users = REPLAY_NONE;
	p->slot[slot].first_user = (uint32_t)p->maps->n_users;
	return r;
}

static int order_where(struct replay_plan *p, uint32_t step, uint32_t dir, uint32_t slot,
		       bool changes)
{
	int r = order_use(p, step, replay_place_at(p, dir, UINT32_MAX));

	if (r)
		return r;
	return changes ? order_change(p, step, slot) : order_use(p, step, slot);
}

static bool order_changes(const struct replay_step *s)
{
	return s->effect == REPLAY_MAKES || s->effect == REPLAY_REMOVES ||
	       s->effect == REPLAY_RENAMES || s->effect == REPLAY_SWAPS;
}

/* Of an open file: locks and exclusive opens in their order, reads after what made it longer. */
static int order_file(struct replay_plan *p, uint32_t step, const struct replay_open *open)
{
	const struct replay_step *s = &p->step[step];
	struct replay_object *o = &p->object[open->object];
	const bool locks = s->verb == STORE_LOCK || s->verb == STORE_UNLOCK ||
			   (open->exclusive &&
			    (s->effect == REPLAY_OPENS || s->effect == REPLAY_CLOSES));
	int r = 0;

	if (locks || s->effect == REPLAY_OPENS)
		r = order_need(p, step, o->opened);
	if (locks)
		o->opened = step;
	if (!r && (s->verb == STORE_READ || s->verb == STORE_LENGTH))
		r = order_need(p, step, o->grown);
	return r;
}

int replay_order_add(struct replay_plan *p, uint32_t step, const struct replay_open *open)
{
	struct replay_step *s = &p->step[step];
	const bool has_to = s->effect == REPLAY_RENAMES || s->effect == REPLAY_COPIES ||
			    s->effect == REPLAY_SWAPS;
	int r = 0;

	s->first_need = p->n_needs;
	if (s->dir != REPLAY_NONE)
		r = order_where(p, step, s->dir, s->slot, order_changes(s));
	if (!r && has_to)
		r = order_where(p, step, s->to_dir, s->to_slot, true);
	return r || !open ? r : order_file(p, step, open);
}
