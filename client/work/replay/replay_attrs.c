/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extended attributes: those that are found before a request makes them belong to the image. Lists
 * say only how long all names of an object are: what no request names becomes one more attribute.
 */
#include "base/vec.h"
#include "work/replay/replay_priv.h"

#include <errno.h>

#define VALUE_MAX 65536u /* bytes, of an attribute of the image */
#define NAMES_MAX 8192   /* of all names of an object that are only listed */

static uint32_t attrs_find(struct replay_plan *p, uint32_t object, const struct replay_path *name)
{
	const uint64_t at = replay_key(object, name->name, 5);
	uint32_t i = replay_map_get(&p->maps->attrs, at);
	size_t n = p->n_attrs;

	if (i != REPLAY_NONE)
		return i;
	if (VEC_PUSH(p->attr, n,
		     (struct replay_attr) { .key = name->name,
					    .next = p->object[object].attr,
					    .name_len = name->len,
					    .kind = name->kind,
					    .ext_len = name->ext_len }) ||
	    replay_map_put(&p->maps->attrs, at, (uint32_t)n - 1)) {
		p->maps->out_of_memory = true;
		return REPLAY_NONE;
	}
	p->n_attrs = (uint32_t)n;
	p->object[object].attr = p->n_attrs - 1;
	return p->n_attrs - 1;
}

/* What its name takes in a list. */
static int64_t attrs_bytes(const struct replay_attr *a)
{
	return (int64_t)a->name_len + 1;
}

/* It is there, and if that is not known yet it was so at the begin. */
static void attrs_is_there(struct replay_object *o, struct replay_attr *a, uint64_t len)
{
	if (!a->known && o->at_begin) {
		a->at_begin = true;
		a->len = len < VALUE_MAX ? (uint32_t)len : VALUE_MAX;
		o->attrs_begin += attrs_bytes(a);
	}
	if (!a->there)
		o->attrs_now += attrs_bytes(a);
	a->known = a->there = true;
}

static void attrs_is_missing(struct replay_object *o, struct replay_attr *a)
{
	if (a->there)
		o->attrs_now -= attrs_bytes(a);
	a->known = true;
	a->there = false;
}

static void attrs_listed(struct replay_object *o, const struct replay_request *q)
{
	int64_t want;

	if (q->marks & REPLAY_REPLY_MISSING || q->actual > NAMES_MAX)
		return;
	want = (int64_t)q->actual - (o->attrs_now - o->attrs_begin);
	if (want > o->attrs_want)
		o->attrs_want = want;
}

uint32_t replay_attrs_look(struct replay_plan *p, const struct replay_request *q,
			   const struct replay_step *s)
{
	const bool done = s->result == STORE_OK, is_there = s->object != REPLAY_NONE;
	struct replay_object *o = &p->object[is_there ? s->object : 0];
	struct replay_attr *a;
	uint32_t i;

	if (s->verb == STORE_LIST_XATTRS) {
		if (done && is_there)
			attrs_listed(o, q);
		return REPLAY_NONE;
	}
	i = attrs_find(p, is_there ? s->object : 0, &q->to);
	if (i == REPLAY_NONE || !is_there)
		return i;
	o = &p->object[s->object];
	a = &p->attr[i];
	if (s->verb == STORE_SET_XATTR && done) {
		/* Whether it was there before matters only where it was to be replaced. */
		a->known |= !(q->flags & REPLAY_FLAG_REPLACES);
		attrs_is_there(o, a, 1);
	} else if (s->verb == STORE_SET_XATTR) {
		if (s->result == STORE_EXISTS)
			attrs_is_there(o, a, 1);
	} else if (done) {
		attrs_is_there(o, a, s->verb == STORE_GET_XATTR ? q->actual : 1);
		if (s->verb == STORE_DEL_XATTR)
			attrs_is_missing(o, a);
	} else if (!a->known) {
		attrs_is_missing(o, a);
	}
	return i;
}

/* One more attribute, for names of so many bytes that no request names. */
static int attrs_fill(struct replay_plan *p, uint32_t object, int64_t bytes)
{
	const int64_t len = bytes - 1 < REPLAY_NAME_MAX / 2 ? bytes - 1 : REPLAY_NAME_MAX / 2;
	size_t n = p->n_attrs;

	if (len < 1)
		return 0;
	if (VEC_PUSH(p->attr, n,
		     (struct replay_attr) { .key = replay_key(object, (uint64_t)bytes, 7),
					    .next = p->object[object].attr,
					    .len = 1,
					    .name_len = (uint16_t)len,
					    .kind = REPLAY_NAME_ASCII,
					    .at_begin = true }))
		return -ENOMEM;
	p->n_attrs = (uint32_t)n;
	p->object[object].attr = p->n_attrs - 1;
	return attrs_fill(p, object, bytes - len - 1);
}

int replay_attrs_close(struct replay_plan *p)
{
	const struct replay_object *o;
	int r = 0;

	for (uint32_t i = 1; !r && i < p->n_objects; i++) {
		o = &p->object[i];
		if (o->at_begin)
			r = attrs_fill(p, i, o->attrs_want - o->attrs_begin);
	}
	for (uint32_t i = 0; i < p->n_attrs; i++) {
		p->image.attrs += p->attr[i].at_begin;
		p->image.attr_bytes += p->attr[i].at_begin ? p->attr[i].len : 0;
	}
	return r;
}
