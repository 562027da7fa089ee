/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a host to an open volume, against a scripted server. */
#include "afp/afp.h"
#include "fake/peer.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

/* ---- sessions ---- */

struct rig {
	struct peer *peer;
	struct dsi_opts opts;
	struct afp_login login;
	struct afp_server server;
	struct afp a;
	struct err e;
	enum afp_stage stage;
	volatile sig_atomic_t stop;
};

static int setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->peer = peer_new();
	g->opts = (struct dsi_opts) { .host = "127.0.0.1",
				      .port = g->peer->serve.port,
				      .window = 16,
				      .timeout_ms = 5000,
				      .stop = &g->stop };
	g->login = (struct afp_login) { NULL, NULL, "guest", 7, NULL };
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;

	afp_close(&g->a);
	peer_stop(g->peer);
	assert_string_equal(g->peer->complaint, "");
	peer_free(g->peer);
	free(g);
	return 0;
}

static int open_it(struct rig *g, const char *volume)
{
	int r;

	if (!g->peer->serve.running)
		peer_start(g->peer);
	r = afp_server_info(&g->server, &g->opts, &g->e);
	return r ? r : afp_open(&g->a, &g->opts, &g->server, &g->login, volume, &g->stage, &g->e);
}

static void a_guest_comes_to_an_open_volume_and_leaves(void **state)
{
	struct rig *g = *state;

	assert_int_equal(open_it(g, "Fake"), 0);
	assert_int_equal(g->stage, AFP_STAGE_OPEN);
	assert_true(g->a.logged_in);
	assert_true(g->a.volume_open);
	assert_string_equal(g->a.uam, "No User Authent");
	assert_string_equal(g->a.version, "AFP3.4");
	afp_close(&g->a);
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Login], 1);
	assert_int_equal(g->peer->count[AFP_OpenVol], 1);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
	assert_int_equal(g->peer->n_closes, 1);
	assert_int_equal(g->peer->n_connections, 2);
	afp_close(&g->a); /* a zeroed one is allowed */
}

static void the_server_is_known_by_its_information(void **state)
{
	struct rig *g = *state;

	assert_int_equal(open_it(g, "Fake"), 0);
	assert_string_equal(g->server.name, "Server");
	assert_string_equal(g->server.machine, "Fake");
	assert_int_equal(g->server.n_versions, 4);
	assert_string_equal(g->server.version[0], "AFPX03");
	assert_string_equal(g->server.version[3], "AFP3.4");
	assert_int_equal(g->server.n_uams, 1);
	assert_string_equal(g->server.uam[0], "No User Authent");
}

static const uint8_t block[] = "\x00\x14\x00\x17\x00\x26\x00\x00\x83\x7b"
			       "\x09"
			       "some name"
			       "\x02"
			       "TM"
			       "\x02\x06"
			       "AFP3.3\x06"
			       "AFP3.4"
			       "\x01\x04"
			       "DHX2";
#define BLOCK_LEN (sizeof(block) - 1)

static void information_cut_anywhere_makes_no_sense(void **state)
{
	struct rig *g = *state;

	for (size_t len = 0; len <= BLOCK_LEN; len++) {
		int r;

		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
		g->peer->status = block;
		g->peer->status_len = len;
		peer_start(g->peer);
		memset(&g->e, 0, sizeof(g->e));
		r = afp_server_info(&g->server, &g->opts, &g->e);
		assert_int_equal(r, len < BLOCK_LEN ? -EPROTO : 0);
		if (r)
			assert_non_null(strstr(g->e.text, "is this an AFP server?"));
	}
	assert_string_equal(g->server.name, "some name");
	assert_string_equal(g->server.machine, "TM");
	assert_string_equal(g->server.version[1], "AFP3.4");
	assert_string_equal(g->server.uam[0], "DHX2");
}

