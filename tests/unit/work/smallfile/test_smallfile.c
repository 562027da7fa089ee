/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client of smallfile sends for each load, on a store in memory; what it says of files that
 * are not what they should be; and which files there are. Tests client/work/smallfile/smallfile.c,
 * smallfile_data.c, smallfile_set.c.
 */
#include "unit/memory_store.h"
#include "work/smallfile/smallfile_set.h"

#include <math.h>

#define KIB   1024u
#define FILES 6

struct rig {
	struct memory_store m;
	struct smallfile_opts o;
	struct smallfile *c;
	struct err e;
	unsigned int failed; /* actions of the last load */
};

/* 20 KiB in records of 12 KiB, of which the store takes 8 KiB at a time; two files a directory. */
static struct smallfile_opts usual(void)
{
	return (struct smallfile_opts) { .files = FILES,
					 .files_per_dir = 2,
					 .file_len = 20 * KIB,
					 .record_len = 12 * KIB,
					 .read_percent = 50,
					 .verify = true,
					 .seed = 1,
					 .prefix = "f",
					 .base = "base" };
}

/* The script's next action to its end, as the engine does it. false: it has none. */
static bool act(struct rig *g, struct script *s)
{
	enum script_state how = SCRIPT_GOES_ON;
	struct store *store = &g->m.s;
	struct store_op *op;

	if (s->type->begin(s, store) < 0)
		return false;
	while (how == SCRIPT_GOES_ON) {
		while ((op = s->type->next(s)))
			assert_int_equal(store_submit(store, op, &g->e), 0);
		assert_int_equal(store->in_flight, 1);
		how = s->type->answered(s, store_take(store), &g->e);
	}
	assert_int_equal(store->in_flight, 0);
	g->failed += how == SCRIPT_FAILED;
	return true;
}

/* How many actions the load had. */
static unsigned int does(struct rig *g, enum smallfile_load load)
{
	struct script *s = smallfile_use(g->c, load, false);
	unsigned int n = 0;

	assert_non_null(s);
	g->failed = 0;
	g->m.log[0] = '\0';
	while (act(g, s))
		n++;
	for (int i = 0; i < MEMORY_NODES; i++)
		assert_int_equal(g->m.node[i].opened, 0);
	return n;
}

static void rig_begin(struct rig *g, const struct smallfile_opts *o)
{
	struct store_op op = { .verb = STORE_MKDIR, .name = "base" };

	memset(g, 0, sizeof(*g));
	memory_begin(&g->m, 8 * KIB);
	g->m.closes = true;
	assert_int_equal(memory_do(&g->m, &op), STORE_OK);
	g->o = *o;
	g->c = smallfile_new(&g->o, 3);
	assert_non_null(g->c);
	assert_true(act(g, smallfile_make(g->c)));
	assert_int_equal(g->failed, 0);
}

static void rig_end(struct rig *g)
{
	smallfile_free(g->c);
	memory_end(&g->m);
}

static void creates(struct rig *g)
{
	assert_int_equal(does(g, SMALLFILE_CREATE), g->o.files);
	assert_int_equal(g->failed, 0);
}

static struct memory_node *node(struct rig *g, const char *name)
{
	for (int i = 2; i < MEMORY_NODES; i++)
		if (g->m.node[i].used && !strcmp(g->m.node[i].name, name))
			return &g->m.node[i];
	return NULL;
}

/* A record of 12 KiB is two requests, and the last one of 8 KiB one. */
static void each_load_sends_these_requests(void **state)
{
	static const struct {
		enum smallfile_load load;
		unsigned int actions;
		const char *one;
	} all[] = {
		{ SMALLFILE_STAT, FILES, "stat" },
		{ SMALLFILE_READ, FILES, "open read read read close" },
		{ SMALLFILE_RND_RD, FILES, "open read read read close" },
		{ SMALLFILE_OVERWRITE, FILES, "open write write write close" },
		{ SMALLFILE_RND_WR, FILES, "open write write write close" },
		{ SMALLFILE_READ, FILES, "open read read read close" },
		{ SMALLFILE_APPEND, FILES, "open write write write close" },
		{ SMALLFILE_READ, FILES, "open read read read read read close" },
		{ SMALLFILE_RENAME, FILES, "rename" },
		{ SMALLFILE_STAT, FILES, "stat" },
		{ SMALLFILE_RENAME, FILES, "rename" },
		{ SMALLFILE_CHMOD, FILES, "chmod" },
		{ SMALLFILE_SETXATTR, FILES, "setxattr" },
		{ SMALLFILE_MKDIR, FILES, "mkdir" },
		{ SMALLFILE_RMDIR, FILES, "delete" },
		{ SMALLFILE_READDIR, 3, "list list" },
		{ SMALLFILE_LS_L, 3, "list list" },
		{ SMALLFILE_DELETE, FILES, "delete" },
	};
	const struct smallfile_opts o = usual();
	char want[4096];
	struct rig g;

	(void)state;
	rig_begin(&g, &o);
	assert_non_null(node(&g, "thrd003-d0002"));
	creates(&g);
	assert_non_null(node(&g, "f.0000005"));
	assert_int_equal(node(&g, "f.0000005")->len, 20 * KIB);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(does(&g, all[i].load), all[i].actions);
		assert_int_equal(g.failed, 0);
		want[0] = '\0';
		for (unsigned int k = 0; k < all[i].actions; k++)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%s",
				 k ? " " : "", all[i].one);
		assert_string_equal(g.m.log, want);
	}
	assert_int_equal(memory_left(&g.m), 4); /* the directories */
	rig_end(&g);
}

