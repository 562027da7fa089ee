/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client does by itself, making data and comparing what was read, is in no time and in no
 * rate of a closed loop: loads of small files measure the server alone. The clock goes on when it
 * is read, and when all threads wait (unit/shared_clock.h); making and comparing take what a test
 * says. Tests client/load/tally.c, actions.c, client/work/smallfile/smallfile_data.c.
 */
#include "unit/clocked_rig.h"
#include "work/pattern.h"
#include "work/smallfile/smallfile.h"

#define CLOSE  20000 /* ns; looks at the clock take 30 */
#define FILES  50
#define RECORD 4096u

static uint64_t pattern_ns; /* of each fill and each check */
static unsigned int n_patterns;

void __wrap_pattern_fill(uint8_t *at, size_t len, uint64_t offset, uint64_t seed);
size_t __wrap_pattern_check(const uint8_t *at, size_t len, uint64_t offset, uint64_t seed);

void __wrap_pattern_fill(uint8_t *at, size_t len, uint64_t offset, uint64_t seed)
{
	(void)offset;
	(void)seed;
	memset(at, 0, len);
	shared_clock.ns += pattern_ns;
	n_patterns++;
}

size_t __wrap_pattern_check(const uint8_t *at, size_t len, uint64_t offset, uint64_t seed)
{
	(void)at;
	(void)offset;
	(void)seed;
	shared_clock.ns += pattern_ns;
	n_patterns++;
	return len;
}

/* ---- the engine ---- */

/* One client, as the clock of all goes on with what one does: 2 requests of 1 ms an action. */
static struct rig *client_that_takes(uint64_t aside_ns, unsigned int n_actions)
{
	struct rig *g = rig(1, 1);

	g->play[0].slow.service_ns = MS;
	g->play[0].n_requests = 2;
	g->play[0].n_actions = n_actions;
	g->play[0].aside_ns = aside_ns;
	rig_open(g);
	return g;
}

static void a_given_amount_takes_as_long_without_what_a_client_does_itself(void **state)
{
	const struct engine_job work = rig_work(0);

	(void)state;
	for (uint64_t aside_ns = 0; aside_ns <= 3 * MS; aside_ns += 3 * MS) {
		struct rig *g = client_that_takes(aside_ns, 100);
		struct run_action all;

		rig_do(g, &work);
		run_load_all(g->load, &all);
		assert_int_equal(all.n, 100);
		assert_true(is_about(g->load->done_ns, g->load->begin_ns + 200 * MS, MS));
		assert_true(is_about(g->load->common_ns, g->load->begin_ns + 200 * MS, MS));
		assert_true(is_about(all.planned.max, 2 * MS, CLOSE));
		assert_true(is_about(all.begun.max, 2 * MS, CLOSE));
		assert_true(is_about(g->load->client[0].last_ns, 200 * MS, MS));
		/* before each request and after each answer */
		assert_true(is_about(g->load->aside_ns, 400 * aside_ns, MS));
		rig_free(g);
	}
}

static void a_given_time_is_shorter_by_what_a_client_does_itself(void **state)
{
	const struct engine_job work = rig_work(1000 * MS);

	(void)state;
	for (uint64_t aside_ns = 0; aside_ns <= 2 * MS; aside_ns += 2 * MS) {
		struct rig *g = client_that_takes(aside_ns, 0);
		uint64_t took_ns;

		rig_do(g, &work);
		took_ns = g->load->done_ns - g->load->begin_ns;
		/* 2 ms an action, whatever it did besides: then 8 ms more */
		assert_true(is_about(rig_actions(g) * 2 * MS, took_ns, 3 * MS));
		assert_true(is_about(took_ns, aside_ns ? 200 * MS : 1000 * MS, 5 * MS));
		rig_free(g);
	}
}

/* It comes when it is due, however busy the client is. */
static void an_arrival_of_an_open_loop_counts_from_when_it_was_due(void **state)
{
	const struct engine_job work = open_loop(PACE_FIXED, 50, 1000 * MS);
	struct rig *g = client_that_takes(2 * MS, 0);
	struct run_action all;

	(void)state;
	rig_do(g, &work);
	run_load_all(g->load, &all);
	assert_int_equal(all.n, 50);
	/* made, sent, answered, compared, made, sent, answered */
	assert_true(is_about(all.planned.min, 8 * MS, CLOSE));
	rig_free(g);
}

/* ---- small files ---- */

static struct smallfile_opts files = { .files = FILES,
				       .files_per_dir = FILES,
				       .file_len = RECORD,
				       .record_len = RECORD,
				       .verify = true,
				       .prefix = "f",
				       .base = "" };
static struct smallfile *client;
static enum smallfile_load load;

static struct script *makes(void *user)
{
	(void)user;
	return smallfile_make(client);
}

static struct script *uses(void *user)
{
	(void)user;
	return smallfile_use(client, load, false);
}

static const char *name_of(unsigned int i)
{
	return smallfile_name((enum smallfile_load)i);
}

/* Requests of 1 ms, and fills and checks of so long: how long FILES operations take. */
static uint64_t load_takes(enum smallfile_load which, uint64_t each_pattern_ns,
			   struct run_action *all)
{
	struct engine_job job = rig_work(0);
	struct rig *g = rig(1, 1);
	uint64_t took_ns;

	pattern_ns = each_pattern_ns;
	client = smallfile_new(&files, 0);
	assert_non_null(client);
	load = which;
	g->play[0].slow.service_ns = MS;
	rig_open(g);
	job.n_actions = N_SMALLFILE_LOADS;
	job.action_name = name_of;
	job.script = makes;
	rig_do(g, &job);
	job.script = uses;
	n_patterns = 0;
	rig_do(g, &job);
	run_load_all(g->load, all);
	assert_int_equal(all->n, FILES);
	assert_int_equal(all->failed, 0);
	assert_int_equal(n_patterns, FILES);
	assert_true(g->load->aside_ns >= FILES * each_pattern_ns);
	took_ns = g->load->done_ns - g->load->begin_ns;
	rig_free(g);
	smallfile_free(client);
	return took_ns;
}

static void data_that_take_long_to_make_and_to_compare_change_no_figure(void **state)
{
	static const enum smallfile_load loads[] = { SMALLFILE_CREATE, SMALLFILE_OVERWRITE,
						     SMALLFILE_READ, SMALLFILE_SETXATTR,
						     SMALLFILE_GETXATTR };

	(void)state;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		struct run_action none, slow;
		uint64_t none_ns = load_takes(loads[i], 0, &none);
		uint64_t slow_ns = load_takes(loads[i], 20 * MS, &slow);

		assert_true(is_about(slow_ns, none_ns, CLOSE));
		assert_true(is_about(slow.begun.max, none.begun.max, CLOSE));
		assert_true(is_about(slow.begun.sum, none.begun.sum, CLOSE));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_given_amount_takes_as_long_without_what_a_client_does_itself),
		cmocka_unit_test(a_given_time_is_shorter_by_what_a_client_does_itself),
		cmocka_unit_test(an_arrival_of_an_open_loop_counts_from_when_it_was_due),
		cmocka_unit_test(data_that_take_long_to_make_and_to_compare_change_no_figure),
	};

	return cmocka_run_group_tests(tests, shared_clock_begin, NULL);
}
