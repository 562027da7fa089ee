/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work/replay/replay_map.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

uint64_t replay_key(uint64_t a, uint64_t b, uint64_t c)
{
	return hash_number(hash_number(hash_number(a) + b) + c);
}

static struct replay_map_entry *replay_map_at(const struct replay_map *m, uint64_t key)
{
	size_t i = key & (m->room - 1);

	while (m->entry[i].value != REPLAY_NONE && m->entry[i].key != key)
		i = (i + 1) & (m->room - 1);
	return &m->entry[i];
}

uint32_t replay_map_get(const struct replay_map *m, uint64_t key)
{
	return m->room ? replay_map_at(m, key)->value : REPLAY_NONE;
}

static int replay_map_grow(struct replay_map *m)
{
	struct replay_map more = { .n = m->n, .room = m->room ? 2 * m->room : 64 };

	more.entry = malloc(more.room * sizeof(*more.entry));
	if (!more.entry)
		return -ENOMEM;
	for (size_t i = 0; i < more.room; i++)
		more.entry[i].value = REPLAY_NONE;
	for (size_t i = 0; i < m->room; i++)
		if (m->entry[i].value != REPLAY_NONE)
			*replay_map_at(&more, m->entry[i].key) = m->entry[i];
	free(m->entry);
	*m = more;
	return 0;
}

int replay_map_put(struct replay_map *m, uint64_t key, uint32_t value)
{
	struct replay_map_entry *at;

	if (2 * (m->n + 1) > m->room && replay_map_grow(m))
		return -ENOMEM;
	at = replay_map_at(m, key);
	m->n += at->value == REPLAY_NONE;
	*at = (struct replay_map_entry) { key, value };
	return 0;
}

void replay_map_free(struct replay_map *m)
{
	free(m->entry);
	*m = (struct replay_map) { 0 };
}
