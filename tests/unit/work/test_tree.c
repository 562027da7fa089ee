/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests client/work/tree.c, client/store/remove.c: the removal of test directories from a volume,
 * and their list. */
#include "fake/peer.h"
#include "store/store.h"
#include "work/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h> /* needs the headers above */

/* ---- removal ---- */

struct rig {
	struct peer *peer;
	struct dsi_opts opts;
	struct afp a;
	struct err e;
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

static void open_it(struct rig *g)
{
	const struct afp_login login = { NULL, NULL, "guest", 7, NULL };
	struct afp_server server;
	enum afp_stage stage;

	peer_start(g->peer);
	assert_int_equal(afp_server_info(&server, &g->opts, &g->e), 0);
	assert_int_equal(afp_open(&g->a, &g->opts, &server, &login, "Fake", &stage, &g->e), 0);
}

static struct store *open_store(struct rig *g)
{
	const struct store_afp_opts one = { .window = 1 };
	struct store *s;

	assert_int_equal(store_open_afp(&s, &g->a, &one, &g->e), 0);
	return s;
}

static uint32_t make(struct rig *g, uint32_t parent, const char *name, bool is_dir)
{
	uint32_t id = 0;

	assert_int_equal(volume_create(&g->peer->volume, parent, name, is_dir, &id), 0);
	return id;
}

static void fill(struct rig *g, uint32_t dir, unsigned int n)
{
	char name[32];

	for (unsigned int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "file%u", i);
		make(g, dir, name, false);
	}
}

/* Levels of directories, two in each, with files between them. */
static void grow(struct rig *g, uint32_t dir, unsigned int levels)
{
	fill(g, dir, 3);
	if (!levels)
		return;
	grow(g, make(g, dir, "left", true), levels - 1);
	make(g, dir, "between", false);
	grow(g, make(g, dir, "right", true), levels - 1);
	make(g, dir, "a name longer than the thirty-one bytes of a long name", false);
}

static void an_empty_directory_goes_with_one_command(void **state)
{
	struct rig *g = *state;

	make(g, VOLUME_ROOT, "base", true);
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 0);
	peer_stop(g->peer);
	assert_int_equal(g->peer->volume.n_nodes, 0);
	assert_int_equal(g->peer->count[AFP_Delete], 1);
	assert_int_equal(g->peer->count[AFP_EnumerateExt2], 0);
}

static void what_is_not_there_is_removed_already(void **state)
{
	struct rig *g = *state;

	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 0);
}

static void nested_trees_go_and_nothing_else(void **state)
{
	struct rig *g = *state;

	make(g, VOLUME_ROOT, "stays", false);
	fill(g, make(g, VOLUME_ROOT, "other", true), 5);
	grow(g, make(g, VOLUME_ROOT, "base", true), 5);
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 0);
	peer_stop(g->peer);
	assert_int_equal(g->peer->volume.n_nodes, 7);
}

/* Deeper than people have them: a replay makes what there was. */
static void a_chain_of_three_hundred_directories_goes(void **state)
{
	struct rig *g = *state;
	uint32_t dir = make(g, VOLUME_ROOT, "base", true);

	for (unsigned int i = 0; i < 300; i++)
		dir = make(g, dir, "deeper", true);
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 0);
	peer_stop(g->peer);
	assert_int_equal(g->peer->volume.n_nodes, 0);
}

static void endless_depth_is_refused(void **state)
{
	struct rig *g = *state;
	uint32_t dir = make(g, VOLUME_ROOT, "base", true);

	for (unsigned int i = 0; i < 2100; i++)
		dir = make(g, dir, "deeper", true);
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 1);
	assert_non_null(strstr(g->e.text, "directories deep"));
}

static void two_thousand_files_take_eight_listings(void **state)
{
	struct rig *g = *state;
	uint32_t dir = make(g, VOLUME_ROOT, "base", true);
	char name[32];

	for (unsigned int i = 1; i <= 2000; i++) {
		snprintf(name, sizeof(name), "File.0k%u", i);
		make(g, dir, name, false);
	}
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 0);
	peer_stop(g->peer);
	assert_int_equal(g->peer->volume.n_nodes, 0);
	assert_int_equal(g->peer->count[AFP_EnumerateExt2], 8);
	assert_int_equal(g->peer->count[AFP_Delete], 2003);
}

