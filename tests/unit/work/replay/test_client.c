/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client in a directory: the image is made, also the rest of it, and requests are compared with
 * the recording. Tests client/work/replay/replay_client.c, replay_copy.c, replay_make.c,
 * replay_request.c.
 */
#include "afp/proto.h"
#include "base/clock.h"
#include "work/replay/replay_client.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ROOT     2
#define MS       1000000ull
#define BASE     "base"
#define LEN      100000u

#define MADE_DIR 5 /* the step that makes a directory */

struct rig {
	char dir[64];
	struct store *store;
	struct replay_plan *p;
	struct replay_copy copy;
	struct replay_client *client;
	uint8_t *data;
	uint64_t t_ns;
	struct err e;
};

static void add(struct rig *g, struct replay_request q)
{
	q.t_ns = g->t_ns += MS;
	q.session = 1;
	q.path.volume = q.to.volume = 1;
	q.path.len = q.to.len = 12;
	q.path.kind = q.to.kind = REPLAY_NAME_ASCII;
	q.size = REPLAY_UNKNOWN;
	assert_int_equal(replay_plan_add(g->p, &q), 0);
}

static void on(struct rig *g, uint16_t command, uint64_t name)
{
	add(g,
	    (struct replay_request) { .command = command, .path = { .dir = ROOT, .name = name } });
}

/* A file is opened, read whole and closed; another is made; the directory has three more; one is
 * made in it. */
static int setup(void **state)
{
	const struct replay_opts o = { .speed = 1 };
	struct rig *g = calloc(1, sizeof(*g));

	strcpy(g->dir, "/tmp/afpscope-replay-XXXXXX");
	assert_non_null(mkdtemp(g->dir));
	assert_int_equal(store_open_posix(&g->store, g->dir, false, &g->e), 0);
	g->p = replay_plan_new(&o);
	add(g, (struct replay_request) { .command = AFP_OpenFork,
					 .path = { .dir = ROOT, .name = 10 },
					 .fork = 1,
					 .flags = AFP_READ });
	add(g, (struct replay_request) {
		   .command = AFP_ReadExt, .fork = 1, .length = LEN, .actual = LEN });
	add(g, (struct replay_request) { .command = AFP_CloseFork, .fork = 1 });
	on(g, AFP_CreateFile, 11);
	add(g,
	    (struct replay_request) {
		.command = AFP_EnumerateExt2, .path = { .dir = ROOT }, .offset = 1, .actual = 5 });
	on(g, AFP_CreateDir, 12);
	assert_int_equal(replay_plan_close(g->p, &g->e), 0);
	g->data = calloc(2, LEN);
	g->copy = (struct replay_copy) {
		.plan = g->p, .base = BASE, .data = g->data, .data_len = 4096
	};
	assert_int_equal(replay_copy_init(&g->copy), 0);
	g->client = replay_client_new(&g->copy, 0, g->data + LEN, LEN);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct rig *g = *state;
	char command[128];

	replay_client_free(g->client);
	replay_copy_fini(&g->copy);
	replay_plan_free(g->p);
	store_close(g->store);
	snprintf(command, sizeof(command), "rm -rf %s", g->dir);
	assert_int_equal(system(command), 0);
	free(g->data);
	free(g);
	return 0;
}

/* A script to its end, as the engine would. Actions that failed. */
static unsigned int play(struct rig *g, struct script *s)
{
	unsigned int failed = 0;
	enum script_state how;
	struct store_op *op;
	int class;

	while ((class = s->type->begin(s, g->store)) != SCRIPT_END) {
		if (class == SCRIPT_LATER)
			continue;
		do {
			op = s->type->next(s);
			assert_non_null(op);
			assert_int_equal(store_call(g->store, op, &g->e), 0);
			how = s->type->answered(s, op, &g->e);
		} while (how == SCRIPT_GOES_ON);
		failed += how == SCRIPT_FAILED;
	}
	return failed;
}

static void make(struct rig *g)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" BASE, g->dir);
	g->copy.found = mkdir(path, 0700) != 0;
	assert_int_equal(play(g, replay_client_make_dirs(g->client)), 0);
	assert_int_equal(play(g, replay_client_make_files(g->client)), 0);
}

/* The path of what a step is about. */
static const char *path_of(const struct rig *g, uint32_t step, char out[256])
{
	char below[128];

	assert_true(replay_path_at(g->p, g->p->step[step].dir, g->p->step[step].slot, step, below,
				   sizeof(below)));
	snprintf(out, 256, "%s/" BASE "/%s", g->dir, below);
	return out;
}

