/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan, request after request: image, order, and what is to be sent. */
#include "work/replay/replay.h"

#include "afp/proto.h"
#include "base/vec.h"
#include "work/replay/replay_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX (UINT32_MAX / 2)
#define LEN_MOST  ((uint64_t)INT64_MAX) /* of a file */
#define MOVE_MOST UINT32_MAX            /* bytes of a request: DSI says its length in 32 bits */

struct replay_plan *replay_plan_new(const struct replay_opts *o)
{
	struct replay_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->o = *o;
	p->maps = calloc(1, sizeof(*p->maps));
	p->recorded = calloc(N_STORE_VERBS, sizeof(*p->recorded));
	if (p->maps && p->recorded && !replay_tree_new(p))
		return p;
	replay_plan_free(p);
	return NULL;
}

void replay_plan_forget(struct replay_plan *p)
{
	if (!p->maps)
		return;
	replay_map_free(&p->maps->dirs);
	replay_map_free(&p->maps->slots);
	replay_map_free(&p->maps->sessions);
	replay_map_free(&p->maps->files);
	replay_map_free(&p->maps->attrs);
	replay_map_free(&p->maps->paths);
	replay_map_free(&p->maps->uses);
	free(p->maps->open);
	free(p->maps->turn);
	free(p->maps->user);
	free(p->maps);
	p->maps = NULL;
}

void replay_plan_free(struct replay_plan *p)
{
	if (!p)
		return;
	replay_plan_forget(p);
	for (uint32_t i = 0; i < p->n_clients; i++)
		free(p->client[i].step);
	free(p->step);
	free(p->slot);
	free(p->object);
	free(p->place);
	free(p->attr);
	free(p->client);
	free(p->need);
	free(p->dir_order);
	free(p->recorded);
	free(p);
}

/* ---- one request ---- */

/* A request that is looked at, and the step that it becomes. */
struct plan_now {
	const struct replay_request *q;
	struct replay_where at, to;
	struct replay_open *open;
	enum replay_reason reason; /* REPLAY_N_REASONS: none, it is sent */
	struct replay_step step;
};

static uint32_t plan_client(struct replay_plan *p, const struct replay_request *q)
{
	const uint64_t key = replay_key(q->session, 0, 3);
	uint32_t i = replay_map_get(&p->maps->sessions, key);
	size_t n = p->n_clients;

	if (i != REPLAY_NONE)
		return i;
	if (replay_map_put(&p->maps->sessions, key, p->n_clients) ||
	    VEC_PUSH(p->client, n,
		     (struct replay_client_plan) { .session = q->session, .user = q->user })) {
		p->maps->out_of_memory = true;
		return 0;
	}
	p->n_clients = (uint32_t)n;
	return p->n_clients - 1;
}

static uint64_t plan_file_key(uint32_t client, uint16_t fork)
{
	return replay_key(client, fork, 4);
}

static struct replay_open *plan_open_of(struct replay_plan *p, uint32_t client, uint16_t fork)
{
	const uint32_t i = replay_map_get(&p->maps->files, plan_file_key(client, fork));

	return i == REPLAY_NONE || p->maps->open[i].file == REPLAY_NONE ? NULL : &p->maps->open[i];
}

static bool plan_is_answer(const struct plan_now *n)
{
	return n->step.result == STORE_OK || n->step.result == STORE_SHORT;
}

/* Its length at the begin follows from what is read of it, or said, before it is changed. */
static void plan_was_long(struct replay_object *o, bool rsrc, uint64_t len)
{
	uint64_t *at = rsrc ? &o->rsrc : &o->size, *now = rsrc ? &o->rsrc_now : &o->now;

	len = len > LEN_MOST ? LEN_MOST : len;
	if (len > *now)
		*now = len;
	if (o->at_begin && !(rsrc ? o->rsrc_cut : o->cut) && len > *at)
		*at = len;
}

