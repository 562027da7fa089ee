/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines and the JSON of top.
 * Tests user/top/top_rows.c, top_text.c, top_head.c, top_line.c,
 * top_json.c.
 */
#include "base/text.h"
#include "top/top_rows.h"

#include "base/hist.h"
#include "report/cell.h"
#include "top/top_line.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS     1000000u
#define SECOND 1000000000u

/* Shown as text it moves a cursor, ends a line, changes the direction, is no UTF-8. */
#define HOSTILE "a\x1b[2J\nb\xc2\x9b\x7f\x80\xff\r\t\"\\\xe2\x80\xae"

static const size_t widths[] = { 80, 100, 200 };

static struct live_row *row(struct live_table *t, const char *name, uint64_t n, uint64_t each_ns)
{
	struct live_row *r = live_table_row(t, name);

	assert_non_null(r);
	r->sum.requests = n;
	r->sum.ns = r->sum.service_ns = n * each_ns;
	r->sum.hist[hist_index(each_ns, AFS_REQUEST_BITS)] = n;
	return r;
}

static struct live_table *sample(void)
{
	struct live_table *t = live_table_new();
	struct live_row *r;

	assert_non_null(t);
	r = row(t, "FPOpenFork", 100, 5 * MS);
	r->sum.errors = 3;
	r->sum.bytes_in = 2500000;
	r->sum.time_ns[ACCOUNT_DISK] = 300 * (uint64_t)MS;
	r->sum.time_ns[ACCOUNT_CNID] = 100 * (uint64_t)MS;
	r->sum.time_ns[ACCOUNT_USER] = 100 * (uint64_t)MS;
	r = row(t, "FPRead", 1000, MS / 10);
	r->sum.bytes_out = 50000000;
	r->sum.time_ns[ACCOUNT_NET] = 100 * (uint64_t)MS;
	row(t, "FPLogin", 1, 900 * (uint64_t)MS)->sum.handed = 1;
	row(t, "FPLogout", 0, 0);
	return t;
}

static struct top_view view_of(enum live_by by, enum top_column sort)
{
	return (struct top_view) { .by = by, .sort = sort, .filter = "", .one = "" };
}

static struct live_step step_of(void)
{
	struct live_step s = { .begun_ns = SECOND, .ended_ns = 3 * (uint64_t)SECOND };

	s.has_requests = true;
	s.sessions = 9;
	s.active = 4;
	s.in_service = 2;
	s.oldest_ns = 1500 * (uint64_t)MS;
	s.server_cpu_ns = SECOND;
	s.backend_cpu_ns = SECOND / 4;
	s.logins = 6;
	s.all.requests = 2469;
	s.all.errors = 6;
	s.all.ns = s.all.service_ns = 800 * (uint64_t)MS;
	s.all.hist[hist_index(MS, AFS_REQUEST_BITS)] = 2469;
	s.all.time_ns[ACCOUNT_DISK] = 600 * (uint64_t)MS;
	s.all.time_ns[ACCOUNT_USER] = 200 * (uint64_t)MS;
	return s;
}

static struct top_status status_of(const struct live_step *step)
{
	return (struct top_status) {
		.step = step,
		.program = "afpd",
		.pid = 4711,
		.port = 548,
		.watched_ns = 3725 * (uint64_t)SECOND,
		.delay_s = 2,
		.own_cpu = 0.004,
		.programs_cpu = 0.012,
		.opinion = "requests waited for the disk",
	};
}

/* The text of a step; to be freed. */
static char *text_of(const struct live_table *t, const struct top_view *v, size_t width,
		     size_t lines)
{
	const struct live_step step = step_of();
	const struct top_status status = status_of(&step);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(top_text(out, &status, v, t, width, lines), 0);
	fclose(out);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static size_t lines_of(const char *text, size_t width)
{
	size_t n = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1, n++) {
		char line[TOP_LINE_MAX];

		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		assert_true(text_columns(line) <= width);
	}
	return n;
}

static void is_clean(const char *text)
{
	for (const char *c = text; *c; c++)
		assert_true((unsigned char)*c >= ' ' || *c == '\n');
	assert_null(strchr(text, 0x7f));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
}

/* Order and choice */

