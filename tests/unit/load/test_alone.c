/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client that is alone in its thread, on a store whose calls that thread makes itself: what is
 * done beside its calls is counted, as a call may take less than a microsecond. The clock goes on
 * only when it is read (unit/shared_clock.h). Tests client/load/actions.c, pause.c,
 * client/store/blocking.c.
 */
#include "unit/clocked_rig.h"

#include <stdlib.h>
#include <unistd.h>

#define ACTIONS 1000
/* Looks of the engine's pulse, which beats twenty times a second. */
#define MORE 40

static char place[] = "build/alone-XXXXXX";

static int posix_begin(void *user, struct store **out, uint8_t *scratch, struct err *e)
{
	(void)user;
	(void)scratch;
	return store_open_posix(out, place, false, e);
}

/* Asks whether a file is there that is not. */
static struct store_op *alone_next(struct script *s)
{
	struct play *p = (struct play *)s;

	if (p->asked > p->answered || p->asked == p->n_requests)
		return NULL;
	p->asked++;
	p->op[0] = (struct store_op) { .verb = STORE_PROBE, .name = "none" };
	return &p->op[0];
}

static enum script_state alone_answered(struct script *s, struct store_op *op, struct err *e)
{
	struct play *p = (struct play *)s;

	(void)e;
	assert_int_equal(op->result, STORE_NONE);
	return ++p->answered < p->n_requests ? SCRIPT_GOES_ON : SCRIPT_DONE;
}

static struct rig *alone(unsigned int n_requests, unsigned int n_actions)
{
	static const struct script_type type = { .begin = play_begin,
						 .next = alone_next,
						 .answered = alone_answered };
	const struct engine_job open = { .what = ENGINE_OPEN };
	struct rig *g = rig(1, 1);
	const struct engine_client client = { posix_begin, &g->play[0].slow, NULL };

	g->play[0].s.type = &type;
	g->play[0].n_requests = n_requests;
	g->play[0].n_actions = n_actions;
	assert_int_equal(engine_new(&g->engine, &g->opts, &client, 1, &g->e), 0);
	rig_do(g, &open);
	return g;
}

static void it_looks_at_the_clock_twice_a_call(void **state)
{
	const struct engine_job work = rig_work(0);

	(void)state;
	for (unsigned int n = 1; n <= 3; n++) {
		struct rig *g = alone(n, ACTIONS);
		unsigned int waits = shared_clock.n_waits;
		uint64_t looks;

		rig_do(g, &work);
		assert_int_equal(rig_actions(g), ACTIONS);
		looks = (g->load->done_ns - g->load->client[0].first_ns) / SHARED_TICK_NS;
		assert_in_range(looks, ACTIONS * 2 * n - 1, ACTIONS * 2 * n + MORE);
		assert_in_range(shared_clock.n_waits - waits, 0, 3);
		rig_free(g);
	}
}

static void it_ends_in_time_nevertheless(void **state)
{
	const struct engine_job work = rig_work(20 * MS);
	struct rig *g = alone(1, 0);

	(void)state;
	rig_do(g, &work);
	assert_in_range(g->load->done_ns - g->load->begin_ns, 19 * MS, 20 * MS + 1000);
	assert_in_range(rig_actions(g), 20 * MS / 70, 20 * MS / 60);
	rig_free(g);
}

/* At the latest after a millisecond. */
static void a_stop_ends_it(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = alone(1, 0);

	(void)state;
	g->play[0].stop_at = ACTIONS;
	rig_do(g, &work);
	assert_in_range(rig_actions(g), ACTIONS, ACTIONS + 2 * MS / 60);
	rig_free(g);
}

static int make_place(void **state)
{
	return shared_clock_begin(state) || !mkdtemp(place);
}

static int remove_place(void **state)
{
	(void)state;
	return rmdir(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_looks_at_the_clock_twice_a_call),
		cmocka_unit_test(it_ends_in_time_nevertheless),
		cmocka_unit_test(a_stop_ends_it),
	};

	return cmocka_run_group_tests(tests, make_place, remove_place);
}
