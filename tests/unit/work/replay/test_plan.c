/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be there before the requests of a recording, and what cannot be replayed.
 * Tests client/work/replay/replay_plan.c, replay_tree.c, replay_close.c, replay_commands.c,
 * replay_attrs.c, replay_map.c.
 */
#include "unit/plan_rig.h"

/* ---- whose requests ---- */

static void sessions_of_others_are_left_out_as_if_they_had_not_been(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_CreateFile, ROOT, 10);
	struct replay_counts all;

	q.of_others = true;
	q.session = 2;
	add(g, q);
	q = on(AFP_GetFileDirParms, ROOT, 10);
	q.user = 1001;
	add(g, q);
	close_it(g);
	replay_plan_counts(g->p, &all);
	assert_int_equal(all.left[REPLAY_OTHERS], 1);
	assert_int_equal(g->p->n_clients, 1);
	assert_int_equal(g->p->client[0].user, 1001);
	assert_int_equal(g->p->image.files, 1); /* it was there for this one */
}

/* ---- the image ---- */

static void what_is_looked_at_is_in_the_image(void **state)
{
	struct rig *g = *state;

	add(g, on(AFP_GetFileDirParms, ROOT, 10));
	add(g, on(AFP_GetFileDirParms, 77, 11)); /* in a directory whose place is not known */
	close_it(g);
	assert_int_equal(g->p->image.files, 2);
	assert_int_equal(g->p->image.dirs, 2); /* the volume's and that one */
	assert_int_equal(g->p->n_steps, 2);
}

static void what_is_not_found_or_is_made_is_not_in_it(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_GetFileDirParms, ROOT, 10);

	q.result = AFP_ERR_NO_OBJECT;
	add(g, q);
	add(g, on(AFP_CreateFile, ROOT, 10));
	add(g, on(AFP_CreateFile, ROOT, 11));
	add(g, on(AFP_Delete, ROOT, 11));
	close_it(g);
	assert_int_equal(g->p->image.files, 0);
	assert_int_equal(step(g, 0)->result, STORE_NONE);
	for (uint32_t i = 0; i < g->p->n_slots; i++)
		assert_true(g->p->slot[i].kind == REPLAY_NAME_ASCII);
}

static void what_was_there_already_is_in_it(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_CreateFile, ROOT, 10);

	q.result = AFP_ERR_EXISTS;
	add(g, q);
	add(g, on(AFP_Delete, ROOT, 12));
	close_it(g);
	assert_int_equal(g->p->image.files, 2);
}

static void a_file_is_as_long_as_is_read_of_it_or_said(void **state)
{
	struct rig *g = *state;

	open_fork(g, ROOT, 10, 1, REPLAY_UNKNOWN);
	move(g, AFP_ReadExt, 1, 4096, 100);
	open_fork(g, ROOT, 11, 2, 5000);
	move(g, AFP_WriteExt, 2, 0, 90000); /* is not what was there */
	move(g, AFP_ReadExt, 2, 0, 90000);
	close_it(g);
	assert_int_equal(object(g, 0)->size, 4196);
	assert_int_equal(object(g, 2)->size, 90000);
	assert_int_equal(g->p->image.files, 2);
}

static void what_a_client_wrote_into_a_new_file_is_not_in_the_image(void **state)
{
	struct rig *g = *state;

	add(g, on(AFP_CreateFile, ROOT, 10));
	open_fork(g, ROOT, 10, 1, 0);
	move(g, AFP_WriteExt, 1, 0, 65536);
	move(g, AFP_ReadExt, 1, 0, 65536);
	close_it(g);
	assert_int_equal(g->p->image.bytes, 0);
	assert_int_equal(g->p->image.grows, 65536);
}

static void a_deleted_file_takes_no_room_any_more(void **state)
{
	struct rig *g = *state;

	for (uint64_t i = 0; i < 5; i++) {
		add(g, on(AFP_CreateFile, ROOT, 10 + i));
		open_fork(g, ROOT, 10 + i, 1, 0);
		move(g, AFP_WriteExt, 1, 0, 1000);
		move(g, AFP_CloseFork, 1, 0, 0);
		add(g, on(AFP_Delete, ROOT, 10 + i));
	}
	close_it(g);
	assert_int_equal(g->p->image.grows, 1000);
}

