/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive/places.h"

#include "load/load.h"
#include "work/tree.h"

#include <errno.h>
#include <string.h>

#define WAIT_NS  100000000u
#define ALL_MODE 0777

void places_init(struct places *p, const char *volume, struct store *store)
{
	*p = (struct places) { .n = 1, .place = { { .volume = volume, .store = store } } };
}

static int places_open_place(struct places_volume *p, const struct store_afp_begin *how,
			     struct err *e)
{
	struct io_wait w;
	int r = store_begin_afp(&p->store, how, e);

	while (!r && p->store->state == STORE_OPENING) {
		store_wait(p->store, &w);
		r = store_advance(p->store, io_wait(&w, WAIT_NS), e);
	}
	return r;
}

int places_add(struct places *p, const struct store_afp_begin *how, struct err *e)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (!strcmp(p->place[i].volume, how->volume))
			return 0;
	if (p->n == PLACES_MAX)
		return err_set(e, -EINVAL, "more than %d volumes", PLACES_MAX);
	p->place[p->n].volume = how->volume;
	return places_open_place(&p->place[p->n++], how, e);
}

/* 0; LOAD_REFUSED or a negative errno. */
static int do_one(struct places_volume *p, struct store_op *op, const char *base, struct err *e)
{
	int r;

	op->dir = p->store->root[0];
	op->name = base;
	r = store_call(p->store, op, e);
	if (r || op->result == STORE_OK)
		return r;
	load_explain(op, base, e);
	return err_prefix(e, LOAD_REFUSED, "volume %s", p->volume);
}

int places_make(struct places *p, const char *base, bool all, struct err *e)
{
	struct store_op op;
	int r = 0;

	for (unsigned int i = 0; !r && i < p->n; i++) {
		if (i) {
			op = (struct store_op) { .verb = STORE_MKDIR };
			r = do_one(&p->place[i], &op, base, e);
			p->place[i].made = !r;
		}
		if (!r && all) {
			op = (struct store_op) { .verb = STORE_SET_MODE, .how = ALL_MODE };
			r = do_one(&p->place[i], &op, base, e);
		}
	}
	return r;
}

void places_keep_alive(struct places *p)
{
	struct io_wait w;

	for (unsigned int i = 0; i < p->n; i++) {
		store_wait(p->place[i].store, &w);
		store_advance(p->place[i].store, io_wait(&w, 0), NULL);
	}
}

int places_remove(struct places *p, struct session *s, const char *base, struct err *e)
{
	struct err why = { 0 };
	int first = 0, r;

	for (unsigned int i = 1; i < p->n; i++) {
		if (!p->place[i].made)
			continue;
		r = tree_remove(store_afp_session(p->place[i].store), AFP_ROOT_ID, base, &why);
		if (!r)
			continue;
		if (!first)
			first = err_set(e, r, "volume %s: %s", p->place[i].volume, why.text);
		snprintf(s->base[i], sizeof(s->base[i]), "%s", base);
		s->base_volume[i] = p->place[i].volume;
	}
	return first;
}

void places_close(struct places *p)
{
	for (unsigned int i = 1; i < p->n; i++)
		store_close(p->place[i].store);
	p->n = 0;
}