/* Flags with 0x100, name, an even place, and offsets; of these the third is of a list of names. */
static const uint8_t named[] = "\x00\x1c\x00\x1f\x00\x26\x00\x00\x01\x00"
			       "\x08"
			       "evenname"
			       "\x00"
			       "\x00\x00\x00\x00\x00\x2c\x00\x00"
			       "\x02"
			       "TM"
			       "\x01\x05"
			       "AFP3."
			       "\x01\x04"
			       "DHX2"
			       "\x01\x0a"
			       "afp/h\033st@R";
#define NAMED_LEN (sizeof(named) - 1)

static void a_principal_is_known_where_it_is_whole(void **state)
{
	struct rig *g = *state;

	for (size_t len = NAMED_LEN - 12; len <= NAMED_LEN; len++) {
		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
		g->peer->status = named;
		g->peer->status_len = len;
		peer_start(g->peer);
		assert_int_equal(afp_server_info(&g->server, &g->opts, &g->e), 0);
		assert_string_equal(g->server.name, "evenname");
		assert_string_equal(g->server.principal, len < NAMED_LEN ? "" : "afp/h?st@R");
	}
}

static void no_information_does_harm(void **state)
{
	struct rig *g = *state;
	uint8_t bad[BLOCK_LEN];
	uint32_t random = 3;

	for (unsigned int k = 0; k < 300; k++) {
		memcpy(bad, block, sizeof(bad));
		for (unsigned int i = 0; i < 1 + k % 4; i++) {
			random = random * 1664525 + 1013904223;
			bad[(random >> 8) % sizeof(bad)] = (uint8_t)(random >> 24);
		}
		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
		g->peer->status = bad;
		g->peer->status_len = sizeof(bad);
		peer_start(g->peer);
		afp_server_info(&g->server, &g->opts, &g->e);
		assert_in_range(g->server.n_versions, 0, 16);
		assert_in_range(g->server.n_uams, 0, 16);
	}
}

static void a_wrong_volume_is_told_with_those_there_are(void **state)
{
	struct rig *g = *state;

	assert_int_equal(open_it(g, "Fiction"), -ENOENT);
	assert_int_equal(g->stage, AFP_STAGE_VOLUME);
	assert_string_equal(g->e.text,
			    "cannot open volume \"Fiction\": no such object (AFP -5018); "
			    "the server offers \"Fake\", \"Other\"");
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
	assert_int_equal(g->peer->n_closes, 1);
}

static void a_second_volume_has_an_id_of_its_own(void **state)
{
	struct rig *g = *state;
	uint16_t other = 0, none = 0x5555;

	assert_int_equal(open_it(g, "Fake"), 0);
	assert_int_equal(afp_open_other(&g->a, "Other", &other, &g->e), 0);
	assert_int_equal(g->a.volume, 0x0102);
	assert_int_equal(other, 0x0103);
	assert_int_equal(afp_open_other(&g->a, "Fiction", &none, &g->e), -ENOENT);
	assert_string_equal(g->e.text,
			    "cannot open volume \"Fiction\": no such object (AFP -5018); "
			    "the server offers \"Fake\", \"Other\"");
	assert_int_equal(none, 0x5555);
}

static void volumes_are_closed_only_for_who_asks(void **state)
{
	struct rig *g = *state;
	uint16_t other;

	assert_int_equal(open_it(g, "Fake"), 0);
	assert_int_equal(afp_open_other(&g->a, "Other", &other, &g->e), 0);
	assert_int_equal(afp_close_volume(&g->a, other, &g->e), 0);
	assert_true(g->a.volume_open);
	assert_int_equal(afp_close_volume(&g->a, g->a.volume, &g->e), 0);
	assert_false(g->a.volume_open);
	afp_close(&g->a);
	assert_int_equal(open_it(g, "Fake"), 0);
	afp_close(&g->a);
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_CloseVol], 2);
}

static bool keep_login(void *user, struct peer *p, const struct peer_request *q,
		       struct peer_reply *out)
{
	(void)p;
	(void)out;
	if (q->command[0] == AFP_Login)
		memcpy(user, q->command, q->len < 40 ? q->len : 40);
	return false;
}