static void order_is(const struct live_table *t, const struct top_view *v, const char *const *names)
{
	static const struct live_row *rows[LIVE_ROWS];
	size_t n = top_rows(rows, t, v), i;

	for (i = 0; names[i]; i++) {
		assert_true(i < n);
		assert_string_equal(rows[i]->name, names[i]);
	}
	assert_int_equal(n, i);
}

static void each_column_sorts(void **state)
{
	static const struct {
		enum top_column sort;
		const char *names[5];
	} cases[] = {
		{ TOP_TIME, { "FPLogin", "FPOpenFork", "FPRead", "FPLogout" } },
		{ TOP_BUSY, { "FPLogin", "FPOpenFork", "FPRead", "FPLogout" } },
		{ TOP_RATE, { "FPRead", "FPOpenFork", "FPLogin", "FPLogout" } },
		{ TOP_ERRORS, { "FPOpenFork", "FPLogin", "FPLogout", "FPRead" } },
		{ TOP_P50, { "FPLogin", "FPOpenFork", "FPRead", "FPLogout" } },
		{ TOP_P99, { "FPLogin", "FPOpenFork", "FPRead", "FPLogout" } },
		{ TOP_MEAN, { "FPLogin", "FPOpenFork", "FPRead", "FPLogout" } },
		{ TOP_IN, { "FPOpenFork", "FPLogin", "FPLogout", "FPRead" } },
		{ TOP_OUT, { "FPRead", "FPLogin", "FPLogout", "FPOpenFork" } },
		{ TOP_CPU, { "FPOpenFork", "FPLogin", "FPLogout", "FPRead" } },
		{ TOP_RUNQ, { "FPLogin", "FPLogout", "FPOpenFork", "FPRead" } },
		{ TOP_DISK, { "FPOpenFork", "FPLogin", "FPLogout", "FPRead" } },
		{ TOP_CNID, { "FPOpenFork", "FPLogin", "FPLogout", "FPRead" } },
		{ TOP_VOLUME, { "FPLogin", "FPLogout", "FPOpenFork", "FPRead" } },
		{ TOP_NAME, { "FPLogin", "FPLogout", "FPOpenFork", "FPRead" } },
	};
	struct live_table *t = sample();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct top_view v = view_of(LIVE_COMMAND, cases[i].sort);
		const char *reversed[5] = { 0 };

		order_is(t, &v, cases[i].names);
		for (size_t k = 0; k < 4; k++)
			reversed[k] = cases[i].names[3 - k];
		v.inverted = true;
		order_is(t, &v, reversed);
	}
	live_table_free(t);
}

static void who_waits_for_a_hanging_request_is_above(void **state)
{
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_USER, TOP_TIME);
	struct live_row *r = row(t, "hanging", 0, 0);
	char *text;

	(void)state;
	r->in_service = 1;
	r->oldest_ns = 30 * (uint64_t)SECOND;
	r->sum.service_ns = 2 * (uint64_t)SECOND;
	order_is(t, &v,
		 (const char *const[]) { "hanging", "FPLogin", "FPOpenFork", "FPRead", "FPLogout",
					 NULL });
	text = text_of(t, &v, 100, 40);
	has(text, "hanging           1.00      0     0      -       0      0    1    30s ");
	free(text);
	live_table_free(t);
}

static void a_filter_chooses_rows_by_any_name(void **state)
{
	struct live_table *t = live_table_new();
	struct top_view v = view_of(LIVE_SESSION, TOP_TIME);
	struct live_row *r = row(t, "ann 10.0.0.1:1 (1)", 2, MS);

	(void)state;
	r->user = strdup("ann");
	r->volume = strdup("Projects");
	r = row(t, "anna 10.0.0.2:1 (2)", 1, MS);
	r->user = strdup("anna");
	v.filter = "PROJ";
	order_is(t, &v, (const char *const[]) { "ann 10.0.0.1:1 (1)", NULL });
	v.filter = "10.0.0";
	order_is(t, &v,
		 (const char *const[]) { "ann 10.0.0.1:1 (1)", "anna 10.0.0.2:1 (2)", NULL });
	v.filter = "";
	v.of = LIVE_USER;
	v.one = "ann"; /* and not anna */
	order_is(t, &v, (const char *const[]) { "ann 10.0.0.1:1 (1)", NULL });
	v.of = LIVE_SESSION;
	v.one = "anna 10.0.0.2:1 (2)";
	order_is(t, &v, (const char *const[]) { "anna 10.0.0.2:1 (2)", NULL });
	v.of = LIVE_VOLUME;
	v.one = "nothing";
	order_is(t, &v, (const char *const[]) { NULL });
	live_table_free(t);
}

