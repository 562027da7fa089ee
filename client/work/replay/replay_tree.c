/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is where, request after request. What is found to have been there before the first request
 * about it belongs to the image; what a request makes, or does not find, does not.
 */
#include "base/vec.h"
#include "work/replay/replay_priv.h"

#include <errno.h>

#define PARENT_OF_ROOT 1u
#define ROOT           2u
#define OTHER_LEN      12 /* of names that are not known */

/* ---- new ones ---- */

static void tree_fails(struct replay_plan *p, bool failed)
{
	p->maps->out_of_memory |= failed;
}

/* The element i of an array, or the first one, which is always there, without memory. */
static uint32_t tree_new_place(struct replay_plan *p, uint32_t slot, uint32_t since,
			       uint32_t before)
{
	const struct replay_place place = { slot, since, before };
	size_t n = p->n_places;

	tree_fails(p, VEC_PUSH(p->place, n, place) != 0);
	p->n_places = (uint32_t)n;
	return p->n_places - 1;
}

static uint32_t tree_new_object(struct replay_plan *p, uint32_t slot, bool is_dir, uint32_t since)
{
	struct replay_object *o;
	size_t n = p->n_objects;

	o = VEC_ADD(p->object, n);
	p->n_objects = (uint32_t)n;
	if (!o) {
		tree_fails(p, true);
		return 0;
	}
	*o = (struct replay_object) { .place = REPLAY_NONE,
				      .attr = REPLAY_NONE,
				      .data = (uint32_t)n - 1,
				      .holder = (uint32_t)n - 1,
				      .attrs_turn = REPLAY_NONE,
				      .grown = REPLAY_NONE,
				      .is_dir = is_dir };
	if (slot != REPLAY_NONE)
		p->object[n - 1].place = tree_new_place(p, slot, since, REPLAY_NONE);
	return (uint32_t)n - 1;
}

static uint32_t tree_slot(struct replay_plan *p, uint32_t dir, uint64_t key,
			  const struct replay_path *like)
{
	const uint64_t at = replay_key(dir, key, 1);
	uint32_t i = replay_map_get(&p->maps->slots, at);
	struct replay_slot *s;
	size_t n = p->n_slots;

	if (i != REPLAY_NONE)
		return i;
	s = VEC_ADD(p->slot, n);
	if (!s || replay_map_put(&p->maps->slots, at, (uint32_t)n - 1)) {
		tree_fails(p, true);
		return 0;
	}
	p->n_slots = (uint32_t)n;
	*s = (struct replay_slot) { .key = key,
				    .parent = dir,
				    .object = REPLAY_NONE,
				    .at_begin = REPLAY_NONE,
				    .turn = replay_order_turn(p),
				    .alias = REPLAY_NONE,
				    .len = like ? like->len : OTHER_LEN,
				    .kind = like ? like->kind : REPLAY_NAME_ASCII,
				    .ext_len = like ? like->ext_len : 0 };
	return p->n_slots - 1;
}

/* ---- what is there ---- */

uint32_t replay_tree_object(const struct replay_plan *p, struct replay_where at)
{
	return at.slot == REPLAY_NONE ? at.dir : p->slot[at.slot].object;
}

uint32_t replay_tree_is_there(struct replay_plan *p, struct replay_where at, bool is_dir)
{
	uint32_t i = replay_tree_object(p, at);
	struct replay_object *dir = &p->object[at.dir];

	if (i == REPLAY_NONE) {
		/* What is in a directory that was made was made, too. */
		const bool known = p->slot[at.slot].known || !dir->at_begin;

		i = tree_new_object(p, at.slot, is_dir, 0);
		dir = &p->object[at.dir];
		p->slot[at.slot].object = i;
		p->slot[at.slot].known = true;
		p->object[i].at_begin = !known;
		p->object[i].lost = known;
		if (!known)
			p->slot[at.slot].at_begin = i;
		dir->n_begin += !known;
		dir->n_now++;
	}
	p->object[i].is_dir |= is_dir;
	return i;
}

void replay_tree_is_missing(struct replay_plan *p, struct replay_where at)
{
	if (at.slot != REPLAY_NONE && p->slot[at.slot].object == REPLAY_NONE)
		p->slot[at.slot].known = p->slot[at.slot].made = true;
}

