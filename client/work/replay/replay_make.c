/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image: client 0 makes its directories, those above before those below, and removes what is
 * not to be there; then each client makes a share of the files. What is there already stays: a file
 * that is too short was not made to its end, and gets the rest; one that is too long is cut.
 */
#include "work/replay/replay_client_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum make_stage {
	MAKE_FIRST, /* MKDIR, CREATE, DELETE */
	MAKE_LOOK,  /* LOOKUP: it is there */
	MAKE_OPEN,
	MAKE_LENGTH,
	MAKE_CUT,
	MAKE_WRITE,
	MAKE_CLOSE,
	MAKE_ATTRS,
	MAKE_BELOW, /* MKDIR: the copy's directory */
	MAKE_MODE,
};

static const struct replay_plan *make_plan(const struct replay_client *c)
{
	return c->c->plan;
}

static bool make_is_slot(const struct replay_client *c)
{
	return c->work == REPLAY_MAKE_DIRS && c->object > make_plan(c)->image.dirs;
}

/* Names are cleared from the last one on: those in a directory are behind it. */
static uint32_t make_slot(const struct replay_client *c)
{
	return make_plan(c)->n_slots - 1 - c->slot;
}

/* ---- names ---- */

/* A file that is only listed: by paths its name is put behind that of its directory. */
static bool make_name_fill(struct replay_client *c)
{
	size_t len;

	if (!replay_client_name(c, c->object, REPLAY_NONE, 0, &c->op.dir, &c->op.name, c->name[0]))
		return false;
	len = strlen(c->name[0]);
	if (len > REPLAY_PATH_MAX - REPLAY_NAME_MAX - 2)
		return false;
	if (len)
		c->name[0][len++] = '/';
	replay_fill_name(c->name[0] + len, c->fill);
	return true;
}

/* false: its directory is not there, or the path is too long. */
static bool make_name(struct replay_client *c)
{
	const struct replay_plan *p = make_plan(c);
	uint32_t slot = make_slot(c), object;

	if (!make_is_slot(c)) {
		object = c->work == REPLAY_MAKE_DIRS ? p->dir_order[c->object - 1] : c->object;
		if (c->work == REPLAY_MAKE_FILES && p->object[object].is_dir)
			return make_name_fill(c);
		slot = replay_place_at(p, object, 0);
	}
	return replay_client_name(c, p->slot[slot].parent, slot, 0, &c->op.dir, &c->op.name,
				  c->name[0]);
}

/* false: it cannot be made, and is passed over. */
static bool make_first(struct replay_client *c, enum store_verb verb)
{
	c->op = (struct store_op) { .verb = verb };
	if (verb == STORE_LOOKUP) {
		c->op.dir = c->store->root[0];
		c->op.name = c->c->base;
		return true;
	}
	if (verb == STORE_MKDIR && !c->by_id)
		c->op.how = STORE_UNUSED;
	return make_name(c);
}

/* ---- what is made next ---- */

/* Whether the image has nothing there; in a directory that it does not have there is nothing. */
static bool make_clears(const struct replay_client *c, uint32_t slot)
{
	const struct replay_slot *s = &make_plan(c)->slot[slot];

	return s->at_begin == REPLAY_NONE && s->alias == REPLAY_NONE &&
	       (!c->by_id || atomic_load_explicit(&c->c->id[s->parent], memory_order_relaxed));
}

/* The directory of all, which exists, is looked up as the first; that of a copy is made in it. */
static int make_begin_dir(struct replay_client *c)
{
	const struct replay_plan *p = make_plan(c);

	if (!c->object)
		return make_first(c, STORE_LOOKUP) ? STORE_LOOKUP : SCRIPT_END;
	for (; c->object <= p->image.dirs; c->object++)
		if (make_first(c, STORE_MKDIR))
			return STORE_MKDIR;
	for (; c->c->found && c->slot < p->n_slots; c->slot++)
		if (make_clears(c, make_slot(c)) && make_first(c, STORE_DELETE))
			return STORE_DELETE;
	return SCRIPT_END;
}

static int make_begin_file(struct replay_client *c)
{
	const struct replay_plan *p = make_plan(c);
	const struct replay_object *o;

	for (; c->object < p->n_objects; c->object++, c->fill = 0) {
		o = &p->object[c->object];
		if (!o->at_begin || c->object % p->n_clients != c->number)
			continue;
		if ((o->is_dir ? c->fill < o->fill : !c->fill) && make_first(c, STORE_CREATE))
			return STORE_CREATE;
	}
	return SCRIPT_END;
}

