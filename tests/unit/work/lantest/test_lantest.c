/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lantest over a volume in memory: what is sent is what afp_lantest sends.
 * Also tests client/work/lantest/lantest_bulk.c, lantest_ops.c, lantest_tests.c.
 */
#include "unit/lantest_rig.h"

#include "work/lantest/lantest_priv.h" /* for titles */

/* ---- what is sent ---- */

/* What the prologue and the epilogue send, whatever runs. */
static unsigned int frame_of(unsigned int column)
{
	return column == 0 ? 4 : column == 2 || column == 3 ? 1 : 0;
}

static unsigned int expected(const struct row *row, unsigned int column, unsigned int iterations)
{
	unsigned int frame = frame_of(column);

	/* the last clean-up of 2000 files: the directory's id, and two more refused deletions */
	if (row->files)
		frame += column == 0 ? 1 : column == 3 ? 2 : 0;
	return frame + (row->n[column] - frame) * iterations;
}

static void check_counts(const struct rig *g, const struct row *row, unsigned int iterations)
{
	unsigned int total = 0, sent = 0;

	for (unsigned int i = 0; i < N_CODES; i++) {
		if (g->peer->count[codes[i]] != expected(row, i, iterations))
			fail_msg("tests %03x, %u iterations: %u times %s, not %u", row->asked,
				 iterations, g->peer->count[codes[i]], afp_command_name(codes[i]),
				 expected(row, i, iterations));
		total += g->peer->count[codes[i]];
	}
	for (unsigned int code = 0; code < 256; code++)
		sent += g->peer->count[code];
	assert_int_equal(sent, total + 3);
	assert_int_equal(g->peer->count[AFP_Login], 1);
	assert_int_equal(g->peer->count[AFP_OpenVol], 1);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
}

static void check_phases(const struct rig *g, uint32_t tests, unsigned int iterations)
{
	unsigned int n = 0;

	for (unsigned int i = 1; i <= iterations; i++) {
		for (unsigned int test = 1; test <= TESTS; test++) {
			const struct run_phase *p;

			if (!(tests & LANTEST_BIT(test)))
				continue;
			assert_true(n < g->run.n_phases);
			p = g->run.phase[n++];
			assert_int_equal(p->test, test);
			assert_int_equal(p->iteration, i);
			assert_string_equal(p->title, lantest_4_5.test[test - 1].title);
			assert_true(p->complete);
			assert_int_equal(p->value[METRIC_OPS], timed[test - 1]);
			assert_int_equal(p->value[METRIC_ERRORS], 0);
			assert_int_equal(p->value[METRIC_BYTES], test == 1 ? 512000
								 : test == 2 || test == 3
								     ? 100 * CHUNK
								     : 0);
		}
	}
	assert_int_equal(g->run.n_phases, n);
	assert_int_equal(g->n_begun, n);
	assert_int_equal(g->n_ended, n);
	assert_int_equal(g->n_done, n);
	assert_int_equal(g->n_ready, 1);
}

static void check_row(const struct row *row, unsigned int iterations)
{
	struct rig g;
	int r;

	rig_new(&g);
	r = run_these(&g, row->asked, iterations);
	if (r)
		fail_msg("tests %03x, %u iterations: %d, %s", row->asked, iterations, r, g.e.text);
	check_counts(&g, row, iterations);
	check_phases(&g, row->runs, iterations);
	assert_int_equal(g.peer->volume.n_nodes, 0);
	assert_string_equal(g.base, "");
	assert_int_equal(g.load.refused, 0);
	rig_free(&g);
}

static void one_iteration_sends_what_afp_lantest_sends(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS; i++)
		check_row(&rows[i], 1);
}

/* Those that do not take too long. */
static void more_iterations_send_more_of_the_same_and_leave_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i + 1 < N_ROWS; i++) {
		if (rows[i].n[0] < 4000 && rows[i].n[11] < 4000)
			check_row(&rows[i], rows[i].files ? 3 : 2);
	}
}

static void all_tests_may_be_repeated(void **state)
{
	(void)state;
	check_row(&rows[N_ROWS - 1], 2);
}

static void tests_imply_those_they_need(void **state)
{
	struct lantest_opts o = { .set = &lantest_4_5, .iterations = 1 };

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		o.tests = rows[i].asked;
		assert_int_equal(lantest_selection(&o), rows[i].runs);
	}
	o.tests = LANTEST_BIT(3);
	o.file = "mine";
	assert_int_equal(lantest_selection(&o), LANTEST_BIT(3));
	o.tests = LANTEST_BIT(6) | LANTEST_BIT(3);
	assert_int_equal(lantest_selection(&o), LANTEST_BIT(3) | LANTEST_BIT(5) | LANTEST_BIT(6));
}

static void files_of_test_5_are_not_in_the_way_of_others(void **state)
{
	const uint32_t tests = T(2) | T(3) | T(5) | T(6) | T(8) | T(10) | T(11);
	struct rig g;

	(void)state;
	rig_new(&g);
	assert_int_equal(run_these(&g, tests, 2), 0);
	check_phases(&g, tests, 2);
	assert_int_equal(g.peer->volume.n_nodes, 0);
	rig_free(&g);
}

static void bulk_tests_work_with_replies_in_any_order(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->hold = 40;
	g.peer->shuffle = true;
	assert_int_equal(run_these(&g, T(3), 1), 0);
	check_phases(&g, T(2) | T(3), 1);
	rig_free(&g);
}

static void tickles_anywhere_change_nothing(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->unasked = PEER_TICKLE | PEER_ATTENTION;
	g.peer->attention = 0x2000;
	assert_int_equal(run_these(&g, T(3) | T(10), 1), 0);
	check_phases(&g, T(2) | T(3) | T(10), 1);
	rig_free(&g);
}