/* Lines */

static void the_table_at_80_columns(void **state)
{
	static const char *const lines[] = {
		"COMMAND           BUSY  REQ/S ERR/S    p50    p99 MB/s in    out TIME*\n",
		"FPLogin           0.45    0.5     0  890ms  890ms       0      0 n/a\n",
		"FPOpenFork        0.25     50   1.5  5.1ms  5.2ms     1.2      0 ooodddddddddiii\n",
		"FPRead            0.05    500     0  100us  100us       0   25.0 nnnnnnnnnnnnnnn\n",
		"FPLogout          0.00      0     0      -      -       0      0 ...............\n",
	};
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_COMMAND, TOP_TIME);
	char *text = text_of(t, &v, 80, 40);

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		has(text, lines[i]);
	free(text);
	live_table_free(t);
}

static void what_is_above_the_table_at_80_columns(void **state)
{
	static const char *const lines[] = {
		"afpd, process 4711, port 548: 4 of 9 sessions active          1:02:05, every 2 s\n",
		"1,235 requests/s  mean 324us  2 in service, oldest 1.5s  3.0 errors/s",
		"\noooooooooooooooooooodddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd\n",
		"\nd disk 75%  o own code 25%\n",
		"lost 0  CPU: server 50%, CNID 12%  watching: afpscope 0.4%, in the kernel 1.2%\n",
		"Doctor: requests waited for the disk\n",
	};
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_COMMAND, TOP_TIME);
	char *text = text_of(t, &v, 80, 40);

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		has(text, lines[i]);
	free(text);
	text = text_of(t, &v, 200, 40);
	has(text, "  2 in service, oldest 1.5s  3.0 errors/s  3.0 logins/s\n");
	free(text);
	live_table_free(t);
}

static void columns_drop_out_in_their_order(void **state)
{
	static const struct {
		size_t width;
		const char *heading;
	} cases[] = {
		{ 15, "USER" },
		{ 25, "USER              BUSY" },
		{ 38, "USER              BUSY  REQ/S   mean" },
		{ 53, "USER              BUSY  REQ/S   mean TIME*" },
		{ 58, "USER              BUSY  REQ/S   mean OLDEST TIME*" },
		{ 63, "USER              BUSY  REQ/S ERR/S   mean OLDEST TIME*" },
		{ 77, "USER              BUSY  REQ/S ERR/S   mean MB/s in    out OLDEST TIME*" },
		{ 83,
		  "USER              BUSY  REQ/S ERR/S   mean MB/s in    out  NOW OLDEST TIME*" },
	};
	struct top_view v = view_of(LIVE_USER, TOP_TIME);
	struct top_layout l;
	struct top_line line;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		top_lay(&l, &v, NULL, 0, cases[i].width);
		top_heading(&line, &l, &v, NULL);
		while (line.len && line.text[line.len - 1] == ' ')
			line.text[--line.len] = '\0';
		assert_string_equal(line.text, cases[i].heading);
	}
}

static void a_wide_line_has_longer_names_and_bars(void **state)
{
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_FILE, TOP_TIME);
	char *text;

	(void)state;
	row(t, "a file with a name of more than thirty columns", 10000, MS);
	text = text_of(t, &v, 200, 40);
	has(text, "\na file with a name of more than thirty columns   5.00 ");
	free(text);
	text = text_of(t, &v, 80, 40);
	has(text, "\na file with a name of more than thirty c…   5.00 ");
	free(text);
	live_table_free(t);
}

