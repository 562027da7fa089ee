/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_MEMORY_STORE_H
#define TESTS_UNIT_MEMORY_STORE_H

/*
 * A store in memory for tests of workloads: answers in an order of its own, keeps a log of what it
 * was asked, and fails, shortens or corrupts the operation it is told to.
 */

#include "store/store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_NODES  64
#define MEMORY_DATA   (6u << 20) /* of a file */
#define MEMORY_LENT   256
#define MEMORY_LISTED 4

struct memory_node {
	bool used, is_dir;
	unsigned int volume;
	uint64_t parent;
	char name[64];
	uint64_t len;
	uint8_t *data;
	unsigned int opened;
};

struct memory_store {
	struct store s;
	struct memory_node node[MEMORY_NODES]; /* id = index; 0 and 1 are the roots */
	unsigned int n_ops, n_lent, most_lent;
	unsigned int n_discarded; /* READs nobody looks at: they bring rubbish */
	/* the n-th operation (from 1): this result; 0: none */
	unsigned int fail_at;
	enum store_result fail_with;
	uint64_t room; /* bytes free; 0: it does not tell */
	bool keeps_backups, no_word_of_backups;
	unsigned int corrupt_at; /* a READ's middle byte is wrong */
	bool fails_on;           /* so do those after it */
	bool closes;             /* a CLOSE that fails has closed nevertheless */
	bool dead;               /* the failure is the connection's, and lasts */
	bool late;               /* the operation is done, and its answer lost */
	unsigned int order;      /* 0: as asked; else the seed of another order */
	struct store_op *lent[MEMORY_LENT];
	char log[65536]; /* "mkdir create open write ...": verbs in the order they were asked */
};

static inline struct memory_store *memory_of(struct store *s)
{
	return (struct memory_store *)s;
}

static inline struct memory_node *memory_find(struct memory_store *m, struct store_dir dir,
					      const char *name)
{
	if (!*name)
		return &m->node[dir.id];
	for (int i = 0; i < MEMORY_NODES; i++) {
		struct memory_node *n = &m->node[i];

		if (n->used && n->parent == dir.id && n->volume == dir.volume && i > 1 &&
		    !strcmp(n->name, name))
			return n;
	}
	return NULL;
}

static inline uint64_t memory_add(struct memory_store *m, struct store_dir dir, const char *name,
				  bool is_dir)
{
	for (uint64_t i = 2; i < MEMORY_NODES; i++) {
		struct memory_node *n = &m->node[i];

		if (n->used)
			continue;
		*n = (struct memory_node) {
			.used = true, .is_dir = is_dir, .volume = dir.volume, .parent = dir.id
		};
		snprintf(n->name, sizeof(n->name), "%s", name);
		n->data = is_dir ? NULL : calloc(1, MEMORY_DATA);
		return i;
	}
	fail_msg("too many nodes");
	return 0;
}

static inline enum store_result memory_delete(struct memory_store *m, struct memory_node *n)
{
	uint64_t id = (uint64_t)(n - m->node);

	for (int i = 2; i < MEMORY_NODES; i++)
		if (n->is_dir && m->node[i].used && m->node[i].parent == id)
			return STORE_FAILED;
	if (n->opened)
		return STORE_DENIED;
	free(n->data);
	*n = (struct memory_node) { 0 };
	return STORE_OK;
}

static inline enum store_result memory_move(struct memory_store *m, struct store_op *op)
{
	struct memory_node *n = &m->node[op->file.id % MEMORY_NODES];
	uint64_t end = op->offset + op->len;

	assert_true(n->used && n->opened && end <= MEMORY_DATA);
	op->done = op->len;
	if (op->file.id >= MEMORY_NODES) /* a resource fork, which is not kept */
		return STORE_OK;
	if (op->verb == STORE_WRITE) {
		memcpy(n->data + op->offset, op->data, op->len);
		n->len = n->len > end ? n->len : end;
		op->done = op->len;
		return STORE_OK;
	}
	op->done = op->offset >= n->len ? 0 : n->len - op->offset;
	op->done = op->done < op->len ? op->done : op->len;
	if (op->discard)
		memset(op->buf, 0xdd, op->done);
	else
		memcpy(op->buf, n->data + op->offset, op->done);
	m->n_discarded += op->discard;
	return op->done < op->len ? STORE_SHORT : STORE_OK;
}

/* At most MEMORY_LISTED entries at a time. */
static inline enum store_result memory_list(const struct memory_store *m, struct store_op *op)
{
	uint64_t n = 0;

	op->done = 0;
	for (int i = 2; i < MEMORY_NODES && op->done < MEMORY_LISTED; i++) {
		if (!m->node[i].used || m->node[i].parent != op->dir.id || n++ < op->offset)
			continue;
		if (op->found)
			op->found(op, m->node[i].name);
		op->done++;
	}
	return op->done ? STORE_OK : STORE_NONE;
}

