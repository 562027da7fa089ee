/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a plan: what the image has, who sends which step, and when. */
#include "base/clock.h"
#include "work/replay/replay_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Entries that were listed and no request has named; a file that is only looked at is a file. */
static void close_image(struct replay_plan *p)
{
	struct replay_object *o;

	for (uint32_t i = 1; i < p->n_objects; i++) {
		o = &p->object[i];
		if (!o->at_begin)
			continue;
		if (o->is_dir) {
			o->fill = o->n_want > o->n_begin ? (uint32_t)(o->n_want - o->n_begin) : 0;
			p->image.dirs++;
			p->image.fill += o->fill;
			continue;
		}
		p->image.files++;
		p->image.bytes += o->size;
		p->image.rsrc_bytes += o->rsrc;
	}
}

#define DEPTH_MAX 200

static unsigned int close_depth(const struct replay_plan *p, uint32_t object)
{
	unsigned int depth = 0;
	uint32_t slot;

	for (; depth < DEPTH_MAX; depth++) {
		slot = replay_place_at(p, object, 0);
		if (slot == REPLAY_NONE)
			break;
		object = p->slot[slot].parent;
	}
	return depth;
}

/* Directories of the image, those above before those below. */
static int close_order(struct replay_plan *p)
{
	uint32_t n = 0, left = (uint32_t)p->image.dirs;

	p->dir_order = calloc(left + 1, sizeof(*p->dir_order));
	for (unsigned int depth = 1; p->dir_order && n < left && depth <= DEPTH_MAX; depth++)
		for (uint32_t i = 1; i < p->n_objects; i++)
			if (p->object[i].at_begin && p->object[i].is_dir &&
			    close_depth(p, i) == depth)
				p->dir_order[n++] = i;
	p->image.dirs = n;
	return p->dir_order ? 0 : -ENOMEM;
}

/* What can be looked up is a directory: that is known only now. */
static void close_steps(struct replay_plan *p)
{
	const double speed = p->o.speed > 0 ? p->o.speed : 1;
	struct replay_step *s;
	uint32_t about;

	for (uint32_t i = 0; i < p->n_steps; i++) {
		s = &p->step[i];
		about = s->slot == REPLAY_NONE ? s->dir : s->object;
		if (s->verb == STORE_PROBE && s->wants_id && s->slot != REPLAY_NONE &&
		    about != REPLAY_NONE && p->object[about].is_dir)
			s->verb = STORE_LOOKUP;
		if (s->verb == STORE_SET_MODE && about != REPLAY_NONE && p->object[about].is_dir)
			s->how = 0755;
		hist_add(&p->recorded[s->verb], s->time_ns);
		s->due_ns = s->due_ns > p->o.from_ns ? s->due_ns - p->o.from_ns : 0;
		s->due_ns = (uint64_t)((double)s->due_ns / speed);
	}
}

static int close_clients(struct replay_plan *p)
{
	struct replay_client_plan *c;

	for (uint32_t i = 0; i < p->n_clients; i++) {
		p->client[i].step = calloc(p->client[i].n_steps + 1, sizeof(uint32_t));
		if (!p->client[i].step)
			return -ENOMEM;
		p->client[i].n_steps = 0;
	}
	for (uint32_t i = 0; i < p->n_steps; i++) {
		c = &p->client[p->step[i].client];
		c->step[c->n_steps++] = i;
	}
	return 0;
}

/* Those of which nothing is sent need no session. */
static void close_drop_idle(struct replay_plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_clients; i++) {
		if (!p->client[i].n_steps) {
			free(p->client[i].step);
			continue;
		}
		for (uint32_t k = 0; k < p->client[i].n_steps; k++)
			p->step[p->client[i].step[k]].client = n;
		p->client[n++] = p->client[i];
	}
	p->n_clients = n;
}

int replay_plan_close(struct replay_plan *p, struct err *e)
{
	int r;

	replay_plan_forget(p);
	close_image(p);
	close_steps(p);
	r = close_order(p);
	r = r ? r : close_clients(p);
	if (!r)
		close_drop_idle(p);
	r = r ? r : replay_names_choose(p);
	return r ? err_set(e, -ENOMEM, "out of memory") : 0;
}
