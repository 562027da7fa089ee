/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The twelve tests against the fake server: the commands they send, counted, what they leave on
 * the volume, and how they end when something goes wrong.
 */
#include "fake/peer.h"
#include "work/lantest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

#define QUANTUM  65536
#define CHUNK    (QUANTUM - 36)
#define FILE_LEN (100 * QUANTUM) /* 100 chunks and a rest */
#define N_CODES  14
#define T(n)     LANTEST_BIT(n)

/* AFP commands in the order of the columns below. */
static const uint8_t codes[N_CODES] = {
	AFP_GetFileDirParms, AFP_CreateFile,    AFP_CreateDir, AFP_Delete,      AFP_OpenFork,
	AFP_CloseFork,       AFP_GetForkParms,  AFP_Read,      AFP_Write,       AFP_ReadExt,
	AFP_WriteExt,        AFP_ByteRangeLock, AFP_Enumerate, AFP_GetVolParms,
};

/*
 * What afp_lantest 4.5.1 sends in one iteration, counted in a real afpd. files: 2000 files are
 * left to the clean-up.
 */
static const struct row {
	uint32_t asked, runs;
	bool files;
	unsigned int n[N_CODES];
} rows[] = {
	/* clang-format off */
	/*                       34    7     6     8     26    4     14    27    33    60   61   1      9   17 */
	{ T(1),  T(1),  false, { 10004, 1000, 1,    1001, 2000, 2000, 3000, 1000, 1000, 0,   0,   0,     1,  1 } },
	{ T(2),  T(2),  false, { 6,     1,    1,    2,    1,    1,    1,    0,    0,    0,   100, 0,     0,  0 } },
	{ T(3),  T(2) | T(3),
			false, { 7,     1,    1,    2,    2,    2,    2,    0,    0,    100, 100, 0,     0,  0 } },
	{ T(4),  T(4),  false, { 13,    1,    1,    2,    3,    3,    3,    1,    1,    0,   0,   20000, 0,  0 } },
	{ T(5),  T(5),  true,  { 2005,  2000, 1,    2003, 0,    0,    0,    0,    0,    0,   0,   0,     12, 0 } },
	{ T(6),  T(5) | T(6),
			true,  { 2005,  2000, 1,    2003, 0,    0,    0,    0,    0,    0,   0,   0,     61, 0 } },
	{ T(7),  T(5) | T(7),
			false, { 2004,  2000, 1,    2001, 0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(8),  T(8),  false, { 4,     0,    1111, 1111, 0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(9),  T(9),  false, { 11004, 100,  11,   111,  0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(10), T(10), false, { 404,   200,  1,    201,  0,    0,    0,    0,    0,    0,   0,   0,     20, 0 } },
	{ T(11), T(11), false, { 3504,  50,   21,   71,   0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ T(12), T(12), false, { 30004, 100,  1,    101,  0,    0,    0,    0,    0,    0,   0,   0,     0,  0 } },
	{ LANTEST_ALL, LANTEST_ALL,
			false, { 56916, 3452, 1141, 4593, 2005, 2005, 3005, 1001, 1001, 100, 100, 20000, 70, 1 } },
	/* clang-format on */
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Commands of each test's timed region. */
static const unsigned int timed[LANTEST_TESTS] = { 8000, 101,  101,   20000, 4000, 49,
						   2000, 1110, 11000, 820,   3500, 30000 };

struct rig {
	struct peer *peer;
	struct run run;
	struct load load;
	struct load_hooks hooks;
	struct afp a;
	struct err e;
	char base[32];
	unsigned int n_begun, n_ended, n_done, n_ready;
	volatile sig_atomic_t stop;
};

static void phase_begin(void *user)
{
	((struct rig *)user)->n_begun++;
}

static void phase_end(void *user, struct run_phase *p)
{
	(void)p;
	((struct rig *)user)->n_ended++;
}

static void phase_done(void *user, const struct run_phase *p)
{
	(void)p;
	((struct rig *)user)->n_done++;
}

static void ready(void *user)
{
	((struct rig *)user)->n_ready++;
}

static void rig_new(struct rig *g)
{
	memset(g, 0, sizeof(*g));
	g->peer = peer_new();
	g->peer->quantum = QUANTUM;
	assert_int_equal(run_init(&g->run, "lantest", LANTEST_SET), 0);
}

static void rig_free(struct rig *g)
{
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	run_fini(&g->run);
}

/* Logs in, runs, logs out; the server has stopped when this returns. */
static int run_opts(struct rig *g, const struct lantest_opts *opts)
{
	const struct afp_login login = { NULL, NULL, "guest", 7 };
	const struct dsi_opts dsi = { "127.0.0.1", g->peer->port, 128, 10000, &g->stop };
	struct afp_server server;
	enum afp_stage stage;
	int r;

	peer_start(g->peer);
	assert_int_equal(afp_server_info(&server, &dsi, &g->e), 0);
	assert_int_equal(afp_open(&g->a, &dsi, &server, &login, "Fake", &stage, &g->e), 0);
	g->hooks = (struct load_hooks) { g, phase_begin, phase_end, phase_done };
	g->load = (struct load) { .afp = &g->a, .run = &g->run, .hooks = &g->hooks };
	memset(g->base, 'x', sizeof(g->base));
	r = lantest_run(&g->load, opts, g->base, &g->e);
	dsi_ignore_stop(g->a.dsi);
	afp_close(&g->a);
	peer_stop(g->peer);
	return r;
}

static int run_these(struct rig *g, uint32_t tests, unsigned int iterations)
{
	const struct lantest_opts opts = { .tests = tests,
					   .iterations = iterations,
					   .file_len = FILE_LEN,
					   .ready = ready,
					   .user = g };

	return run_opts(g, &opts);
}

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
		for (unsigned int test = 1; test <= LANTEST_TESTS; test++) {
			const struct run_phase *p;

			if (!(tests & LANTEST_BIT(test)))
				continue;
			assert_true(n < g->run.n_phases);
			p = g->run.phase[n++];
			assert_int_equal(p->test, test);
			assert_int_equal(p->iteration, i);
			assert_string_equal(p->title, lantest_title(test));
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

/* Those that do not take too long; the others only when AFPSCOPE_LONG_TESTS is set. */
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
	if (!getenv("AFPSCOPE_LONG_TESTS"))
		skip();
	for (size_t i = 0; i < N_ROWS; i++) {
		check_row(&rows[i], 2);
		check_row(&rows[i], 3);
	}
}

static void tests_imply_those_they_need(void **state)
{
	struct lantest_opts o = { .iterations = 1 };

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

/* ---- a file of one's own ---- */

static int run_with_file(struct rig *g, uint64_t len)
{
	const struct lantest_opts opts = {
		.tests = T(3), .iterations = 2, .file_len = FILE_LEN, .file = "mine"
	};
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
	const struct lantest_opts opts = {
		.tests = T(3), .iterations = 1, .file_len = FILE_LEN, .file = "mine"
	};
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

/* ---- refusals ---- */

/* The nth command of a kind is refused (or done, and said to be refused): nothing must stay. */
static void refuse_nth(const struct row *row, uint8_t code, unsigned int nth, bool executed)
{
	char answer[32];
	struct rig g;
	int r;

	rig_new(&g);
	g.peer->refuse.code = code;
	g.peer->refuse.nth = nth;
	g.peer->refuse.result = AFP_ERR_MISC;
	g.peer->refuse.executed = executed;
	r = run_these(&g, row->asked, 1);
	snprintf(answer, sizeof(answer), "(AFP %d)", AFP_ERR_MISC);
	if (r != LOAD_REFUSED || g.peer->volume.n_nodes || *g.base || g.load.refused != code ||
	    !strstr(g.e.text, answer) || !strstr(g.e.text, afp_command_name(code)))
		fail_msg(
		    "tests %03x, %s number %u%s: returns %d \"%s\", leaves %u things, base \"%s\", refused %u",
		    row->asked, afp_command_name(code), nth, executed ? " (done)" : "", r, g.e.text,
		    g.peer->volume.n_nodes, g.base, g.load.refused);
	rig_free(&g);
}

/* Commands of this kind that are the work's own: what cleans up may not be refused. */
static unsigned int own_commands(const struct row *row, unsigned int column)
{
	if (column == 3)
		return row->files ? 0 : row->n[column] - 1;
	if (column == 12 && row->files)
		return row->n[column] - 12;
	return row->n[column] - (column == 0 && row->files);
}

/* Are there more than 9000 commands before a test's tear-down? */
static bool is_long(const struct row *row)
{
	return row->n[0] + row->n[11] > 9000;
}

/* Of each kind the first, the second and, in short tests, the last. */
static void a_refusal_of_any_command_leaves_the_volume_empty(void **state)
{
	(void)state;
	for (size_t i = 0; i + 1 < N_ROWS; i++) {
		for (unsigned int k = 0; k < N_CODES; k++) {
			unsigned int n = own_commands(&rows[i], k);
			bool late = k == 3 || k == 7 || k >= 12; /* deletions, reads, lists */

			if (late && is_long(&rows[i]))
				continue;
			if (n > 0)
				refuse_nth(&rows[i], codes[k], 1, false);
			if (n > 1)
				refuse_nth(&rows[i], codes[k], 2, false);
			if (n > 2 && n < 110 && rows[i].n[0] < 1000)
				refuse_nth(&rows[i], codes[k], n, false);
		}
	}
}

static void a_late_refusal_leaves_the_volume_empty(void **state)
{
	(void)state;
	refuse_nth(&rows[0], AFP_GetVolParms, 1, false);
	if (!getenv("AFPSCOPE_LONG_TESTS"))
		return;
	for (size_t i = 0; i + 1 < N_ROWS; i++) {
		for (unsigned int k = 0; k < N_CODES; k++) {
			if (own_commands(&rows[i], k))
				refuse_nth(&rows[i], codes[k], own_commands(&rows[i], k), false);
		}
	}
}

static void the_first_sixty_commands_may_each_be_refused(void **state)
{
	static const unsigned int some[] = { 1, 2, 4, 8, 9, 10 }; /* of the rows */

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		for (unsigned int nth = 1; nth <= 60; nth++) {
			struct rig g;

			rig_new(&g);
			g.peer->refuse.nth = nth;
			g.peer->refuse.result = AFP_ERR_ACCESS_DENIED;
			assert_int_equal(run_these(&g, rows[some[i]].asked, 1), LOAD_REFUSED);
			assert_int_equal(g.peer->volume.n_nodes, 0);
			assert_string_equal(g.base, "");
			rig_free(&g);
		}
	}
}

static void a_refusal_of_what_was_done_all_the_same_leaves_nothing_either(void **state)
{
	static const uint8_t kind[] = { 1, 2, 3, 5, 8, 10 }; /* columns */

	(void)state;
	for (size_t i = 0; i + 1 < N_ROWS; i++) {
		for (size_t k = 0; k < sizeof(kind); k++) {
			/* a refused test directory is never touched: somebody else may have made it
			 */
			unsigned int nth = kind[k] == 2 ? 2 : 1;

			if (kind[k] == 3 && is_long(&rows[i]))
				continue;
			if (own_commands(&rows[i], kind[k]) >= nth)
				refuse_nth(&rows[i], codes[kind[k]], nth, true);
		}
	}
}

static void a_full_disk_in_the_middle_of_bulk_writes_is_told(void **state)
{
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->refuse.code = AFP_WriteExt;
	g.peer->refuse.nth = 7;
	g.peer->refuse.result = AFP_ERR_DISK_FULL;
	assert_int_equal(run_these(&g, T(2), 1), LOAD_REFUSED);
	assert_string_equal(g.e.text, "test 2, iteration 1: FPWriteExt: disk full (AFP -5008)");
	assert_int_equal(g.peer->volume.n_nodes, 0);
	assert_int_equal(g.run.n_phases, 1);
	assert_false(g.run.phase[0]->complete);
	assert_int_equal(g.run.phase[0]->value[METRIC_ERRORS], 1);
	assert_int_equal(g.run.phase[0]->value[METRIC_BYTES], 6 * CHUNK);
	assert_int_equal(g.n_ended, 1);
	rig_free(&g);
}

struct odd {
	uint8_t code;
	unsigned int nth;
	int32_t result;
	size_t len;
};

static bool answer_oddly(void *user, struct peer *p, const struct peer_request *q,
			 struct peer_reply *out)
{
	const struct odd *odd = user;

	if (q->command[0] != odd->code || p->count[odd->code] != odd->nth)
		return false;
	peer_reply_set(out, odd->result, NULL, odd->len);
	return true;
}

static void answers_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		struct odd odd;
		uint32_t tests;
		const char *text;
	} row[] = {
		{ { AFP_ReadExt, 5, AFP_ERR_END_OF_FILE, 1000 }, T(3), "end of file" },
		{ { AFP_ReadExt, 5, AFP_ERR_OK, CHUNK - 1 }, T(3), "short" },
		{ { AFP_ReadExt, 5, AFP_ERR_OK, 0 }, T(3), "short" },
		{ { AFP_WriteExt, 5, AFP_ERR_OK, 8 }, T(2), "FPWriteExt" }, /* end offset 0 */
		{ { AFP_WriteExt, 5, AFP_ERR_OK, 7 }, T(2), "FPWriteExt" },
		{ { AFP_Read, 1, AFP_ERR_END_OF_FILE, 256 }, T(4), "end of file" },
		{ { AFP_Read, 1, AFP_ERR_OK, 256 }, T(4), "reply of 256 bytes" },
		{ { AFP_Write, 1, AFP_ERR_OK, 4 }, T(4), "FPWrite" },
		{ { AFP_CreateDir, 1, AFP_ERR_OK, 3 }, T(8), "reply of 3 bytes" },
		{ { AFP_Enumerate, 1, AFP_ERR_OK, 5 }, T(6), "FPEnumerate" },
		{ { AFP_Enumerate, 1, AFP_ERR_OK, 6 }, T(6), "lists 0 entries, not 40" },
		{ { AFP_GetForkParms, 2, AFP_ERR_OK, 1 }, T(3), "malformed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct odd odd = row[i].odd;
		struct rig g;

		rig_new(&g);
		g.peer->answer = answer_oddly;
		g.peer->user = &odd;
		assert_int_equal(run_these(&g, row[i].tests, 1), LOAD_REFUSED);
		if (!strstr(g.e.text, row[i].text))
			fail_msg("\"%s\" does not say \"%s\"", g.e.text, row[i].text);
		assert_int_equal(g.peer->volume.n_nodes, 0);
		rig_free(&g);
	}
}

/* ---- the directory of somebody else ---- */

/* When the client is about to make its directory, somebody else has made it. */
static bool take_the_name(void *user, struct peer *p, const struct peer_request *q,
			  struct peer_reply *out)
{
	const struct odd *when = user;
	size_t at = when->code == AFP_GetFileDirParms ? 19 : 15; /* of the name */
	char name[64] = "";
	uint32_t id;

	(void)out;
	if (q->command[0] != when->code || p->count[when->code] != when->nth)
		return false;
	memcpy(name, q->command + at, q->len - at);
	volume_create(&p->volume, VOLUME_ROOT, name, true, &id);
	volume_create(&p->volume, id, "precious", false, &id);
	return false;
}

static void a_directory_that_was_there_before_is_not_removed(void **state)
{
	static const struct {
		uint8_t code;
		unsigned int nth;
		const char *text;
	} row[] = { { AFP_GetFileDirParms, 2, "must not exist" },
		    { AFP_CreateDir, 1, "exists already" } };

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct odd when = { .code = row[i].code, .nth = row[i].nth };
		struct rig g;

		rig_new(&g);
		g.peer->answer = take_the_name;
		g.peer->user = &when;
		assert_int_equal(run_these(&g, T(8), 1), LOAD_REFUSED);
		assert_non_null(strstr(g.e.text, row[i].text));
		assert_int_equal(g.peer->volume.n_nodes, 2);
		assert_string_equal(g.base, "");
		rig_free(&g);
	}
}

/* ---- stops and lost connections ---- */

struct stopper {
	volatile sig_atomic_t *stop;
	uint8_t code;
	unsigned int nth;
	long late_ms;
};

/* Raises the stop flag and answers some time later. */
static bool stop_at(void *user, struct peer *p, const struct peer_request *q,
		    struct peer_reply *out)
{
	const struct stopper *s = user;
	const struct timespec late = { .tv_nsec = s->late_ms * 1000000 };

	(void)out;
	if (q->command[0] != s->code || p->count[s->code] != s->nth)
		return false;
	*s->stop = 1;
	nanosleep(&late, NULL);
	return false;
}

static void a_stop_at_any_command_leaves_the_volume_empty(void **state)
{
	static const struct {
		uint8_t code;
		unsigned int nth;
		uint32_t tests;
	} row[] = {
		{ AFP_GetFileDirParms, 1, T(1) }, { AFP_GetFileDirParms, 2, T(1) },
		{ AFP_CreateDir, 1, T(1) },       { AFP_CreateFile, 3, T(1) },
		{ AFP_OpenFork, 1, T(1) },        { AFP_Write, 2, T(1) },
		{ AFP_CloseFork, 2, T(1) },       { AFP_OpenFork, 1, T(2) },
		{ AFP_WriteExt, 1, T(2) },        { AFP_WriteExt, 50, T(2) },
		{ AFP_ReadExt, 20, T(3) },        { AFP_ByteRangeLock, 77, T(4) },
		{ AFP_Enumerate, 2, T(6) },       { AFP_CreateDir, 15, T(8) },
		{ AFP_Enumerate, 1, T(5) },       { AFP_Enumerate, 2, T(5) },
		{ AFP_Delete, 5, T(5) },          { AFP_Delete, 9, T(8) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct stopper s = { .code = row[i].code, .nth = row[i].nth, .late_ms = 20 };
		struct rig g;
		int r;

		rig_new(&g);
		s.stop = &g.stop;
		if (s.code == AFP_WriteExt || (s.code == AFP_OpenFork && row[i].tests == T(2)))
			s.late_ms = 280; /* longer than a slice of waiting */
		g.peer->answer = stop_at;
		g.peer->user = &s;
		r = run_these(&g, row[i].tests, 2);
		if (r != -EINTR || g.peer->volume.n_nodes || *g.base)
			fail_msg("stop at %s number %u: returns %d \"%s\", leaves %u things",
				 afp_command_name(s.code), s.nth, r, g.e.text,
				 g.peer->volume.n_nodes);
		assert_int_equal(g.peer->count[AFP_Logout], 1);
		rig_free(&g);
	}
}

static void a_lost_connection_is_negative_and_names_what_stays(void **state)
{
	static const enum peer_fault kind[] = { PEER_HANG_UP, PEER_CLOSE_FRAME, PEER_GARBAGE };

	(void)state;
	for (unsigned int reply = 5; reply < 250; reply += 1 + reply / 5) {
		for (size_t i = 0; i < LANTEST_TESTS; i++) {
			struct rig g;
			int r;

			rig_new(&g);
			g.peer->fault.reply = reply;
			g.peer->fault.kind = kind[(reply + i) % 3];
			r = run_these(&g, rows[i].asked, 1);
			if (g.peer->n_replies >= reply) {
				assert_int_equal(
				    r, g.peer->fault.kind == PEER_GARBAGE ? -EPROTO : -ECONNRESET);
				assert_int_equal(g.e.code, r);
				assert_non_null(strstr(g.e.text, "127.0.0.1 port"));
				/* what it may have left is named */
				assert_true(*g.base || !g.peer->volume.n_nodes);
			}
			rig_free(&g);
		}
	}
}

static void a_silent_server_is_a_lost_one(void **state)
{
	const struct lantest_opts opts = { .tests = T(2), .iterations = 1, .file_len = FILE_LEN };
	const struct afp_login login = { NULL, NULL, "guest", 7 };
	struct dsi_opts dsi = { "127.0.0.1", NULL, 128, 300, NULL };
	struct afp_server server;
	enum afp_stage stage;
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->fault.reply = 40;
	g.peer->fault.kind = PEER_SILENT;
	peer_start(g.peer);
	dsi.port = g.peer->port;
	assert_int_equal(afp_server_info(&server, &dsi, &g.e), 0);
	assert_int_equal(afp_open(&g.a, &dsi, &server, &login, "Fake", &stage, &g.e), 0);
	g.hooks = (struct load_hooks) { 0 };
	g.load = (struct load) { .afp = &g.a, .run = &g.run, .hooks = &g.hooks };
	assert_int_equal(lantest_run(&g.load, &opts, g.base, &g.e), -ETIMEDOUT);
	assert_true(*g.base);
	assert_false(g.run.phase[0]->complete);
	afp_close(&g.a);
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
		cmocka_unit_test(a_file_that_just_suffices_is_read_and_stays),
		cmocka_unit_test(a_file_one_byte_short_is_refused_before_it_is_read),
		cmocka_unit_test(a_file_that_is_not_there_is_refused),
		cmocka_unit_test(a_file_beyond_4_gib_is_long_enough),
		cmocka_unit_test(a_refusal_of_any_command_leaves_the_volume_empty),
		cmocka_unit_test(a_late_refusal_leaves_the_volume_empty),
		cmocka_unit_test(the_first_sixty_commands_may_each_be_refused),
		cmocka_unit_test(a_refusal_of_what_was_done_all_the_same_leaves_nothing_either),
		cmocka_unit_test(a_full_disk_in_the_middle_of_bulk_writes_is_told),
		cmocka_unit_test(answers_that_do_not_fit_are_refused),
		cmocka_unit_test(a_directory_that_was_there_before_is_not_removed),
		cmocka_unit_test(a_stop_at_any_command_leaves_the_volume_empty),
		cmocka_unit_test(a_lost_connection_is_negative_and_names_what_stays),
		cmocka_unit_test(a_silent_server_is_a_lost_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
