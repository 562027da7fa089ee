/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which requests of other clients a request waits for. Tests client/work/replay/replay_order.c.
 */
#include "unit/plan_rig.h"

static bool needs(const struct rig *g, uint32_t later, uint32_t before)
{
	for (uint32_t i = 0; i < step(g, later)->n_needs; i++)
		if (g->p->need[step(g, later)->first_need + i] == before)
			return true;
	return false;
}

static void of(struct rig *g, uint64_t session, struct replay_request q)
{
	q.session = session;
	add(g, q);
}

static void what_uses_a_file_waits_for_who_made_it(void **state)
{
	struct rig *g = *state;

	of(g, 1, on(AFP_CreateFile, ROOT, 10));
	of(g, 2, on(AFP_GetFileDirParms, ROOT, 10));
	of(g, 1, on(AFP_GetFileDirParms, ROOT, 10));
	of(g, 3, on(AFP_GetFileDirParms, ROOT, 11));
	close_it(g);
	assert_true(needs(g, 1, 0));
	assert_int_equal(step(g, 2)->n_needs, 0); /* its own order is kept anyway */
	assert_int_equal(step(g, 3)->n_needs, 0);
}

static void what_removes_a_file_waits_for_all_who_use_it(void **state)
{
	struct rig *g = *state;

	of(g, 1, on(AFP_GetFileDirParms, ROOT, 10));
	of(g, 2, on(AFP_GetFileDirParms, ROOT, 10));
	of(g, 2, on(AFP_GetFileDirParms, ROOT, 10));
	of(g, 3, on(AFP_Delete, ROOT, 10));
	of(g, 1, on(AFP_CreateFile, ROOT, 10));
	close_it(g);
	assert_true(needs(g, 3, 0) && needs(g, 3, 2));
	assert_int_equal(step(g, 3)->n_needs, 2);
	assert_true(needs(g, 4, 3));
}

static void what_removes_a_directory_waits_for_who_works_in_it(void **state)
{
	struct rig *g = *state;
	struct replay_request dir = on(AFP_CreateDir, ROOT, 10);

	dir.id = 500;
	of(g, 1, dir);
	of(g, 2, on(AFP_CreateFile, 500, 20));
	of(g, 2, on(AFP_Delete, 500, 20));
	of(g, 1, on(AFP_Delete, ROOT, 10));
	close_it(g);
	assert_true(needs(g, 1, 0));
	assert_true(needs(g, 3, 2));
}

static void what_reads_waits_for_who_wrote(void **state)
{
	struct rig *g = *state;

	open_fork(g, ROOT, 10, 1, 0);
	g->session = 2;
	open_fork(g, ROOT, 10, 7, 0);
	g->session = 1;
	move(g, AFP_WriteExt, 1, 0, 100);
	g->session = 2;
	move(g, AFP_ReadExt, 7, 0, 100);
	close_it(g);
	assert_true(needs(g, 3, 2));
	assert_int_equal(g->p->n_clients, 2);
}

/* ---- open files ---- */

/* Session 1 opens file 10, session 2 does it too: fork 1 and 2, steps 0 and 1. */
static void both_open(struct rig *g)
{
	open_fork(g, ROOT, 10, 1, 0);
	g->session = 2;
	open_fork(g, ROOT, 10, 2, 0);
}

static void what_removes_a_file_waits_for_who_has_it_open(void **state)
{
	struct rig *g = *state;

	both_open(g);
	move(g, AFP_ReadExt, 2, 0, 100);
	move(g, AFP_CloseFork, 2, 0, 0);
	g->session = 1;
	move(g, AFP_CloseFork, 1, 0, 0);
	add(g, on(AFP_Delete, ROOT, 10));
	close_it(g);
	assert_true(needs(g, 5, 3));
	assert_int_equal(step(g, 5)->n_needs, 1);
	assert_int_equal(step(g, 2)->n_needs, 0);
}

