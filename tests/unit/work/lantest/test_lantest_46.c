/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Set 4.6: what it sends, against netatalk's manual and the pull requests after it; and how much
 * one request carries. Also tests client/work/lantest/lantest_tests_46.c, client/afp/quantum.c.
 */
#include "unit/lantest_rig.h"

#include "work/lantest/lantest_priv.h" /* for titles */

#include "afp/quantum.h"

#define N_TESTS_46 17
#define MIB        (1u << 20)

/* Commands of each test's timed region, and what the title says where that is more. */
static const struct {
	unsigned int sent, said;
	uint32_t implies;
	uint64_t bytes; /* moved in it, of files of 1024 bytes */
} expected[N_TESTS_46] = {
	{ 101, 103, 0, 0 },
	{ 101, 102, T(1), 0 },
	{ 4000, 4000, 0, 0 },
	{ 6000, 6000, T(3), 2000 * 1024 },
	{ 6000, 6000, T(3) | T(4), 2000 * 1024 },
	{ 7000, 7000, T(3) | T(4), 2 * 1000 * 1024 },
	{ 2000, 2000, T(3) | T(4), 0 },
	{ 4000, 4000, T(3), 0 },
	{ 49, 51, T(3), 0 },
	{ 4000, 4000, T(3), 0 },
	{ 2000, 2000, T(3), 0 },
	{ 4000, 4000, 0, 0 },
	{ 2000, 2000, 0, 0 },
	{ 2020, 2020, 0, 0 },
	{ 2050, 2050, 0, 0 },
	{ 2000, 2000, 0, 0 },
	{ 2000, 2000, 0, 0 },
};

static struct lantest_opts opts_of(uint32_t tests, unsigned int iterations)
{
	return (struct lantest_opts) {
		.set = &lantest_4_6, .tests = tests, .iterations = iterations, .file_len = FILE_LEN
	};
}

static int run_46(struct rig *g, uint32_t tests, unsigned int iterations)
{
	const struct lantest_opts opts = opts_of(tests, iterations);

	return run_opts(g, &opts);
}

/* The number in "[4,000 AFP ops]". */
static unsigned int said_in(const char *title)
{
	const char *at = strrchr(title, '[');
	unsigned int n = 0;

	for (; *at != 'A'; at++)
		n = *at >= '0' && *at <= '9' ? n * 10 + (unsigned int)(*at - '0') : n;
	return n;
}

static void titles_add_up_to_49_326_operations(void **state)
{
	unsigned int said = 0, sent = 0;

	(void)state;
	assert_int_equal(lantest_4_6.n_tests, N_TESTS_46);
	for (unsigned int n = 1; n <= N_TESTS_46; n++) {
		assert_int_equal(said_in(lantest_4_6.test[n - 1].title), expected[n - 1].said);
		said += expected[n - 1].said;
		sent += expected[n - 1].sent;
	}
	assert_int_equal(said, 49326);
	assert_int_equal(sent, 49326 - 5);
}

static void check_46(const struct rig *g, uint32_t tests, unsigned int iterations)
{
	size_t n = 0;

	for (unsigned int i = 1; i <= iterations; i++) {
		for (unsigned int test = 1; test <= N_TESTS_46; test++) {
			const struct run_phase *p;

			if (!(tests & T(test)))
				continue;
			assert_true(n < g->run.n_phases);
			p = g->run.phase[n++];
			assert_int_equal(p->test, test);
			assert_true(p->complete && p->iteration == i);
			if (p->value[METRIC_OPS] != expected[test - 1].sent)
				fail_msg("test %u: %lu commands, not %u", test,
					 (unsigned long)p->value[METRIC_OPS],
					 expected[test - 1].sent);
			if (test > 2)
				assert_int_equal(p->value[METRIC_BYTES], expected[test - 1].bytes);
		}
	}
	assert_int_equal(g->run.n_phases, n);
	assert_int_equal(g->peer->volume.n_nodes, 0);
	assert_string_equal(g->base, "");
}

