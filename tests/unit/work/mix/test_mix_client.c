/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client of a mix sends for each action, and what is left when a request fails: on a store
 * in memory, which every request of every action fails once.
 * Also tests client/work/mix/mix_steps.c.
 */
#include "unit/mix_rig.h"

#define SAVE                                                                                       \
	"open read read read close create open write write write flush close rename rename delete"

#define MAC_SAVE                                                                                   \
	"stat create open write write write flush close setxattr setfinder open write close "      \
	"swap stat delete"

static const char *const sent[N_MIX_ACTIONS] = {
	[MIX_LIST] = "list list",
	[MIX_LOOK] = "stat",
	[MIX_READ] = "open read read read close",
	[MIX_WRITE] = "open write write write close",
	[MIX_SAVE] = SAVE,
	[MIX_CREATE] = "create stat rename delete",
	[MIX_BAND] = "open write write write flush close",
	[MIX_RANDOM_READ] = "open read read read close",
	[MIX_RANDOM_WRITE] = "open write write write close",
	[MIX_LOCK] = "open lock read unlock close",
	[MIX_MAC_SAVE] = MAC_SAVE,
	[MIX_SEARCH] = "search",
	[MIX_LOGIN] = "login",
	[MIX_LOGOUT] = "login", /* who has no session logs in, whichever is drawn */
};

/* The store takes 8 KiB at a time. */
static const uint64_t bytes[N_MIX_ACTIONS] = {
	[MIX_READ] = 20 * KIB,           [MIX_WRITE] = 20 * KIB,
	[MIX_SAVE] = 40 * KIB,           [MIX_BAND] = 20 * KIB,
	[MIX_RANDOM_READ] = 24 * KIB,    [MIX_RANDOM_WRITE] = 24 * KIB,
	[MIX_MAC_SAVE] = 20 * KIB + 286,
};

static void each_action_sends_these_requests(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < N_MIX_ACTIONS; a++) {
		const struct mix mix = one(a);
		struct rig g;

		rig_begin(&g, &mix);
		makes(&g, 0);
		assert_string_equal(g.m.log, "");
		assert_int_equal(memory_left(&g.m), 5); /* base, the client's, three files */
		for (unsigned int n = 0; n < 5; n++) {
			assert_int_equal(uses(&g), SCRIPT_DONE);
			if (a >= MIX_LOGIN) /* in turn */
				assert_string_equal(g.m.log, n % 2 ? "logout" : "login");
			else
				assert_string_equal(g.m.log, sent[a]);
			assert_int_equal(memory_left(&g.m), 5);
			assert_true(nothing_is_open(&g));
		}
		assert_true(a == MIX_LOCK || g.bytes == bytes[a]);
		assert_int_equal(act(&g, mix_client_remove(g.client[0])), SCRIPT_DONE);
		assert_string_equal(g.m.log, "delete delete delete delete");
		assert_int_equal(memory_left(&g.m), 1);
		assert_int_equal(act(&g, mix_client_remove(g.client[0])), SCRIPT_GOES_ON);
		rig_end(&g);
	}
}

static void a_set_is_made_file_by_file(void **state)
{
	struct mix mix = one(MIX_LOOK);
	struct rig g;

	(void)state;
	mix.files = 2;
	rig_begin(&g, &mix);
	assert_int_equal(act(&g, mix_client_make(g.client[0])), SCRIPT_DONE);
	assert_string_equal(g.m.log, "lookup mkdir create open write write write close "
				     "create open write write write close");
	for (int i = 2; i < MEMORY_NODES; i++)
		if (g.m.node[i].used && !g.m.node[i].is_dir)
			assert_int_equal(g.m.node[i].len, 20 * KIB);
	rig_end(&g);
}

static void empty_files_have_no_reads_and_writes(void **state)
{
	static const char *const of_empty[N_MIX_ACTIONS] = {
		[MIX_READ] = "open close",
		[MIX_WRITE] = "open close",
		[MIX_SAVE] = "open close create open flush close rename rename delete",
		[MIX_BAND] = "open flush close",
		[MIX_RANDOM_READ] = "open close", /* where some files have data */
		[MIX_LOCK] = "open close",
	};

	(void)state;
	for (unsigned int a = 0; a < N_MIX_ACTIONS; a++) {
		struct mix mix = one(a);
		struct rig g;

		if (!of_empty[a])
			continue;
		mix.sizes.value = 0;
		rig_begin(&g, &mix);
		makes(&g, 0);
		assert_int_equal(uses(&g), SCRIPT_DONE);
		assert_string_equal(g.m.log, of_empty[a]);
		rig_end(&g);
	}
}

