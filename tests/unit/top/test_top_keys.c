/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/top_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE   4
#define ROWS   10
#define ESCAPE 27
#define TAB    '\t'
#define ENTER  '\r'
#define CTRL_C 3

struct rig {
	struct top_state state;
	struct live_table *table;
	const struct live_row *row[LIVE_ROWS];
	size_t n;
};

static void rows(struct rig *r)
{
	r->n = top_rows(r->row, r->table, &r->state.view);
	top_state_rows(&r->state, r->row, r->n, PAGE);
}

/* "row 0" has most time. */
static void set_times(struct rig *r, bool reversed)
{
	char name[16];

	live_table_clear(r->table);
	for (uint64_t i = 0; i < ROWS; i++) {
		snprintf(name, sizeof(name), "row %d", (int)i);
		live_table_row(r->table, name)->sum.service_ns = reversed ? i : ROWS - i;
	}
	rows(r);
}

static int set_up(void **state)
{
	const struct top_view view = { .by = LIVE_USER, .sort = TOP_TIME, .filter = "", .one = "" };
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->table = live_table_new();
	assert_non_null(r->table);
	top_state_begin(&r->state, &view, 1, false);
	set_times(r, false);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	live_table_free(r->table);
	free(r);
	return 0;
}

static void key(struct rig *r, int key)
{
	top_state_key(&r->state, key, r->row, r->n, PAGE);
	rows(r);
}

static void type(struct rig *r, const char *text)
{
	for (; *text; text++)
		key(r, (unsigned char)*text);
}

static const char *cursor(const struct rig *r)
{
	return r->row[r->state.at]->name;
}

static void views_are_chosen(void **state)
{
	static const char keys[] = "cuivsf";
	struct rig *r = *state;

	for (int i = 0; i < LIVE_N; i++) {
		key(r, keys[i]);
		assert_int_equal(r->state.view.by, i);
		assert_int_equal(top_state_wants_files(&r->state), i == LIVE_FILE);
		key(r, TAB);
		assert_int_equal(r->state.view.by, (i + 1) % LIVE_N);
		key(r, TOP_KEY_BACK_TAB);
		assert_int_equal(r->state.view.by, i);
		key(r, TOP_KEY_F + 5);
		assert_int_equal(r->state.view.by, (i + 1) % LIVE_N);
		key(r, '1' + i);
		assert_int_equal(r->state.view.by, i);
	}
}

static void the_cursor_moves_and_stays_on_the_screen(void **state)
{
	static const struct {
		int key;
		size_t at, first;
	} steps[] = {
		{ TOP_KEY_UP, 0, 0 },   { TOP_KEY_DOWN, 1, 0 },      { TOP_KEY_PAGE_DOWN, 4, 1 },
		{ TOP_KEY_END, 9, 6 },  { TOP_KEY_DOWN, 9, 6 },      { TOP_KEY_PAGE_UP, 6, 6 },
		{ TOP_KEY_UP, 5, 5 },   { TOP_KEY_PAGE_DOWN, 8, 5 }, { TOP_KEY_HOME, 0, 0 },
		{ TOP_KEY_LEFT, 0, 0 },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		key(r, steps[i].key);
		assert_int_equal(r->state.at, steps[i].at);
		assert_int_equal(r->state.first, steps[i].first);
	}
}

static void the_cursor_stays_at_its_row_when_the_order_changes(void **state)
{
	struct rig *r = *state;

	assert_string_equal(cursor(r), "row 0");
	set_times(r, true);
	assert_string_equal(cursor(r), "row 9"); /* at the first row it stays at the top */
	set_times(r, false);
	key(r, TOP_KEY_DOWN);
	assert_string_equal(cursor(r), "row 1");
	set_times(r, true);
	assert_string_equal(cursor(r), "row 1");
	assert_int_equal(r->state.at, 8);
	assert_int_equal(r->state.first, 5);
	live_table_clear(r->table); /* it is gone, as all are */
	rows(r);
	assert_int_equal(r->state.at, 0);
	key(r, TOP_KEY_DOWN);
	key(r, ENTER);
	assert_int_equal(r->state.view.by, LIVE_USER);
}

static void enter_shows_the_sessions_of_one(void **state)
{
	struct rig *r = *state;

	key(r, TOP_KEY_DOWN);
	key(r, ENTER);
	assert_int_equal(r->state.view.by, LIVE_SESSION);
	assert_int_equal(r->state.view.of, LIVE_USER);
	assert_string_equal(r->state.view.one, "row 1");
	assert_int_equal(r->n, 0); /* these rows are of nobody */
	key(r, ESCAPE);
	assert_string_equal(r->state.view.one, "");
	assert_int_equal(r->n, ROWS);
	key(r, TOP_KEY_END);
	key(r, ENTER);
	assert_string_equal(r->state.view.one, "row 9");
	assert_int_equal(r->n, 1);
	key(r, 'c');
	assert_string_equal(r->state.view.one, "");
	assert_null(r->state.note);
	key(r, ENTER);
	assert_non_null(r->state.note);
	assert_int_equal(r->state.view.by, LIVE_COMMAND);
}