static void plan_size_is(struct replay_object *o, uint64_t size)
{
	if (size != REPLAY_UNKNOWN && !o->touched)
		plan_was_long(o, false, size);
}

/* What has the data of a file, and how long they are: exchanges give them another name. */
static struct replay_object *plan_data(struct replay_plan *p, uint32_t object)
{
	return &p->object[p->object[object].data];
}

static void plan_opened(struct replay_plan *p, struct plan_now *n, uint32_t object)
{
	const struct replay_request *q = n->q;
	struct replay_maps *m = p->maps;
	struct replay_open open = { .client = n->step.client,
				    .file = p->client[n->step.client].n_files++,
				    .data = p->object[object].data,
				    .rsrc = q->which,
				    .holds = n->step.how & STORE_ALONE };

	if (VEC_PUSH(m->open, m->n_open, open) ||
	    replay_map_put(&m->files, plan_file_key(open.client, q->fork),
			   (uint32_t)m->n_open - 1)) {
		m->out_of_memory = true;
		return;
	}
	n->open = &m->open[m->n_open - 1];
	n->step.file = open.file;
	if (!open.rsrc)
		plan_size_is(plan_data(p, object), q->size);
}

/* Of a directory that was listed: so many entries are there. */
static void plan_listed(struct replay_plan *p, const struct plan_now *n, uint32_t object)
{
	struct replay_object *dir = &p->object[object];
	const uint64_t seen = replay_sum(n->step.offset, n->q->actual);
	int64_t want;

	if (!n->q->actual || n->q->marks & REPLAY_REPLY_MISSING || seen > INT32_MAX)
		return;
	want = (int64_t)seen - (dir->n_now - dir->n_begin);
	if (want > dir->n_want)
		dir->n_want = want;
}

static void plan_look(struct replay_plan *p, struct plan_now *n)
{
	const bool lists = n->step.verb == STORE_LIST,
		   is_missing = replay_is_missing(n->q) && !lists;
	uint32_t i = REPLAY_NONE;

	if (is_missing)
		replay_tree_is_missing(p, n->at);
	else
		i = replay_tree_is_there(p, n->at, lists || replay_is_of_dir(n->q));
	n->step.object = i;
	if (n->q->command >= AFP_GetExtAttr && n->q->command <= AFP_ListExtAttrs)
		n->step.attr = replay_attrs_look(p, n->q, &n->step);
	else if (is_missing)
		return;
	else if (plan_is_answer(n) && lists)
		plan_listed(p, n, i);
	else if (plan_is_answer(n) && !p->object[i].is_dir)
		plan_size_is(plan_data(p, i), n->q->size);
}

static void plan_make(struct replay_plan *p, struct plan_now *n)
{
	const bool is_dir = n->step.verb == STORE_MKDIR;

	if (plan_is_answer(n))
		n->step.object = replay_tree_make(p, n->at, is_dir);
	else if (n->step.result == STORE_EXISTS)
		replay_tree_is_there(p, n->at, is_dir);
}

/* A fork has another length now: what all together have more than at the begin. */
static void plan_has_length(struct replay_plan *p, uint64_t *now, uint64_t len)
{
	struct replay_maps *m = p->maps;

	len = len > LEN_MOST ? LEN_MOST : len;
	if (__builtin_add_overflow(m->grown, (int64_t)len - (int64_t)*now, &m->grown))
		p->image.grows = UINT64_MAX;
	*now = len;
	if (m->grown > 0 && (uint64_t)m->grown > p->image.grows)
		p->image.grows = (uint64_t)m->grown;
}

