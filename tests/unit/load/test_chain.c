/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The round trips of an action, and how few would do. Tests client/load/chain.c. */
#include "load/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

#define FORK 7

static const struct store_dir home = { 0, 17 };

/* Of verbs as commands, whose names are those of the verbs. */
static struct store_op made(enum store_verb verb, const char *name)
{
	return (struct store_op) { .verb = verb,
				   .dir = home,
				   .to_dir = home,
				   .name = name,
				   .to_name = "onto",
				   .file.id = FORK,
				   .command = (uint8_t)verb,
				   .what = store_verb_name(verb),
				   .opened.id = FORK,
				   .t = { 0, 1, 2 } };
}

/* Sends one and waits for its answer. */
static void go(struct chain *c, enum store_verb verb, const char *name)
{
	struct store_op op = made(verb, name);

	chain_sent(c, &op);
	chain_answered(c, &op);
}

static struct run_trips ended(struct chain *c)
{
	struct run_trips t = { 0 };

	chain_end(c, 0, &t);
	assert_int_equal(t.n, 1);
	return t;
}

static uint64_t together(const struct run_trips *t, enum store_verb verb)
{
	for (size_t i = 0; i < RUN_TOGETHER_MAX && t->together[i].what; i++)
		if (t->together[i].command == verb) {
			assert_string_equal(t->together[i].what, store_verb_name(verb));
			return t->together[i].n;
		}
	return 0;
}

static void requests_one_after_the_other_are_as_many_round_trips(void **state)
{
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	go(&c, STORE_OPEN, "a");
	go(&c, STORE_READ, NULL);
	go(&c, STORE_CLOSE, NULL);
	t = ended(&c);
	assert_int_equal(t.requests, 3);
	assert_int_equal(t.sum, 3);
	assert_int_equal(t.most, 3);
	assert_int_equal(t.least, 3); /* each needs the one before */
	assert_null(t.together[0].what);
}

/* Those of a window share a round trip, whichever is answered first. */
static void a_window_of_w_has_a_wth_of_the_round_trips(void **state)
{
	(void)state;
	for (unsigned int w = 1; w <= 5; w++) {
		struct store_op op[10];
		struct run_trips t;
		struct chain c;
		unsigned int sent = 0;

		chain_begin(&c);
		go(&c, STORE_OPEN, "a");
		while (sent < 10 && sent < w) {
			op[sent] = made(STORE_READ, NULL);
			chain_sent(&c, &op[sent++]);
		}
		for (unsigned int taken = 0; taken < 10; taken++) {
			chain_answered(&c, &op[taken]);
			if (sent == 10)
				continue;
			op[sent] = made(STORE_READ, NULL);
			chain_sent(&c, &op[sent++]);
		}
		go(&c, STORE_CLOSE, NULL);
		t = ended(&c);
		assert_int_equal(t.requests, 12);
		assert_int_equal(t.sum, 2 + (10 + w - 1) / w);
		assert_int_equal(t.least, 3);
		assert_int_equal(together(&t, STORE_READ), 10 - w);
	}
}

static void stats_of_different_files_could_go_together(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	for (size_t i = 0; i < 4; i++)
		go(&c, STORE_PROBE, names[i]);
	t = ended(&c);
	assert_int_equal(t.sum, 4);
	assert_int_equal(t.least, 1);
	assert_int_equal(together(&t, STORE_PROBE), 3);
}

/* A document: read, written beside, put in its place. */
static void put_save(struct chain *c)
{
	struct store_op first = made(STORE_RENAME, "doc"), second = made(STORE_RENAME, "new");

	go(c, STORE_OPEN, "doc");
	go(c, STORE_READ, NULL);
	go(c, STORE_CLOSE, NULL);
	go(c, STORE_CREATE, "new");
	go(c, STORE_OPEN, "new");
	go(c, STORE_WRITE, NULL);
	go(c, STORE_FLUSH, NULL);
	go(c, STORE_CLOSE, NULL);
	first.to_name = "old";
	chain_sent(c, &first);
	chain_answered(c, &first);
	second.to_name = "doc";
	chain_sent(c, &second);
	chain_answered(c, &second);
	go(c, STORE_DELETE, "old");
}

