/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_POSIX_RIG_H
#define UNIT_POSIX_RIG_H

/* A store in a directory of its own, for the tests of local directories. */

#include "store/store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define BUF_LEN (64u << 10)

struct rig {
	char path[64];
	struct store *s;
	uint8_t *data, *buf; /* BUF_LEN each, aligned */
	struct err e;
};

static inline int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	snprintf(g->path, sizeof(g->path), "build/posix-XXXXXX");
	assert_non_null(mkdtemp(g->path));
	g->data = aligned_alloc(4096, BUF_LEN);
	g->buf = aligned_alloc(4096, BUF_LEN);
	for (size_t i = 0; i < BUF_LEN; i++)
		g->data[i] = (uint8_t)(i * 7 + i / 256 + 1);
	memset(g->buf, 0, BUF_LEN);
	*state = g;
	return 0;
}

/* Every test leaves an empty directory. */
static inline int teardown(void **state)
{
	struct rig *g = *state;

	store_close(g->s);
	assert_int_equal(rmdir(g->path), 0);
	free(g->data);
	free(g->buf);
	free(g);
	return 0;
}

static inline void open_it(struct rig *g, bool direct)
{
	int r = store_open_posix(&g->s, g->path, direct, &g->e);

	if (r == -EINVAL && direct)
		skip(); /* the tree is on a file system without O_DIRECT */
	assert_int_equal(r, 0);
}

static inline struct store_op call(struct rig *g, struct store_op op)
{
	assert_int_equal(store_call(g->s, &op, &g->e), 0);
	assert_non_null(op.what);
	assert_int_equal(op.command, op.verb);
	assert_true(op.t.begun_ns && op.t.begun_ns <= op.t.last_ns);
	assert_true((op.result == STORE_OK) == !op.why);
	return op;
}

static inline enum store_result named(struct rig *g, enum store_verb verb, struct store_dir dir,
				      const char *name)
{
	return call(g, (struct store_op) { .verb = verb, .dir = dir, .name = name }).result;
}

static inline struct store_file open_file(struct rig *g, const char *name)
{
	struct store_op op = { .verb = STORE_OPEN,
			       .dir = g->s->root[0],
			       .name = name,
			       .how = STORE_FOR_READ | STORE_FOR_WRITE };

	named(g, STORE_CREATE, op.dir, name);
	op = call(g, op);
	assert_int_equal(op.result, STORE_OK);
	return op.opened;
}

#endif