static void plan_two_names(struct replay_plan *p, struct plan_now *n)
{
	uint32_t i, to;

	if (replay_is_missing(n->q)) {
		replay_tree_is_missing(p, n->at);
		return;
	}
	i = replay_tree_is_there(p, n->at, false);
	n->step.object = i;
	if (n->step.result == STORE_EXISTS)
		replay_tree_is_there(p, n->to, false);
	if (!plan_is_answer(n))
		return;
	if (n->step.effect == REPLAY_COPIES) {
		to = replay_tree_make(p, n->to, false);
		p->object[to].lost |= p->object[i].lost && to >= p->maps->first_new;
		plan_has_length(p, &plan_data(p, to)->now, plan_data(p, i)->now);
	} else if (n->step.effect == REPLAY_RENAMES) {
		replay_tree_move(p, n->at, n->to, p->n_steps);
	} else {
		to = replay_tree_is_there(p, n->to, false);
		if (p->object[i].lost || p->object[to].lost) /* the known one keeps its data */
			n->reason = REPLAY_LOST;
		else
			replay_tree_swap(p, i, to);
	}
}

/* A write that was refused, or of which that is not known, may be done in the replay. */
static void plan_written(struct replay_plan *p, struct plan_now *n)
{
	struct replay_object *o = &p->object[n->open->data];
	const struct replay_step *s = &n->step;
	const uint64_t end = replay_sum(s->offset, s->len);
	uint64_t *now = n->open->rsrc ? &o->rsrc_now : &o->now;

	o->touched |= !n->open->rsrc && plan_is_answer(n);
	if (end <= *now)
		return;
	plan_has_length(p, now, end);
	if (!n->open->rsrc && plan_is_answer(n))
		o->grown = p->n_steps;
}

static void plan_moved(struct replay_plan *p, struct plan_now *n)
{
	struct replay_object *o = &p->object[n->open->data];
	const struct replay_step *s = &n->step;

	if (s->verb == STORE_SET_LEN && plan_is_answer(n) && n->open->rsrc) {
		o->rsrc_cut = true;
		plan_has_length(p, &o->rsrc_now, s->len);
	} else if (s->verb == STORE_SET_LEN && plan_is_answer(n)) {
		o->cut = o->touched = true;
		plan_has_length(p, &o->now, s->len);
		o->grown = p->n_steps;
	} else if (s->verb == STORE_READ && s->done && s->done != REPLAY_UNKNOWN) {
		plan_was_long(o, n->open->rsrc, replay_sum(s->offset, s->done));
	} else if (s->verb == STORE_WRITE) {
		plan_written(p, n);
	} else if (s->verb == STORE_LENGTH && !n->open->rsrc) {
		plan_size_is(o, n->q->size);
	}
}

static void plan_use(struct replay_plan *p, struct plan_now *n)
{
	n->open = plan_open_of(p, n->step.client, n->q->fork);
	if (!n->open) {
		n->reason = REPLAY_FORK;
		return;
	}
	n->step.file = n->open->file;
	n->step.object = p->object[n->open->data].holder;
	n->open->holds |= n->step.verb == STORE_LOCK;
	plan_moved(p, n);
}

/* It is about what a reply has called so. */
static void plan_by_id(struct replay_plan *p, struct plan_now *n)
{
	struct replay_step *s = &n->step;

	s->object = replay_tree_by_id(p, n->q->path.volume, n->q->id);
	if (s->object == REPLAY_NONE) {
		n->reason = REPLAY_UNNAMED;
		return;
	}
	s->slot = replay_place_at(p, s->object, UINT32_MAX);
	s->dir = s->slot == REPLAY_NONE ? s->object : p->slot[s->slot].parent;
	s->from = s->dir;
}