uint32_t replay_tree_make(struct replay_plan *p, struct replay_where at, bool is_dir)
{
	struct replay_slot *s;
	uint32_t i;

	if (at.slot == REPLAY_NONE)
		return at.dir;
	if (p->slot[at.slot].object != REPLAY_NONE)
		return p->slot[at.slot].object;
	i = tree_new_object(p, at.slot, is_dir, p->n_steps);
	p->object[i].lost = p->object[at.dir].lost;
	s = &p->slot[at.slot];
	s->known = s->made = true;
	s->object = i;
	p->object[at.dir].n_now++;
	return i;
}

void replay_tree_swap(struct replay_plan *p, uint32_t a, uint32_t b)
{
	const uint32_t of_a = p->object[a].data, of_b = p->object[b].data;

	p->object[a].data = of_b;
	p->object[b].data = of_a;
	p->object[of_a].holder = b;
	p->object[of_b].holder = a;
}

void replay_tree_remove(struct replay_plan *p, struct replay_where at)
{
	at = replay_itself_at(p, at, UINT32_MAX);
	if (at.slot == REPLAY_NONE || p->slot[at.slot].object == REPLAY_NONE)
		return;
	p->slot[at.slot].object = REPLAY_NONE;
	p->object[at.dir].n_now--;
}

/* Whether an object is a directory above a slot at a step. */
static bool tree_is_above(const struct replay_plan *p, uint32_t object, uint32_t slot,
			  uint32_t step)
{
	for (unsigned int depth = 0; slot != REPLAY_NONE && depth < REPLAY_DEPTH_MAX; depth++) {
		if (p->slot[slot].parent == object)
			return true;
		slot = replay_place_at(p, p->slot[slot].parent, step);
	}
	return slot != REPLAY_NONE;
}

void replay_tree_move(struct replay_plan *p, struct replay_where from, struct replay_where to,
		      uint32_t step)
{
	uint32_t i;

	from = replay_itself_at(p, from, UINT32_MAX);
	if (from.slot == REPLAY_NONE || to.slot == REPLAY_NONE || from.slot == to.slot)
		return;
	i = p->slot[from.slot].object;
	if (i == REPLAY_NONE || tree_is_above(p, i, to.slot, UINT32_MAX))
		return;
	replay_tree_remove(p, from);
	if (p->slot[to.slot].object == REPLAY_NONE)
		p->object[to.dir].n_now++;
	p->slot[to.slot].object = i;
	p->slot[to.slot].known = p->slot[to.slot].made = true;
	p->object[i].place = tree_new_place(p, to.slot, step + 1, p->object[i].place);
}

/* ---- directories ---- */

static uint64_t tree_dir_key(uint16_t volume, uint64_t id)
{
	return replay_key(volume, id, 2);
}

/* A directory that is there from the begin; where it is really is not known. */
static uint32_t tree_other_dir(struct replay_plan *p, uint32_t in, uint16_t volume, uint64_t id)
{
	const uint32_t slot = tree_slot(p, in, tree_dir_key(volume, id), NULL);
	const uint32_t i = replay_tree_is_there(p, (struct replay_where) { in, slot, in }, true);

	tree_fails(p, replay_map_put(&p->maps->dirs, tree_dir_key(volume, id), i) != 0);
	return i;
}

uint32_t replay_tree_root(struct replay_plan *p, uint16_t volume)
{
	const uint32_t i = replay_map_get(&p->maps->dirs, tree_dir_key(volume, ROOT));

	return i == REPLAY_NONE ? tree_other_dir(p, 0, volume, ROOT) : i;
}

static uint32_t tree_dir(struct replay_plan *p, uint16_t volume, uint64_t id)
{
	uint32_t i;

	if (id <= ROOT)
		return replay_tree_root(p, volume);
	i = replay_map_get(&p->maps->dirs, tree_dir_key(volume, id));
	return i == REPLAY_NONE ? tree_other_dir(p, replay_tree_root(p, volume), volume, id) : i;
}

/* Where a path of several components led last; REPLAY_NONE. */
static uint32_t tree_path(const struct replay_plan *p, uint32_t from, uint64_t path)
{
	const uint32_t i = replay_map_get(&p->maps->paths, replay_key(from, path, 6));

	return i == REPLAY_NONE ? replay_map_get(&p->maps->slots, replay_key(from, path, 1)) : i;
}

