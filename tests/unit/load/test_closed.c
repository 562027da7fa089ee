/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts that say themselves when their actions are due, and whether they may begin.
 * Tests client/load/closed.c.
 */
#include "base/clock.h"
#include "unit/engine_rig.h"

#include <stdlib.h>

#define ACTIONS 5
#define STEP_NS (4 * MS)

/* What a script with times has seen; there is one client. */
static struct {
	uint64_t begin_ns, begun_ns[ACTIONS];
	unsigned int n_begun, n_asked, refuse, later;
	uint64_t waited_ns, refuse_ns; /* refuse_ns: it is refused until it has waited so long */
	bool at_once;
} seen;

static uint64_t timed_due(struct script *s)
{
	(void)s;
	return seen.at_once ? SCRIPT_AT_ONCE : (seen.n_begun + 1) * STEP_NS;
}

static bool timed_may_begin(struct script *s, uint64_t waited_ns)
{
	(void)s;
	seen.n_asked++;
	seen.waited_ns = waited_ns;
	return seen.n_asked > seen.refuse && waited_ns >= seen.refuse_ns;
}

static int timed_begin(struct script *s, const struct store *store)
{
	if (seen.later) {
		seen.later--;
		return SCRIPT_LATER;
	}
	if (seen.n_begun < ACTIONS)
		seen.begun_ns[seen.n_begun++] = clock_now_ns();
	return play_begin(s, store);
}

static struct rig *timed(void)
{
	static const struct script_type type = { .begin = timed_begin,
						 .next = play_next,
						 .answered = play_answered,
						 .due = timed_due,
						 .may_begin = timed_may_begin };
	struct rig *g = rig_of(1, 1);

	memset(&seen, 0, sizeof(seen));
	g->play[0].s.type = &type;
	g->play[0].n_actions = ACTIONS;
	rig_open(g);
	return g;
}

static void no_action_begins_before_it_is_due(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = timed();

	(void)state;
	rig_do(g, &work);
	assert_int_equal(rig_actions(g), ACTIONS);
	for (unsigned int i = 0; i < ACTIONS; i++)
		assert_true(seen.begun_ns[i] >= g->load->begin_ns + (i + 1) * STEP_NS);
	rig_free(g);
}

static void how_late_each_action_began_is_kept_where_it_is_asked_for(void **state)
{
	struct engine_job work = rig_work(0);
	struct rig *g = timed();

	(void)state;
	rig_do(g, &work);
	assert_null(g->load->late);
	rig_free(g);
	g = timed();
	work.keeps_late = true;
	rig_do(g, &work);
	assert_int_equal(g->load->late->n, ACTIONS);
	assert_true(g->load->late->max <= g->load->late_max_ns);
	rig_free(g);
}

static void what_was_due_before_the_last_action_ended_is_measured_from_then(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = timed();
	struct run_action all;

	(void)state;
	g->play[0].slow.service_ns = 2 * STEP_NS;
	rig_do(g, &work);
	run_load_all(g->load, &all);
	/* each is a step later than the one before */
	assert_true(all.planned.max >= (ACTIONS + 1) * STEP_NS);
	assert_true(all.begun.min >= 2 * STEP_NS);
	rig_free(g);
}

static void an_action_that_may_not_begin_is_asked_about_again(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = timed();

	(void)state;
	seen.refuse = 20;
	seen.at_once = true;
	rig_do(g, &work);
	assert_int_equal(rig_actions(g), ACTIONS);
	assert_true(seen.n_asked >= 20 + ACTIONS);
	rig_free(g);
}

/* Else a thousand clients that wait would take the CPU from those that they wait for. */
static void one_that_waits_for_long_is_asked_less_often(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = timed();

	(void)state;
	seen.refuse_ns = 100 * MS;
	seen.at_once = true;
	g->play[0].n_actions = 1;
	rig_do(g, &work);
	assert_int_equal(rig_actions(g), 1);
	assert_true(seen.waited_ns >= 100 * MS);
	assert_in_range(seen.n_asked, 2, 250); /* every 100 us it would be a thousand times */
	rig_free(g);
}

static void one_with_nothing_to_do_now_is_asked_again_when_it_is_due(void **state)
{
	const struct engine_job work = rig_work(0);
	struct rig *g = timed();

	(void)state;
	seen.later = 3;
	rig_do(g, &work);
	assert_int_equal(rig_actions(g), ACTIONS);
	assert_int_equal(seen.later, 0);
	rig_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_late_each_action_began_is_kept_where_it_is_asked_for),
		cmocka_unit_test(no_action_begins_before_it_is_due),
		cmocka_unit_test(what_was_due_before_the_last_action_ended_is_measured_from_then),
		cmocka_unit_test(an_action_that_may_not_begin_is_asked_about_again),
		cmocka_unit_test(one_that_waits_for_long_is_asked_less_often),
		cmocka_unit_test(one_with_nothing_to_do_now_is_asked_again_when_it_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