/* What is there after it, and which objects it is about. */
static void plan_effect(struct replay_plan *p, struct plan_now *n)
{
	struct replay_step *s = &n->step;

	switch (s->effect) {
	case REPLAY_LOOKS:
		plan_look(p, n);
		break;
	case REPLAY_BY_ID:
		plan_by_id(p, n);
		break;
	case REPLAY_ALONE:
		break;
	case REPLAY_OPENS:
		if (replay_is_missing(n->q))
			replay_tree_is_missing(p, n->at);
		else
			s->object = replay_tree_is_there(p, n->at, false);
		if (plan_is_answer(n))
			plan_opened(p, n, s->object);
		break;
	case REPLAY_MAKES:
		plan_make(p, n);
		break;
	case REPLAY_REMOVES:
		if (replay_is_missing(n->q))
			replay_tree_is_missing(p, n->at);
		else
			s->object = replay_tree_is_there(p, n->at, s->result == STORE_NOT_EMPTY);
		break;
	case REPLAY_RENAMES:
	case REPLAY_COPIES:
	case REPLAY_SWAPS:
		plan_two_names(p, n);
		break;
	default:
		plan_use(p, n);
	}
}

static unsigned int plan_how(const struct replay_request *q, const struct replay_step *s)
{
	const bool data = q->flags & REPLAY_FLAG_DENIES;

	if (s->verb == STORE_OPEN)
		return (q->flags & REPLAY_FLAG_READ ? STORE_FOR_READ : 0) |
		       (q->flags & REPLAY_FLAG_WRITE ? STORE_FOR_WRITE : 0) |
		       (data ? STORE_ALONE : 0) | (q->which ? STORE_RSRC : 0);
	return s->verb == STORE_SET_MODE ? 0644 : 0;
}

/* From which byte, how many, and how many were moved. */
static void plan_range(const struct replay_request *q, struct replay_step *s)
{
	const bool known = !(q->marks & REPLAY_REPLY_MISSING);

	s->offset = q->offset;
	s->len = q->length;
	s->done = REPLAY_UNKNOWN;
	if ((s->verb == STORE_READ || s->verb == STORE_WRITE) && s->len > MOVE_MOST)
		s->len = MOVE_MOST;
	if (s->verb == STORE_LIST)
		s->offset = q->offset ? q->offset - 1 : 0;
	if (s->verb == STORE_WRITE && known && q->flags & REPLAY_FLAG_FROM_END)
		s->offset = q->actual > q->length ? q->actual - q->length : 0;
	if ((s->verb == STORE_LOCK || s->verb == STORE_UNLOCK) && known &&
	    q->flags & REPLAY_FLAG_FROM_END)
		s->offset = q->actual;
	if (s->verb == STORE_READ && known)
		s->done = q->result == 0 || s->result == STORE_SHORT ? q->actual : 0;
	if (s->verb == STORE_WRITE && known && !q->result)
		s->done = q->actual >= s->offset ? q->actual - s->offset : 0;
	/* One that was done has written all: of a longer one the length is damaged. */
	if (s->verb == STORE_WRITE && s->done && s->done < s->len)
		s->len = s->done;
	if ((s->verb == STORE_LIST || s->verb == STORE_GET_XATTR || s->verb == STORE_LIST_XATTRS) &&
	    known && !q->result)
		s->done = q->actual;
}

static void plan_begin(struct replay_plan *p, struct plan_now *n, const struct replay_request *q,
		       enum store_verb verb, enum replay_effect effect)
{
	struct replay_step *s = &n->step;

	*n = (struct plan_now) { .q = q, .reason = REPLAY_N_REASONS };
	*s = (struct replay_step) { .due_ns = q->t_ns,
				    .time_ns = q->time_ns,
				    .client = plan_client(p, q),
				    .object = REPLAY_NONE,
				    .dir = REPLAY_NONE,
				    .slot = REPLAY_NONE,
				    .to_dir = REPLAY_NONE,
				    .to_slot = REPLAY_NONE,
				    .from = REPLAY_NONE,
				    .to_from = REPLAY_NONE,
				    .attr = REPLAY_NONE,
				    .file = REPLAY_NONE,
				    .said_offset = q->offset,
				    .room = q->room,
				    .bitmap = q->bitmap,
				    .dir_bitmap = q->dir_bitmap,
				    .flags = q->flags,
				    .command = (uint8_t)q->command,
				    .which = q->which,
				    .depth = q->path.depth,
				    .to_depth = q->to.depth,
				    .verb = (uint8_t)verb,
				    .effect = (uint8_t)effect,
				    .result = (uint8_t)replay_result_of(q, verb) };
	plan_range(q, s);
	s->how = (uint16_t)plan_how(q, s);
	s->with_attrs = (q->bitmap | q->dir_bitmap) & ~REPLAY_BITS_OF_NAME;
	s->wants_id = (q->bitmap | q->dir_bitmap) & REPLAY_BIT_ID;
}