static void the_resource_fork_has_a_length_of_its_own(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_OpenFork, ROOT, 10);

	q.fork = 3;
	q.flags = AFP_READ;
	q.which = 1;
	add(g, q);
	move(g, AFP_ReadExt, 3, 0, 286);
	close_it(g);
	assert_int_equal(object(g, 0)->rsrc, 286);
	assert_int_equal(object(g, 0)->size, 0);
	assert_int_equal(step(g, 0)->how, STORE_FOR_READ | STORE_RSRC);
}

static void a_listing_says_how_many_more_there_were(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_EnumerateExt2, ROOT, 10);

	add(g, on(AFP_CreateFile, ROOT, 50));
	q.path = named(ROOT, 0);
	q.offset = 1;
	q.actual = 30;
	add(g, q);
	q.offset = 31;
	q.actual = 20;
	add(g, q);
	add(g, on(AFP_GetFileDirParms, ROOT, 51)); /* one of the fifty */
	close_it(g);
	assert_int_equal(g->p->image.files, 1);
	assert_int_equal(g->p->image.fill, 48);
	assert_int_equal(step(g, 1)->offset, 0);
	assert_int_equal(step(g, 2)->offset, 30);
	assert_int_equal(step(g, 2)->done, 20);
}

static void a_renamed_directory_keeps_what_is_in_it(void **state)
{
	struct rig *g = *state;
	struct replay_request made = on(AFP_CreateDir, ROOT, 10), q = on(AFP_Rename, ROOT, 10);
	char path[100], before[100];

	made.id = 500;
	add(g, made);
	add(g, on(AFP_CreateFile, 500, 20));
	q.to = named(ROOT, 11);
	add(g, q);
	add(g, on(AFP_GetFileDirParms, 500, 20));
	close_it(g);
	assert_int_equal(g->p->image.dirs, 1); /* the volume's */
	assert_true(replay_path_at(g->p, step(g, 1)->dir, step(g, 1)->slot, 1, before, 100));
	assert_true(replay_path_at(g->p, step(g, 3)->dir, step(g, 3)->slot, 3, path, 100));
	assert_string_not_equal(path, before);
	assert_string_equal(strrchr(path, '/'), strrchr(before, '/'));
}

static void a_directory_is_where_a_later_reply_says(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_GetFileDirParms, ROOT, 10);

	add(g, on(AFP_GetFileDirParms, 500, 20));
	q.id = 500;
	q.dir_bitmap = AFP_BIT_ID;
	add(g, q);
	close_it(g);
	assert_int_equal(g->p->image.dirs, 2);
	assert_int_equal(g->p->slot[step(g, 1)->slot].at_begin, step(g, 0)->dir);
}

static void one_file_with_two_paths_is_one(void **state)
{
	struct rig *g = *state;
	struct replay_request dir = on(AFP_GetFileDirParms, ROOT, 10), a, b;

	dir.id = 500;
	add(g, dir);
	a = on(AFP_GetFileDirParms, 500, 20);
	a.id = 600;
	add(g, a);
	b = on(AFP_GetFileDirParms, ROOT, 1020);
	b.path.parent = 10;
	b.id = 600;
	add(g, b);
	add(g, b);
	close_it(g);
	assert_int_equal(g->p->image.files, 1);
	assert_int_equal(step(g, 2)->slot, step(g, 1)->slot);
	assert_int_equal(step(g, 3)->slot, step(g, 1)->slot);
}

static void a_path_of_several_names_leads_through_those_that_are_known(void **state)
{
	struct rig *g = *state;
	struct replay_request a = on(AFP_GetFileDirParms, ROOT, 10), b, c;
	char path[100];

	b = on(AFP_GetFileDirParms, ROOT, 1020); /* "a/b" */
	b.path.parent = 10;
	c = on(AFP_GetFileDirParms, ROOT, 102030); /* "a/b/c" */
	c.path.parent = 1020;
	add(g, a);
	add(g, b);
	add(g, c);
	close_it(g);
	assert_int_equal(g->p->image.dirs, 3); /* the volume's, a and b */
	assert_int_equal(step(g, 2)->dir, step(g, 1)->object);
	assert_true(replay_path_from(g->p, step(g, 2)->from, step(g, 2)->dir, step(g, 2)->slot, 2,
				     3, path, 100));
	assert_int_equal(strlen(path), 8 + 1 + 8 + 1 + 8);
	assert_false(replay_path_from(g->p, step(g, 2)->from, step(g, 2)->dir, step(g, 2)->slot, 2,
				      2, path, 100));
}