static void as_many_requests_are_in_flight_as_the_window_says(void **state)
{
	(void)state;
	for (unsigned int order = 0; order < 10; order++) {
		struct mix mix = one(MIX_SAVE);
		struct rig g;

		mix.window = 4;
		mix.sizes.value = 50 * KIB;
		mix.request_len = 4 * KIB;
		rig_begin(&g, &mix);
		makes(&g, 0);
		g.m.order = order;
		g.m.most_lent = 0;
		assert_int_equal(uses(&g), SCRIPT_DONE);
		assert_int_equal(g.m.most_lent, 4);
		assert_int_equal(g.bytes, 100 * KIB);
		rig_end(&g);
	}
}

/* The n-th request of the action fails; false: it has fewer. Afterwards all works again. */
static bool failed_at(const struct mix *mix, unsigned int n, unsigned int order)
{
	enum script_state how;
	struct rig g;

	rig_begin(&g, mix);
	makes(&g, 0);
	g.m.n_ops = 0;
	g.m.order = order;
	g.m.fail_at = n;
	g.m.fail_with = STORE_DENIED;
	how = uses(&g);
	g.m.fail_at = 0;
	assert_true(nothing_is_open(&g));
	assert_int_equal(memory_left(&g.m), 5);
	if (how == SCRIPT_FAILED) {
		assert_non_null(strstr(g.e.text, "as told"));
		/* the set is whole: each file is there, and as long as it was, but for a write */
		for (unsigned int k = 0; k < 3; k++) {
			const struct store_dir home = { 0, 3 };
			char name[16];

			snprintf(name, sizeof(name), "f%05u", k);
			assert_non_null(memory_find(&g.m, home, name));
			assert_int_equal(memory_find(&g.m, home, name)->len, mix->sizes.value);
		}
		for (unsigned int k = 0; k < 10; k++)
			assert_int_equal(uses(&g), SCRIPT_DONE);
	}
	assert_int_equal(act(&g, mix_client_remove(g.client[0])), SCRIPT_DONE);
	assert_int_equal(memory_left(&g.m), 1);
	rig_end(&g);
	return how == SCRIPT_FAILED;
}

static void whatever_fails_the_set_is_whole_afterwards(void **state)
{
	unsigned int all = 0;

	(void)state;
	for (unsigned int a = 0; a < N_MIX_ACTIONS; a++) {
		struct mix mix = one(a);

		for (unsigned int window = 1; window <= 3; window += 2) {
			mix.window = window;
			for (unsigned int n = 1; failed_at(&mix, n, window == 3 ? n : 0); n++)
				all++;
		}
	}
	assert_int_equal(all, 2 * (2 + 1 + 5 + 5 + 15 + 4 + 6 + 5 + 5 + 5 + 16 + 1 + 1 + 1));
}

/* The cure fails, too: what is left is removed with the rest. */
static void what_two_failures_leave_is_removed_at_the_end(void **state)
{
	const struct mix save = one(MIX_SAVE);
	struct mix create = one(MIX_CREATE);
	struct rig g;

	(void)state;
	rig_begin(&g, &save);
	makes(&g, 0);
	/* the second rename and all after it: FILE is OLD, NEW is there */
	g.m.n_ops = 0;
	g.m.fail_at = 14;
	g.m.fail_with = STORE_DENIED;
	g.m.fails_on = true;
	assert_int_equal(uses(&g), SCRIPT_FAILED);
	assert_int_equal(memory_left(&g.m), 6);
	g.m.fail_at = 0;
	assert_int_equal(act(&g, mix_client_remove(g.client[0])), SCRIPT_DONE);
	assert_int_equal(memory_left(&g.m), 1);
	rig_end(&g);
	for (create.files = 0; create.files < 2; create.files++) {
		rig_begin(&g, &create);
		makes(&g, 0);
		g.m.n_ops = 0;
		g.m.fail_at = 2;
		g.m.fail_with = STORE_DENIED;
		g.m.fails_on = true;
		assert_int_equal(uses(&g), SCRIPT_FAILED);
		g.m.fail_at = 0;
		assert_int_equal(act(&g, mix_client_remove(g.client[0])), SCRIPT_DONE);
		assert_int_equal(memory_left(&g.m), 1);
		rig_end(&g);
	}
}

static void a_set_that_is_half_made_is_removed(void **state)
{
	const struct mix mix = one(MIX_READ);
	enum script_state how = SCRIPT_FAILED;
	unsigned int n;
	struct rig g;

	(void)state;
	for (n = 1; how == SCRIPT_FAILED; n++) {
		rig_begin(&g, &mix);
		g.m.fail_at = n;
		g.m.fail_with = STORE_FULL;
		how = act(&g, mix_client_make(g.client[0]));
		assert_true(nothing_is_open(&g));
		g.m.fail_at = 0;
		act(&g, mix_client_remove(g.client[0]));
		assert_int_equal(memory_left(&g.m), 1);
		rig_end(&g);
	}
	assert_int_equal(n, 2 + 3 * 6 + 2); /* all requests, and one more */
}