static void a_filter_is_typed(void **state)
{
	struct rig *r = *state;

	key(r, TOP_KEY_F + 4);
	type(r, "ROW 7\xc3\xa9");
	assert_int_equal(r->n, 0);
	key(r, TOP_KEY_BACKSPACE); /* a character of two bytes */
	assert_string_equal(r->state.filter, "ROW 7");
	assert_int_equal(r->n, 1);
	key(r, ENTER);
	assert_int_equal(r->state.mode, TOP_TABLE);
	assert_string_equal(cursor(r), "row 7");
	key(r, '\\');
	key(r, 127);
	assert_int_equal(r->n, ROWS);
	key(r, 'q'); /* is a letter here */
	assert_false(r->state.quit);
	assert_int_equal(r->n, 0);
	key(r, ESCAPE);
	assert_int_equal(r->n, ROWS);
	key(r, '\\');
	for (int i = 0; i < 1000; i++)
		key(r, 'x');
	assert_int_equal(strlen(r->state.filter), TOP_TEXT_MAX - 1);
	key(r, 7); /* is no letter */
	assert_int_equal(strlen(r->state.filter), TOP_TEXT_MAX - 1);
}

static void a_search_moves_the_cursor(void **state)
{
	struct rig *r = *state;

	live_table_row(r->table, "another row 5")->sum.service_ns = 0;
	rows(r);
	key(r, '/');
	type(r, "5");
	assert_string_equal(cursor(r), "row 5");
	key(r, TOP_KEY_F + 3);
	assert_string_equal(cursor(r), "another row 5");
	key(r, TOP_KEY_F + 3);
	assert_string_equal(cursor(r), "row 5");
	type(r, "x");
	assert_string_equal(cursor(r), "row 5");
	assert_non_null(r->state.note);
	key(r, ENTER);
	assert_int_equal(r->state.mode, TOP_TABLE);
	assert_int_equal(r->n, ROWS + 1);
}

static void the_sort_column_is_chosen(void **state)
{
	struct rig *r = *state;

	key(r, 'I');
	assert_string_equal(cursor(r), "row 9");
	key(r, TOP_KEY_F + 6);
	assert_int_equal(r->state.menu, TOP_TIME);
	key(r, TOP_KEY_DOWN);
	assert_int_equal(r->state.menu, TOP_NAME);
	key(r, TOP_KEY_UP);
	key(r, TOP_KEY_UP);
	assert_int_equal(r->state.menu, TOP_VOLUME);
	key(r, ESCAPE);
	assert_int_equal(r->state.view.sort, TOP_TIME);
	assert_true(r->state.view.inverted);
	key(r, '>');
	key(r, TOP_KEY_DOWN);
	key(r, ENTER);
	assert_int_equal(r->state.view.sort, TOP_NAME);
	assert_false(r->state.view.inverted);
	assert_int_equal(r->state.mode, TOP_TABLE);
	key(r, 'P'); /* there is no p99 of several commands */
	assert_int_equal(r->state.view.sort, TOP_MEAN);
	key(r, 'c');
	key(r, 'P');
	assert_int_equal(r->state.view.sort, TOP_P99);
	key(r, 'T');
	assert_int_equal(r->state.view.sort, TOP_TIME);
}

static void help_ends_with_any_key(void **state)
{
	static const int keys[] = { 'h', '?', TOP_KEY_F + 1 };
	struct rig *r = *state;
	size_t lines = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		key(r, keys[i]);
		assert_int_equal(r->state.mode, TOP_HELP);
		key(r, 'q');
		assert_int_equal(r->state.mode, TOP_TABLE);
		assert_false(r->state.quit);
	}
	while (top_help[lines])
		assert_true(strlen(top_help[lines++]) <= 80);
	assert_true(lines <= 24);
}

static void steps_become_longer_and_shorter(void **state)
{
	struct rig *r = *state;

	key(r, '+');
	assert_true(r->state.delay_s == 2);
	key(r, '-');
	key(r, '-');
	assert_true(r->state.delay_s == 0.5);
	r->state.delay_s = 3;
	key(r, '-');
	assert_true(r->state.delay_s == 2);
	r->state.delay_s = 3;
	key(r, '+');
	assert_true(r->state.delay_s == 5);
	for (int i = 0; i < 20; i++)
		key(r, '+');
	assert_true(r->state.delay_s == TOP_DELAY_MAX);
	for (int i = 0; i < 20; i++)
		key(r, '-');
	assert_true(r->state.delay_s == TOP_DELAY_MIN);
}

static void names_are_shown_only_if_that_was_allowed(void **state)
{
	const struct top_view view = { .filter = "file", .one = "" };
	struct rig *r = *state;

	key(r, 'H');
	assert_false(r->state.texts);
	assert_non_null(r->state.note);
	top_state_begin(&r->state, &view, 1, true);
	assert_string_equal(r->state.view.filter, "file");
	assert_true(r->state.texts);
	key(r, 'H');
	assert_false(r->state.texts);
	key(r, 'H');
	assert_true(r->state.texts);
}

static void it_ends_and_pauses(void **state)
{
	static const int keys[] = { 'q', CTRL_C, TOP_KEY_F + 10 };
	struct rig *r = *state;

	key(r, ' ');
	assert_true(r->state.paused);
	key(r, 'p');
	assert_false(r->state.paused);
	key(r, TOP_KEY_RESIZE);
	key(r, TOP_KEY_NONE);
	key(r, 'x');
	assert_false(r->state.quit);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		r->state.quit = false;
		key(r, keys[i]);
		assert_true(r->state.quit);
	}
	r->state.quit = false;
	key(r, '/');
	key(r, CTRL_C); /* ends it everywhere */
	assert_true(r->state.quit);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(views_are_chosen),
		TEST(the_cursor_moves_and_stays_on_the_screen),
		TEST(the_cursor_stays_at_its_row_when_the_order_changes),
		TEST(enter_shows_the_sessions_of_one),
		TEST(a_filter_is_typed),
		TEST(a_search_moves_the_cursor),
		TEST(the_sort_column_is_chosen),
		TEST(help_ends_with_any_key),
		TEST(steps_become_longer_and_shorter),
		TEST(names_are_shown_only_if_that_was_allowed),
		TEST(it_ends_and_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