/* One that was refused in the recording, as the file was open. */
static void what_closes_a_file_waits_for_who_could_not_remove_it(void **state)
{
	struct rig *g = *state;
	struct replay_request refused = on(AFP_Delete, ROOT, 10);

	both_open(g);
	refused.result = AFP_ERR_FILE_BUSY;
	of(g, 3, refused);
	move(g, AFP_CloseFork, 2, 0, 0);
	close_it(g);
	assert_true(needs(g, 2, 0) && needs(g, 2, 1));
	assert_true(needs(g, 3, 2));
}

static void an_open_file_is_used_under_its_new_name(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_Rename, ROOT, 10);

	open_fork(g, ROOT, 10, 1, 0);
	q.to = named(ROOT, 11);
	of(g, 2, q);
	move(g, AFP_CloseFork, 1, 0, 0);
	of(g, 2, on(AFP_Delete, ROOT, 11));
	close_it(g);
	assert_true(needs(g, 2, 1));
	assert_true(needs(g, 3, 2));
}

/* Its name is that of another file by then. */
static void a_file_that_is_gone_is_closed_at_any_time(void **state)
{
	struct rig *g = *state;

	open_fork(g, ROOT, 10, 1, 0);
	of(g, 2, on(AFP_Delete, ROOT, 10));
	of(g, 3, on(AFP_CreateFile, ROOT, 10));
	move(g, AFP_CloseFork, 1, 0, 0);
	close_it(g);
	assert_int_equal(step(g, 3)->n_needs, 0);
}

static void lock(struct rig *g, uint16_t fork, uint16_t flags)
{
	add(g, (struct replay_request) { .command = AFP_ByteRangeLockExt,
					 .fork = fork,
					 .flags = flags,
					 .length = 10,
					 .size = REPLAY_UNKNOWN });
}

/* Others can neither read nor write there meanwhile. */
static void locks_keep_their_place_among_reads(void **state)
{
	struct rig *g = *state;

	both_open(g);
	move(g, AFP_ReadExt, 2, 0, 10);
	g->session = 1;
	lock(g, 1, 0);
	lock(g, 1, 1);
	g->session = 2;
	move(g, AFP_ReadExt, 2, 0, 10);
	close_it(g);
	assert_true(needs(g, 3, 2));
	assert_true(needs(g, 5, 4));
}

static void a_lock_that_ends_with_its_file_lets_others_in(void **state)
{
	struct rig *g = *state;

	both_open(g);
	g->session = 1;
	lock(g, 1, 0);
	move(g, AFP_CloseFork, 1, 0, 0);
	g->session = 2;
	lock(g, 2, 0);
	close_it(g);
	assert_true(needs(g, 4, 3));
}

static void what_keeps_others_out_waits_until_they_have_closed(void **state)
{
	struct rig *g = *state;
	struct replay_request alone = on(AFP_OpenFork, ROOT, 10);

	open_fork(g, ROOT, 10, 1, 0);
	move(g, AFP_CloseFork, 1, 0, 0);
	g->session = 2;
	alone.fork = 2;
	alone.flags = FLAGS | 0x30;
	add(g, alone);
	move(g, AFP_CloseFork, 2, 0, 0);
	g->session = 1;
	open_fork(g, ROOT, 10, 3, 0);
	close_it(g);
	assert_true(needs(g, 2, 1));
	assert_true(needs(g, 4, 3));
}

static void what_cuts_a_file_waits_for_who_read_it(void **state)
{
	struct rig *g = *state;

	both_open(g);
	move(g, AFP_ReadExt, 2, 0, 100);
	g->session = 1;
	move(g, AFP_SetForkParms, 1, 0, 10);
	close_it(g);
	assert_true(needs(g, 3, 2));
}

static void what_copies_a_file_waits_for_who_wrote_it(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_CopyFile, ROOT, 10);

	open_fork(g, ROOT, 10, 1, 0);
	move(g, AFP_WriteExt, 1, 0, 100);
	q.to = named(ROOT, 11);
	of(g, 2, q);
	close_it(g);
	assert_true(needs(g, 2, 1));
}

