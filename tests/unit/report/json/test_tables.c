/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables.json has what -v prints, with its values.
 * Also tests user/report/section.c.
 */
#include "report/section.h"
#include "unit/report_text.h"
#include "unit/sample_run.h"
#include "unit/sample_transfer.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* tables.json of a run, to be released. */
static json_t *saved(const struct run *r)
{
	char folder[] = "/tmp/afpscope-tables-XXXXXX", path[64];
	struct err e = { 0 };
	json_error_t error;
	json_t *o;
	int fd;

	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	if (report_tables_in(r, fd, folder, &e))
		fail_msg("%s", e.text);
	close(fd);
	snprintf(path, sizeof(path), "%s/tables.json", folder);
	o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(o);
	unlink(path);
	rmdir(folder);
	return o;
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* The first section of this key. */
static json_t *section_of(const json_t *tables, const char *key)
{
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(tables, "sections"), i,
			   s) if (!strcmp(text_of(s, "key"), key)) return s;
	fail_msg("no section %s", key);
	return NULL;
}

/* The cell of the first row that begins so, in the column of this name; *unit: its unit. */
static json_t *cell_of(const json_t *s, const char *row, const char *column, const char **unit)
{
	json_t *columns = json_object_get(s, "columns"), *r, *c;
	size_t at = 0, i, k;

	json_array_foreach(columns, k, c) if (!strcmp(text_of(c, "name"), column))
	{
		at = k + 1;
		*unit = text_of(c, "unit");
	}
	assert_int_not_equal(at, 0);
	json_array_foreach(json_object_get(s, "rows"), i, r)
	{
		json_t *cells = json_object_get(r, "cells");

		if (!cells || strcmp(text_of(json_array_get(cells, 0), "text"), row))
			continue;
		assert_int_equal(json_array_size(cells), json_array_size(columns));
		c = json_array_get(cells, at - 1);
		if (text_of(c, "unit"))
			*unit = text_of(c, "unit");
		return c;
	}
	fail_msg("no row %s", row);
	return NULL;
}