static void a_save_needs_all_but_the_reading_before_it(void **state)
{
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	put_save(&c);
	t = ended(&c);
	assert_int_equal(t.sum, 11);
	assert_int_equal(t.least, 8);
	assert_int_equal(together(&t, STORE_CREATE), 1);
	/* What is destroyed last would be needed if one of these failed. */
	assert_int_equal(together(&t, STORE_RENAME) + together(&t, STORE_DELETE), 0);
}

static void a_list_goes_on_where_the_answer_ended(void **state)
{
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	for (int i = 0; i < 3; i++)
		go(&c, STORE_LIST, NULL);
	t = ended(&c);
	assert_int_equal(t.sum, 3);
	assert_int_equal(t.least, 3);
}

static void what_is_in_a_new_folder_needs_its_id(void **state)
{
	struct store_op folder = made(STORE_MKDIR, "folder"), in = made(STORE_CREATE, "file");
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	folder.made.id = 99;
	chain_sent(&c, &folder);
	chain_answered(&c, &folder);
	in.dir.id = 99;
	chain_sent(&c, &in);
	chain_answered(&c, &in);
	t = ended(&c);
	assert_int_equal(t.sum, 2);
	assert_int_equal(t.least, 2);
}

static void commands_of_a_login_wait_for_each_other(void **state)
{
	struct store_op op = made(STORE_LOGIN, NULL);
	const struct store_part parts[5] = { { 0 } };
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	chain_sent(&c, &op);
	op.parts = parts;
	op.n_parts = 5;
	op.trips = 7;
	chain_answered(&c, &op);
	t = ended(&c);
	assert_int_equal(t.requests, 5);
	assert_int_equal(t.sum, 7);
	assert_int_equal(t.least, 7);
}

/* As of an operation for which a library sends three requests, then of one of its own. */
static void requests_of_one_operation_wait_for_each_other(void **state)
{
	struct store_op op = made(STORE_LIST, NULL);
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	chain_sent(&c, &op);
	op.trips = 3;
	chain_answered(&c, &op);
	go(&c, STORE_PROBE, "a");
	t = ended(&c);
	assert_int_equal(t.requests, 4);
	assert_int_equal(t.sum, 4);
	assert_int_equal(t.least, 3); /* the other one could go with it */
}

/* Its answer came from this program. */
static void a_request_that_is_not_sent_is_no_round_trip(void **state)
{
	struct store_op op = made(STORE_PROBE, "a");
	struct chain c;

	(void)state;
	chain_begin(&c);
	op.t.last_ns = op.t.begun_ns;
	chain_sent(&c, &op);
	chain_answered(&c, &op);
	assert_int_equal(ended(&c).sum, 0);
}

static void of_too_many_names_it_cannot_be_told_how_few_would_do(void **state)
{
	char name[8];
	struct chain c;
	struct run_trips t;

	(void)state;
	chain_begin(&c);
	for (unsigned int i = 0; i <= CHAIN_KEYS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		go(&c, STORE_PROBE, name);
	}
	t = ended(&c);
	assert_int_equal(t.sum, CHAIN_KEYS + 1);
	assert_int_equal(t.n_least, 0);
	chain_begin(&c); /* the next one begins anew */
	go(&c, STORE_PROBE, "a");
	assert_int_equal(ended(&c).n_least, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_one_after_the_other_are_as_many_round_trips),
		cmocka_unit_test(a_window_of_w_has_a_wth_of_the_round_trips),
		cmocka_unit_test(stats_of_different_files_could_go_together),
		cmocka_unit_test(a_save_needs_all_but_the_reading_before_it),
		cmocka_unit_test(a_list_goes_on_where_the_answer_ended),
		cmocka_unit_test(what_is_in_a_new_folder_needs_its_id),
		cmocka_unit_test(commands_of_a_login_wait_for_each_other),
		cmocka_unit_test(requests_of_one_operation_wait_for_each_other),
		cmocka_unit_test(a_request_that_is_not_sent_is_no_round_trip),
		cmocka_unit_test(of_too_many_names_it_cannot_be_told_how_few_would_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
