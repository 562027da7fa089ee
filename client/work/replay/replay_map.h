/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_REPLAY_REPLAY_MAP_H
#define WORK_REPLAY_REPLAY_MAP_H

/* A table of 64-bit keys with 32-bit values. All 0 before. */

#include <stddef.h>
#include <stdint.h>

#define REPLAY_NONE UINT32_MAX

struct replay_map {
	size_t n, room;
	struct replay_map_entry {
		uint64_t key;
		uint32_t value; /* of an empty place REPLAY_NONE */
	} * entry;
};

/* Its value, or REPLAY_NONE. */
uint32_t replay_map_get(const struct replay_map *m, uint64_t key);
/* 0 or -ENOMEM. */
int replay_map_put(struct replay_map *m, uint64_t key, uint32_t value);
void replay_map_free(struct replay_map *m);
/* A key of several numbers. */
uint64_t replay_key(uint64_t a, uint64_t b, uint64_t c);

#endif