/* Requests at random places lie in the file, at whole requests, and come at all of these. */
static void random_requests_are_all_over_the_file(void **state)
{
	struct mix mix = one(MIX_RANDOM_READ);
	bool at[8] = { false };
	unsigned int places = 0;
	struct store_op *op;
	struct script *s;
	struct rig g;

	(void)state;
	mix.sizes.value = 61 * KIB; /* seven whole requests, and a rest */
	mix.requests = 200;
	mix.window = 4;
	rig_begin(&g, &mix);
	makes(&g, 0);
	s = mix_client_use(g.client[0]);
	assert_int_equal(s->type->begin(s, &g.m.s), MIX_RANDOM_READ);
	for (enum script_state how = SCRIPT_GOES_ON; how == SCRIPT_GOES_ON;) {
		while ((op = s->type->next(s))) {
			if (op->verb == STORE_READ) {
				assert_int_equal(op->len, 8 * KIB);
				assert_int_equal(op->offset % (8 * KIB), 0);
				assert_true(op->offset + op->len <= 61 * KIB);
				at[op->offset / (8 * KIB)] = true;
			}
			assert_int_equal(store_submit(&g.m.s, op, &g.e), 0);
		}
		assert_in_range(g.m.s.in_flight, 1, 4);
		how = s->type->answered(s, store_take(&g.m.s), &g.e);
	}
	for (unsigned int i = 0; i < 8; i++)
		places += at[i];
	assert_int_equal(places, 7);
	assert_int_equal(s->bytes, 200 * 8 * KIB);
	rig_end(&g);
}

static void files_have_the_lengths_that_were_drawn(void **state)
{
	struct mix mix = one(MIX_WRITE);
	const struct store_dir home[] = { { 0, 3 }, { 0, 7 } };
	uint64_t len[6];
	char name[16];
	struct rig g;

	(void)state;
	mix.sizes = (struct draw) { .kind = DRAW_UNIFORM, .most = 20 * KIB };
	rig_begin(&g, &mix);
	makes(&g, 0);
	makes(&g, 1);
	for (unsigned int n = 0; n < 20; n++) {
		for (unsigned int i = 0; i < 6; i++) {
			snprintf(name, sizeof(name), "f%05u", i % 3);
			len[i] = memory_find(&g.m, home[i / 3], name)->len;
			assert_int_equal(len[i], draw_numbered(&mix.sizes, 1, i));
		}
		assert_int_equal(uses(&g), SCRIPT_DONE);
	}
	assert_true(len[0] != len[1] && len[1] != len[2] && len[0] != len[3]);
	rig_end(&g);
}

static void a_shared_set_is_made_and_removed_by_the_first_client(void **state)
{
	struct mix mix = one(MIX_READ);
	struct rig g;

	(void)state;
	mix.shared = true;
	rig_begin(&g, &mix);
	assert_int_equal(act(&g, mix_client_make(g.client[1])), SCRIPT_FAILED); /* not there yet */
	rig_end(&g);
	rig_begin(&g, &mix);
	makes(&g, 0);
	assert_int_equal(act(&g, mix_client_make(g.client[1])), SCRIPT_DONE);
	assert_string_equal(g.m.log, "lookup lookup");
	assert_int_equal(memory_left(&g.m), 5);
	assert_int_equal(act(&g, mix_client_use(g.client[1])), SCRIPT_DONE);
	assert_string_equal(g.m.log, sent[MIX_READ]);
	assert_int_equal(act(&g, mix_client_remove(g.client[1])), SCRIPT_GOES_ON);
	assert_int_equal(act(&g, mix_client_remove(g.client[0])), SCRIPT_DONE);
	assert_int_equal(memory_left(&g.m), 1);
	rig_end(&g);
}

static void a_short_read_and_a_short_list_are_failures(void **state)
{
	struct mix mix = one(MIX_READ);
	struct rig g;

	(void)state;
	rig_begin(&g, &mix);
	makes(&g, 0);
	for (int i = 2; i < MEMORY_NODES; i++)
		g.m.node[i].len /= 2;
	assert_int_equal(uses(&g), SCRIPT_FAILED);
	assert_string_equal(g.m.log, "open read read close");
	rig_end(&g);
	mix = one(MIX_LIST);
	rig_begin(&g, &mix);
	makes(&g, 0);
	for (int i = 2; i < MEMORY_NODES; i++)
		if (!strcmp(g.m.node[i].name, "f00001"))
			memory_delete(&g.m, &g.m.node[i]);
	assert_int_equal(uses(&g), SCRIPT_FAILED);
	assert_non_null(strstr(g.e.text, "listed 2 entries of a directory with 3 files"));
	rig_end(&g);
}

