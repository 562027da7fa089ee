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
		p->image.bytes = replay_sum(p->image.bytes, o->size);
		p->image.rsrc_bytes = replay_sum(p->image.rsrc_bytes, o->rsrc);
	}
}

#define FILE_ROOM 4096u /* bytes that a file or folder takes, also an empty one */

/* How many directories are above an object at the begin. depth: of those that are known, else 0. */
static uint16_t close_depth(const struct replay_plan *p, const uint16_t *depth, uint32_t object)
{
	unsigned int n = 0;
	uint32_t slot;

	for (; n < REPLAY_DEPTH_MAX && !depth[object]; n++) {
		slot = replay_place_at(p, object, 0);
		if (slot == REPLAY_NONE)
			break;
		object = p->slot[slot].parent;
	}
	n += depth[object];
	return (uint16_t)(n < REPLAY_DEPTH_MAX ? n : REPLAY_DEPTH_MAX);
}

/* Of each object; what is too deep is not made. NULL without memory. */
static uint16_t *close_depths(struct replay_plan *p)
{
	uint16_t *depth = calloc(p->n_objects, sizeof(*depth));

	for (uint32_t i = 1; depth && i < p->n_objects; i++) {
		if (!p->object[i].at_begin)
			continue;
		depth[i] = close_depth(p, depth, i);
		p->object[i].at_begin = depth[i] < REPLAY_DEPTH_MAX;
	}
	return depth;
}

static bool close_is_made(const struct replay_object *o)
{
	return o->at_begin && o->is_dir;
}

/* Directories of the image, those above before those below. */
static int close_order(struct replay_plan *p, const uint16_t *depth)
{
	uint32_t first[REPLAY_DEPTH_MAX + 1] = { 0 };

	p->dir_order = calloc(p->image.dirs + 1, sizeof(*p->dir_order));
	if (!p->dir_order)
		return -ENOMEM;
	for (uint32_t i = 1; i < p->n_objects; i++)
		if (close_is_made(&p->object[i]))
			first[depth[i] + 1]++;
	for (unsigned int d = 1; d <= REPLAY_DEPTH_MAX; d++)
		first[d] += first[d - 1];
	for (uint32_t i = 1; i < p->n_objects; i++)
		if (close_is_made(&p->object[i]))
			p->dir_order[first[depth[i]]++] = i;
	return 0;
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
		s->due_ns = replay_sooner(s->due_ns, speed);
		if (s->due_ns > p->last_due_ns) /* they are in the order of their answers */
			p->last_due_ns = s->due_ns;
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

uint64_t replay_plan_room(const struct replay_plan *p)
{
	const struct replay_image *i = &p->image;
	/* A server may keep an attribute in a file. */
	const uint64_t all = (i->dirs + i->files + i->fill + i->attrs) * FILE_ROOM + i->attr_bytes;

	return replay_sum(replay_sum(all, i->bytes), replay_sum(i->rsrc_bytes, i->grows));
}

int replay_plan_close(struct replay_plan *p, struct err *e)
{
	uint16_t *depth;
	int r;

	replay_plan_forget(p);
	depth = close_depths(p);
	close_image(p);
	close_steps(p);
	r = replay_attrs_close(p);
	r = r || !depth ? -ENOMEM : close_order(p, depth);
	free(depth);
	r = r ? r : close_clients(p);
	r = r ? r : replay_names_choose(p);
	r = r ? r : replay_share(p);
	if (r)
		return err_set(e, -ENOMEM, "out of memory");
	close_drop_idle(p);
	return 0;
}

void replay_plan_counts(const struct replay_plan *p, struct replay_counts *out)
{
	*out = (struct replay_counts) { 0 };
	for (unsigned int i = 0; i <= 256; i++) {
		out->recorded += p->counts[i].recorded;
		out->planned += p->counts[i].planned;
		out->read_b = replay_sum(out->read_b, p->counts[i].read_b);
		out->written_b = replay_sum(out->written_b, p->counts[i].written_b);
		for (unsigned int k = 0; k < REPLAY_N_REASONS; k++)
			out->left[k] += p->counts[i].left[k];
	}
}