static void a_file_is_flushed_before_it_is_closed(void **state)
{
	struct smallfile_opts o = usual();
	struct rig g;

	(void)state;
	o.files = 1;
	o.flush = true;
	o.file_len = 0;
	rig_begin(&g, &o);
	creates(&g);
	assert_string_equal(g.m.log, "create open flush close");
	assert_int_equal(does(&g, SMALLFILE_READ), 1);
	assert_string_equal(g.m.log, "open close");
	rig_end(&g);
}

static void wrong_and_missing_bytes_are_failures(void **state)
{
	const struct smallfile_opts o = usual();
	struct memory_node *n;
	struct rig g;

	(void)state;
	rig_begin(&g, &o);
	creates(&g);
	n = node(&g, "f.0000001");
	n->data[19 * KIB] ^= 1;
	assert_int_equal(does(&g, SMALLFILE_READ), FILES);
	assert_int_equal(g.failed, 1);
	assert_string_equal(g.e.text,
			    "thrd003-d0000/f.0000001: byte 19456 is not what was written");
	assert_int_equal(does(&g, SMALLFILE_RND_RD), FILES);
	assert_int_equal(g.failed, 1);
	n->data[19 * KIB] ^= 1;
	n->len = 100;
	assert_int_equal(does(&g, SMALLFILE_READ), FILES);
	assert_int_equal(g.failed, 1);
	assert_string_equal(g.e.text, "thrd003-d0000/f.0000001 ends at byte 100 of 20480");
	rig_end(&g);
}

/* What is open is closed, and the files after it have their turn. */
static void whatever_fails_the_other_files_follow(void **state)
{
	const struct smallfile_opts o = usual();
	struct rig g;
	unsigned int per_load = FILES * 6; /* create open write write write close */

	(void)state;
	for (unsigned int at = 1; at <= per_load; at++) {
		rig_begin(&g, &o);
		g.m.fail_at = g.m.n_ops + at;
		g.m.fail_with = STORE_FULL;
		assert_int_equal(does(&g, SMALLFILE_CREATE), FILES);
		assert_int_equal(g.failed, 1);
		assert_non_null(strstr(g.e.text, "thrd003-d000"));
		assert_int_equal(does(&g, SMALLFILE_STAT), FILES);
		assert_int_equal(g.failed, at % 6 == 1); /* it was not created */
		rig_end(&g);
	}
}

static void a_mix_reads_some_files_and_appends_to_the_others(void **state)
{
	struct smallfile_opts o = usual();
	struct rig g;

	(void)state;
	for (o.read_percent = 0; o.read_percent <= 100; o.read_percent += 50) {
		unsigned int reads = 0;

		rig_begin(&g, &o);
		creates(&g);
		assert_int_equal(does(&g, SMALLFILE_MIX), FILES);
		for (const char *at = g.m.log; (at = strstr(at, "open read")); at++)
			reads++;
		if (o.read_percent == 50)
			assert_true(reads > 0 && reads < FILES);
		else
			assert_int_equal(reads, o.read_percent ? FILES : 0);
		assert_int_equal(does(&g, SMALLFILE_READ), FILES); /* lengths and contents */
		assert_int_equal(g.failed, 0);
		rig_end(&g);
	}
}

static void lengths_at_random_are_exponential(void **state)
{
	struct smallfile_opts o = usual();
	const unsigned int n = 20000;
	double sum = 0, below = 0;

	(void)state;
	o.files = n;
	o.exponential = true;
	for (unsigned int i = 0; i < n; i++) {
		uint64_t len = smallfile_len(&o, 1, i);

		assert_true(len <= SMALLFILE_LEN_TIMES * o.file_len);
		sum += (double)len;
		below += (double)len < log(2) * (double)o.file_len; /* the median */
	}
	assert_true(fabs(sum / n / (double)o.file_len - 1) < 0.04);
	assert_true(fabs(below / n - 0.5) < 0.02);
	assert_int_equal((uint64_t)sum, smallfile_bytes(&o, 1));
}