/* The files that have op->name in their names, as many at a time; place[0]: how many were told. */
static inline enum store_result memory_search(const struct memory_store *m, struct store_op *op)
{
	uint64_t n = 0;

	for (int i = 2; i < MEMORY_NODES; i++)
		n += m->node[i].used && strstr(m->node[i].name, op->name);
	n -= op->place[0];
	op->done = n < MEMORY_LISTED ? n : MEMORY_LISTED;
	op->place[0] = (uint8_t)(op->place[0] + op->done);
	return n > MEMORY_LISTED ? STORE_OK : STORE_NONE;
}

/* n is moved or copied. */
static inline enum store_result memory_second(struct memory_store *m, const struct store_op *op,
					      struct memory_node *n)
{
	struct memory_node *to;

	if (!n)
		return STORE_NONE;
	if (memory_find(m, op->to_dir, op->to_name))
		return STORE_EXISTS;
	if (op->verb == STORE_RENAME) {
		snprintf(n->name, sizeof(n->name), "%s", op->to_name);
		n->parent = op->to_dir.id;
		return STORE_OK;
	}
	to = &m->node[memory_add(m, op->to_dir, op->to_name, false)];
	memcpy(to->data, n->data, MEMORY_DATA);
	to->len = n->len;
	return STORE_OK;
}

/* n and another file exchange what they hold. */
static inline enum store_result memory_swap(struct memory_store *m, const struct store_op *op,
					    struct memory_node *n)
{
	struct memory_node *to = memory_find(m, op->to_dir, op->to_name), was;

	if (!n || !to)
		return STORE_NONE;
	was = *to;
	to->data = n->data;
	to->len = n->len;
	n->data = was.data;
	n->len = was.len;
	return STORE_OK;
}

static inline enum store_result memory_make(struct memory_store *m, struct store_op *op)
{
	struct memory_node *n;

	op->made.volume = op->dir.volume;
	op->made.id = memory_add(m, op->dir, op->name, op->verb == STORE_MKDIR);
	if (op->verb != STORE_CREATE || !op->how || !m->s.creates_open)
		return STORE_OK;
	n = memory_find(m, op->dir, op->name);
	n->opened++;
	op->opened.id = (uint64_t)(n - m->node);
	return STORE_OK;
}

/* name may be that of a directory, a slash, and a name in it. */
static inline struct memory_node *memory_find_path(struct memory_store *m, struct store_dir dir,
						   const char *name)
{
	const char *slash = strchr(name, '/');
	struct memory_node *n;
	char first[256];

	if (!slash)
		return memory_find(m, dir, name);
	snprintf(first, sizeof(first), "%.*s", (int)(slash - name), name);
	n = memory_find(m, dir, first);
	return !n ? NULL
		  : memory_find(m, (struct store_dir) { dir.volume, (uint64_t)(n - m->node) },
				slash + 1);
}

static inline enum store_result memory_do(struct memory_store *m, struct store_op *op)
{
	struct memory_node *n = NULL;

	if (op->verb <= STORE_OPEN || op->verb == STORE_COPY || op->verb == STORE_LOOKUP ||
	    op->verb == STORE_RENAME || op->verb == STORE_SWAP)
		n = memory_find(m, op->dir, op->name);
	else
		n = &m->node[op->file.id % MEMORY_NODES];
	switch (op->verb) {
	case STORE_PROBE:
		return memory_find_path(m, op->dir, op->name) ? STORE_OK : STORE_NONE;
	case STORE_MKDIR:
	case STORE_CREATE:
		if (n)
			return STORE_EXISTS;
		return memory_make(m, op);
	case STORE_DELETE:
		return n ? memory_delete(m, n) : STORE_NONE;
	case STORE_OPEN:
		if (!n)
			return STORE_NONE;
		n->opened++;
		op->opened.id = (uint64_t)(n - m->node) + (op->how & STORE_RSRC ? MEMORY_NODES : 0);
		return STORE_OK;
	case STORE_CLOSE:
		assert_true(n->opened > 0);
		n->opened--;
		return STORE_OK;
	case STORE_LENGTH:
		op->done = n->len;
		return STORE_OK;
	case STORE_ROOM:
		op->done = m->room;
		op->keeps_backups = m->keeps_backups;
		op->tells_backups = !m->no_word_of_backups;
		return m->room ? STORE_OK : STORE_UNKNOWN;
	case STORE_SET_LEN:
		n->len = op->len;
		return STORE_OK;
	case STORE_READ:
	case STORE_WRITE:
		return memory_move(m, op);
	case STORE_LOOKUP:
		op->made = (struct store_dir) { op->dir.volume, n ? (uint64_t)(n - m->node) : 0 };
		return n ? STORE_OK : STORE_NONE;
	case STORE_LIST:
		return memory_list(m, op);
	case STORE_SEARCH:
		return memory_search(m, op);
	case STORE_SWAP:
		return memory_swap(m, op, n);
	case STORE_RENAME:
	case STORE_COPY:
		return memory_second(m, op, n);
	default:
		return STORE_OK;
	}
}