static off_t len_of(const struct rig *g, uint32_t step)
{
	char path[256];
	struct stat st;

	return stat(path_of(g, step, path), &st) ? -1 : st.st_size;
}

static unsigned int entries(const struct rig *g)
{
	char path[256];
	unsigned int n = 0;
	DIR *d = opendir(path_of(g, 4, path));

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

static uint64_t outcomes(const struct rig *g, enum replay_outcome o)
{
	struct replay_done done = { 0 };
	uint64_t n = 0;

	replay_client_add_done(g->client, &done);
	for (unsigned int v = 0; v < N_STORE_VERBS; v++)
		n += done.n[v][o];
	return n;
}

static void the_image_has_files_of_their_lengths(void **state)
{
	struct rig *g = *state;

	make(g);
	assert_int_equal(len_of(g, 0), LEN);
	assert_int_equal(len_of(g, 3), -1);
	assert_int_equal(entries(g), 1 + 3);
}

static void of_an_image_that_is_there_only_the_rest_is_made(void **state)
{
	struct rig *g = *state;
	char path[256];

	make(g);
	assert_int_equal(truncate(path_of(g, 0, path), 5), 0);
	fclose(fopen(path_of(g, 3, path), "we"));
	make(g);
	assert_true(g->copy.found);
	assert_int_equal(len_of(g, 0), LEN);
	assert_int_equal(len_of(g, 3), -1);
	assert_int_equal(entries(g), 1 + 3);
}

/* The second copy, in its own directory; the first one is made before. */
static struct replay_client *second_copy(struct rig *g, struct replay_copy *copy)
{
	*copy = g->copy;
	copy->below = "copy-2";
	assert_int_equal(replay_copy_init(copy), 0);
	return replay_client_new(copy, 0, g->data + LEN, LEN);
}

static void each_copy_has_an_image_of_its_own(void **state)
{
	struct rig *g = *state;
	struct replay_client *first = g->client;
	struct replay_copy copy;

	make(g);
	g->client = second_copy(g, &copy);
	make(g);
	assert_int_equal(play(g, replay_client_use(g->client)), 0);
	assert_int_equal(outcomes(g, REPLAY_AS_RECORDED), 6);
	assert_true(copy.answered[0]);
	assert_false(g->copy.answered[0]);
	assert_int_equal(entries(g), 1 + 3); /* the first one is as it was */
	replay_client_free(g->client);
	g->client = first;
	assert_int_equal(play(g, replay_client_use(g->client)), 0);
	assert_int_equal(outcomes(g, REPLAY_AS_RECORDED), 6);
	replay_copy_fini(&copy);
}

static void a_later_copy_sends_later(void **state)
{
	struct rig *g = *state;
	struct script *s = replay_client_use(g->client);
	const uint64_t due_ns = s->type->due(s);

	g->copy.later_ns = 7;
	assert_int_equal(s->type->due(s), due_ns + 7);
}

static unsigned int mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void where_there_are_several_users_each_may_use_the_image(void **state)
{
	const mode_t was = umask(077);
	struct rig *g = *state;
	char path[256];

	g->copy.for_all = true;
	make(g);
	assert_int_equal(mode_of(path_of(g, 0, path)), 0666);
	assert_int_equal(mode_of(path_of(g, 4, path)), 0777); /* the directory that is listed */
	strcat(path, "/more-0000002");
	assert_int_equal(mode_of(path), 0666);
	make(g); /* what is there already, too */
	assert_int_equal(outcomes(g, REPLAY_NEW_ERROR), 0);
	umask(was);
}

static void what_a_user_makes_can_be_removed_by_others_at_the_end(void **state)
{
	const mode_t was = umask(077);
	struct rig *g = *state;
	char path[256];

	g->copy.for_all = true;
	make(g);
	play(g, replay_client_use(g->client));
	assert_int_equal(mode_of(path_of(g, MADE_DIR, path)), 0700);
	assert_int_equal(play(g, replay_client_finish(g->client)), 0);
	assert_int_equal(mode_of(path_of(g, MADE_DIR, path)), 0777);
	umask(was);
}

static void requests_are_answered_as_in_the_recording(void **state)
{
	struct rig *g = *state;
	struct replay_done done = { 0 };

	make(g);
	assert_int_equal(play(g, replay_client_use(g->client)), 0);
	assert_int_equal(outcomes(g, REPLAY_AS_RECORDED), 6);
	replay_client_add_done(g->client, &done);
	assert_int_equal(done.read_b, LEN);
	assert_string_equal(done.first, "");
	for (uint32_t i = 0; i < g->p->n_steps; i++)
		assert_true(g->copy.answered[i]);
}

/* Two seconds late: each of them is, as the first of them was. */
static void what_this_program_is_late_is_in_all_that_come_after(void **state)
{
	struct rig *g = *state;
	struct replay_done done = { 0 };

	make(g);
	g->copy.begin_ns = clock_now_ns() - 2000 * MS;
	assert_int_equal(play(g, replay_client_use(g->client)), 0);
	replay_client_add_done(g->client, &done);
	assert_int_equal(done.n_delayed, g->p->n_steps);
	assert_true(done.delayed_max_ns >= 2000 * MS - g->p->step[0].due_ns);
}

/* Or others that wait for it would give it up, though it is answered all the time. */
static void each_part_of_a_long_read_is_progress(void **state)
{
	struct rig *g = *state;
	struct replay_client *c = replay_client_new(&g->copy, 0, g->data + LEN, LEN / 4);
	struct script *s = replay_client_use(c);
	unsigned int parts = 0, was;
	struct store_op *op;

	make(g);
	for (unsigned int step = 0; step < 2; step++) { /* opened, read */
		s->type->begin(s, g->store);
		do {
			op = s->type->next(s);
			was = g->copy.progress[0];
			assert_int_equal(store_call(g->store, op, &g->e), 0);
			parts += step;
			if (s->type->answered(s, op, &g->e) != SCRIPT_GOES_ON)
				break;
		} while (g->copy.progress[0] != was);
	}
	assert_int_equal(parts, 4);
	replay_client_free(c);
}

static void another_length_is_said(void **state)
{
	struct rig *g = *state;
	struct replay_done done = { 0 };
	char path[256];

	make(g);
	assert_int_equal(truncate(path_of(g, 0, path), 7), 0);
	play(g, replay_client_use(g->client));
	assert_int_equal(outcomes(g, REPLAY_OTHER_SIZE), 1);
	replay_client_add_done(g->client, &done);
	assert_string_equal(done.first, "read: 7 bytes, in the recording 100000");
	assert_int_equal(done.n_refused_anew, 1); /* it had less to read */
}

static void what_needs_a_file_that_is_not_open_is_not_sent(void **state)
{
	struct rig *g = *state;
	char path[256];

	make(g);
	unlink(path_of(g, 0, path));
	assert_int_equal(play(g, replay_client_use(g->client)), 1);
	assert_int_equal(outcomes(g, REPLAY_NEW_ERROR), 1);
	assert_int_equal(outcomes(g, REPLAY_UNSENT), 2);     /* read, close */
	assert_int_equal(outcomes(g, REPLAY_OTHER_SIZE), 1); /* the list has an entry less */
	for (uint32_t i = 0; i < g->p->n_steps; i++)
		assert_true(g->copy.answered[i]);
}

/* What was refused in the recording as well tells nothing against a server. */
static void what_the_recorded_server_refused_is_not_refused_anew(void **state)
{
	struct rig *g = *state;
	struct replay_done done = { 0 };
	char path[256];

	make(g);
	unlink(path_of(g, 0, path));
	g->p->step[1].result = STORE_NONE; /* the read */
	play(g, replay_client_use(g->client));
	assert_int_equal(outcomes(g, REPLAY_NEW_ERROR), 1);
	assert_int_equal(outcomes(g, REPLAY_UNSENT), 2);
	replay_client_add_done(g->client, &done);
	assert_int_equal(done.n_refused_anew, 2);
	assert_int_equal(done.n_were_done, g->p->n_steps - 1);
	replay_client_add_done(g->client, &done);
	assert_int_equal(done.n_refused_anew, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_image_has_files_of_their_lengths),
		TEST(of_an_image_that_is_there_only_the_rest_is_made),
		TEST(each_copy_has_an_image_of_its_own),
		TEST(a_later_copy_sends_later),
		TEST(where_there_are_several_users_each_may_use_the_image),
		TEST(what_a_user_makes_can_be_removed_by_others_at_the_end),
		TEST(requests_are_answered_as_in_the_recording),
		TEST(what_this_program_is_late_is_in_all_that_come_after),
		TEST(each_part_of_a_long_read_is_progress),
		TEST(another_length_is_said),
		TEST(what_needs_a_file_that_is_not_open_is_not_sent),
		TEST(what_the_recorded_server_refused_is_not_refused_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