static void each_version_logs_in_with_its_name(void **state)
{
	static const struct {
		unsigned int version;
		const char *name;
		uint8_t path_type;
	} row[] = {
		{ 1, "AFPVersion 2.1", 2 }, { 2, "AFP2.2", 2 }, { 3, "AFPX03", 3 },
		{ 4, "AFP3.1", 3 },         { 5, "AFP3.2", 3 }, { 6, "AFP3.3", 3 },
		{ 7, "AFP3.4", 3 },
	};
	struct rig *g = *state;
	uint8_t login[40];

	g->peer->answer = keep_login;
	g->peer->user = login;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		size_t len = strlen(row[i].name);

		memset(login, 0, sizeof(login));
		g->login.version = row[i].version;
		assert_int_equal(open_it(g, "Fake"), 0);
		assert_string_equal(g->a.version, row[i].name);
		assert_int_equal(g->a.path_type, row[i].path_type);
		afp_close(&g->a);
		assert_int_equal(login[1], len);
		assert_memory_equal(login + 2, row[i].name, len);
	}
	peer_stop(g->peer); /* it uses login */
}

static void the_highest_version_of_both_sides_is_spoken(void **state)
{
	static const struct {
		const char *offered[5], *spoken, *text;
		unsigned int asked;
	} row[] = {
		{ { "AFPX03", "AFP3.1", "AFP3.3", "AFP3.4" }, "AFP3.4", NULL, 0 },
		{ { "AFP3.4", "AFP2.2", "AFPX03" }, "AFP3.4", NULL, 0 },
		{ { "AFP2.2", "AFPX03", "AFP3.1", "AFP3.3" }, "AFP3.3", NULL, 0 },
		{ { "AFPVersion 2.1", "AFP2.2", "AFPX03" }, "AFPX03", NULL, 0 },
		{ { "AFP3.4", "AFP3.5" }, "AFP3.4", NULL, 0 },
		/* what is asked for is tried, whatever the server lists */
		{ { "AFP3.4", "AFP3.2" }, "AFP3.2", NULL, 5 },
		{ { "AFP3.2" }, "AFP3.4", NULL, 7 },
		{ { "AFPVersion 2.1", "AFP2.2" }, NULL, "only: AFPVersion 2.1, AFP2.2 (", 0 },
		{ { "AFP3.40", "AFP3." }, NULL, "only: AFP3.40, AFP3. (", 0 },
		{ { NULL }, NULL, "only: none (", 0 },
	};
	struct rig *g = *state;

	peer_start(g->peer);
	assert_int_equal(afp_server_info(&g->server, &g->opts, &g->e), 0);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		g->server.n_versions = 0;
		for (const char *const *v = row[i].offered; *v; v++)
			strcpy(g->server.version[g->server.n_versions++], *v);
		g->login.version = row[i].asked;
		g->e = (struct err) { 0 };
		assert_int_equal(
		    afp_open(&g->a, &g->opts, &g->server, &g->login, "Fake", &g->stage, &g->e),
		    row[i].spoken ? 0 : -EOPNOTSUPP);
		if (row[i].spoken)
			assert_string_equal(g->a.version, row[i].spoken);
		else if (!strstr(g->e.text, row[i].text) || g->stage != AFP_STAGE_LOGIN)
			fail_msg("row %zu: stage %d, %s", i, g->stage, g->e.text);
		afp_close(&g->a);
	}
}

static void a_refused_login_is_told(void **state)
{
	struct rig *g = *state;

	g->peer->refuse.code = AFP_Login;
	g->peer->refuse.nth = 1;
	g->peer->refuse.result = -5023;
	assert_int_equal(open_it(g, "Fake"), -EACCES);
	assert_int_equal(g->stage, AFP_STAGE_LOGIN);
	assert_non_null(strstr(g->e.text, "wrong user or password"));
	assert_non_null(strstr(g->e.text, "guest"));
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Logout], 0);
}

static void a_busy_server_is_told(void **state)
{
	struct rig *g = *state;

	g->peer->busy = true;
	assert_true(open_it(g, "Fake") < 0);
	assert_non_null(strstr(g->e.text, "busy"));
}