int replay_make_begin(struct replay_client *c)
{
	c->stage = MAKE_FIRST;
	c->was_there = c->rsrc = false;
	c->attr = REPLAY_NONE;
	c->moved = 0;
	return c->work == REPLAY_MAKE_DIRS ? make_begin_dir(c) : make_begin_file(c);
}

/* ---- its requests ---- */

/* By ids the directory of all was just looked up. */
static void make_below(struct replay_client *c)
{
	const struct store_dir base = c->op.made;

	c->op = (struct store_op) { .verb = STORE_MKDIR };
	if (c->by_id) {
		c->op.dir = base;
		c->op.name = c->c->below;
		return;
	}
	c->op.how = STORE_UNUSED;
	replay_client_name(c, 0, REPLAY_NONE, 0, &c->op.dir, &c->op.name, c->name[0]);
}

/* Of what was made or found as the last. */
static void make_mode(struct replay_client *c)
{
	const bool is_dir = c->work == REPLAY_MAKE_DIRS;
	const struct store_op last = c->op;

	c->op = (struct store_op) { .verb = STORE_SET_MODE };
	c->op.how = is_dir ? REPLAY_DIR_FOR_ALL : REPLAY_FILE_FOR_ALL;
	c->op.dir = last.dir;
	c->op.name = last.name;
	if (!is_dir)
		make_name(c); /* it had one before */
}

static uint64_t make_len(const struct replay_client *c)
{
	const struct replay_object *o = &make_plan(c)->object[c->object];

	return o->is_dir ? 0 : c->rsrc ? o->rsrc : o->size;
}

static void make_attr(struct replay_client *c)
{
	const struct replay_attr *a = &make_plan(c)->attr[c->attr];

	c->op = (struct store_op) { .verb = STORE_SET_XATTR,
				    .data = c->c->data,
				    .len = a->len < c->c->data_len ? a->len : c->c->data_len };
	make_name(c);
	replay_attr_name(c->name[1], a);
	c->op.to_name = c->name[1];
}

struct store_op *replay_make_next(struct replay_client *c)
{
	struct store_file file = c->op.file;

	switch (c->stage) {
	case MAKE_FIRST:
		return &c->op;
	case MAKE_BELOW:
		make_below(c);
		return &c->op;
	case MAKE_LOOK:
		c->op.verb = STORE_LOOKUP;
		return &c->op;
	case MAKE_MODE:
		make_mode(c);
		return &c->op;
	case MAKE_OPEN:
		c->op.verb = STORE_OPEN;
		c->op.how = STORE_FOR_READ | STORE_FOR_WRITE | (c->rsrc ? STORE_RSRC : 0);
		return &c->op;
	case MAKE_CUT:
		c->op = (struct store_op) { .verb = STORE_SET_LEN, .file = file };
		c->op.len = make_len(c);
		return &c->op;
	case MAKE_WRITE:
		c->op = (struct store_op) { .verb = STORE_WRITE, .file = file };
		replay_client_move(c, 0, make_len(c));
		return &c->op;
	case MAKE_ATTRS:
		make_attr(c);
		return &c->op;
	default:
		c->op = (struct store_op) { .verb = c->stage == MAKE_LENGTH ? STORE_LENGTH
									    : STORE_CLOSE,
					    .file = file };
		return &c->op;
	}
}

/* ---- its answers ---- */

static enum script_state make_go_on(struct replay_client *c, unsigned int stage)
{
	c->stage = stage;
	c->sent = false;
	return SCRIPT_GOES_ON;
}

static enum script_state make_done(struct replay_client *c)
{
	if (c->c->for_all && c->stage != MAKE_MODE && !make_is_slot(c) &&
	    (c->object || c->c->below))
		return make_go_on(c, MAKE_MODE);
	if (make_is_slot(c))
		c->slot++;
	else if (c->work == REPLAY_MAKE_DIRS)
		c->object++;
	else
		c->fill++;
	return SCRIPT_DONE;
}

/* The next attribute of what is made, or the end of it. */
static enum script_state make_attrs(struct replay_client *c, uint32_t next)
{
	const struct replay_plan *p = make_plan(c);

	while (next != REPLAY_NONE && !p->attr[next].at_begin)
		next = p->attr[next].next;
	c->attr = next;
	return next == REPLAY_NONE ? make_done(c) : make_go_on(c, MAKE_ATTRS);
}