static void all_tests_send_their_counts_and_leave_nothing(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	if (run_46(&g, lantest_all(&lantest_4_6), 2))
		fail_msg("%s", g.e.text);
	check_46(&g, lantest_all(&lantest_4_6), 2);
	/* commands that only one test sends, in two iterations */
	assert_int_equal(g.peer->count[AFP_CopyFile], 2 * 2000);
	assert_int_equal(g.peer->count[AFP_EnumerateExt2], 2 * 49);
	assert_int_equal(g.peer->count[AFP_Enumerate], 2 * 50);
	assert_int_equal(g.peer->count[AFP_ByteRangeLock], 2 * 8000);
	assert_int_equal(g.peer->count[AFP_CreateDir], 1 + 2 * (2000 + 20 + 20));
	assert_int_equal(g.peer->count[AFP_Write], 2 * (2000 + 1000 + 1));
	assert_int_equal(g.peer->count[AFP_Read], 2 * (2000 + 1000 + 1));
	rig_free(&g);
}

static void each_test_runs_alone_with_those_it_implies(void **state)
{
	(void)state;
	for (unsigned int test = 1; test <= N_TESTS_46; test++) {
		struct lantest_opts o = opts_of(T(test), 1);
		uint32_t runs = T(test) | expected[test - 1].implies;
		struct rig g;

		assert_int_equal(lantest_selection(&o), runs);
		rig_new(&g);
		if (run_46(&g, T(test), 1))
			fail_msg("test %u: %s", test, g.e.text);
		check_46(&g, runs, 1);
		rig_free(&g);
	}
}

static void the_cache_tests_are_14_to_17(void **state)
{
	struct lantest_opts o = opts_of(lantest_4_6.cache, 1);

	(void)state;
	assert_int_equal(lantest_selection(&o), T(14) | T(15) | T(16) | T(17));
}

static void shared_files_do_not_disturb_the_next_iteration(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	assert_int_equal(run_46(&g, T(9) | T(13), 2), 0);
	check_46(&g, T(3) | T(9) | T(13), 2);
	rig_free(&g);
}

static void afp_3_0_enumerates_by_the_old_command(void **state)
{
	(void)state;
	for (unsigned int version = 3; version <= 7; version++) {
		struct rig g;

		rig_new(&g);
		g.version = version;
		assert_int_equal(run_46(&g, T(9), 1), 0);
		check_46(&g, T(3) | T(9), 1);
		assert_int_equal(g.peer->count[AFP_EnumerateExt2], version > 3 ? 49 : 0);
		rig_free(&g);
	}
}

/* A refusal while 2000 forks are open: all are closed, and the directory is gone. */
static void a_refused_lock_leaves_no_fork_open(void **state)
{
	static const unsigned int nth[] = { 1, 1999, 4000 };

	(void)state;
	for (size_t i = 0; i < sizeof(nth) / sizeof(nth[0]); i++) {
		struct rig g;

		rig_new(&g);
		g.peer->refuse.code = AFP_ByteRangeLock;
		g.peer->refuse.nth = nth[i];
		g.peer->refuse.result = AFP_ERR_NO_MORE_LOCKS;
		assert_int_equal(run_46(&g, T(10), 1), LOAD_REFUSED);
		assert_non_null(strstr(g.e.text, "test 10"));
		assert_int_equal(g.peer->count[AFP_CloseFork], 2000);
		assert_int_equal(g.peer->volume.n_nodes, 0);
		rig_free(&g);
	}
}

/* ---- how much a request carries ---- */