static void plan_find(struct replay_plan *p, struct plan_now *n)
{
	struct replay_step *s = &n->step;
	const bool two = s->effect == REPLAY_RENAMES || s->effect == REPLAY_COPIES ||
			 s->effect == REPLAY_SWAPS;

	if (s->effect == REPLAY_USES || s->effect == REPLAY_CLOSES || s->effect == REPLAY_BY_ID ||
	    s->effect == REPLAY_ALONE)
		return;
	if (s->effect == REPLAY_IS_VOLUME) {
		n->at.dir = n->at.from = replay_tree_root(p, n->q->path.volume);
		n->at.slot = REPLAY_NONE;
	} else {
		n->at = replay_tree_find(p, &n->q->path);
	}
	s->dir = n->at.dir;
	s->slot = n->at.slot;
	s->from = n->at.from;
	if (!two)
		return;
	n->to = replay_tree_find(p, &n->q->to);
	s->to_dir = n->to.dir;
	s->to_slot = n->to.slot;
	s->to_from = n->to.from;
}

/* Its last step is about the place under which that is known already. */
static void plan_name(struct replay_plan *p, const struct plan_now *n, struct replay_where named)
{
	struct replay_step *s = p->n_steps ? &p->step[p->n_steps - 1] : NULL;
	uint32_t alias;

	replay_tree_name(p, n->q->path.volume, n->q->id, named);
	if (!s || named.slot == REPLAY_NONE || s->slot != named.slot)
		return;
	alias = p->slot[named.slot].alias;
	if (alias == REPLAY_NONE && !p->maps->settled)
		return;
	s->slot = alias == REPLAY_NONE ? s->slot : alias;
	s->dir = p->slot[s->slot].parent;
	s->object = p->slot[s->slot].object;
	if (s->object == REPLAY_NONE)
		return;
	if (n->open)
		n->open->data = p->object[s->object].data;
	if (!p->object[s->object].is_dir && !(n->open && n->open->rsrc))
		plan_size_is(plan_data(p, s->object), n->q->size);
}

/* What it removes is gone after it; the reply's name is known after it. */
static void plan_end(struct replay_plan *p, struct plan_now *n)
{
	const struct replay_request *q = n->q;
	const struct replay_where named = n->step.effect == REPLAY_RENAMES ? n->to : n->at;

	if (n->step.effect == REPLAY_REMOVES && plan_is_answer(n)) {
		if (n->step.object != REPLAY_NONE) {
			plan_has_length(p, &plan_data(p, n->step.object)->now, 0);
			plan_has_length(p, &plan_data(p, n->step.object)->rsrc_now, 0);
		}
		replay_tree_remove(p, n->at);
	}
	if ((n->step.effect <= REPLAY_OPENS || n->step.effect == REPLAY_MAKES) && q->id &&
	    plan_is_answer(n))
		plan_name(p, n, named);
	if (n->step.effect == REPLAY_CLOSES && n->open)
		n->open->file = REPLAY_NONE;
}

/* Whether what it is about was made by a request that is not there. */
static bool plan_is_lost(const struct replay_plan *p, const struct replay_step *s)
{
	const uint32_t about[] = { s->object, s->dir, s->to_dir };

	for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
		if (about[i] != REPLAY_NONE && p->object[about[i]].lost)
			return true;
	return false;
}