static void each_file_and_record_has_its_turn_once(void **state)
{
	struct smallfile_opts o = usual();
	unsigned int moved;
	uint32_t *order;
	char seen[1000];

	(void)state;
	o.shuffled = true;
	for (o.files = 1; o.files <= 1000; o.files = o.files * 3 + 1) {
		memset(seen, 0, sizeof(seen));
		for (unsigned int i = 0; i < o.files; i++)
			seen[smallfile_at(&o, 0, i)]++;
		for (unsigned int i = 0; i < o.files; i++)
			assert_int_equal(seen[i], 1);
	}
	order = smallfile_order(&o, 0, 1000);
	assert_non_null(order);
	memset(seen, 0, sizeof(seen));
	moved = 0;
	for (unsigned int i = 0; i < 1000; i++) {
		seen[order[i]]++;
		moved += order[i] != i;
	}
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(seen[i], 1);
	assert_true(moved > 900);
	free(order);
}

/* What was removed can be read no more, and what was put elsewhere is found there. */
static void names_follow_from_the_loads_before(void **state)
{
	struct smallfile_opts o = usual();
	struct rig g;

	(void)state;
	o.hashed = o.shuffled = true;
	rig_begin(&g, &o);
	creates(&g);
	assert_int_equal(does(&g, SMALLFILE_RENAME), FILES);
	assert_non_null(node(&g, "f.0000002.r"));
	assert_int_equal(does(&g, SMALLFILE_READ), FILES);
	assert_int_equal(g.failed, 0);
	assert_int_equal(does(&g, SMALLFILE_DELETE), FILES);
	assert_int_equal(g.failed, 0);
	assert_int_equal(does(&g, SMALLFILE_STAT), FILES);
	assert_int_equal(g.failed, FILES);
	rig_end(&g);
}

static void loads_have_the_names_of_both_programs(void **state)
{
	enum smallfile_load load;
	struct err e = { 0 };

	(void)state;
	for (unsigned int i = 0; i < N_SMALLFILE_LOADS; i++) {
		assert_int_equal(smallfile_find(&load, smallfile_name(i), &e), 0);
		assert_int_equal(load, i);
	}
	assert_int_equal(smallfile_find(&load, "seq-wr", &e), 0);
	assert_int_equal(load, SMALLFILE_CREATE);
	assert_int_equal(smallfile_find(&load, "unlink", &e), 0);
	assert_int_equal(load, SMALLFILE_DELETE);
	assert_int_equal(smallfile_find(&load, "reed", &e), -ENOENT);
	assert_non_null(strstr(e.text, "there is no load 'reed'; there are: create, append"));
}

/* What is there at once, whichever loads come one after the other. */
static void the_most_that_loads_have_at_once_is_known(void **state)
{
	static const struct {
		unsigned int n;
		enum smallfile_load load[6];
		uint64_t sets;
	} rows[] = {
		{ 1, { SMALLFILE_CREATE }, 100 },
		{ 2, { SMALLFILE_CREATE, SMALLFILE_APPEND }, 200 },
		{ 3, { SMALLFILE_CREATE, SMALLFILE_DELETE, SMALLFILE_CREATE }, 100 },
		{ 3, { SMALLFILE_APPEND, SMALLFILE_OVERWRITE, SMALLFILE_APPEND }, 200 },
		{ 2, { SMALLFILE_CREATE, SMALLFILE_MIX }, 130 },
		{ 3, { SMALLFILE_READ, SMALLFILE_STAT, SMALLFILE_DELETE }, 0 },
	};
	struct smallfile_opts o = { .files = 100, .file_len = 10, .read_percent = 70 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(smallfile_most(&o, 3, rows[i].load, rows[i].n), 30 * rows[i].sets);
	o.overwrites = true;
	assert_int_equal(smallfile_most(&o, 3, rows[4].load, 2), 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_load_sends_these_requests),
		cmocka_unit_test(a_file_is_flushed_before_it_is_closed),
		cmocka_unit_test(wrong_and_missing_bytes_are_failures),
		cmocka_unit_test(whatever_fails_the_other_files_follow),
		cmocka_unit_test(a_mix_reads_some_files_and_appends_to_the_others),
		cmocka_unit_test(lengths_at_random_are_exponential),
		cmocka_unit_test(each_file_and_record_has_its_turn_once),
		cmocka_unit_test(names_follow_from_the_loads_before),
		cmocka_unit_test(loads_have_the_names_of_both_programs),
		cmocka_unit_test(the_most_that_loads_have_at_once_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
