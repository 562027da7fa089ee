/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probe sends, and that it goes on after failures and leaves nothing. */
#include "unit/memory_store.h"
#include "work/mix/probe.h"

struct rig {
	struct memory_store m;
	struct probe *probe;
	struct err e;
	int class;
};

static void rig_begin(struct rig *g)
{
	struct store_op op = { .verb = STORE_MKDIR, .name = "base" };

	memset(g, 0, sizeof(*g));
	memory_begin(&g->m, 4096);
	g->m.closes = true;
	g->m.s.creates_open = true;
	assert_int_equal(memory_do(&g->m, &op), STORE_OK);
	g->probe = probe_new("base");
	assert_non_null(g->probe);
}

static void rig_end(struct rig *g)
{
	probe_free(g->probe);
	memory_end(&g->m);
}

/* The script's next action to its end. SCRIPT_GOES_ON: it has none. */
static enum script_state act(struct rig *g, struct script *s)
{
	enum script_state how = SCRIPT_GOES_ON;
	struct store_op *op;

	g->m.log[0] = '\0';
	g->class = s->type->begin(s, &g->m.s);
	if (g->class < 0)
		return how;
	while (how == SCRIPT_GOES_ON) {
		op = s->type->next(s);
		assert_non_null(op);
		assert_null(s->type->next(s));
		assert_int_equal(store_submit(&g->m.s, op, &g->e), 0);
		how = s->type->answered(s, store_take(&g->m.s), &g->e);
	}
	return how;
}

static bool is_open(const struct rig *g)
{
	for (int i = 0; i < MEMORY_NODES; i++)
		if (g->m.node[i].opened)
			return true;
	return false;
}

static const char *const sent[N_PROBE_ACTIONS] = { "stat", "open read close", "open write close" };

static void it_looks_reads_and_writes_by_turns(void **state)
{
	struct script *make, *use;
	struct rig g;

	(void)state;
	rig_begin(&g);
	/* again in a new session, which finds the file of the one before */
	for (int i = 0; i < 2; i++) {
		make = probe_make(g.probe);
		assert_int_equal(act(&g, make), SCRIPT_DONE);
		assert_string_equal(g.m.log, "lookup create open write close");
		assert_false(is_open(&g));
		assert_int_equal(act(&g, make), SCRIPT_GOES_ON);
	}
	use = probe_use(g.probe);
	for (int i = 0; i < 9; i++) {
		uint64_t before = use->bytes;

		assert_int_equal(act(&g, use), SCRIPT_DONE);
		assert_int_equal(g.class, i % 3);
		assert_string_equal(g.m.log, sent[i % 3]);
		assert_int_equal(use->bytes - before, i % 3 == PROBE_STAT ? 0 : PROBE_LEN);
	}
	assert_int_equal(act(&g, probe_remove(g.probe)), SCRIPT_DONE);
	assert_string_equal(g.m.log, "delete");
	assert_int_equal(memory_left(&g.m), 1);
	assert_int_equal(act(&g, probe_remove(g.probe)), SCRIPT_GOES_ON);
	rig_end(&g);
}

static void whatever_fails_it_closes_and_goes_on(void **state)
{
	struct rig g;

	(void)state;
	for (unsigned int n = 1; n <= 7; n++) {
		unsigned int failed = 0;

		rig_begin(&g);
		assert_int_equal(act(&g, probe_make(g.probe)), SCRIPT_DONE);
		g.m.n_ops = 0;
		g.m.fail_at = n;
		g.m.fail_with = n == 3 ? STORE_SHORT : STORE_DENIED;
		for (int i = 0; i < 6; i++) {
			failed += act(&g, probe_use(g.probe)) == SCRIPT_FAILED;
			assert_false(is_open(&g));
			assert_int_equal(g.class, i % 3);
		}
		assert_int_equal(failed, 1);
		assert_non_null(strstr(g.e.text, "as told"));
		assert_int_equal(act(&g, probe_remove(g.probe)), SCRIPT_DONE);
		assert_int_equal(memory_left(&g.m), 1);
		rig_end(&g);
	}
}

/* Where its directory was not found there is nothing to remove: not "probe" anywhere else. */
static void what_was_not_made_is_not_removed(void **state)
{
	struct rig g;

	(void)state;
	for (unsigned int n = 1; n <= 5; n++) {
		rig_begin(&g);
		g.m.fail_at = n;
		g.m.fail_with = STORE_DENIED;
		assert_int_equal(act(&g, probe_make(g.probe)), SCRIPT_FAILED);
		assert_false(is_open(&g));
		if (n == 1)
			assert_non_null(strstr(g.e.text, "lookup of base"));
		g.m.fail_at = 0;
		assert_int_equal(act(&g, probe_remove(g.probe)), n == 1   ? SCRIPT_GOES_ON
								 : n == 2 ? SCRIPT_FAILED
									  : SCRIPT_DONE);
		assert_int_equal(memory_left(&g.m), 1);
		rig_end(&g);
	}
}

static void the_actions_have_names(void **state)
{
	(void)state;
	assert_string_equal(probe_action_name(PROBE_STAT), "stat");
	assert_string_equal(probe_action_name(PROBE_WRITE), "write 4 KiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_looks_reads_and_writes_by_turns),
		cmocka_unit_test(whatever_fails_it_closes_and_goes_on),
		cmocka_unit_test(what_was_not_made_is_not_removed),
		cmocka_unit_test(the_actions_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