/* -v in a terminal that is wide enough for all columns. */
static char *wide(const struct run *r)
{
	const struct report_opts opts = { .width = 2000 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(report_own(r, &opts, f), 0);
	fclose(f);
	return text;
}

/* Whether a line has all these texts, in their order. */
static bool line_has(const char *line, const json_t *cells)
{
	const char *end = line + strcspn(line, "\n");
	const json_t *c;
	size_t i;

	json_array_foreach(cells, i, c)
	{
		const char *text = text_of(c, "text");

		line = strstr(line, text);
		if (!line || line + strlen(text) > end)
			return false;
		line += strlen(text);
	}
	return true;
}

static bool any_line_has(const char *text, const json_t *cells)
{
	for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
		if (line_has(text, cells))
			return true;
	return false;
}

/* Every title, row and note is in the text; of how many rows. */
static size_t compare(const struct run *r)
{
	json_t *tables = saved(r), *s, *row, *note;
	char *text = wide(r);
	size_t n = 0, i, k;

	json_array_foreach(json_object_get(tables, "sections"), i, s)
	{
		if (!strstr(text, text_of(s, "title")))
			fail_msg("-v has no %s", text_of(s, "title"));
		json_array_foreach(json_object_get(s, "rows"), k, row)
		{
			const char *line = text_of(row, "text");

			n++;
			if (line ? !strstr(text, line)
				 : !any_line_has(text, json_object_get(row, "cells")))
				fail_msg("%s: no row %s", text_of(s, "title"),
					 json_dumps(row, JSON_COMPACT));
		}
		json_array_foreach(json_object_get(s, "notes"), k,
				   note) if (!strstr(text, text_of(note, "text")))
		    fail_msg("no note %s", text_of(note, "text"));
	}
	json_decref(tables);
	free(text);
	return n;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void all_that_is_saved_is_printed(void **state)
{
	char *text = wide(*state);

	/* Heads, headings, the head of the report and lines between rows are no rows. */
	assert_true(compare(*state) > lines_of(text) / 2);
	free(text);
}

static void all_that_is_saved_of_transfers_is_printed(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 3, 5, true);
	assert_true(compare(&r) > 12);
	run_fini(&r);
}

static void all_that_is_saved_of_a_recording_is_printed(void **state)
{
	struct run r;

	(void)state;
	make_record(&r);
	assert_true(compare(&r) > 12);
	run_fini(&r);
}

static void numbers_are_numbers_with_their_unit(void **state)
{
	json_t *tables = saved(*state), *s = section_of(tables, "tests"), *c;
	const char *unit;

	assert_int_equal(json_integer_value(json_object_get(tables, "schema")), 1);
	assert_string_equal(text_of(tables, "run"), "00112233445566ff");
	assert_string_equal(text_of(s, "title"), "Tests");
	c = cell_of(s, "2", "ops", &unit);
	assert_true(json_number_value(json_object_get(c, "value")) == 101);
	assert_string_equal(unit, "1");
	c = cell_of(s, "2", "time_per_op", &unit);
	assert_true(fabs(json_number_value(json_object_get(c, "value")) - 568861.4) < 1);
	assert_string_equal(text_of(c, "text"), "569µs");
	assert_string_equal(unit, "ns");
	c = cell_of(s, "2", "test", &unit);
	assert_string_equal(text_of(c, "value"), "Writing one large file");
	assert_null(unit);
	json_decref(tables);
}

static void the_width_of_a_terminal_takes_no_column(void **state)
{
	json_t *tables = saved(*state);

	assert_int_equal(json_array_size(json_object_get(section_of(tables, "tests"), "columns")),
			 14);
	json_decref(tables);
}

struct kept {
	struct section_sink sink;
	size_t n_rows, n_dropped;
	uint64_t n;
	enum cell_kind kind[3];
};

static void keep(struct section_sink *to, const struct section *s)
{
	struct kept *k = (struct kept *)to;

	k->n_rows = s->n_rows;
	k->n_dropped = s->n_dropped;
	k->n = s->row[0].cell[0].n;
	for (size_t i = 0; i < 3; i++)
		k->kind[i] = s->row[0].cell[i].kind;
}

static const struct section_column three[] = { { .head = "one" },
					       { .head = "two", .drop = 2 },
					       { .head = "three", .drop = 1 } };
static const struct section_type small = { .key = "small", .title = "Small", SECTION_OF(three) };

static void fill_three(struct section *s, uint64_t n)
{
	struct cell *cell = section_row(s)->cell;

	cell[0] = cell_count(n);
	cell[1] = cell_na();
	cell[2] = cell_name("text");
}

static void counts_are_exact_and_what_is_not_known_has_no_value(void **state)
{
	struct kept kept = { .sink = { .take = keep } };
	const struct paint p = { .sink = &kept.sink, .width = 1 };
	struct section s;

	(void)state;
	section_open(&s, &p, &small);
	fill_three(&s, (1ull << 53) + 1);
	assert_int_equal(section_close(&s), 0);
	assert_int_equal(kept.n_rows, 1);
	assert_int_equal(kept.n_dropped, 0);
	assert_true(kept.n == (1ull << 53) + 1);
	assert_int_equal(kept.kind[0], CELL_COUNT);
	assert_int_equal(kept.kind[1], CELL_NONE);
	assert_int_equal(kept.kind[2], CELL_TEXT);
}

static void columns_go_in_their_order(void **state)
{
	static const struct {
		size_t width;
		const char *text;
	} cases[] = {
		{ 17, "\nSmall\n  one  two  three\n  7    n/a   text\n" },
		{ 16, "\nSmall\n  one two three\n  7   n/a  text\n" },
		{ 14, "\nSmall\n  one two\n  7   n/a\n  (1 more column in a wider terminal)\n" },
		{ 8, "\nSmall\n  one\n  7\n  (2 more columns in a wider terminal)\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct paint p = { .width = cases[i].width };
		char *text = NULL;
		struct section s;
		size_t len;

		p.out = open_memstream(&text, &len);
		section_open(&s, &p, &small);
		fill_three(&s, 7);
		assert_int_equal(section_close(&s), 0);
		fclose(p.out);
		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

static void a_section_without_rows_and_notes_is_not_printed(void **state)
{
	char *text = NULL;
	struct paint p = { .width = 80 };
	struct section s;
	size_t len;

	(void)state;
	p.out = open_memstream(&text, &len);
	section_open(&s, &p, &small);
	assert_int_equal(section_close(&s), 0);
	fclose(p.out);
	assert_string_equal(text, "");
	free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_that_is_saved_is_printed),
		TEST(numbers_are_numbers_with_their_unit),
		TEST(the_width_of_a_terminal_takes_no_column),
		cmocka_unit_test(all_that_is_saved_of_transfers_is_printed),
		cmocka_unit_test(all_that_is_saved_of_a_recording_is_printed),
		cmocka_unit_test(counts_are_exact_and_what_is_not_known_has_no_value),
		cmocka_unit_test(columns_go_in_their_order),
		cmocka_unit_test(a_section_without_rows_and_notes_is_not_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