/* ---- directories ---- */

/* Session 1 makes 500 and in it 600, steps 0 and 1. */
static void make_two(struct rig *g)
{
	struct replay_request dir = on(AFP_CreateDir, ROOT, 10);

	dir.id = 500;
	of(g, 1, dir);
	dir = on(AFP_CreateDir, 500, 20);
	dir.id = 600;
	of(g, 1, dir);
}

static void what_renames_a_directory_waits_for_who_works_far_below(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_Rename, ROOT, 10);

	make_two(g);
	of(g, 2, on(AFP_CreateFile, 600, 30));
	q.to = named(ROOT, 11);
	of(g, 1, q);
	of(g, 2, on(AFP_Delete, 600, 30));
	close_it(g);
	assert_true(needs(g, 3, 2));
	assert_true(needs(g, 4, 3));
}

static void a_directory_with_an_open_file_is_renamed_when_that_is_closed(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_Rename, ROOT, 10);

	make_two(g);
	of(g, 1, on(AFP_CreateFile, 600, 30));
	g->session = 2;
	open_fork(g, 600, 30, 1, 0);
	move(g, AFP_CloseFork, 1, 0, 0);
	q.to = named(ROOT, 11);
	of(g, 1, q);
	close_it(g);
	assert_true(needs(g, 5, 4));
}

/* It was known by its id only; the last request is by its name. */
static void what_removes_a_directory_waits_for_who_knew_its_id(void **state)
{
	struct rig *g = *state;
	struct replay_request named_now = on(AFP_GetFileDirParms, ROOT, 10);

	of(g, 2, on(AFP_Delete, 500, 20));
	named_now.id = 500;
	of(g, 1, named_now);
	of(g, 3, on(AFP_Delete, ROOT, 10));
	close_it(g);
	assert_true(needs(g, 1, 0));
	assert_true(needs(g, 2, 1));
}

static void what_removes_a_file_waits_for_who_has_it_under_two_names(void **state)
{
	struct rig *g = *state;
	struct replay_request dir = on(AFP_GetFileDirParms, ROOT, 10), a, b;

	dir.id = 500;
	of(g, 1, dir);
	a = on(AFP_GetFileDirParms, 500, 20);
	a.id = 600;
	of(g, 1, a);
	b = on(AFP_GetFileDirParms, ROOT, 1020);
	b.path.parent = 10;
	b.id = 600;
	of(g, 2, b);
	of(g, 1, on(AFP_Delete, 500, 20));
	close_it(g);
	assert_true(needs(g, 3, 2));
}

/* Its second name is known by the reply that opens it. */
static void what_is_opened_under_a_second_name_is_used_under_the_first(void **state)
{
	struct rig *g = *state;
	struct replay_request dir = on(AFP_GetFileDirParms, ROOT, 10), q;

	dir.id = 500;
	of(g, 1, dir);
	q = on(AFP_GetFileDirParms, 500, 20);
	q.id = 600;
	of(g, 1, q);
	q = on(AFP_OpenFork, ROOT, 1020);
	q.path.parent = 10;
	q.fork = 1;
	q.flags = FLAGS;
	q.size = 70;
	q.id = 600;
	of(g, 2, q);
	g->session = 2;
	move(g, AFP_ReadExt, 1, 50, 50);
	move(g, AFP_CloseFork, 1, 0, 0);
	of(g, 1, on(AFP_Delete, 500, 20));
	close_it(g);
	assert_int_equal(step(g, 3)->object, step(g, 1)->object);
	assert_true(needs(g, 5, 4));
	assert_int_equal(object(g, 1)->size, 100);
}

