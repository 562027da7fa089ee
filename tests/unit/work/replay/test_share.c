/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions that come and go, where a server has fewer places than all of them would take.
 * Tests client/work/replay/replay_share.c. */
#include "afp/proto.h"
#include "work/replay/replay.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS   1000000ull
#define ROOT 2

struct rig {
	struct replay_plan *p;
	uint64_t t_ns;
	struct err e;
};

static const struct replay_request
    look = { .command = AFP_GetFileDirParms,
	     .path = { .dir = ROOT, .name = 10, .volume = 1, .len = 8, .kind = REPLAY_NAME_ASCII },
	     .size = REPLAY_UNKNOWN },
    open_file = { .command = AFP_OpenFork,
		  .path = { .dir = ROOT,
			    .name = 20,
			    .volume = 1,
			    .len = 8,
			    .kind = REPLAY_NAME_ASCII },
		  .fork = 1,
		  .flags = AFP_READ,
		  .size = 5 },
    read_file = {
	    .command = AFP_ReadExt, .fork = 1, .length = 5, .actual = 5, .size = REPLAY_UNKNOWN
    };

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct rig));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct rig *g = *state;

	replay_plan_free(g->p);
	free(g);
	return 0;
}

static void add(struct rig *g, uint64_t session, uint32_t user, struct replay_request q)
{
	q.t_ns = g->t_ns += MS;
	q.time_ns = MS / 2;
	q.session = session;
	q.user = user;
	assert_int_equal(replay_plan_add(g->p, &q), 0);
}

/* Session 1, then 2, which leaves a file open, then 3 of another user; 4 all the time. */
static void come_and_go(struct rig *g, uint32_t most)
{
	const struct replay_opts o = { .speed = 1, .most_sessions = most };

	g->p = replay_plan_new(&o);
	add(g, 4, 0, look);
	for (uint64_t session = 1; session <= 2; session++) {
		add(g, session, 0, open_file);
		add(g, session, 0, read_file);
	}
	add(g, 3, 7, look);
	add(g, 4, 0, look);
}

static void sessions_have_a_place_of_their_own_unless_that_is_too_many(void **state)
{
	struct rig *g = *state;

	come_and_go(g, 4);
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	assert_int_equal(g->p->n_clients, 4);
	assert_int_equal(g->p->n_sessions, 4);
	assert_int_equal(g->p->n_at_once, 3);
}

static void sessions_that_follow_each_other_share_a_place(void **state)
{
	struct rig *g = *state;
	const struct replay_client_plan *c;

	come_and_go(g, 3);
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	assert_int_equal(g->p->n_sessions, 4);
	assert_int_equal(g->p->n_clients, 3);
	assert_int_equal(g->p->step[1].client, g->p->step[3].client);
	assert_int_not_equal(g->p->step[5].client, g->p->step[3].client);
	c = &g->p->client[g->p->step[1].client];
	assert_int_equal(c->n_steps, 4);
	assert_int_equal(c->n_files, 2);
	assert_int_equal(g->p->step[2].file, 0);
	assert_int_equal(g->p->step[4].file, 1); /* not the one that is open */
	for (uint32_t i = 0; i < c->n_steps; i++)
		assert_int_equal(c->step[i], i + 1);
}

/* The caller says so, who knows how many copies there are. */
static void where_more_are_needed_at_once_none_share(void **state)
{
	struct rig *g = *state;

	come_and_go(g, 2);
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	assert_int_equal(g->p->n_at_once, 3);
	assert_int_equal(g->p->n_clients, 4);
}

/* Of each of two users three at a time, of hundreds. */
static void of_many_sessions_as_few_are_needed_as_are_there_together(void **state)
{
	const struct replay_opts o = { .speed = 1, .most_sessions = 6 };
	struct rig *g = *state;
	const struct replay_client_plan *c;

	g->p = replay_plan_new(&o);
	for (uint64_t i = 0; i < 300; i++)
		for (uint32_t user = 1; user <= 2; user++) {
			add(g, 2 * i + user, user, look);
			if (i >= 2)
				add(g, 2 * (i - 2) + user, user, look);
		}
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	assert_int_equal(g->p->n_sessions, 600);
	assert_int_equal(g->p->n_at_once, 6);
	assert_int_equal(g->p->n_clients, 6);
	for (uint32_t k = 0; k < g->p->n_clients; k++) {
		c = &g->p->client[k];
		for (uint32_t i = 1; i < c->n_steps; i++)
			assert_true(c->step[i - 1] < c->step[i]);
	}
}

/* As in a damaged recording: the first session's request may take for ever. */
static void a_session_whose_end_is_too_far_to_be_told_keeps_its_place(void **state)
{
	const struct replay_opts o = { .speed = 1 };
	struct replay_request endless = look;
	struct rig *g = *state;

	g->p = replay_plan_new(&o);
	endless.t_ns = MS;
	endless.time_ns = UINT64_MAX;
	endless.session = 1;
	assert_int_equal(replay_plan_add(g->p, &endless), 0);
	g->t_ns = MS;
	add(g, 2, 0, look);
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	assert_int_equal(g->p->n_sessions, 2);
	assert_int_equal(g->p->n_at_once, 2);
}

/* Its times say that the second session has ended before the first began; but what it sends may
 * need what the first has sent, and would stand before that. */
static void sessions_do_not_share_against_the_order_of_the_recording(void **state)
{
	const struct replay_opts o = { .speed = 1, .most_sessions = 1 };
	struct rig *g = *state;

	g->p = replay_plan_new(&o);
	g->t_ns = 10 * MS;
	add(g, 1, 0, look);
	g->t_ns = 0;
	add(g, 2, 0, look);
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	assert_int_equal(g->p->n_at_once, 2);
	assert_int_equal(g->p->n_clients, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(sessions_have_a_place_of_their_own_unless_that_is_too_many),
		TEST(sessions_that_follow_each_other_share_a_place),
		TEST(where_more_are_needed_at_once_none_share),
		TEST(of_many_sessions_as_few_are_needed_as_are_there_together),
		TEST(a_session_whose_end_is_too_far_to_be_told_keeps_its_place),
		TEST(sessions_do_not_share_against_the_order_of_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