/* Its results come in pieces, of which the last one says that it is the last; none is a failure. */
static void a_search_goes_on_to_its_end(void **state)
{
	static const struct {
		unsigned int files;
		const char *log;
	} row[] = {
		{ 1, "search" },
		{ 3 * MEMORY_LISTED, "search search search" },
		{ 3 * MEMORY_LISTED + 1, "search search search search" },
	};
	struct mix mix = one(MIX_SEARCH);
	struct store_op op = { .verb = STORE_CREATE, .dir = { 0, 1 } };
	struct rig g;
	char name[20];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		mix.files = 1;
		rig_begin(&g, &mix);
		makes(&g, 0);
		op.name = name;
		for (unsigned int k = 1; k < row[i].files; k++) { /* those of others */
			snprintf(name, sizeof(name), "%uf00000", k);
			assert_int_equal(memory_do(&g.m, &op), STORE_OK);
		}
		for (unsigned int k = 0; k < 3; k++) {
			assert_int_equal(uses(&g), SCRIPT_DONE);
			assert_string_equal(g.m.log, row[i].log);
		}
		rig_end(&g);
	}
	rig_begin(&g, &mix);
	makes(&g, 0);
	for (int i = 2; i < MEMORY_NODES; i++)
		if (!strcmp(g.m.node[i].name, "f00000"))
			memory_delete(&g.m, &g.m.node[i]);
	assert_int_equal(uses(&g), SCRIPT_FAILED);
	assert_string_equal(g.e.text, "search: did not find f00000, which is there");
	rig_end(&g);
}

static void weights_are_shares(void **state)
{
	struct mix mix = one(MIX_LOOK);
	unsigned int lists = 0;
	struct rig g;
	struct script *s;

	(void)state;
	mix.weight[MIX_LIST] = 3;
	rig_begin(&g, &mix);
	makes(&g, 0);
	s = mix_client_use(g.client[0]);
	for (unsigned int i = 0; i < 4000; i++)
		lists += s->type->begin(s, &g.m.s) == MIX_LIST;
	assert_true(lists > 2900 && lists < 3100); /* a standard deviation of 27 */
	rig_end(&g);
	mix.weight[MIX_LIST] = mix.weight[MIX_LOOK] = 0;
	rig_begin(&g, &mix);
	assert_null(mix_client_use(g.client[0]));
	rig_end(&g);
}

/* The range of another: the action ends at once, is none that failed, and is counted. */
static void a_lock_of_another_is_contention(void **state)
{
	struct mix mix = one(MIX_LOCK);
	struct script *s;
	struct rig g;

	(void)state;
	rig_begin(&g, &mix);
	makes(&g, 0);
	s = mix_client_use(g.client[0]);
	for (unsigned int k = 1; k <= 5; k++) {
		g.m.n_ops = 0;
		g.m.fail_at = 2;
		g.m.fail_with = STORE_LOCKED;
		assert_int_equal(uses(&g), SCRIPT_DONE);
		assert_string_equal(g.m.log, "open lock close");
		assert_int_equal(s->contended, k);
		g.m.fail_at = 0;
		assert_int_equal(uses(&g), SCRIPT_DONE);
		assert_string_equal(g.m.log, sent[MIX_LOCK]);
		assert_int_equal(s->contended, k);
		assert_true(nothing_is_open(&g));
	}
	/* no right to lock is no contention */
	g.m.n_ops = 0;
	g.m.fail_at = 2;
	g.m.fail_with = STORE_DENIED;
	assert_int_equal(uses(&g), SCRIPT_FAILED);
	assert_int_equal(s->contended, 5);
	assert_true(nothing_is_open(&g));
	rig_end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_action_sends_these_requests),
		cmocka_unit_test(a_set_is_made_file_by_file),
		cmocka_unit_test(empty_files_have_no_reads_and_writes),
		cmocka_unit_test(as_many_requests_are_in_flight_as_the_window_says),
		cmocka_unit_test(whatever_fails_the_set_is_whole_afterwards),
		cmocka_unit_test(what_two_failures_leave_is_removed_at_the_end),
		cmocka_unit_test(a_set_that_is_half_made_is_removed),
		cmocka_unit_test(random_requests_are_all_over_the_file),
		cmocka_unit_test(files_have_the_lengths_that_were_drawn),
		cmocka_unit_test(a_shared_set_is_made_and_removed_by_the_first_client),
		cmocka_unit_test(a_short_read_and_a_short_list_are_failures),
		cmocka_unit_test(a_search_goes_on_to_its_end),
		cmocka_unit_test(weights_are_shares),
		cmocka_unit_test(a_lock_of_another_is_contention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
