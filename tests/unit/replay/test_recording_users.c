/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The users of a recording: their sessions, names and numbers, and who is asked for.
 * Tests user/replay/recording_users.c.
 */
#include "replay/recording_users.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY(pid, port) ((uint64_t)(pid) << 16 | (port))

struct rig {
	struct recording_users u;
	char dir[64], path[128];
	struct err e;
};

/* Two sessions of uid 1001, before whose login there is a request; one of 1002; one of nobody. */
static int setup(void **state)
{
	static const char run[] =
	    "{\"sessions\": [{\"pid\": 10, \"user\": \"anna\", \"address\": \"[::1]:500\"},"
	    " {\"pid\": 12, \"user\": null, \"address\": \"10.0.0.1:502\"}, {\"pid\": 1},"
	    " {\"pid\": 99, \"user\": \"carl\", \"address\": \"10.0.0.1:7\"}]}";
	struct rig *g = calloc(1, sizeof(*g));
	FILE *f;

	strcpy(g->dir, "/tmp/afpscope-users-XXXXXX");
	assert_non_null(mkdtemp(g->dir));
	snprintf(g->path, sizeof(g->path), "%s/run.json", g->dir);
	f = fopen(g->path, "we");
	assert_non_null(f);
	fputs(run, f);
	fclose(f);
	assert_int_equal(recording_users_note(&g->u, KEY(10, 500), 0), 0);
	assert_int_equal(recording_users_note(&g->u, KEY(12, 502), 1002), 0);
	assert_int_equal(recording_users_note(&g->u, KEY(10, 500), 1001), 0);
	assert_int_equal(recording_users_note(&g->u, KEY(11, 501), 1001), 0);
	assert_int_equal(recording_users_note(&g->u, KEY(13, 503), 0), 0);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;

	recording_users_free(&g->u);
	unlink(g->path);
	rmdir(g->dir);
	free(g);
	return 0;
}

static int ends(struct rig *g, const char *words)
{
	const struct recording_choice only = { &words, words != NULL };

	return recording_users_end(&g->u, g->dir, &only, &g->e);
}

static void each_user_has_its_sessions_and_requests(void **state)
{
	struct rig *g = *state;
	char text[RECORDING_USER_TEXT];

	assert_int_equal(ends(g, NULL), 0);
	assert_int_equal(g->u.n_sessions, 4);
	assert_int_equal(g->u.n, 3); /* by their numbers; 0: nobody's */
	assert_int_equal(g->u.user[0].requests, 1);
	assert_int_equal(g->u.user[1].sessions, 2);
	assert_int_equal(g->u.user[1].requests, 3);
	assert_string_equal(recording_user_text(&g->u.user[1], text), "anna (uid 1001)");
	assert_string_equal(recording_user_text(&g->u.user[2], text), "uid 1002");
	assert_int_equal(recording_users_find(&g->u, KEY(10, 500))->uid, 1001);
	assert_null(recording_users_find(&g->u, KEY(10, 501)));
	for (size_t i = 0; i < g->u.n; i++)
		assert_false(g->u.user[i].left_out);
}

static void those_that_were_not_asked_for_are_left_out(void **state)
{
	static const char *const both[] = { "anna", "1002" };
	const struct recording_choice only = { both, 2 };
	struct rig *g = *state;

	assert_int_equal(recording_users_end(&g->u, g->dir, &only, &g->e), 0);
	assert_true(g->u.user[0].left_out);
	assert_false(g->u.user[1].left_out);
	assert_false(g->u.user[2].left_out);
}

static void a_list_has_commas_between(void **state)
{
	struct rig *g = *state;

	assert_int_equal(ends(g, "1002,anna"), 0);
	assert_false(g->u.user[1].left_out || g->u.user[2].left_out);
}

static void who_is_not_there_is_refused(void **state)
{
	static const char *const bad[] = { "carl", "anna,", "0", "1003", "ann", "10011", "" };
	struct rig *g;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		g = *state;
		assert_int_equal(ends(g, bad[i]), -EINVAL);
		assert_non_null(strstr(g->e.text, "has no session of that user"));
		teardown(state);
		setup(state);
	}
}

static void without_its_run_a_recording_has_numbers(void **state)
{
	struct rig *g = *state;

	unlink(g->path);
	assert_int_equal(ends(g, "1001"), 0);
	assert_string_equal(g->u.user[1].name, "");
	assert_null(recording_users_named(&g->u, "anna", 4));
	assert_ptr_equal(recording_users_named(&g->u, "1001", 4), &g->u.user[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_user_has_its_sessions_and_requests),
		TEST(those_that_were_not_asked_for_are_left_out),
		TEST(a_list_has_commas_between),
		TEST(who_is_not_there_is_refused),
		TEST(without_its_run_a_recording_has_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