/* A server keeps it open with what it had, which is called otherwise now. */
static void what_is_exchanged_while_it_is_open_is_closed_under_its_new_name(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_ExchangeFiles, ROOT, 10);

	g->session = 2;
	open_fork(g, ROOT, 10, 1, 100);
	q.to = named(ROOT, 11);
	of(g, 1, q);
	q = on(AFP_GetFileDirParms, ROOT, 10);
	q.size = 7;
	of(g, 1, q);
	move(g, AFP_ReadExt, 1, 0, 100);
	move(g, AFP_CloseFork, 1, 0, 0);
	of(g, 1, on(AFP_Delete, ROOT, 11));
	of(g, 1, on(AFP_Delete, ROOT, 10));
	close_it(g);
	assert_true(needs(g, 5, 4));
	assert_int_equal(step(g, 6)->n_needs, 0);
	assert_int_equal(object(g, 0)->size, 100);
	assert_int_equal(object(g, 5)->size, 7);
}

/* The file that it is exchanged with was made by a request that is not in the recording: both names
 * are exchanged in neither order. */
static void what_is_exchanged_with_a_lost_file_stays_what_it_is(void **state)
{
	struct rig *g = *state;
	struct replay_request missing = on(AFP_GetFileDirParms, ROOT, 11), q;

	open_fork(g, ROOT, 10, 1, 100);
	missing.result = AFP_ERR_NO_OBJECT;
	of(g, 2, missing);
	q = on(AFP_ExchangeFiles, ROOT, 11);
	q.to = named(ROOT, 10);
	of(g, 2, q);
	q = on(AFP_ExchangeFiles, ROOT, 10);
	q.to = named(ROOT, 11);
	of(g, 2, q);
	move(g, AFP_ReadExt, 1, 0, 100);
	move(g, AFP_CloseFork, 1, 0, 0);
	of(g, 2, on(AFP_Delete, ROOT, 10));
	close_it(g);
	assert_int_equal(g->p->counts[AFP_ExchangeFiles].left[REPLAY_LOST], 2);
	assert_int_equal(g->p->n_steps, 5);
	assert_int_equal(step(g, 2)->object, step(g, 0)->object);
	assert_true(needs(g, 4, 3));
}

/* It was known by its id only, and is below a directory that is renamed then. */
static void what_renames_a_directory_waits_for_who_knew_the_id_of_one_below(void **state)
{
	struct rig *g = *state;
	struct replay_request dir = on(AFP_GetFileDirParms, ROOT, 10), q;

	dir.id = 400;
	of(g, 1, dir);
	of(g, 2, on(AFP_CreateFile, 500, 20));
	q = on(AFP_GetFileDirParms, 400, 30);
	q.id = 500;
	of(g, 1, q);
	q = on(AFP_Rename, ROOT, 10);
	q.to = named(ROOT, 11);
	of(g, 3, q);
	close_it(g);
	assert_true(needs(g, 2, 1));
	assert_true(needs(g, 3, 2));
	assert_int_equal(step(g, 2)->object, step(g, 1)->dir);
}

/* By its id and an empty path. */
static void a_directory_that_is_removed_by_its_id_is_removed(void **state)
{
	struct rig *g = *state;
	struct replay_request dir = on(AFP_CreateDir, ROOT, 10);

	dir.id = 500;
	of(g, 1, dir);
	of(g, 2, on(AFP_CreateFile, 500, 20));
	of(g, 2, on(AFP_Delete, 500, 20));
	of(g, 1, on(AFP_Delete, 500, 0));
	of(g, 3, on(AFP_CreateDir, ROOT, 10));
	of(g, 3, on(AFP_GetFileDirParms, ROOT, 0));
	close_it(g);
	assert_true(needs(g, 3, 2));
	assert_true(needs(g, 4, 3));
	assert_int_not_equal(step(g, 4)->object, step(g, 0)->object);
	assert_int_equal(step(g, 5)->n_needs, 0);
}

static void a_directory_that_is_renamed_by_its_id_is_renamed(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_GetFileDirParms, ROOT, 10);

	q.id = 500;
	of(g, 1, q);
	of(g, 2, on(AFP_CreateFile, 500, 20));
	q = on(AFP_Rename, 500, 0);
	q.to = named(ROOT, 11);
	of(g, 1, q);
	of(g, 2, on(AFP_GetFileDirParms, ROOT, 11));
	of(g, 3, on(AFP_CreateFile, ROOT, 10));
	close_it(g);
	assert_true(needs(g, 2, 1));
	assert_true(needs(g, 3, 2));
	assert_true(needs(g, 4, 2));
	assert_int_equal(step(g, 3)->object, step(g, 0)->object);
}