static bool open_volume_cut(void *user, struct peer *p, const struct peer_request *q,
			    struct peer_reply *out)
{
	(void)p;
	if (q->command[0] != AFP_OpenVol)
		return false;
	peer_reply_set(out, 0, "\0\x21\0\0\1\2", *(size_t *)user);
	return true;
}

static void a_cut_answer_to_open_volume_is_a_protocol_error(void **state)
{
	struct rig *g = *state;

	for (size_t len = 0; len < 6; len++) {
		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
		g->peer->answer = open_volume_cut;
		g->peer->user = &len;
		assert_int_equal(open_it(g, "Fake"), -EPROTO);
	}
}

static void the_end_during_any_step_is_an_error_with_a_text(void **state)
{
	struct rig *g = *state;

	for (unsigned int reply = 1; reply <= 4; reply++) {
		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
		g->peer->fault.reply = reply;
		g->peer->fault.kind = PEER_HANG_UP;
		g->peer->fault.byte = 5;
		memset(&g->e, 0, sizeof(g->e));
		assert_int_equal(open_it(g, "Fake"), -ECONNRESET);
		assert_non_null(strstr(g->e.text, "ended the connection"));
	}
}

struct stopper {
	volatile sig_atomic_t *stop;
	uint8_t code;
	unsigned int nth;
};

/* Raises the stop flag while this command is being answered, and answers late. */
static bool stop_at(void *user, struct peer *p, const struct peer_request *q,
		    struct peer_reply *out)
{
	const struct stopper *s = user;
	const struct timespec late = { .tv_nsec = 400000000 };

	(void)out;
	if (q->command[0] != s->code || p->count[s->code] != s->nth)
		return false;
	*s->stop = 1;
	nanosleep(&late, NULL);
	return false;
}

/* The op may be on a stack that is gone when its answer comes. */
static void a_call_that_is_stopped_does_not_leave_its_op_behind(void **state)
{
	struct rig *g = *state;
	struct stopper s = { &g->stop, AFP_GetFileDirParms, 1 };
	struct afp_op *op = malloc(sizeof(*op)), *late;
	int r;

	g->peer->answer = stop_at;
	g->peer->user = &s;
	assert_int_equal(open_it(g, "Fake"), 0);
	afp_prep_get_params(op, &g->a, AFP_ROOT_ID, "", 0, AFP_BIT_ID);
	r = afp_call(&g->a, op, &g->e);
	assert_true(r == 0 || r == -EINTR);
	free(op);
	dsi_ignore_stop(g->a.dsi);
	assert_int_equal(afp_reap(&g->a, &late, &g->e), -ENOENT);
	afp_close(&g->a);
	peer_stop(g->peer); /* it uses s */
}

static void a_stop_while_the_volume_opens_ends_cleanly(void **state)
{
	struct rig *g = *state;
	struct stopper s = { &g->stop, AFP_OpenVol, 1 };

	g->peer->answer = stop_at;
	g->peer->user = &s;
	if (!open_it(g, "Fake"))
		afp_close(&g->a);
	peer_stop(g->peer);
	assert_int_equal(g->peer->count[AFP_Logout], 1);
	assert_int_equal(g->peer->n_closes, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_guest_comes_to_an_open_volume_and_leaves),
		TEST(the_server_is_known_by_its_information),
		TEST(information_cut_anywhere_makes_no_sense),
		TEST(a_principal_is_known_where_it_is_whole),
		TEST(no_information_does_harm),
		TEST(a_wrong_volume_is_told_with_those_there_are),
		TEST(a_second_volume_has_an_id_of_its_own),
		TEST(volumes_are_closed_only_for_who_asks),
		TEST(each_version_logs_in_with_its_name),
		TEST(the_highest_version_of_both_sides_is_spoken),
		TEST(a_refused_login_is_told),
		TEST(a_busy_server_is_told),
		TEST(a_cut_answer_to_open_volume_is_a_protocol_error),
		TEST(the_end_during_any_step_is_an_error_with_a_text),
		TEST(a_call_that_is_stopped_does_not_leave_its_op_behind),
		TEST(a_stop_while_the_volume_opens_ends_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
