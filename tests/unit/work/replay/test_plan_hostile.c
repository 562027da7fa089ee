/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers that no server has sent: they make no plan that goes on for ever, lies in itself or needs
 * less room than it takes. Tests client/work/replay/replay_plan.c, replay_tree.c, replay_close.c.
 */
#include "afp/proto.h"
#include "work/replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOT  2
#define HUGE  (1ull << 63)
#define DEEP  300
#define ABYSS 5000
#define BLOCK 4096u

struct hostile {
	struct replay_plan *p;
	uint64_t t_ns;
	struct err e;
};

static int setup(void **state)
{
	const struct replay_opts o = { .speed = 1 };
	struct hostile *g = calloc(1, sizeof(*g));

	g->p = replay_plan_new(&o);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct hostile *g = *state;

	replay_plan_free(g->p);
	free(g);
	return 0;
}

static void add(struct hostile *g, struct replay_request q)
{
	q.t_ns = g->t_ns += 1000;
	q.session = 1;
	q.path.volume = q.to.volume = 1;
	q.path.len = q.to.len = 8;
	q.path.kind = q.to.kind = REPLAY_NAME_ASCII;
	q.size = q.size ? q.size : REPLAY_UNKNOWN;
	assert_int_equal(replay_plan_add(g->p, &q), 0);
}

static void on(struct hostile *g, uint16_t command, uint64_t dir, uint64_t name, uint64_t id)
{
	add(g, (struct replay_request) {
		   .command = command, .path = { .dir = dir, .name = name }, .id = id });
}

static void open_fork(struct hostile *g, uint64_t name, uint16_t fork, uint8_t which)
{
	add(g, (struct replay_request) { .command = AFP_OpenFork,
					 .path = { .dir = ROOT, .name = name },
					 .fork = fork,
					 .which = which,
					 .flags = AFP_READ | AFP_WRITE });
}

static void move(struct hostile *g, uint16_t command, uint64_t offset, uint64_t length,
		 uint64_t actual, int32_t result)
{
	add(g, (struct replay_request) { .command = command,
					 .fork = 1,
					 .offset = offset,
					 .length = length,
					 .actual = actual,
					 .result = result });
}

static void close_it(struct hostile *g)
{
	struct replay_counts all;
	uint64_t n = 0;

	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	replay_plan_counts(g->p, &all);
	for (unsigned int i = 0; i < REPLAY_N_REASONS; i++)
		n += all.left[i];
	assert_int_equal(all.planned + n, all.recorded);
	assert_int_equal(all.planned, g->p->n_steps);
}

static void lengths_that_cannot_be_fit_nowhere(void **state)
{
	struct hostile *g = *state;

	for (uint64_t i = 0; i < 5; i++) {
		open_fork(g, 10 + i, 1, i & 1);
		move(g, AFP_ReadExt, HUGE - 1, HUGE, UINT64_MAX, 0);
		move(g, AFP_ReadExt, UINT64_MAX, UINT64_MAX, 7, 0);
		move(g, AFP_WriteExt, UINT64_MAX - 5, 100, 3, 0);
		move(g, AFP_SetForkParms, 0, UINT64_MAX, 0, 0);
		on(g, AFP_Delete, ROOT, 10 + i, 0);
	}
	close_it(g);
	assert_true(replay_plan_room(g->p) >= HUGE);
	assert_true(g->p->image.bytes >= HUGE - 1);
}

static void a_write_that_was_done_is_as_long_as_its_reply_says(void **state)
{
	struct hostile *g = *state;

	open_fork(g, 10, 1, 0);
	move(g, AFP_WriteExt, 1000, 500 | 1ull << 38, 1500, 0);
	move(g, AFP_WriteExt, 1500, 500, 2000, 0);
	close_it(g);
	assert_int_equal(g->p->step[1].len, 500);
	assert_int_equal(g->p->step[2].len, 500);
	assert_int_equal(g->p->image.grows, 2000);
}

static void no_request_moves_more_than_its_server_could(void **state)
{
	struct hostile *g = *state;

	open_fork(g, 10, 1, 0);
	move(g, AFP_WriteExt, 0, HUGE, HUGE, 0);
	move(g, AFP_ReadExt, 0, HUGE, 5, 0);
	close_it(g);
	assert_int_equal(g->p->step[1].len, UINT32_MAX);
	assert_int_equal(g->p->step[2].len, UINT32_MAX);
	assert_true(g->p->image.grows >= UINT32_MAX);
}

static void what_was_refused_may_be_written(void **state)
{
	struct hostile *g = *state;

	open_fork(g, 10, 1, 0);
	move(g, AFP_WriteExt, 1000, 500, 0, AFP_ERR_DISK_FULL);
	close_it(g);
	assert_int_equal(g->p->image.grows, 1500);
	assert_int_equal(g->p->image.bytes, 0);
}

static void resource_forks_take_room(void **state)
{
	struct hostile *g = *state;

	open_fork(g, 10, 1, 1);
	move(g, AFP_WriteExt, 0, 500, 500, 0);
	close_it(g);
	assert_int_equal(g->p->image.grows, 500);
}

