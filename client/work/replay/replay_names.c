/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the same length and kind, made from hashes; and paths. */
#include "base/hash.h"
#include "work/replay/replay_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SALTS 64 /* tried before a name becomes longer */

/* Without vowels and p, so that no name is a word that a server reserves ("con", "lpt1"). */
static const char letters[] = "bcdfghjklmnqrstvwxyz0123456789";
#define N_LETTERS (sizeof(letters) - 1)

/* The first character of names of a kind: no two of them are equal without case or composed. */
static size_t names_put_first(char *out, enum replay_name_kind kind, uint64_t chance)
{
	static const char bases[] = "csznrlgk"; /* each has a form with an acute accent */

	switch (kind) {
	case REPLAY_NAME_COMPOSED: /* U+00E0 to U+00EF */
		out[0] = '\xc3';
		out[1] = (char)(0xa0 + chance % 16);
		return 2;
	case REPLAY_NAME_DECOMPOSED: /* and U+0301 */
		out[0] = bases[chance % 8];
		out[1] = '\xcc';
		out[2] = '\x81';
		return 3;
	case REPLAY_NAME_WIDE: /* U+4E00 to U+4E3F */
		out[0] = '\xe4';
		out[1] = '\xb8';
		out[2] = (char)(0x80 + chance % 64);
		return 3;
	case REPLAY_NAME_EMOJI: /* U+1F600 to U+1F63F */
		memcpy(out, "\xf0\x9f\x98", 3);
		out[3] = (char)(0x80 + chance % 64);
		return 4;
	default:
		return 0;
	}
}

static void names_put_letters(char *out, size_t len, uint64_t chance)
{
	uint64_t left = 0;

	for (size_t i = 0; i < len; i++, left /= N_LETTERS) {
		if (i % 12 == 0) /* that many are in 64 bits */
			left = chance = hash_number(chance + i);
		out[i] = letters[left % N_LETTERS];
	}
}

size_t replay_name(char out[static REPLAY_NAME_MAX + 1], const struct replay_slot *s)
{
	const uint64_t chance = hash_number(s->key + s->salt);
	size_t len = s->len, ext = s->ext_len, at;
	char first[4];

	if (s->salt >= SALTS)
		len += (size_t)s->salt / SALTS;
	len = len < 1 ? 1 : len;
	len = len > REPLAY_NAME_MAX ? REPLAY_NAME_MAX : len;
	at = names_put_first(first, s->kind, chance);
	if (at > len)
		at = 0;
	ext = ext && ext + 1 + (at ? at : 1) <= len ? ext + 1 : 0;
	memcpy(out, first, at);
	names_put_letters(out + at, len - ext - at, chance);
	if (ext) {
		out[len - ext] = '.';
		names_put_letters(out + len - ext + 1, ext - 1, s->ext_len);
	}
	out[len] = '\0';
	return len;
}

size_t replay_attr_name(char out[static REPLAY_NAME_MAX + 1], const struct replay_attr *a)
{
	const struct replay_slot like = {
		.key = a->key, .len = a->name_len, .kind = a->kind, .ext_len = a->ext_len
	};

	return replay_name(out, &like);
}

void replay_fill_name(char out[static REPLAY_NAME_MAX + 1], unsigned int i)
{
	snprintf(out, REPLAY_NAME_MAX, "more-%07u", i);
}

int replay_names_choose(struct replay_plan *p)
{
	struct replay_map taken = { 0 };
	char name[REPLAY_NAME_MAX + 1];
	struct replay_slot *s;
	uint64_t key;
	int r = 0;

	for (uint32_t i = 0; !r && i < p->n_slots; i++) {
		s = &p->slot[i];
		do {
			replay_name(name, s);
			key = replay_key(s->parent, hash_text(HASH_TEXT, name), 0);
		} while (replay_map_get(&taken, key) != REPLAY_NONE && ++s->salt < UINT16_MAX);
		r = replay_map_put(&taken, key, i);
	}
	replay_map_free(&taken);
	return r;
}

uint32_t replay_place_at(const struct replay_plan *p, uint32_t object, uint32_t step)
{
	const struct replay_place *at;
	uint32_t i = p->object[object].place;

	if (i == REPLAY_NONE)
		return REPLAY_NONE;
	for (at = &p->place[i]; at->since > step && at->before != REPLAY_NONE;)
		at = &p->place[at->before];
	return at->slot;
}

struct replay_where replay_itself_at(const struct replay_plan *p, struct replay_where at,
				     uint32_t step)
{
	const uint32_t slot = at.slot == REPLAY_NONE ? replay_place_at(p, at.dir, step)
						     : REPLAY_NONE;

	if (slot != REPLAY_NONE && p->slot[slot].parent)
		return (struct replay_where) { p->slot[slot].parent, slot, at.from };
	return at;
}

/* Puts a name in front of what begins at *at, with a slash between. */
static bool names_prepend(char *out, size_t *at, const char *name, bool last)
{
	const size_t len = strlen(name);

	if (len + !last > *at)
		return false;
	if (!last)
		out[--*at] = '/';
	*at -= len;
	memcpy(out + *at, name, len);
	return true;
}

bool replay_path_from(const struct replay_plan *p, uint32_t from, uint32_t dir, uint32_t slot,
		      uint32_t step, unsigned int depth, char *out, size_t size)
{
	char name[REPLAY_NAME_MAX + 1];
	size_t at = size - 1;
	bool last = true;

	out[at] = '\0';
	if (slot == REPLAY_NONE && dir != from)
		slot = replay_place_at(p, dir, step);
	while (slot != REPLAY_NONE) {
		replay_name(name, &p->slot[slot]);
		if (!depth-- || !names_prepend(out, &at, name, last))
			return false;
		last = false;
		dir = p->slot[slot].parent;
		slot = dir == from ? REPLAY_NONE : replay_place_at(p, dir, step);
	}
	memmove(out, out + at, size - at);
	return dir == from;
}

bool replay_path_at(const struct replay_plan *p, uint32_t dir, uint32_t slot, uint32_t step,
		    char *out, size_t size)
{
	return replay_path_from(p, 0, dir, slot, step, UINT32_MAX, out, size);
}
