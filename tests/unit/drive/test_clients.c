/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of clients on slow stores: what is opened, done, counted, and cleaned up. */
#include "app/cmd.h"
#include "drive/clients.h"
#include "load/load.h"
#include "unit/engine_rig.h"

/* A group: clients, the last of which is the probe if there is one. */
struct group {
	struct rig *rig;
	struct clients *clients;
	unsigned int not_open, n_ticks, n_joined, n_cleaned, n_freed;
	bool open_when_cleaned;
	_Atomic enum clients_task task; /* each thread says it */
	struct err e;
	struct run_phase phase;
};

static int group_begin(void *own, unsigned int i, struct store **out, uint8_t *scratch,
		       struct err *e)
{
	struct group *g = own;

	return slow_begin(&g->rig->play[i].slow, out, scratch, e);
}

static void group_address(struct store *s, char out[RUN_ADDRESS_LEN])
{
	assert_int_equal(s->state, STORE_IS_OPEN);
	snprintf(out, RUN_ADDRESS_LEN, "here");
}

static struct script *group_script(void *own, unsigned int i, enum clients_task task)
{
	struct group *g = own;

	g->task = task;
	return &g->rig->play[i].s;
}

static void group_tick(void *own)
{
	((struct group *)own)->n_ticks++;
}

static int group_joined(void *own, struct run_phase *p, struct err *e)
{
	(void)e;
	assert_non_null(p->load);
	return (int)((struct group *)own)->n_joined++;
}

static int group_clean(void *own, struct err *e)
{
	struct group *g = own;

	g->n_cleaned++;
	g->open_when_cleaned = !g->rig->play[0].slow.n_closed;
	return err_set(e, LOAD_REFUSED, "left");
}

static void group_free(void *own)
{
	((struct group *)own)->n_freed++;
}

static const struct clients_type some = {
	.opens = "session",
	.actions = { 2, play_name },
	.probe = { 2, play_name },
	.probe_rate = 1000,
	.begin = group_begin,
	.address = group_address,
	.script = group_script,
	.tick = group_tick,
	.joined = group_joined,
	.clean = group_clean,
	.free = group_free,
};

static struct group *group_of(unsigned int n)
{
	struct group *g = calloc(1, sizeof(*g));

	cmd_stop = 0;
	g->rig = rig_of(n, 1);
	for (unsigned int i = 0; i < n; i++)
		g->rig->play[i].n_actions = 1;
	return g;
}

static int group_open(struct group *g, const struct clients_type *type, unsigned int threads,
		      bool probe)
{
	const struct clients_opts o = { .n = g->rig->n - probe,
					.threads = threads,
					.opening_max = CLIENTS_OPENING_MAX,
					.probe = probe };

	assert_int_equal(clients_new(&g->clients, type, g, &g->e), 0);
	return clients_open(g->clients, &o, &g->not_open, &g->e);
}

static int group_load(struct group *g, uint64_t duration_ns)
{
	const struct engine_job how = { .duration_ns = duration_ns };

	assert_int_equal(clients_start(g->clients, &how, &g->e), 0);
	while (!clients_wait(g->clients, 10 * MS))
		;
	return clients_join(g->clients, &g->phase, &g->e);
}

static void group_end(struct group *g)
{
	clients_close(g->clients, NULL);
	assert_int_equal(g->n_cleaned, 1);
	assert_int_equal(g->n_freed, 1);
	rig_free(g->rig); /* each store was closed once */
	run_load_free(g->phase.load);
	run_load_free(g->phase.probe);
	run_clear_commands(&g->phase);
	free(g);
}

static void some_may_stay_away(void **state)
{
	struct group *g = group_of(3);

	(void)state;
	g->rig->play[1].slow.refused = true;
	assert_int_equal(group_open(g, &some, 2, false), 0);
	assert_int_equal(g->not_open, 1);
	assert_string_equal(g->e.text, "the server is full");
	assert_true(clients_is_open(g->clients, 0));
	assert_false(clients_is_open(g->clients, 1));
	group_end(g);
}

static void none_is_a_failure(void **state)
{
	struct group *g = group_of(2);

	(void)state;
	g->rig->play[0].slow.refused = g->rig->play[1].slow.refused = true;
	assert_int_equal(group_open(g, &some, 2, false), -ECONNREFUSED);
	assert_string_equal(g->e.text, "no client could open a session: the server is full");
	group_end(g);
}

static void all_or_none_is_none_where_one_is_refused(void **state)
{
	struct clients_type all = some;
	struct group *g = group_of(3);

	(void)state;
	all.all_or_none = true;
	g->rig->play[2].slow.refused = true;
	assert_int_equal(group_open(g, &all, 3, false), -ECONNREFUSED);
	assert_string_equal(g->e.text,
			    "1 of 3 clients could not open a session: the server is full");
	group_end(g);
}

static void without_the_probe_nothing_begins(void **state)
{
	struct group *g = group_of(2);

	(void)state;
	g->rig->play[1].slow.refused = true;
	assert_int_equal(group_open(g, &some, 1, true), -ECONNREFUSED);
	assert_string_equal(g->e.text, "the probe could not open a session: the server is full");
	assert_int_equal(g->rig->play[0].slow.n_begun, 0);
	group_end(g);
}

/* Also where each has a thread, so that no thread can hold itself back. */
static void not_more_are_opened_at_a_time(void **state)
{
	atomic_uint opening = 0, most = 0;
	struct group *g = group_of(CLIENTS);

	(void)state;
	for (unsigned int i = 0; i < CLIENTS; i++) {
		g->rig->play[i].slow.opening_ns = 20 * MS;
		g->rig->play[i].slow.n_opening = &opening;
		g->rig->play[i].slow.most_opening = &most;
	}
	assert_int_equal(group_open(g, &some, CLIENTS, false), 0);
	assert_int_equal(g->not_open, 0);
	assert_true(most > 1 && most <= CLIENTS_OPENING_MAX);
	group_end(g);
}