static void emptying_keeps_the_directory_itself(void **state)
{
	struct rig *g = *state;
	uint32_t dir = make(g, VOLUME_ROOT, "base", true);

	grow(g, dir, 3);
	open_it(g);
	assert_int_equal(tree_remove(&g->a, dir, NULL, &g->e), 0);
	peer_stop(g->peer);
	assert_int_equal(g->peer->volume.n_nodes, 1);
}

/* Of files and directories, whose entries in FPEnumerate's reply would have more than 255 bytes. */
static void names_of_any_length_go(void **state)
{
	struct rig *g = *state;
	uint32_t base = make(g, VOLUME_ROOT, "base", true), deep;
	char name[256];

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%0255u", i);
		make(g, base, name, false);
		snprintf(name, sizeof(name), "%0240u", i);
		deep = make(g, base, name, true);
		grow(g, deep, 1);
		make(g, deep, name, i);
	}
	fill(g, base, 2000);
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 0);
	assert_int_equal(g->peer->volume.n_nodes, 0);
}

static void a_file_that_is_open_is_told_apart(void **state)
{
	struct rig *g = *state;
	struct store_op last;
	struct store *s;

	fill(g, make(g, VOLUME_ROOT, "base", true), 3);
	g->peer->refuse.code = AFP_Delete;
	g->peer->refuse.nth = 4;
	g->peer->refuse.result = -5010;
	open_it(g);
	s = open_store(g);
	assert_int_equal(store_remove_tree(s, s->root[0], "base", &last, &g->e), STORE_REFUSED);
	assert_int_equal(last.code, AFP_ERR_FILE_BUSY);
	store_close(s);
}

static void a_refusal_is_told_with_command_name_and_answer(void **state)
{
	struct rig *g = *state;

	fill(g, make(g, VOLUME_ROOT, "base", true), 9);
	g->peer->refuse.code = AFP_Delete;
	g->peer->refuse.nth = 5;
	g->peer->refuse.result = -5032;
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 1);
	assert_string_equal(g->e.text, "FPDelete file2: object is locked (-5032)");
}

static void a_lost_connection_is_negative(void **state)
{
	struct rig *g = *state;

	for (unsigned int reply = 5; reply < 14; reply++) {
		afp_close(&g->a);
		peer_free(g->peer);
		g->peer = peer_new();
		g->opts.port = g->peer->serve.port;
		g->peer->fault.reply = reply;
		g->peer->fault.kind = PEER_HANG_UP;
		fill(g, make(g, VOLUME_ROOT, "base", true), 9);
		open_it(g);
		assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), -ECONNRESET);
	}
}

/* Lists that never end, whatever is deleted. */
static bool endless(void *user, struct peer *p, const struct peer_request *q,
		    struct peer_reply *out)
{
	static const uint8_t none[] = { 0x20, 0, 0x20, 0, 0, 0 };
	/* clang-format off */
	static const uint8_t ghost[] = {
		0x20, 0, 0x20, 0, 0, 1,		     /* one entry, of which the name is told */
		0, 18, 0, 0, 0, 6, 0, 0, 0, 0,	     /* its length; where its name begins */
		0, 0, 0, 0, 0, 2, 'g', 'h',
	};
	/* clang-format on */

	if (p->count[AFP_EnumerateExt2] > 1000)
		return false;
	if (q->command[0] == AFP_EnumerateExt2) {
		if (user)
			peer_reply_set(out, 0, ghost, sizeof(ghost));
		else
			peer_reply_set(out, 0, none, sizeof(none));
		return true;
	}
	return false;
}

static void a_list_of_nothing_does_not_go_on_for_ever(void **state)
{
	struct rig *g = *state;

	fill(g, make(g, VOLUME_ROOT, "base", true), 1);
	g->peer->answer = endless;
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 1);
	assert_non_null(strstr(g->e.text, "FPEnumerate"));
	peer_stop(g->peer);
	assert_in_range(g->peer->count[AFP_EnumerateExt2], 1, 10);
}

static void a_list_of_ghosts_does_not_go_on_for_ever(void **state)
{
	struct rig *g = *state;

	fill(g, make(g, VOLUME_ROOT, "base", true), 1);
	g->peer->answer = endless;
	g->peer->user = g;
	open_it(g);
	assert_int_equal(tree_remove(&g->a, VOLUME_ROOT, "base", &g->e), 1);
	assert_non_null(strstr(g->e.text, "is still listed"));
	peer_stop(g->peer);
	assert_in_range(g->peer->count[AFP_EnumerateExt2], 1, 10);
}

/* ---- listing ---- */

struct seen {
	unsigned int n;
	size_t looked;
	char last[256];
};