static void a_wide_table_has_the_parts_as_numbers(void **state)
{
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_SESSION, TOP_VOLUME);
	char *text;

	(void)state;
	t->row[0]->volume = strdup("b" HOSTILE);
	t->row[1]->volume = strdup("a volume with a long name");
	text = text_of(t, &v, 160, 40);
	is_clean(text);
	has(text, " NOW OLDEST   CPU  RUNQ  DISK  CNID VOLUME*              TIME\n");
	has(text, "   -   20%    0%   60%   20% ba?[2J?b?");
	has(text, "   -    0%    0%    0%    0% a volume with a lon\xe2\x80\xa6 nnn");
	has(text, "   -   n/a   n/a   n/a   n/a                      n/a\n");
	has(text, "   -     -     -     -     -                      ...");
	assert_true(strstr(text, "FPRead") < strstr(text, "FPOpenFork"));
	free(text);
	v.by = LIVE_COMMAND;
	text = text_of(t, &v, 160, 40);
	has(text, "  out   CPU  RUNQ  DISK  CNID TIME\n");
	free(text);
	live_table_free(t);
}

static void a_block_has_no_more_lines_than_allowed(void **state)
{
	struct live_table *t = live_table_new();
	struct top_view v = view_of(LIVE_FILE, TOP_TIME);
	char name[32], *text;

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "file %d", i);
		row(t, name, 200 - (uint64_t)i, MS);
	}
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		text = text_of(t, &v, widths[i], 40);
		assert_int_equal(lines_of(text, widths[i]), 40);
		has(text, "\nfile 30 ");
		has(text, "\nand 169 more rows\n\n");
		assert_null(strstr(text, "\nfile 31 "));
		free(text);
	}
	live_table_free(t);
}

static void hostile_names_are_cleaned_at_every_width(void **state)
{
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_FILE, TOP_TIME);
	struct live_step step = step_of();
	struct top_status status = status_of(&step);
	struct top_line head[TOP_HEAD];
	char *text, longest[256];

	(void)state;
	memset(longest, 0x1b, sizeof(longest));
	longest[255] = '\0';
	row(t, HOSTILE, 5000, MS);
	row(t, longest, 5001, MS);
	row(t, "\xe6\x97\xa5\xe6\x9c\xac", 4000, MS);
	row(t, "", 4001, MS);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		text = text_of(t, &v, widths[i], 40);
		lines_of(text, widths[i]);
		is_clean(text);
		has(text, "\na?[2J?b?");
		has(text, "\n\xe6\x97\xa5\xe6\x9c\xac ");
		has(text, "\n(not known) ");
		free(text);
	}
	status.opinion = status.program = HOSTILE;
	for (size_t i = top_head(head, &status, 80); i--;)
		is_clean(head[i].text);
	live_table_free(t);
}

static void what_is_lost_stands_out_and_is_never_cut_off(void **state)
{
	struct live_step step = step_of();
	struct top_status status = status_of(&step);
	struct top_line head[TOP_HEAD];

	(void)state;
	top_head(head, &status, 80);
	assert_int_equal(head[4].alarm_len, 0);
	step.lost = 1234567;
	status.programs_cpu = -1;
	for (size_t width = 20; width <= 200; width += 20) {
		top_head(head, &status, width);
		assert_memory_equal(head[4].text + head[4].alarm_at, "lost 1,234,567", 14);
		assert_int_equal(head[4].alarm_len, 14);
	}
	has(head[4].text, "afpscope 0.4%, in the kernel n/a");
}

/* Bars */

static const char *bar(const struct live_sum *s, size_t columns, bool in_steps)
{
	static struct top_line l;

	line_clear(&l);
	line_bar(&l, s, columns, in_steps);
	assert_int_equal(l.columns, columns);
	return l.text;
}

static void a_bar_is_the_shares(void **state)
{
	struct live_sum s = { .requests = 1, .ns = 100 };

	(void)state;
	assert_string_equal(bar(&s, 10, false), "??????????");
	assert_string_equal(bar(&s, 10, true), "..........");
	s.time_ns[ACCOUNT_CNID] = 50;
	s.time_ns[ACCOUNT_USER] = 10;
	s.time_ns[ACCOUNT_STOPPED] = 20;
	assert_string_equal(bar(&s, 10, false), "oiiiiiss??");
	s.service_ns = 80;
	assert_string_equal(bar(&s, 8, true), "oiiiiiss");
	s.handed = 1;
	assert_string_equal(bar(&s, 10, false), "n/a       ");
	s.requests = 2; /* of the other one they are known */
	s.service_ns = 100;
	assert_string_equal(bar(&s, 10, true), "oiiiiiss??");
	s = (struct live_sum) { 0 };
	assert_string_equal(bar(&s, 4, false), "....");
}