/* It is named by its id and an empty path, and is elsewhere by then. */
static void what_removes_a_directory_waits_for_one_that_leaves_it(void **state)
{
	struct rig *g = *state;
	struct replay_request q;

	make_two(g);
	q = on(AFP_MoveAndRename, 600, 0);
	q.to = named(ROOT, 30);
	of(g, 2, q);
	of(g, 1, on(AFP_Delete, ROOT, 10));
	of(g, 3, on(AFP_GetFileDirParms, ROOT, 30));
	close_it(g);
	assert_true(needs(g, 2, 1));
	assert_true(needs(g, 3, 2));
	assert_true(needs(g, 4, 2));
}

/* ---- attributes ---- */

/* One that it does not have yet, and one that it has no longer. */
static void a_list_of_attributes_keeps_its_place_among_what_sets_them(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_SetExtAttr, ROOT, 10);

	q.to = named(0, 3);
	of(g, 1, q);
	of(g, 2, on(AFP_ListExtAttrs, ROOT, 10));
	q.to = named(0, 4);
	of(g, 1, q);
	of(g, 2, on(AFP_ListExtAttrs, ROOT, 10));
	q.command = AFP_RemoveExtAttr;
	of(g, 1, q);
	close_it(g);
	for (uint32_t i = 1; i < 5; i++)
		assert_true(needs(g, i, i - 1));
}

static void attributes_are_set_before_they_are_read(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_SetExtAttr, ROOT, 10);

	q.to = named(0, 3);
	of(g, 1, q);
	q.command = AFP_GetExtAttr;
	of(g, 2, q);
	q.command = AFP_RemoveExtAttr;
	of(g, 1, q);
	close_it(g);
	assert_true(needs(g, 1, 0));
	assert_true(needs(g, 2, 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_uses_a_file_waits_for_who_made_it),
		TEST(what_removes_a_file_waits_for_all_who_use_it),
		TEST(what_removes_a_directory_waits_for_who_works_in_it),
		TEST(what_reads_waits_for_who_wrote),
		TEST(what_removes_a_file_waits_for_who_has_it_open),
		TEST(what_closes_a_file_waits_for_who_could_not_remove_it),
		TEST(an_open_file_is_used_under_its_new_name),
		TEST(a_file_that_is_gone_is_closed_at_any_time),
		TEST(locks_keep_their_place_among_reads),
		TEST(a_lock_that_ends_with_its_file_lets_others_in),
		TEST(what_keeps_others_out_waits_until_they_have_closed),
		TEST(what_cuts_a_file_waits_for_who_read_it),
		TEST(what_copies_a_file_waits_for_who_wrote_it),
		TEST(what_renames_a_directory_waits_for_who_works_far_below),
		TEST(a_directory_with_an_open_file_is_renamed_when_that_is_closed),
		TEST(what_removes_a_directory_waits_for_who_knew_its_id),
		TEST(what_removes_a_file_waits_for_who_has_it_under_two_names),
		TEST(what_is_opened_under_a_second_name_is_used_under_the_first),
		TEST(what_is_exchanged_while_it_is_open_is_closed_under_its_new_name),
		TEST(what_is_exchanged_with_a_lost_file_stays_what_it_is),
		TEST(what_renames_a_directory_waits_for_who_knew_the_id_of_one_below),
		TEST(a_directory_that_is_removed_by_its_id_is_removed),
		TEST(a_directory_that_is_renamed_by_its_id_is_renamed),
		TEST(what_removes_a_directory_waits_for_one_that_leaves_it),
		TEST(a_list_of_attributes_keeps_its_place_among_what_sets_them),
		TEST(attributes_are_set_before_they_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
