/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes trees of directories on any store, by its own operations. */
#include "store/store.h"

#include "base/vec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX (PATH_MAX / 2) /* of a path whose names have a letter each */
#define IDLE_MAX  3 /* times in a row that nothing went: somebody else deletes, or makes, too */

struct removal {
	struct store *s;
	struct store_op *op; /* the last one */
	struct err *e;
	void *buf; /* STORE_LIST_LEN */
	unsigned int depth;
	uint64_t n_removed;
};

/* Of one list, each with its end. */
struct removal_names {
	char *text;
	size_t len;
	bool no_memory;
};

static int removal_empty(struct removal *m, struct store_dir dir);

static int removal_call(struct removal *m, enum store_verb verb, struct store_dir dir,
			const char *name)
{
	*m->op = (struct store_op) {
		.verb = verb, .dir = dir, .name = name, .how = STORE_NO_MOUNT, .buf = m->buf
	};
	return store_call(m->s, m->op, m->e);
}

static int removal_refused(struct removal *m, const char *name)
{
	return err_set(m->e, STORE_REFUSED, "%s %s: %s (%d)", m->op->what, name, m->op->why,
		       m->op->code);
}

/* *full: it is a directory that has entries. */
static int removal_delete(struct removal *m, struct store_dir dir, const char *name, bool *full)
{
	int r = removal_call(m, STORE_DELETE, dir, name);

	*full = !r && m->op->result == STORE_NOT_EMPTY;
	m->n_removed += !r && m->op->result == STORE_OK;
	if (r || *full || m->op->result == STORE_OK || m->op->result == STORE_NONE)
		return r;
	return removal_refused(m, name);
}

/* It was looked up in the one above: what is put in its place meanwhile is no other. */
static int removal_dir(struct removal *m, struct store_dir dir, bool *full)
{
	int r = removal_delete(m, dir, "", full);

	for (unsigned int i = 0; !r && *full && i < IDLE_MAX; i++) {
		r = removal_empty(m, dir);
		r = r ? r : removal_delete(m, dir, "", full);
	}
	return r;
}

static int removal_one(struct removal *m, struct store_dir dir, const char *name)
{
	bool full;
	int r = removal_delete(m, dir, name, &full);

	if (r || !full)
		return r;
	r = removal_call(m, STORE_LOOKUP, dir, name);
	if (r || m->op->result == STORE_NONE)
		return r;
	if (m->op->result != STORE_OK)
		return removal_refused(m, name);
	r = removal_dir(m, m->op->made, &full);
	return r || !full ? r : removal_refused(m, name);
}

static void removal_found(struct store_op *op, const char *name)
{
	struct removal_names *n = op->user;

	do
		n->no_memory |= VEC_PUSH(n->text, n->len, *name) != 0;
	while (*name++);
}

/* What one list from the begin has. */
static int removal_batch(struct removal *m, struct store_dir dir, bool *more)
{
	struct removal_names names = { 0 };
	int r;

	*m->op = (struct store_op) { .verb = STORE_LIST,
				     .dir = dir,
				     .buf = m->buf,
				     .len = STORE_LIST_LEN,
				     .found = removal_found,
				     .user = &names };
	r = store_call(m->s, m->op, m->e);
	*more = m->op->result != STORE_NONE;
	if (!r && *more && m->op->result != STORE_OK)
		r = removal_refused(m, "");
	else if (!r && names.no_memory)
		r = err_set(m->e, -ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < names.len; i += strlen(names.text + i) + 1)
		r = removal_one(m, dir, names.text + i);
	free(names.text);
	return r;
}

static int removal_empty(struct removal *m, struct store_dir dir)
{
	unsigned int idle = 0;
	uint64_t before;
	bool more = true;
	int r = 0;

	if (m->depth == DEPTH_MAX)
		return err_set(m->e, STORE_REFUSED, "more than %d directories deep", DEPTH_MAX);
	m->depth++;
	while (!r && more && idle < IDLE_MAX) {
		before = m->n_removed;
		r = removal_batch(m, dir, &more);
		idle = m->n_removed == before ? idle + 1 : 0;
	}
	m->depth--;
	if (!r && more)
		r = err_set(m->e, STORE_REFUSED,
			    "what was removed is still listed: a lost session may still have it "
			    "open; the server keeps it until that session ends");
	return r;
}

int store_remove_tree(struct store *s, struct store_dir dir, const char *name,
		      struct store_op *last, struct err *e)
{
	struct removal m = { .s = s, .op = last, .e = e, .buf = malloc(STORE_LIST_LEN) };
	int r;

	if (!m.buf)
		return err_set(e, -ENOMEM, "out of memory");
	r = name ? removal_one(&m, dir, name) : removal_empty(&m, dir);
	free(m.buf);
	return r;
}