/* JSON */

static json_t *json_of(const struct live_table *t, const struct top_view *v,
		       const struct top_status *status)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	json_t *o;

	assert_non_null(out);
	assert_int_equal(top_json(out, status, v, t), 0);
	fclose(out);
	assert_ptr_equal(strchr(text, '\n'), text + len - 1);
	for (const char *c = text; *c != '\n'; c += text_char(c))
		assert_true(text_char(c));
	o = json_loads(text, 0, NULL);
	assert_non_null(o);
	free(text);
	return o;
}

static json_int_t number(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

static void json_has_the_step_and_all_rows(void **state)
{
	struct live_step step = step_of();
	struct top_status status = status_of(&step);
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_COMMAND, TOP_TIME);
	json_t *o, *rows, *one;

	(void)state;
	row(t, HOSTILE, 0, 0);
	o = json_of(t, &v, &status);
	assert_int_equal(number(o, "step_ns"), 2 * (json_int_t)SECOND);
	assert_int_equal(number(o, "requests"), 2469);
	assert_int_equal(number(o, "in_service"), 2);
	assert_int_equal(number(o, "own_cpu_ns"), 8 * MS);
	assert_int_equal(number(o, "programs_ns"), 24 * MS);
	assert_true(json_is_null(json_object_get(o, "not_told_apart")));
	rows = json_object_get(o, "rows");
	assert_int_equal(json_array_size(rows), 5);
	one = json_array_get(rows, 0);
	assert_string_equal(json_string_value(json_object_get(one, "name")), "FPLogin");
	assert_true(json_is_null(json_object_get(one, "parts_ns")));
	assert_null(json_object_get(one, "in_service"));
	one = json_array_get(rows, 1);
	assert_int_equal(number(one, "requests"), 100);
	assert_int_equal(number(one, "errors"), 3);
	assert_int_equal(number(json_object_get(one, "parts_ns"), "disk"), 300 * MS);
	assert_true(number(one, "p99_ns") > 46 * MS / 10 && number(one, "p99_ns") < 54 * MS / 10);
	one = json_array_get(rows, 3);
	assert_int_equal(number(one, "requests"), 0);
	assert_true(json_is_null(json_object_get(one, "p50_ns")));
	json_decref(o);
	live_table_free(t);
}

static void what_is_not_known_is_null(void **state)
{
	struct live_step step = step_of();
	struct top_status status = status_of(&step);
	struct live_table *t = sample();
	struct top_view v = view_of(LIVE_SESSION, TOP_TIME);
	json_t *o, *one;

	(void)state;
	t->more = 7;
	t->rest.requests = 70;
	status.programs_cpu = -1;
	status.opinion = NULL;
	o = json_of(t, &v, &status);
	assert_true(json_is_null(json_object_get(o, "programs_ns")));
	assert_true(json_is_null(json_object_get(o, "diagnosis")));
	assert_int_equal(number(json_object_get(o, "not_told_apart"), "times"), 7);
	assert_int_equal(number(json_object_get(o, "not_told_apart"), "requests"), 70);
	one = json_array_get(json_object_get(o, "rows"), 0);
	assert_true(json_is_null(json_object_get(one, "user")));
	assert_int_equal(number(one, "in_service"), 0);
	json_decref(o);
	live_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_column_sorts),
		cmocka_unit_test(who_waits_for_a_hanging_request_is_above),
		cmocka_unit_test(a_filter_chooses_rows_by_any_name),
		cmocka_unit_test(the_table_at_80_columns),
		cmocka_unit_test(what_is_above_the_table_at_80_columns),
		cmocka_unit_test(columns_drop_out_in_their_order),
		cmocka_unit_test(a_wide_line_has_longer_names_and_bars),
		cmocka_unit_test(a_wide_table_has_the_parts_as_numbers),
		cmocka_unit_test(a_block_has_no_more_lines_than_allowed),
		cmocka_unit_test(hostile_names_are_cleaned_at_every_width),
		cmocka_unit_test(what_is_lost_stands_out_and_is_never_cut_off),
		cmocka_unit_test(a_bar_is_the_shares),
		cmocka_unit_test(json_has_the_step_and_all_rows),
		cmocka_unit_test(what_is_not_known_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