/* As afpscope clean finds them. */
static void note(struct store_op *op, const char *name)
{
	struct seen *s = op->user;
	struct tree_owner owner;

	s->looked++;
	if (op->is_file || !tree_owner(name, &owner))
		return;
	snprintf(s->last, sizeof(s->last), "%s", name);
	s->n++;
}

static int list_root(struct rig *g, struct seen *seen)
{
	struct store *s = open_store(g);
	struct store_op last;
	int r = store_list(s, s->root[0], note, seen, &last, &g->e);

	store_close(s);
	return r;
}

static void our_directories_are_listed_and_nothing_else(void **state)
{
	struct rig *g = *state;
	struct seen s = { 0 };
	char name[64];

	fill(g, VOLUME_ROOT, 700);
	make(g, VOLUME_ROOT, "LanTest-1234", true);
	make(g, VOLUME_ROOT, "LanTest-12345678-77-fedcba", false); /* a file */
	for (unsigned int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "LanTest-12345678-%u-abcdef", i + 1);
		make(g, VOLUME_ROOT, name, true);
	}
	open_it(g);
	assert_int_equal(list_root(g, &s), 0);
	assert_int_equal(s.n, 500);
	assert_int_equal(s.looked, 700 + 2 + 500);
	assert_string_equal(s.last, "LanTest-12345678-500-abcdef");
}

/* Their number does not fit into 16 bits, nor the length of an entry into 8. */
static void any_number_of_names_of_any_length_is_looked_at(void **state)
{
	struct rig *g = *state;
	struct seen s = { 0 };
	char name[256];

	for (unsigned int i = 0; i < 300 && snprintf(name, sizeof(name), "%0255u", i); i++)
		make(g, VOLUME_ROOT, name, i % 2);
	fill(g, VOLUME_ROOT, 66000);
	open_it(g);
	assert_int_equal(list_root(g, &s), 0);
	assert_int_equal(s.looked, 300 + 66000);
}

static void an_empty_volume_lists_nothing(void **state)
{
	struct rig *g = *state;
	struct seen s = { 0 };

	open_it(g);
	assert_int_equal(list_root(g, &s), 0);
	assert_int_equal(s.n, 0);
}

static bool malformed_list(void *user, struct peer *p, const struct peer_request *q,
			   struct peer_reply *out)
{
	static const uint8_t list[] = { 0x20, 0, 0x20, 0, 0, 2, 0, 1, 0, 0 };

	(void)user;
	(void)p;
	if (q->command[0] != AFP_EnumerateExt2 || p->count[AFP_EnumerateExt2] > 1)
		return false;
	peer_reply_set(out, 0, list, sizeof(list));
	return true;
}

static void a_malformed_list_is_told(void **state)
{
	struct rig *g = *state;
	struct seen s = { 0 };

	g->peer->answer = malformed_list;
	open_it(g);
	assert_int_equal(list_root(g, &s), 1);
	assert_non_null(strstr(g->e.text, "does not fit the request"));
}

static bool refuse_list(void *user, struct peer *p, const struct peer_request *q,
			struct peer_reply *out)
{
	(void)user;
	(void)p;
	if (q->command[0] != AFP_EnumerateExt2)
		return false;
	peer_reply_set(out, -5000, NULL, 0);
	return true;
}

static void a_refused_list_is_told(void **state)
{
	struct rig *g = *state;
	struct seen s = { 0 };

	g->peer->answer = refuse_list;
	open_it(g);
	assert_int_equal(list_root(g, &s), 1);
	assert_non_null(strstr(g->e.text, "access denied"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_directory_goes_with_one_command),
		TEST(what_is_not_there_is_removed_already),
		TEST(nested_trees_go_and_nothing_else),
		TEST(a_chain_of_three_hundred_directories_goes),
		TEST(endless_depth_is_refused),
		TEST(two_thousand_files_take_eight_listings),
		TEST(emptying_keeps_the_directory_itself),
		TEST(names_of_any_length_go),
		TEST(a_file_that_is_open_is_told_apart),
		TEST(a_refusal_is_told_with_command_name_and_answer),
		TEST(a_lost_connection_is_negative),
		TEST(a_list_of_nothing_does_not_go_on_for_ever),
		TEST(a_list_of_ghosts_does_not_go_on_for_ever),
		TEST(our_directories_are_listed_and_nothing_else),
		TEST(any_number_of_names_of_any_length_is_looked_at),
		TEST(an_empty_volume_lists_nothing),
		TEST(a_malformed_list_is_told),
		TEST(a_refused_list_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
