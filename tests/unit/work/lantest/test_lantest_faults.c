/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lantest when the server refuses, lies, or goes away: nothing stays on the volume. */
#include "unit/lantest_rig.h"

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
		for (size_t i = 0; i < TESTS; i++) {
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
	const struct lantest_opts opts = {
		.set = &lantest_4_5, .tests = T(2), .iterations = 1, .file_len = FILE_LEN
	};
	const struct afp_login login = { NULL, NULL, "guest", 7, NULL };
	struct dsi_opts dsi = {
		.host = "127.0.0.1", .port = NULL, .window = 128, .timeout_ms = 300, .stop = NULL
	};
	struct afp_server server;
	enum afp_stage stage;
	struct rig g;

	(void)state;
	rig_new(&g);
	g.peer->fault.reply = 40;
	g.peer->fault.kind = PEER_SILENT;
	peer_start(g.peer);
	dsi.port = g.peer->serve.port;
	assert_int_equal(afp_server_info(&server, &dsi, &g.e), 0);
	assert_int_equal(afp_open(&g.a, &dsi, &server, &login, "Fake", &stage, &g.e), 0);
	g.hooks = (struct load_hooks) { 0 };
	g.load = (struct load) { .afp = &g.a, .run = &g.run, .hooks = &g.hooks };
	assert_int_equal(lantest_run(&g.load, &opts, NULL, g.base, &g.e), -ETIMEDOUT);
	assert_true(*g.base);
	assert_false(g.run.phase[0]->complete);
	afp_close(&g.a);
	rig_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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

	return cmocka_run_group_tests(tests, rig_pin, NULL);
}
