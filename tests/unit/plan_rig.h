/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_PLAN_RIG_H
#define UNIT_PLAN_RIG_H

/* Plans of made-up recordings. */

#include "afp/proto.h"
#include "work/replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define ROOT  2
#define MS    1000000ull
#define FLAGS (AFP_READ | AFP_WRITE)

/* A recording of made-up requests: one a millisecond, of session 1 unless it is said. */
struct rig {
	struct replay_plan *p;
	struct replay_opts o;
	uint64_t t_ns, session;
	struct err e;
};

static inline int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->o.speed = 1;
	g->session = 1;
	*state = g;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *g = *state;

	replay_plan_free(g->p);
	free(g);
	return 0;
}

static inline struct replay_path named(uint64_t dir, uint64_t name)
{
	return (struct replay_path) {
		.dir = dir, .name = name, .volume = 1, .len = 8, .kind = REPLAY_NAME_ASCII
	};
}

static inline struct replay_request on(uint16_t command, uint64_t dir, uint64_t name)
{
	return (struct replay_request) { .command = command,
					 .path = named(dir, name),
					 .size = REPLAY_UNKNOWN };
}

static inline void add(struct rig *g, struct replay_request q)
{
	if (!g->p)
		g->p = replay_plan_new(&g->o);
	q.t_ns = g->t_ns += MS;
	q.time_ns = MS / 2;
	q.session = q.session ? q.session : g->session;
	assert_int_equal(replay_plan_add(g->p, &q), 0);
}

static inline void open_fork(struct rig *g, uint64_t dir, uint64_t name, uint16_t fork,
			     uint64_t size)
{
	struct replay_request q = on(AFP_OpenFork, dir, name);

	q.fork = fork;
	q.flags = FLAGS;
	q.size = size;
	add(g, q);
}

static inline void move(struct rig *g, uint16_t command, uint16_t fork, uint64_t offset,
			uint64_t len)
{
	struct replay_request q = { .command = command,
				    .fork = fork,
				    .offset = offset,
				    .length = len,
				    .size = REPLAY_UNKNOWN };

	q.actual = command == AFP_WriteExt ? offset + len : len;
	add(g, q);
}

static inline void close_it(struct rig *g)
{
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
}

static inline const struct replay_step *step(const struct rig *g, uint32_t i)
{
	assert_true(i < g->p->n_steps);
	return &g->p->step[i];
}

static inline const struct replay_object *object(const struct rig *g, uint32_t i)
{
	return &g->p->object[step(g, i)->object];
}

#endif
