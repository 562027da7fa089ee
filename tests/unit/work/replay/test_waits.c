/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a client waits for the requests of others. Tests client/work/replay/replay_client.c,
 * replay_copy.c.
 */
#include "unit/plan_rig.h"
#include "work/replay/replay_client.h"

#define N_CLIENTS 3
#define S         1000000000ull

/* Session 1 makes a file, 2 renames it, 3 looks at it: step and client 0, 1 and 2. */
struct queue {
	struct rig *g;
	struct replay_copy copy;
	struct replay_client *client[N_CLIENTS];
	struct script *script[N_CLIENTS];
};

static void queue_open(struct queue *q, struct rig *g)
{
	struct replay_request moved = on(AFP_Rename, ROOT, 10), made = on(AFP_CreateFile, ROOT, 10),
			      seen = on(AFP_GetFileDirParms, ROOT, 11);

	moved.to = named(ROOT, 11);
	made.session = 1;
	moved.session = 2;
	seen.session = 3;
	add(g, made);
	add(g, moved);
	add(g, seen);
	close_it(g);
	*q = (struct queue) { .g = g, .copy.plan = g->p };
	assert_int_equal(replay_copy_init(&q->copy), 0);
	for (unsigned int i = 0; i < N_CLIENTS; i++) {
		q->client[i] = replay_client_new(&q->copy, i, NULL, 0);
		q->script[i] = replay_client_use(q->client[i]);
	}
}

static void queue_close(struct queue *q)
{
	for (unsigned int i = 0; i < N_CLIENTS; i++)
		replay_client_free(q->client[i]);
	replay_copy_fini(&q->copy);
}

static bool may_begin(const struct queue *q, unsigned int i, uint64_t waited_s)
{
	return q->script[i]->type->may_begin(q->script[i], waited_s * S);
}

static uint64_t unordered(const struct queue *q)
{
	struct replay_done done = { 0 };

	for (unsigned int i = 0; i < N_CLIENTS; i++)
		replay_client_add_done(q->client[i], &done);
	return done.n_unordered;
}

static void a_client_that_does_nothing_is_given_up(void **state)
{
	struct queue q;

	queue_open(&q, *state);
	assert_true(may_begin(&q, 0, 0));
	assert_false(may_begin(&q, 1, 0));
	assert_false(may_begin(&q, 1, 9));
	assert_int_equal(unordered(&q), 0);
	assert_true(may_begin(&q, 1, 10));
	assert_int_equal(unordered(&q), 1);
	queue_close(&q);
}

/* The first one takes 9 s, the second one 9 s more. */
static void a_client_that_waits_itself_is_waited_for(void **state)
{
	struct queue q;

	queue_open(&q, *state);
	assert_false(may_begin(&q, 2, 0));
	assert_false(may_begin(&q, 1, 0));
	assert_false(may_begin(&q, 2, 1));
	assert_false(may_begin(&q, 1, 9));
	q.copy.answered[0] = 1;
	assert_true(may_begin(&q, 1, 9));
	assert_false(may_begin(&q, 2, 11));
	assert_false(may_begin(&q, 2, 18));
	q.copy.answered[1] = 1;
	assert_true(may_begin(&q, 2, 18));
	assert_int_equal(unordered(&q), 0);
	queue_close(&q);
}

/* The second one has given up the first, and the third one knows it. */
static void all_that_did_not_wait_are_counted(void **state)
{
	struct queue q;

	queue_open(&q, *state);
	q.copy.progress[0] = q.copy.progress[1] = REPLAY_NONE;
	assert_true(may_begin(&q, 1, 0));
	assert_true(may_begin(&q, 2, 0));
	assert_int_equal(unordered(&q), 2);
	queue_close(&q);
}

static void who_was_given_up_and_goes_on_is_waited_for_again(void **state)
{
	struct queue q;

	queue_open(&q, *state);
	q.copy.progress[1] = REPLAY_NONE;
	assert_false(may_begin(&q, 1, 0));
	assert_false(may_begin(&q, 2, 0));
	queue_close(&q);
}

/* The first one rests for 15 s: the second one was sent long before it, and answered after it. */
static void who_has_nothing_to_do_yet_is_waited_for(void **state)
{
	struct rig *g = *state;
	struct queue q;

	queue_open(&q, g);
	g->p->step[0].due_ns = g->p->step[1].due_ns + 15 * S;
	for (uint64_t s = 0; s < 24; s++)
		assert_false(may_begin(&q, 1, s));
	assert_int_equal(unordered(&q), 0);
	assert_true(may_begin(&q, 1, 24)); /* it was to begin 9 s ago */
	queue_close(&q);
}

static void without_pauses_nobody_has_nothing_to_do(void **state)
{
	struct rig *g = *state;
	struct queue q;

	g->o.no_think = true;
	queue_open(&q, g);
	g->p->step[0].due_ns = g->p->step[1].due_ns + 15 * S;
	assert_false(may_begin(&q, 1, 0));
	assert_true(may_begin(&q, 1, 10));
	queue_close(&q);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_client_that_does_nothing_is_given_up),
		TEST(a_client_that_waits_itself_is_waited_for),
		TEST(all_that_did_not_wait_are_counted),
		TEST(who_was_given_up_and_goes_on_is_waited_for_again),
		TEST(who_has_nothing_to_do_yet_is_waited_for),
		TEST(without_pauses_nobody_has_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