static void a_path_may_be_used_before_what_it_leads_through(void **state)
{
	struct rig *g = *state;
	struct replay_request b = on(AFP_GetFileDirParms, ROOT, 1020), c = b;

	c.path.name = 102030;
	c.path.parent = 1020;
	b.path.parent = 10;
	add(g, c);
	add(g, b);
	close_it(g);
	assert_int_equal(step(g, 0)->dir, step(g, 1)->object);
}

/* ---- extended attributes ---- */

static struct replay_request attribute(uint16_t command, uint64_t file, uint64_t name, uint64_t len)
{
	struct replay_request q = on(command, ROOT, file);

	q.to = (struct replay_path) { .name = name, .len = 15, .kind = REPLAY_NAME_ASCII };
	q.actual = q.length = len;
	return q;
}

static const struct replay_attr *attr(const struct rig *g, uint32_t i)
{
	assert_true(step(g, i)->attr < g->p->n_attrs);
	return &g->p->attr[step(g, i)->attr];
}

static void an_attribute_that_is_found_is_in_the_image(void **state)
{
	struct rig *g = *state;
	struct replay_request none = attribute(AFP_GetExtAttr, 10, 3, 0);

	add(g, attribute(AFP_GetExtAttr, 10, 1, 77));
	add(g, attribute(AFP_SetExtAttr, 10, 2, 500));
	add(g, attribute(AFP_GetExtAttr, 10, 2, 500));
	none.result = AFP_ERR_ITEM_NOT_FOUND;
	add(g, none);
	add(g, attribute(AFP_RemoveExtAttr, 10, 4, 0));
	close_it(g);
	assert_true(attr(g, 0)->at_begin && attr(g, 0)->len == 77);
	assert_false(attr(g, 1)->at_begin || attr(g, 3)->at_begin);
	assert_ptr_equal(attr(g, 1), attr(g, 2));
	assert_true(attr(g, 4)->at_begin);
	assert_int_equal(g->p->image.attrs, 2);
	assert_int_equal(g->p->image.files, 1);
	assert_int_equal(step(g, 0)->done, 77);
	assert_int_equal(step(g, 3)->result, STORE_NONE);
}

static void names_that_are_only_listed_are_one_more_attribute(void **state)
{
	struct rig *g = *state;
	char name[REPLAY_NAME_MAX + 1];

	add(g, attribute(AFP_SetExtAttr, 10, 2, 500));
	add(g, attribute(AFP_ListExtAttrs, 10, 0, 16 + 16 + 30));
	add(g, attribute(AFP_GetExtAttr, 10, 1, 77));
	add(g, attribute(AFP_ListExtAttrs, 11, 0, 0));
	add(g, attribute(AFP_ListExtAttrs, 12, 0, 400));
	close_it(g);
	assert_int_equal(step(g, 1)->attr, REPLAY_NONE);
	assert_int_equal(g->p->n_attrs, 2 + 1 + 4);
	assert_int_equal(replay_attr_name(name, &g->p->attr[2]), 29);
}

static void what_is_looked_for_by_an_id_is_what_a_reply_named(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_GetFileDirParms, ROOT, 10), id = on(AFP_ResolveID, 0, 0);

	q.id = id.id = 500;
	add(g, q);
	add(g, id);
	close_it(g);
	assert_int_equal(step(g, 1)->object, step(g, 0)->object);
	assert_int_equal(step(g, 1)->slot, step(g, 0)->slot);
}

/* ---- what is not replayed ---- */

static void what_is_not_replayed_is_counted_by_why(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_GetFileDirParms, ROOT, 10);
	struct replay_counts all;

	add(g, on(AFP_Login, 0, 0));
	add(g, on(256 + 4, 0, 0));
	q.marks = REPLAY_ARGS_MISSING;
	add(g, q);
	move(g, AFP_ReadExt, 9, 0, 100); /* opened before */
	add(g, on(76, ROOT, 10));        /* Spotlight */
	add(g, on(99, ROOT, 10));
	add(g, on(AFP_ResolveID, 0, 0));
	close_it(g);
	replay_plan_counts(g->p, &all);
	assert_int_equal(all.recorded, 7);
	assert_int_equal(all.planned, 0);
	assert_int_equal(all.left[REPLAY_SESSION], 2);
	assert_int_equal(all.left[REPLAY_DAMAGED], 1);
	assert_int_equal(all.left[REPLAY_FORK], 1);
	assert_int_equal(all.left[REPLAY_COMMAND], 2);
	assert_int_equal(all.left[REPLAY_UNNAMED], 1);
	assert_int_equal(g->p->n_clients, 0);
}