/* Of the path without its last component: a directory. */
static uint32_t tree_parent(struct replay_plan *p, uint32_t from, uint64_t parent)
{
	struct replay_where at = { from, tree_path(p, from, parent), from };

	if (at.slot == REPLAY_NONE)
		at.slot = tree_slot(p, from, parent, NULL);
	if (p->slot[at.slot].alias != REPLAY_NONE)
		at.slot = p->slot[at.slot].alias;
	at.dir = p->slot[at.slot].parent;
	return replay_tree_is_there(p, at, true);
}

struct replay_where replay_tree_find(struct replay_plan *p, const struct replay_path *path)
{
	const uint32_t from = tree_dir(p, path->volume, path->dir);
	struct replay_where at = { from, REPLAY_NONE, from };

	/* the volume's name, below the parent of its root */
	if (!path->name || (path->dir == PARENT_OF_ROOT && !path->parent))
		return at;
	p->object[from].is_dir = true;
	if (path->parent) {
		at.dir = tree_parent(p, from, path->parent);
		/* a directory that was only known as what a path leads through */
		at.slot = replay_map_get(&p->maps->slots, replay_key(from, path->name, 1));
		if (at.slot == REPLAY_NONE)
			at.slot = tree_slot(p, at.dir, path->name, path);
		tree_fails(p, replay_map_put(&p->maps->paths, replay_key(from, path->name, 6),
					     at.slot) != 0);
	} else {
		at.slot = tree_slot(p, at.dir, path->name, path);
	}
	if (p->slot[at.slot].alias != REPLAY_NONE)
		at.slot = p->slot[at.slot].alias;
	at.dir = p->slot[at.slot].parent;
	return at;
}

/* A slot has nothing at the begin that it was thought to have. */
static void tree_clear(struct replay_plan *p, uint32_t slot)
{
	struct replay_object *dir = &p->object[p->slot[slot].parent];

	p->slot[slot].object = p->slot[slot].at_begin = REPLAY_NONE;
	dir->n_begin--;
	dir->n_now--;
}

/*
 * What this request has found in a slot is an object that is known from elsewhere: a directory of
 * which only the id was known is there, and all else has two names. Whoever used it under the other
 * name used what is here.
 */
static void tree_settle(struct replay_plan *p, uint32_t object, uint16_t volume, uint64_t id,
			struct replay_where at)
{
	const uint32_t found = p->slot[at.slot].object, place = p->object[object].place;
	uint32_t old;

	if (found < p->maps->first_new || !p->object[found].at_begin || place == REPLAY_NONE)
		return;
	old = p->place[place].slot;
	if (p->slot[old].key != tree_dir_key(volume, id)) {
		tree_clear(p, at.slot);
		p->object[found].at_begin = false;
		p->slot[at.slot].alias = old;
		p->slot[at.slot].turn = p->slot[old].turn;
	} else if (!tree_is_above(p, object, at.slot, UINT32_MAX) &&
		   !tree_is_above(p, object, at.slot, 0)) {
		tree_clear(p, old);
		p->object[found].at_begin = false;
		p->slot[at.slot].object = p->slot[at.slot].at_begin = object;
		p->slot[at.slot].turn = p->slot[old].turn;
		p->place[place].slot = at.slot;
		p->maps->settled = true;
	}
}

void replay_tree_name(struct replay_plan *p, uint16_t volume, uint64_t id, struct replay_where at)
{
	const uint64_t key = tree_dir_key(volume, id);
	const uint32_t known = replay_map_get(&p->maps->dirs, key), i = replay_tree_object(p, at);

	if (id <= ROOT || i == REPLAY_NONE || known == i)
		return;
	if (known == REPLAY_NONE)
		tree_fails(p, replay_map_put(&p->maps->dirs, key, i) != 0);
	else if (at.slot != REPLAY_NONE)
		tree_settle(p, known, volume, id, at);
}

uint32_t replay_tree_by_id(const struct replay_plan *p, uint16_t volume, uint64_t id)
{
	return replay_map_get(&p->maps->dirs, tree_dir_key(volume, id));
}

int replay_tree_new(struct replay_plan *p)
{
	tree_new_object(p, REPLAY_NONE, true, 0);
	if (p->maps->out_of_memory)
		return -ENOMEM;
	p->object[0].at_begin = true;
	return 0;
}
