/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which requests of other clients must have been answered before one may be sent: what made,
 * removed or moved what it is about, or a directory above that; of those that change this also
 * whoever used it before. A file is used until it is closed. Locks, opens that keep others out, the
 * close that lets them in again, and a new length change it; what reads or copies it follows what
 * made it longer. The order of a client's own requests is kept anyway.
 */
#include "base/vec.h"
#include "work/replay/replay_priv.h"

#include <errno.h>

#define ABOVE_MAX 64 /* directories above each other that are looked at: no user has more */

uint32_t replay_order_turn(struct replay_plan *p)
{
	struct replay_maps *m = p->maps;

	if (!VEC_PUSH(m->turn, m->n_turns,
		      (struct replay_turn) { .changed = REPLAY_NONE, .users = REPLAY_NONE }))
		return (uint32_t)m->n_turns - 1;
	m->out_of_memory = true;
	return REPLAY_NONE;
}

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

/* It looks at it. Thousands of clients may, as at a folder of all. */
static int order_use(struct replay_plan *p, uint32_t step, uint32_t turn)
{
	struct replay_maps *m = p->maps;
	const uint64_t key = replay_key(turn, p->step[step].client, 7);
	struct replay_turn *t = &m->turn[turn];
	uint32_t i = replay_map_get(&m->uses, key);
	int r;

	if (i != REPLAY_NONE && i >= t->first_user) {
		m->user[i].step = step; /* its client has waited for the last change already */
		return 0;
	}
	i = (uint32_t)m->n_users;
	r = order_need(p, step, t->changed);
	r = r ? r : replay_map_put(&m->uses, key, i);
	r = r ? r : VEC_PUSH(m->user, m->n_users, (struct replay_user) { step, t->users });
	if (!r)
		t->users = i;
	return r;
}

static int order_change(struct replay_plan *p, uint32_t step, uint32_t turn)
{
	struct replay_turn *t = &p->maps->turn[turn];
	int r = order_need(p, step, t->changed);

	for (uint32_t i = t->users; !r && i != REPLAY_NONE; i = p->maps->user[i].next)
		r = order_push(p, step, p->maps->user[i].step);
	*t = (struct replay_turn) { step, REPLAY_NONE, (uint32_t)p->maps->n_users };
	return r;
}

static int order_at(struct replay_plan *p, uint32_t step, uint32_t turn, bool changes)
{
	return changes ? order_change(p, step, turn) : order_use(p, step, turn);
}

/* It uses a directory, and with it those above. */
static int order_in(struct replay_plan *p, uint32_t step, uint32_t dir)
{
	uint32_t slot = replay_place_at(p, dir, UINT32_MAX);
	int r = 0;

	for (unsigned int n = 0; !r && slot != REPLAY_NONE && n < ABOVE_MAX; n++) {
		r = order_use(p, step, p->slot[slot].turn);
		slot = replay_place_at(p, p->slot[slot].parent, UINT32_MAX);
	}
	return r;
}

static int order_where(struct replay_plan *p, uint32_t step, uint32_t dir, uint32_t slot,
		       bool changes)
{
	struct replay_where at = { dir, slot, dir };
	int r;

	if (changes) /* as a name in the directory that it was in before, also where it moves */
		at = replay_itself_at(p, at, step);
	r = order_in(p, step, at.dir);
	return r || at.slot == REPLAY_NONE ? r : order_at(p, step, p->slot[at.slot].turn, changes);
}

static bool order_changes(const struct replay_step *s)
{
	return s->effect == REPLAY_MAKES || s->effect == REPLAY_REMOVES ||
	       s->effect == REPLAY_RENAMES || s->effect == REPLAY_SWAPS ||
	       (s->effect == REPLAY_OPENS && s->how & STORE_ALONE);
}

/* Of an open file, which may have another name by now, or none. */
static int order_file(struct replay_plan *p, uint32_t step, const struct replay_open *open)
{
	const struct replay_step *s = &p->step[step];
	const uint32_t object = p->object[open->data].holder,
		       at = replay_place_at(p, object, UINT32_MAX);
	const bool closes = s->effect == REPLAY_CLOSES,
		   changes = s->verb == STORE_LOCK || s->verb == STORE_UNLOCK ||
			     s->verb == STORE_SET_LEN || (closes && open->holds);
	int r = 0;

	if (s->effect != REPLAY_OPENS && at != REPLAY_NONE && p->slot[at].object == object) {
		r = order_at(p, step, p->slot[at].turn, changes);
		if (!r && closes) /* some servers move no directory in which a file is open */
			r = order_in(p, step, p->slot[at].parent);
	}
	if (!r && (s->verb == STORE_READ || s->verb == STORE_LENGTH))
		r = order_need(p, step, p->object[open->data].grown);
	return r;
}

/* All attributes of an object are one: lists of them say how many there are. */
static int order_attrs(struct replay_plan *p, uint32_t step)
{
	const struct replay_step *s = &p->step[step];
	const bool changes = s->verb == STORE_SET_XATTR || s->verb == STORE_DEL_XATTR,
		   looks = s->verb == STORE_GET_XATTR || s->verb == STORE_LIST_XATTRS;
	struct replay_object *o;

	if ((!changes && !looks) || s->object == REPLAY_NONE)
		return 0;
	o = &p->object[s->object];
	if (o->attrs_turn == REPLAY_NONE)
		o->attrs_turn = replay_order_turn(p);
	return o->attrs_turn == REPLAY_NONE ? -ENOMEM : order_at(p, step, o->attrs_turn, changes);
}

int replay_order_add(struct replay_plan *p, uint32_t step, const struct replay_open *open)
{
	struct replay_step *s = &p->step[step];
	const bool has_to = s->effect == REPLAY_RENAMES || s->effect == REPLAY_COPIES ||
			    s->effect == REPLAY_SWAPS;
	int r = 0;

	s->first_need = p->n_needs;
	if (s->dir != REPLAY_NONE)
		r = order_where(p, step, s->dir, s->slot, order_changes(s) || p->maps->settled);
	if (!r && has_to)
		r = order_where(p, step, s->to_dir, s->to_slot, true);
	r = r ? r : order_attrs(p, step);
	if (!r && s->effect == REPLAY_COPIES && s->object != REPLAY_NONE)
		r = order_need(p, step, p->object[p->object[s->object].data].grown);
	return r || !open ? r : order_file(p, step, open);
}