static enum script_state make_failed(struct replay_client *c, struct err *e)
{
	const char *why = c->op.why ? c->op.why : "refused";

	if (c->op.verb == STORE_WRITE)
		err_set(e, -EIO,
			"image: write: %s; a file was written up to byte %" PRIu64 " of %" PRIu64
			" only: is the volume full?",
			why, c->moved + c->op.done, make_len(c));
	else
		err_set(e, -EIO, "image: %s: %s", store_verb_name(c->op.verb), why);
	c->stage = MAKE_MODE; /* there is nothing more to do with it */
	make_done(c);
	return SCRIPT_FAILED;
}

/* What another user has made before keeps its mode. */
static enum script_state make_has_mode(struct replay_client *c, struct err *e)
{
	return c->op.result == STORE_OK || c->was_there ? make_done(c) : make_failed(c, e);
}

static enum script_state make_answered_dir(struct replay_client *c, struct err *e)
{
	const struct replay_plan *p = make_plan(c);
	const uint32_t object = c->object && !make_is_slot(c) ? p->dir_order[c->object - 1] : 0;

	if (make_is_slot(c))
		return c->op.result == STORE_OK || c->op.result == STORE_NONE ? make_done(c)
									      : make_failed(c, e);
	if (c->stage == MAKE_ATTRS)
		return make_attrs(c, p->attr[c->attr].next);
	if (c->stage == MAKE_MODE)
		return make_has_mode(c, e);
	if (c->op.verb == STORE_MKDIR && c->op.result == STORE_EXISTS) {
		c->was_there = true;
		return make_go_on(c, MAKE_LOOK);
	}
	if (c->op.result != STORE_OK)
		return make_failed(c, e);
	if (c->c->below && !c->object && c->stage == MAKE_FIRST)
		return make_go_on(c, MAKE_BELOW);
	atomic_store_explicit(&c->c->id[object], c->op.made.id, memory_order_release);
	return make_attrs(c, p->object[object].attr);
}

/* One of its forks is as it is to be, and closed. */
static enum script_state make_forked(struct replay_client *c)
{
	const struct replay_object *o = &make_plan(c)->object[c->object];

	if (o->is_dir) /* a file that is only listed in it */
		return make_done(c);
	if (c->rsrc || !o->rsrc || !c->by_id)
		return make_attrs(c, o->attr);
	c->rsrc = true;
	c->moved = 0;
	c->was_there = true; /* its length is not asked for */
	make_name(c);
	return make_go_on(c, MAKE_OPEN);
}

static enum script_state make_answered_first(struct replay_client *c, struct err *e)
{
	c->was_there = c->op.result == STORE_EXISTS;
	if (c->op.result != STORE_OK && !c->was_there)
		return make_failed(c, e);
	if (!c->was_there && !make_len(c))
		return make_forked(c);
	return make_go_on(c, MAKE_OPEN);
}

static enum script_state make_answered_file(struct replay_client *c, struct err *e)
{
	if (c->stage == MAKE_FIRST)
		return make_answered_first(c, e);
	if (c->stage == MAKE_ATTRS) /* where there are none, the replay says so */
		return make_attrs(c, make_plan(c)->attr[c->attr].next);
	if (c->stage == MAKE_MODE)
		return make_has_mode(c, e);
	if (c->op.result != STORE_OK)
		return make_failed(c, e);
	switch (c->stage) {
	case MAKE_OPEN:
		c->op.file = c->op.opened;
		if (c->was_there && !c->rsrc)
			return make_go_on(c, MAKE_LENGTH);
		return make_go_on(c, make_len(c) ? MAKE_WRITE : MAKE_CLOSE);
	case MAKE_LENGTH:
		if (c->op.done > make_len(c))
			return make_go_on(c, MAKE_CUT);
		c->moved = c->op.done;
		return make_go_on(c, c->moved < make_len(c) ? MAKE_WRITE : MAKE_CLOSE);
	case MAKE_CUT:
		return make_go_on(c, MAKE_CLOSE);
	case MAKE_WRITE:
		c->moved += c->op.done;
		c->s.bytes += c->op.done;
		return make_go_on(c, c->moved < make_len(c) ? MAKE_WRITE : MAKE_CLOSE);
	default:
		return make_forked(c);
	}
}

enum script_state replay_make_answered(struct replay_client *c, struct err *e)
{
	return c->work == REPLAY_MAKE_DIRS ? make_answered_dir(c, e) : make_answered_file(c, e);
}