static void a_small_quantum_is_refused_before_anything_is_made(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->quantum = 32000;
	assert_int_equal(run_these(&g, T(1), 1), LOAD_REFUSED);
	assert_non_null(strstr(g.e.text, "32000"));
	assert_string_equal(g.base, "");
	assert_int_equal(g.peer->count[AFP_CreateDir], 0);
	rig_free(&g);
}

/* Nothing is made where others would find the volume full, or Macs have their backups. */
static void room_and_backups_are_asked_for_before_anything_is_made(void **state)
{
	static const struct {
		uint32_t tests;
		uint64_t room;
		bool backups, refused;
	} rows[] = {
		{ T(2), 2 * FILE_LEN, false, false },
		{ T(2), 2 * FILE_LEN - 1, false, true },
		{ T(3), 2 * FILE_LEN - 1, false, true },
		{ T(4), 80000, false, false },
		{ T(4), 79999, false, true },
		{ T(4), 1ull << 40, true, true },
	};
	struct lantest_opts opts = { .set = &lantest_4_5, .iterations = 1, .file_len = FILE_LEN };
	struct rig g;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rig_new(&g);
		opts.tests = rows[i].tests;
		g.peer->room = rows[i].room;
		g.peer->keeps_backups = rows[i].backups;
		assert_int_equal(run_opts(&g, &opts), rows[i].refused ? LOAD_REFUSED : 0);
		if (rows[i].refused) {
			assert_non_null(strstr(g.e.text, "--force"));
			assert_int_equal(g.peer->count[AFP_CreateDir], 0);
			assert_string_equal(g.base, "");
		}
		rig_free(&g);
	}
}

/* One request of the whole file, so that tests 2 and 3 never pass without moving anything. */
static void a_quantum_larger_than_the_file_moves_it_in_one_request(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->quantum = 2 * FILE_LEN;
	assert_int_equal(run_these(&g, T(3) | T(4), 1), 0);
	assert_int_equal(g.peer->count[AFP_WriteExt], 1);
	assert_int_equal(g.peer->count[AFP_ReadExt], 1);
	assert_int_equal(g.run.phase[0]->value[METRIC_BYTES], FILE_LEN);
	assert_int_equal(g.run.phase[1]->value[METRIC_BYTES], FILE_LEN);
	assert_int_equal(g.peer->volume.n_nodes, 0);
	rig_free(&g);
}

/* ---- a file of one's own ---- */

static int run_with_file(struct rig *g, uint64_t len)
{
	const struct lantest_opts opts = { .set = &lantest_4_5,
					   .tests = T(3),
					   .iterations = 2,
					   .file_len = FILE_LEN,
					   .file = "mine" };
	uint32_t id;

	assert_int_equal(volume_create(&g->peer->volume, VOLUME_ROOT, "mine", false, &id), 0);
	volume_find(&g->peer->volume, VOLUME_ROOT, "mine")->len = len;
	return run_opts(g, &opts);
}

static void a_file_that_just_suffices_is_read_and_stays(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	assert_int_equal(run_with_file(&g, 100 * CHUNK), 0);
	assert_int_equal(g.peer->count[AFP_ReadExt], 200);
	assert_int_equal(g.peer->count[AFP_WriteExt], 0);
	assert_int_equal(g.peer->volume.n_nodes, 1);
	rig_free(&g);
}

static void a_file_one_byte_short_is_refused_before_it_is_read(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	assert_int_equal(run_with_file(&g, 100 * CHUNK - 1), LOAD_REFUSED);
	assert_int_equal(g.peer->count[AFP_ReadExt], 0);
	assert_int_equal(g.peer->volume.n_nodes, 1);
	assert_non_null(strstr(g.e.text, "mine"));
	assert_non_null(strstr(g.e.text, "larger file"));
	assert_string_equal(g.base, "");
	rig_free(&g);
}

static void a_file_that_is_not_there_is_refused(void **state)
{
	const struct lantest_opts opts = { .set = &lantest_4_5,
					   .tests = T(3),
					   .iterations = 1,
					   .file_len = FILE_LEN,
					   .file = "mine" };
	struct rig g;

	(void)state;
	rig_new(&g);
	assert_int_equal(run_opts(&g, &opts), LOAD_REFUSED);
	assert_non_null(strstr(g.e.text, "no such object"));
	assert_int_equal(g.peer->volume.n_nodes, 0);
	rig_free(&g);
}

static void a_file_beyond_4_gib_is_long_enough(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	assert_int_equal(run_with_file(&g, 5ull << 30), 0);
	rig_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_iteration_sends_what_afp_lantest_sends),
		cmocka_unit_test(more_iterations_send_more_of_the_same_and_leave_nothing),
		cmocka_unit_test(all_tests_may_be_repeated),
		cmocka_unit_test(tests_imply_those_they_need),
		cmocka_unit_test(files_of_test_5_are_not_in_the_way_of_others),
		cmocka_unit_test(bulk_tests_work_with_replies_in_any_order),
		cmocka_unit_test(tickles_anywhere_change_nothing),
		cmocka_unit_test(a_small_quantum_is_refused_before_anything_is_made),
		cmocka_unit_test(room_and_backups_are_asked_for_before_anything_is_made),
		cmocka_unit_test(a_quantum_larger_than_the_file_moves_it_in_one_request),
		cmocka_unit_test(a_file_that_just_suffices_is_read_and_stays),
		cmocka_unit_test(a_file_one_byte_short_is_refused_before_it_is_read),
		cmocka_unit_test(a_file_that_is_not_there_is_refused),
		cmocka_unit_test(a_file_beyond_4_gib_is_long_enough),
	};

	return cmocka_run_group_tests(tests, rig_pin, NULL);
}