static inline int memory_submit(struct store *s, struct store_op *op, struct err *e)
{
	struct memory_store *m = memory_of(s);
	size_t at = strlen(m->log);
	bool fails;

	m->n_ops++;
	if (m->fail_at && m->n_ops >= m->fail_at + m->late && m->dead)
		return err_set(e, -ECONNRESET, "the connection has gone");
	snprintf(m->log + at, sizeof(m->log) - at, "%s%s", at ? " " : "",
		 store_verb_name(op->verb));
	op->what = store_verb_name(op->verb);
	op->command = (uint8_t)op->verb;
	fails = m->fail_at && (m->fails_on ? m->n_ops >= m->fail_at : m->n_ops == m->fail_at);
	if (!fails || m->late || (m->closes && op->verb == STORE_CLOSE))
		op->result = memory_do(m, op);
	if (fails && !m->late)
		op->result = m->fail_with;
	if (m->n_ops == m->fail_at && op->result == STORE_SHORT)
		op->done = op->len / 2;
	if (m->n_ops == m->corrupt_at && op->verb == STORE_READ)
		((uint8_t *)op->buf)[op->len / 2] ^= 0x80;
	op->code = op->result ? -1000 - (int)op->result : 0;
	op->why = op->result ? "as told" : NULL;
	op->t = (struct store_times) { .begun_ns = 1000, .last_ns = 2000 };
	assert_true(m->n_lent < MEMORY_LENT);
	m->lent[m->n_lent++] = op;
	m->most_lent = m->n_lent > m->most_lent ? m->n_lent : m->most_lent;
	return 0;
}

static inline bool memory_is_dead(const struct memory_store *m)
{
	return m->fail_at && m->n_ops >= m->fail_at && m->dead;
}

static inline struct store_op *memory_take(struct store *s)
{
	struct memory_store *m = memory_of(s);
	struct store_op *op;
	unsigned int i = 0;

	if (memory_is_dead(m))
		return NULL;
	if (m->order) {
		m->order = m->order * 1103515245u + 12345u;
		i = (m->order >> 16) % m->n_lent;
	}
	op = m->lent[i];
	memmove(&m->lent[i], &m->lent[i + 1], (--m->n_lent - i) * sizeof(struct store_op *));
	return op;
}

static inline void memory_wait(struct store *s, struct io_wait *w)
{
	(void)s;
	*w = (struct io_wait) { -1, 0, UINT64_MAX };
}

static inline int memory_advance(struct store *s, short events, struct err *e)
{
	(void)events;
	return memory_is_dead(memory_of(s)) ? err_set(e, -ECONNRESET, "the connection has gone")
					    : 0;
}

static inline int memory_work(struct store *s, uint64_t ns, struct err *e)
{
	(void)ns;
	return memory_advance(s, 0, e);
}

static inline void memory_finish(struct store *s)
{
	s->state = STORE_ENDED;
}

static inline void memory_close(struct store *s)
{
	(void)s;
}

static inline void memory_begin(struct memory_store *m, size_t chunk)
{
	static const struct store_type type = { "memory",      memory_submit,  memory_take,
						memory_wait,   memory_advance, memory_work,
						memory_finish, memory_close };

	memset(m, 0, sizeof(*m));
	m->s.type = &type;
	m->s.state = STORE_IS_OPEN;
	m->s.chunk_read = m->s.chunk_write = chunk;
	m->s.align = 1;
	m->s.len_max = MEMORY_DATA;
	for (unsigned int i = 0; i < 2; i++) {
		m->node[i] = (struct memory_node) { .used = true, .is_dir = true, .volume = i };
		m->s.root[i] = (struct store_dir) { .volume = i, .id = i };
	}
}

/* What is still there, the roots apart. */
static inline unsigned int memory_left(const struct memory_store *m)
{
	unsigned int n = 0;

	for (int i = 2; i < MEMORY_NODES; i++)
		n += m->node[i].used;
	return n;
}

static inline void memory_end(struct memory_store *m)
{
	for (int i = 2; i < MEMORY_NODES; i++)
		free(m->node[i].data);
}

#endif