static void a_resource_fork_that_is_cut_says_nothing_of_the_data(void **state)
{
	struct hostile *g = *state;

	open_fork(g, 10, 1, 1);
	move(g, AFP_SetForkParms, 0, 0, 0, 0);
	open_fork(g, 10, 1, 0);
	move(g, AFP_ReadExt, 0, 700, 700, 0);
	close_it(g);
	assert_int_equal(g->p->image.bytes, 700);
}

static void files_that_were_only_listed_take_room(void **state)
{
	struct hostile *g = *state;

	add(g, (struct replay_request) { .command = AFP_EnumerateExt2,
					 .path = { .dir = ROOT },
					 .offset = INT32_MAX - 10,
					 .actual = 5 });
	close_it(g);
	assert_true(replay_plan_room(g->p) > (uint64_t)INT32_MAX / 2 * BLOCK);
}

/* The directories of the image: each is made after the one in which it is. */
static void check_order(const struct replay_plan *p)
{
	bool *made = calloc(p->n_objects, sizeof(*made));
	uint32_t slot;

	made[0] = true;
	for (uint64_t i = 0; i < p->image.dirs; i++) {
		slot = replay_place_at(p, p->dir_order[i], 0);
		assert_true(made[p->slot[slot].parent]);
		made[p->dir_order[i]] = true;
	}
	free(made);
}

/* Each is found in the other one, which has been moved away between. */
static void no_directory_is_in_itself(void **state)
{
	struct hostile *g = *state;
	char path[200];

	on(g, AFP_GetFileDirParms, 500, 20, 600); /* 600 is in 500, of which only the id is known */
	on(g, AFP_GetFileDirParms, 600, 30, 700);
	add(g, (struct replay_request) { .command = AFP_MoveAndRename,
					 .path = { .dir = 500, .name = 20 },
					 .to = { .dir = ROOT, .name = 40 } });
	on(g, AFP_GetFileDirParms, 600, 50, 500);
	on(g, AFP_GetFileDirParms, 500, 60, 0);
	close_it(g);
	assert_true(g->p->image.dirs >= 3);
	check_order(g->p);
	for (uint32_t i = 0; i < g->p->n_steps; i++)
		assert_true(replay_path_at(g->p, g->p->step[i].dir, g->p->step[i].slot, i, path,
					   sizeof(path)));
}

/* Which is not known before. */
static void what_has_a_directory_in_it_is_one(void **state)
{
	struct hostile *g = *state;

	on(g, AFP_GetFileDirParms, ROOT, 10, 500);
	add(g, (struct replay_request) { .command = AFP_GetFileDirParms,
					 .path = { .dir = 500, .name = 30, .parent = 20 } });
	close_it(g);
	check_order(g->p);
	assert_int_equal(g->p->image.dirs, 3); /* the volume's, 10, 20 */
	assert_int_equal(g->p->image.files, 1);
}

/* Who made it is not in the recording. */
static void what_is_in_a_new_directory_was_not_there_before(void **state)
{
	struct hostile *g = *state;
	struct replay_counts all;

	on(g, AFP_CreateDir, ROOT, 10, 500);
	on(g, AFP_GetFileDirParms, 500, 20, 0);
	on(g, AFP_CreateFile, 500, 21, 0);
	close_it(g);
	check_order(g->p);
	replay_plan_counts(g->p, &all);
	assert_int_equal(g->p->image.dirs, 1); /* the volume's */
	assert_int_equal(all.left[REPLAY_LOST], 1);
	assert_int_equal(all.planned, 2);
}

static void go_down(struct hostile *g, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		on(g, AFP_GetFileDirParms, i ? 1000 + i - 1 : ROOT, 10, 1000 + i);
}

static void what_is_deep_is_made_and_may_be_renamed(void **state)
{
	const struct replay_path to = { .dir = 1000 + DEEP - 1, .name = 21 };
	struct hostile *g = *state;

	go_down(g, DEEP);
	add(g, (struct replay_request) {
		   .command = AFP_Rename, .path = { .dir = to.dir, .name = 20 }, .to = to });
	on(g, AFP_GetFileDirParms, to.dir, to.name, 0);
	close_it(g);
	assert_int_equal(g->p->image.dirs, DEEP + 1); /* and the volume's */
	assert_int_equal(g->p->image.files, 1);
	assert_int_equal(g->p->step[DEEP + 1].object, g->p->step[DEEP].object);
}

static void what_is_too_deep_is_not_made(void **state)
{
	struct hostile *g = *state;

	go_down(g, ABYSS);
	on(g, AFP_GetFileDirParms, 1000 + ABYSS - 1, 10, 0);
	close_it(g);
	assert_true(g->p->image.dirs > 1000 && g->p->image.dirs < ABYSS);
	assert_int_equal(g->p->image.files, 0); /* its directory is none of those */
	check_order(g->p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lengths_that_cannot_be_fit_nowhere),
		TEST(no_request_moves_more_than_its_server_could),
		TEST(a_write_that_was_done_is_as_long_as_its_reply_says),
		TEST(what_was_refused_may_be_written),
		TEST(resource_forks_take_room),
		TEST(a_resource_fork_that_is_cut_says_nothing_of_the_data),
		TEST(files_that_were_only_listed_take_room),
		TEST(no_directory_is_in_itself),
		TEST(what_has_a_directory_in_it_is_one),
		TEST(what_is_in_a_new_directory_was_not_there_before),
		TEST(what_is_deep_is_made_and_may_be_renamed),
		TEST(what_is_too_deep_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