static void a_signal_ends_the_opening(void **state)
{
	struct group *g = group_of(1);

	(void)state;
	g->rig->play[0].slow.never_opens = true;
	cmd_stop = 2;
	assert_int_equal(group_open(g, &some, 1, false), -EINTR);
	assert_string_equal(g->e.text, "interrupted");
	group_end(g);
	cmd_stop = 0;
}

static void a_script_that_fails_is_a_failure(void **state)
{
	struct group *g = group_of(3);

	(void)state;
	g->rig->play[1].fail_every = 1;
	assert_int_equal(group_open(g, &some, 1, false), 0);
	assert_int_equal(clients_do(g->clients, CLIENTS_MAKE, 0, 1, &g->e), 0);
	assert_int_equal(g->task, CLIENTS_MAKE);
	assert_int_equal(clients_do(g->clients, CLIENTS_MAKE, 1, 3, &g->e), LOAD_REFUSED);
	assert_string_equal(g->e.text, "action 1 failed");
	assert_int_equal(g->rig->play[0].ended, 1);
	assert_int_equal(g->rig->play[2].ended, 1);
	group_end(g);
}

static void a_lost_session_is_counted_or_a_failure(void **state)
{
	struct clients_type all = some;
	const char *why;
	struct group *g;

	(void)state;
	for (int i = 0; i < 2; i++) {
		g = group_of(2);
		all.all_or_none = i;
		g->rig->play[1].slow.lose_at = 1;
		assert_int_equal(group_open(g, &all, 1, false), 0);
		assert_int_equal(clients_do(g->clients, CLIENTS_MAKE, 0, 0, &g->e),
				 i ? -ECONNRESET : 0);
		if (i)
			assert_string_equal(g->e.text,
					    "1 sessions were lost: the connection was lost");
		assert_int_equal(clients_lost(g->clients, &why), 1);
		assert_string_equal(why, "the connection was lost");
		group_end(g);
	}
}

static void after_a_signal_files_are_still_removed(void **state)
{
	struct group *g = group_of(2);

	(void)state;
	assert_int_equal(group_open(g, &some, 1, false), 0);
	cmd_stop = 2;
	assert_int_equal(clients_do(g->clients, CLIENTS_REMOVE, 0, 0, &g->e), 0);
	assert_int_equal(g->rig->play[0].ended + g->rig->play[1].ended, 2);
	cmd_stop = 0;
	group_end(g);
}

static void a_load_is_counted_with_its_clients(void **state)
{
	struct group *g = group_of(3);

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		g->rig->play[i].n_actions = 4;
	g->rig->play[1].fail_every = 2;
	assert_int_equal(group_open(g, &some, 2, false), 0);
	assert_int_equal(group_load(g, 0), 0);
	assert_int_equal(g->task, CLIENTS_USE);
	assert_int_equal(g->n_joined, 1);
	assert_true(g->n_ticks > 0);
	assert_string_equal(g->phase.load->client[2].address, "here");
	run_phase_from_load(&g->phase);
	assert_true(g->phase.value[METRIC_OPS] == 12);
	assert_true(g->phase.value[METRIC_ERRORS] == 2);
	assert_true(g->phase.value[METRIC_BYTES] == 120);
	assert_true(g->phase.value[METRIC_ELAPSED] > 0);
	group_end(g);
}

/* Its commands are the phase's only if the type says so; its load is its own. */
static void the_probe_is_beside_the_clients(void **state)
{
	struct clients_type type = some;
	struct group *g;

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		g = group_of(2);
		type.probe_is_apart = apart;
		g->rig->play[1].n_actions = 3;
		assert_int_equal(group_open(g, &type, 1, true), 0);
		assert_int_equal(group_load(g, 100 * MS), 0);
		assert_int_equal(g->phase.load->n_clients, 1);
		assert_int_equal(g->phase.probe->n_clients, 1);
		assert_string_equal(g->phase.probe->client->address, "here");
		run_phase_from_load(&g->phase);
		assert_true(g->phase.value[METRIC_OPS] == (apart ? 1 : 4));
		group_end(g);
	}
}

static void what_is_left_is_said_before_the_sessions_end(void **state)
{
	struct group *g = group_of(1);
	struct err left = { 0 };

	(void)state;
	assert_int_equal(group_open(g, &some, 1, false), 0);
	assert_int_equal(clients_close(g->clients, &left), LOAD_REFUSED);
	assert_string_equal(left.text, "left");
	assert_true(g->open_when_cleaned);
	rig_free(g->rig);
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_may_stay_away),
		cmocka_unit_test(none_is_a_failure),
		cmocka_unit_test(all_or_none_is_none_where_one_is_refused),
		cmocka_unit_test(without_the_probe_nothing_begins),
		cmocka_unit_test(not_more_are_opened_at_a_time),
		cmocka_unit_test(a_signal_ends_the_opening),
		cmocka_unit_test(a_script_that_fails_is_a_failure),
		cmocka_unit_test(a_lost_session_is_counted_or_a_failure),
		cmocka_unit_test(after_a_signal_files_are_still_removed),
		cmocka_unit_test(a_load_is_counted_with_its_clients),
		cmocka_unit_test(the_probe_is_beside_the_clients),
		cmocka_unit_test(what_is_left_is_said_before_the_sessions_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