static const struct {
	const char *machine;
	bool data; /* the quantum bounds the data alone */
} rules[] = {
	{ "Netatalk3.1.12", true },
	{ "Netatalk4.2.3", true },
	{ "Netatalk4.4.3", true },
	{ "Netatalk4.5.0", false },
	{ "Netatalk4.5.1", false },
	{ "Netatalk4.5.2", true },
	{ "Netatalk4.5.12", true },
	{ "Netatalk4.6.0", true },
	{ "Netatalk4.6.0dev", true },
	{ "Netatalk5.0.0", true },
	{ "Netatalk4.5", false },
	{ "Netatalk", false },
	{ "AirPort5,104", false },
	{ "", false },
	{ NULL, false },
};
#define N_RULES (sizeof(rules) / sizeof(rules[0]))
static const uint32_t quanta[] = { 1047552, 262140, 65537,      MIB,   1u << 31,
				   131071,  999983, UINT32_MAX, 65535, MIB + 1 };
#define N_QUANTA (sizeof(quanta) / sizeof(quanta[0]))

static void a_write_is_as_large_as_the_server_allows(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_RULES; i++) {
		for (size_t q = 0; q < N_QUANTA; q++) {
			size_t wide = afp_quantum_data(quanta[q], rules[i].machine,
						       AFP_WRITE_EXT_LEN);
			size_t old = afp_quantum_data(quanta[q], rules[i].machine, AFP_WRITE_LEN);

			/* a frame's length has 32 bits, and counts the command as well */
			bool free = rules[i].data && quanta[q] < UINT32_MAX;

			assert_int_equal(wide, quanta[q] - (free ? 0 : 20));
			assert_int_equal(old, quanta[q] - (free ? 0 : 12));
		}
	}
}

/* The fake server ends the connection, and complains, if it is a byte more. */
static void no_frame_is_refused_and_none_is_shorter_than_allowed(void **state)
{
	static const char *const machine[] = { "Netatalk4.2.3", "Netatalk4.5.1", "Netatalk4.6.0",
					       "Else" };

	(void)state;
	for (size_t i = 0; i < sizeof(machine) / sizeof(machine[0]); i++) {
		for (size_t q = 0; q < N_QUANTA; q++) {
			bool data = i == 0 || i == 2; /* by the rules above */
			uint64_t most = quanta[q] - (data ? 0 : 20);
			struct rig g;

			rig_new(&g);
			g.machine = machine[i];
			g.peer->quantum = quanta[q];
			g.peer->bounds_data = data;
			if (run_46(&g, T(2), 1))
				fail_msg("%s, quantum %u: %s", machine[i], quanta[q], g.e.text);
			most = most < FILE_LEN ? most : FILE_LEN;
			assert_int_equal(g.peer->data_most, most);
			assert_int_equal(g.peer->count[AFP_WriteExt], FILE_LEN / most);
			assert_int_equal(g.run.phase[1]->value[METRIC_BYTES],
					 FILE_LEN / most * most);
			rig_free(&g);
		}
	}
}

static void set_4_5_keeps_its_chunk_whatever_the_server(void **state)
{
	struct lantest_opts o = { .set = &lantest_4_5, .file_len = 100 * MIB };

	(void)state;
	for (size_t i = 0; i < N_RULES; i++)
		assert_int_equal(lantest_chunk(&o, MIB, rules[i].machine), MIB - 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(titles_add_up_to_49_326_operations),
		cmocka_unit_test(all_tests_send_their_counts_and_leave_nothing),
		cmocka_unit_test(each_test_runs_alone_with_those_it_implies),
		cmocka_unit_test(the_cache_tests_are_14_to_17),
		cmocka_unit_test(shared_files_do_not_disturb_the_next_iteration),
		cmocka_unit_test(afp_3_0_enumerates_by_the_old_command),
		cmocka_unit_test(a_refused_lock_leaves_no_fork_open),
		cmocka_unit_test(a_write_is_as_large_as_the_server_allows),
		cmocka_unit_test(no_frame_is_refused_and_none_is_shorter_than_allowed),
		cmocka_unit_test(set_4_5_keeps_its_chunk_whatever_the_server),
	};

	return cmocka_run_group_tests(tests, rig_pin, NULL);
}