static enum replay_reason plan_reason(const struct replay_plan *p, const struct plan_now *n)
{
	if (n->reason != REPLAY_N_REASONS)
		return n->reason;
	if (n->step.verb == N_STORE_VERBS)
		return REPLAY_COMMAND;
	return plan_is_lost(p, &n->step) ? REPLAY_LOST : REPLAY_N_REASONS;
}

static void plan_count(struct replay_plan *p, struct replay_counts *c, const struct replay_step *s)
{
	struct replay_client_plan *client = &p->client[s->client];
	const uint64_t moved = s->done == REPLAY_UNKNOWN ? 0 : s->done;

	c->planned++;
	client->n_steps++;
	c->read_b = replay_sum(c->read_b, s->verb == STORE_READ ? moved : 0);
	c->written_b = replay_sum(c->written_b, s->verb == STORE_WRITE ? moved : 0);
	if (s->verb == STORE_READ && s->len > client->read_max)
		client->read_max = s->len;
	if ((s->verb == STORE_WRITE || s->verb == STORE_SET_XATTR) && s->len > client->write_max)
		client->write_max = s->len;
	if (s->room > client->room_max)
		client->room_max = s->room;
}

/* Nothing is known of its arguments, or it is for the session. */
static enum replay_reason plan_leaves_out(const struct replay_plan *p,
					  const struct replay_request *q, enum replay_effect effect)
{
	if (q->t_ns < p->o.from_ns || (p->o.to_ns && q->t_ns >= p->o.to_ns))
		return REPLAY_OUTSIDE;
	if (q->of_others)
		return REPLAY_OTHERS;
	if (effect == REPLAY_IS_SESSION)
		return REPLAY_SESSION;
	if (effect == REPLAY_IS_UNKNOWN)
		return REPLAY_COMMAND;
	return q->marks & REPLAY_ARGS_MISSING ? REPLAY_DAMAGED : REPLAY_N_REASONS;
}

/* What it opened is not open in the replay. */
static void plan_not_opened(struct plan_now *n)
{
	if (n->open && n->step.effect == REPLAY_OPENS)
		n->open->file = REPLAY_NONE;
}

int replay_plan_add(struct replay_plan *p, const struct replay_request *q)
{
	struct replay_counts *c = &p->counts[q->command < 256 ? q->command : 256];
	enum replay_effect effect;
	const enum store_verb verb = replay_verb_of(q, &effect);
	enum replay_reason reason = plan_leaves_out(p, q, effect);
	struct plan_now n = { 0 };
	size_t n_steps = p->n_steps;
	int r;

	p->maps->first_new = p->n_objects;
	p->maps->settled = false;
	c->recorded++;
	if (replay_sum(q->t_ns, q->time_ns) > p->end_ns)
		p->end_ns = replay_sum(q->t_ns, q->time_ns);
	if (reason == REPLAY_N_REASONS) {
		plan_begin(p, &n, q, verb, effect);
		plan_find(p, &n);
		if (effect != REPLAY_IS_VOLUME)
			plan_effect(p, &n);
		reason = plan_reason(p, &n);
	}
	if (reason != REPLAY_N_REASONS) {
		c->left[reason]++;
		plan_not_opened(&n);
		if ((reason == REPLAY_COMMAND && effect != REPLAY_IS_UNKNOWN) ||
		    (reason == REPLAY_LOST && effect == REPLAY_REMOVES))
			plan_end(p, &n);
		return p->maps->out_of_memory ? -ENOMEM : 0;
	}
	if (p->maps->out_of_memory || p->n_steps >= STEPS_MAX || VEC_PUSH(p->step, n_steps, n.step))
		return -ENOMEM;
	p->n_steps = (uint32_t)n_steps;
	plan_count(p, c, &n.step);
	plan_end(p, &n);
	r = replay_order_add(p, p->n_steps - 1, n.open);
	return r || p->maps->out_of_memory ? -ENOMEM : 0;
}