static void what_a_lost_request_made_is_left_out(void **state)
{
	struct rig *g = *state;
	struct replay_counts all;

	add(g, on(AFP_Delete, ROOT, 10));
	open_fork(g, ROOT, 10, 1, 0); /* who made it again is not in the recording */
	move(g, AFP_ReadExt, 1, 0, 100);
	close_it(g);
	replay_plan_counts(g->p, &all);
	assert_int_equal(all.planned, 1);
	assert_int_equal(all.left[REPLAY_LOST], 1);
	assert_int_equal(all.left[REPLAY_FORK], 1);
}

/* Who made the file that the second request removes is not in the recording. */
static void what_is_made_where_a_lost_file_was_is_sent(void **state)
{
	struct rig *g = *state;
	struct replay_counts all;

	add(g, on(AFP_Delete, ROOT, 10));
	add(g, on(AFP_Delete, ROOT, 10));
	add(g, on(AFP_CreateFile, ROOT, 10));
	add(g, on(AFP_GetFileDirParms, ROOT, 10));
	close_it(g);
	replay_plan_counts(g->p, &all);
	assert_int_equal(all.planned, 3);
	assert_int_equal(all.left[REPLAY_LOST], 1);
}

/* Who made file 10 and directory 20 is not in the recording. */
static void what_is_copied_or_moved_from_what_is_lost_is_left_out(void **state)
{
	struct rig *g = *state;
	struct replay_request q = on(AFP_GetFileDirParms, ROOT, 10);
	struct replay_counts all;

	q.result = AFP_ERR_NO_OBJECT;
	add(g, q);
	q.path.name = 20;
	add(g, q);
	q = on(AFP_CopyFile, ROOT, 10);
	q.to = named(ROOT, 11);
	add(g, q);
	add(g, on(AFP_GetFileDirParms, ROOT, 11));
	q = on(AFP_CreateFile, ROOT, 1020);
	q.path.parent = 20;
	add(g, q);
	q.command = AFP_MoveAndRename;
	q.to = named(ROOT, 12);
	add(g, q);
	add(g, on(AFP_GetFileDirParms, ROOT, 12));
	close_it(g);
	replay_plan_counts(g->p, &all);
	assert_int_equal(all.planned, 2);
	assert_int_equal(all.left[REPLAY_LOST], 5);
}

static void of_a_part_of_the_time_only_that_is_sent(void **state)
{
	struct rig *g = *state;
	struct replay_counts all;

	g->o.from_ns = 2 * MS;
	g->o.to_ns = 4 * MS;
	g->o.speed = 2;
	for (uint64_t i = 0; i < 6; i++)
		add(g, on(AFP_GetFileDirParms, ROOT, 10 + i));
	close_it(g);
	replay_plan_counts(g->p, &all);
	assert_int_equal(all.planned, 2);
	assert_int_equal(all.left[REPLAY_OUTSIDE], 4);
	assert_int_equal(step(g, 0)->due_ns, 0);
	assert_int_equal(step(g, 1)->due_ns, MS / 2);
	assert_int_equal(g->p->image.files, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(sessions_of_others_are_left_out_as_if_they_had_not_been),
		TEST(what_is_looked_at_is_in_the_image),
		TEST(what_is_not_found_or_is_made_is_not_in_it),
		TEST(what_was_there_already_is_in_it),
		TEST(a_file_is_as_long_as_is_read_of_it_or_said),
		TEST(what_a_client_wrote_into_a_new_file_is_not_in_the_image),
		TEST(a_deleted_file_takes_no_room_any_more),
		TEST(the_resource_fork_has_a_length_of_its_own),
		TEST(a_listing_says_how_many_more_there_were),
		TEST(a_renamed_directory_keeps_what_is_in_it),
		TEST(a_directory_is_where_a_later_reply_says),
		TEST(one_file_with_two_paths_is_one),
		TEST(a_path_of_several_names_leads_through_those_that_are_known),
		TEST(a_path_may_be_used_before_what_it_leads_through),
		TEST(an_attribute_that_is_found_is_in_the_image),
		TEST(names_that_are_only_listed_are_one_more_attribute),
		TEST(what_is_looked_for_by_an_id_is_what_a_reply_named),
		TEST(what_is_not_replayed_is_counted_by_why),
		TEST(what_a_lost_request_made_is_left_out),
		TEST(what_is_copied_or_moved_from_what_is_lost_is_left_out),
		TEST(what_is_made_where_a_lost_file_was_is_sent),
		TEST(of_a_part_of_the_time_only_that_is_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
