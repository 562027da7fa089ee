/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a hostile recording as a plan. Whatever they say: all are counted, nothing is named
 * outside the directory of all, what is made first is above what is made later, and no request
 * waits for one that comes after it.
 */
#include "base/buf.h"
#include "work/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#define FEW 15u /* names, directories, sessions: so that they meet again */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
enum store_result __wrap_store_afp_result(int32_t code);

/* Any result may be, not only those of the few codes that AFP has. */
enum store_result __wrap_store_afp_result(int32_t code)
{
	return code >= 0 ? STORE_OK
			 : (enum store_result)((unsigned int)-code % (STORE_UNKNOWN + 1));
}

/* Of eight bits small numbers, and the largest ones. */
static uint64_t number(struct rbuf *b)
{
	const uint8_t n = rbuf_u8(b);

	return n < 0xf0 ? n : UINT64_MAX << 4 * (n & 0xf);
}

static struct replay_path path(struct rbuf *b)
{
	struct replay_path at = { .volume = rbuf_u8(b) & 1, .dir = rbuf_u8(b) & FEW };
	const uint8_t name = rbuf_u8(b), form = rbuf_u8(b);

	at.name = name & FEW;
	at.parent = at.name ? name >> 4 : 0;
	at.kind = form & 7;
	at.len = form & 8 ? (uint16_t)number(b) : form >> 4;
	at.ext_len = (uint8_t)(form >> 5);
	return at;
}

/* The commands that a replay has, and others. */
static uint16_t command(uint8_t n)
{
	static const uint8_t known[] = { 1,  3,  4,  5,  6,  7,  8,  9,  10, 11, 14, 17,
					 23, 25, 26, 28, 31, 34, 35, 42, 60, 61, 66, 68,
					 69, 78, 37, 41, 48, 58, 67, 70, 71, 72 };

	return n < 2 * sizeof(known) ? known[n / 2] : (uint16_t)(n + (n & 1) * 100);
}

static struct replay_request request(struct rbuf *b)
{
	static const int32_t results[] = {
		0, 0, 0, 0, 0, -5018, -5012, -5017, -5009, -5008, -1, 1
	};
	struct replay_request q = { .command = command(rbuf_u8(b)), .session = rbuf_u8(b) & FEW };

	q.result = results[rbuf_u8(b) % (sizeof(results) / sizeof(results[0]))];
	q.path = path(b);
	q.to = path(b);
	q.t_ns = number(b);
	q.time_ns = number(b);
	q.offset = number(b);
	q.length = number(b);
	q.actual = number(b);
	q.size = number(b);
	q.id = rbuf_u8(b) & FEW;
	q.marks = rbuf_u8(b) & 0x1f;
	q.flags = rbuf_u8(b);
	q.fork = rbuf_u8(b) & 3;
	q.which = q.fork & 1;
	q.bitmap = q.dir_bitmap = rbuf_u16(b);
	return q;
}

static void check_name(const char *name)
{
	const size_t len = strlen(name);

	if (!len || len > REPLAY_NAME_MAX || *name == '.' || strchr(name, '/'))
		abort();
}

static void check_image(const struct replay_plan *p)
{
	bool *made = calloc(p->n_objects, sizeof(*made));
	uint32_t slot, i;

	if (!made)
		return;
	*made = true;
	for (uint64_t at = 0; at < p->image.dirs; at++) {
		i = p->dir_order[at];
		slot = replay_place_at(p, i, 0);
		if (made[i] || slot == REPLAY_NONE || !made[p->slot[slot].parent])
			abort();
		made[i] = true;
	}
	free(made);
}

static void check_steps(const struct replay_plan *p)
{
	char name[REPLAY_NAME_MAX + 1], path[1024];
	const struct replay_step *s;

	for (uint32_t i = 0; i < p->n_steps; i++) {
		s = &p->step[i];
		for (uint32_t k = 0; k < s->n_needs; k++)
			if (p->need[s->first_need + k] >= i)
				abort();
		if (s->slot != REPLAY_NONE)
			replay_name(name, &p->slot[s->slot]);
		else
			strcpy(name, "none");
		check_name(name);
		if (s->dir != REPLAY_NONE &&
		    replay_path_at(p, s->dir, s->slot, i, path, sizeof(path)) &&
		    (*path == '/' || *path == '.' || strstr(path, "/.") || strstr(path, "//")))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rbuf b = rbuf_of(data, len);
	const struct replay_opts o = { .speed = 1, .from_ns = rbuf_u8(&b) & 3 };
	struct replay_plan *p = replay_plan_new(&o);
	struct replay_counts all;
	struct err e = { 0 };
	uint64_t n = 0;

	while (p && rbuf_left(&b)) {
		const struct replay_request q = request(&b);

		if (replay_plan_add(p, &q))
			abort();
		n++;
	}
	if (!p || replay_plan_close(p, &e))
		abort();
	replay_plan_counts(p, &all);
	for (unsigned int i = 0; i < REPLAY_N_REASONS; i++)
		n -= all.left[i];
	if (n != all.planned || n != p->n_steps)
		abort();
	check_image(p);
	check_steps(p);
	replay_plan_free(p);
	return 0;
}
