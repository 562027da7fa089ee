/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of slow requests.
 * Tests user/report/slow.c, user/slow/slow_json.c.
 */
#include "base/text.h"
#include "report/slow.h"

#include "report/cell.h"
#include "run/kind.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000u

/* Shown as text it moves a cursor, ends a line, is no UTF-8. */
#define HOSTILE "a\x1b[2J\nb\xc2\x9b\x7f\x80\xff\r\t\"\\"

static char text[4096];

static struct slow_request sample(struct run_session *s)
{
	static char user[] = "bench1", address[] = "192.168.1.20:51234", volume[] = "vol1";
	struct slow_request q = {
		.r = { .t = 5000 * (uint64_t)MS,
		       .time_ns = 1230 * (uint64_t)MS,
		       .session = 4711,
		       .dsi_id = 17,
		       .command = 26,
		       .calls = 12,
		       .port = 51234,
		       .disk_ns = 1200 * (uint64_t)MS,
		       .cnid_ns = 20 * (uint64_t)MS },
		.session = s,
		.name = { .timestamp = 1,
			  .volume = 1,
			  .dir = 2,
			  .len = 5,
			  .name = 0x3f2a9c0112345678 },
	};

	*s = (struct run_session) { .pid = 4711, .user = user, .address = address };
	s->volume[0] = volume;
	s->n_volumes = 1;
	return q;
}

static const char *shown(const struct slow_request *q, size_t width)
{
	const struct slow_view v = { .width = width };
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_int_equal(slow_text(out, q, &v), 0);
	fclose(out);
	return text;
}

/* Behind the clock. */
static const char *line(const struct slow_request *q, size_t width)
{
	char *end;

	shown(q, width);
	end = strchr(text, '\n');
	assert_non_null(end);
	*end = '\0';
	assert_true(text_columns(text) <= width);
	return text + strlen("00:00:00.000");
}

static void a_line_says_how_long_what_why_who_and_on_what(void **state)
{
	struct run_session s;
	struct slow_request q = sample(&s);
	const char *const plain = "  1.23s FPOpenFork         disk 1.20s               "
				  "bench1@192.168.1.20 vol1 #3f2a9c01";

	(void)state;
	setenv("TZ", "UTC", 1);
	assert_string_equal(line(&q, 100), plain);
	assert_memory_equal(text, "00:00:05.000", 12);
	q.r.result = -5018;
	assert_string_equal(line(&q, 200),
			    "  1.23s FPOpenFork         disk 1.20s; error -5018 (no such object)  "
			    "bench1@192.168.1.20 vol1 #3f2a9c01");
	assert_non_null(strstr(line(&q, 100), " disk 1.20s; error -5018  bench1@"));
	q.running = true;
	assert_string_equal(line(&q, 100), "  1.23s FPOpenFork         still running: disk 1.20s  "
					   "bench1@192.168.1.20 vol1 #3f2a9c01");
	q.before = true;
	assert_non_null(
	    strstr(line(&q, 100), " ≥1.23s (began earlier)    still running: disk 1.20s"));
}

/* Of a volume that is known by its folder; the name behind it says more. */
static void little_room_is_not_for_a_path(void **state)
{
	static char path[] = "/srv/afp/volumes/vol1";
	struct run_session s;
	struct slow_request q = sample(&s);

	(void)state;
	s.volume[0] = path;
	assert_non_null(strstr(line(&q, 120), " /srv/afp/volumes/vol1 #3f2a9c01"));
	assert_non_null(strstr(line(&q, 90), "bench1@192.168.1.20 vol1 #3f2a9c01"));
}

static void parts_are_named_if_they_matter_and_fit(void **state)
{
	struct run_session s;
	struct slow_request q = sample(&s);

	(void)state;
	q.r.disk_ns = 200 * (uint64_t)MS;
	q.r.runq_ns = 600 * (uint64_t)MS;
	q.r.lock_ns = 300 * (uint64_t)MS;
	q.r.log_ns = 1230 * (uint64_t)MS - 1100 * (uint64_t)MS - 20 * (uint64_t)MS;
	assert_non_null(strstr(line(&q, 200), " run queue 600ms, lock 300ms, disk 200ms "));
	assert_non_null(strstr(line(&q, 102), " run queue 600ms, lock 300ms  bench1@"));
	assert_non_null(strstr(line(&q, 80), " run queue 600ms  "));
	/* Not there: less than a tenth. */
	assert_null(strstr(line(&q, 300), "CNID"));
}

static void the_parts_are_all_of_the_time_the_longest_first(void **state)
{
	struct slow_part part[SLOW_PARTS];
	char text[RUN_WORD_MAX];
	struct run_session s;
	struct slow_request q = sample(&s);

	(void)state;
	assert_int_equal(slow_parts(&q.r, NULL, part), 3);
	assert_string_equal(part[0].key, "disk");
	assert_string_equal(part[1].key, "cnid");
	assert_string_equal(run_kind_text(NULL, part[1].text, text, sizeof(text)), "CNID");
	assert_string_equal(part[2].key, "unexplained");
	assert_int_equal(part[2].ns, 10 * MS);
	q.r.time_ns = 1000; /* less than its parts */
	assert_int_equal(slow_parts(&q.r, NULL, part), 2);
}

/* In the words of its kind: its command, its result, and that nothing is known but its time. */
static void a_parked_request_says_so(void **state)
{
	static const char *const names[AFS_N_ACCOUNTS] = { [8] = "READ" };
	static struct account_names accounts;
	struct run_kind kind = { .accounts = &accounts, .parks = true, .has_hex_results = true };
	struct slow_part part[SLOW_PARTS];
	struct slow_request q = { .r = { .command = 8, .time_ns = 5 * MS, .result = -2 } };
	struct slow_view v = { .width = 100, .kind = &kind };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	memcpy(accounts.name, names, sizeof(names));
	assert_int_equal(slow_parts(&q.r, &kind, part), 1);
	assert_string_equal(part[0].key, "parked");
	assert_int_equal(slow_text(out, &q, &v), 0);
	fclose(out);
	assert_non_null(strstr(text, " READ "));
	assert_non_null(strstr(text, " parked 5.00ms; error 0xfffffffe "));
	free(text);
	q.r.calls_ns = MS;
	assert_int_equal(slow_parts(&q.r, &kind, part), 2);
	assert_string_equal(part[0].key, "unexplained");
}

static void what_it_names_is_shown(void **state)
{
	struct run_session s;
	struct slow_request q = sample(&s);

	(void)state;
	q.text = "a file.txt";
	assert_non_null(strstr(line(&q, 100), " vol1 a file.txt"));
	q.name.len = 0;
	q.text = "";
	assert_non_null(strstr(line(&q, 100), " vol1 directory 2"));
	q.name.name = 0;
	q.text = NULL;
	assert_non_null(strstr(line(&q, 110), " vol1 name not read"));
	q.name.timestamp = 0;
	assert_string_equal(line(&q, 110) + 57, "bench1@192.168.1.20 vol1");
	q.session = NULL;
	assert_string_equal(line(&q, 110) + 57, "-@-");
}

static void nothing_hostile_reaches_a_terminal(void **state)
{
	static char hostile[] = HOSTILE;
	struct run_session s;
	struct slow_request q = sample(&s);
	char name[AFS_TEXT_LEN];

	(void)state;
	memset(name, 0x1b, sizeof(name));
	name[255] = '\0';
	s.user = s.volume[0] = hostile;
	q.text = HOSTILE;
	for (size_t width = 1; width < 300; width++) {
		shown(&q, width);
		assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
		for (const char *c = text; c[1]; c++)
			assert_true((uint8_t)*c >= ' ' && *c != 0x7f);
		assert_null(strstr(text, "\xc2\x9b"));
		assert_null(strstr(text, "\xff"));
	}
	q.text = name;
	assert_int_equal(text_columns(line(&q, 100)), 100 - 12);
	assert_non_null(strstr(line(&q, 400), "????????"));
	q.text = "ÄÖÜäöü\xc3";
	for (size_t width = 70; width < 110; width++) /* cut between characters */
		line(&q, width);
}

static struct slow_calls calls_of(const struct slow_request *q)
{
	return (struct slow_calls) {
		.n = 3,
		.more = 7,
		.more_ns = 2 * MS,
		.call = { { .t = q->r.t + MS,
			    .ns = 1200 * (uint64_t)MS,
			    .class = AFS_CLASS_READ,
			    .object = AFS_OBJECT_DATA,
			    .name = "pread64",
			    .fd = 9,
			    .ret = 4096 },
			  { .t = q->r.t + 2 * MS,
			    .ns = 1199 * (uint64_t)MS,
			    .kind = AFS_KIND_BLOCKED,
			    .class = AFS_CLASS_READ,
			    .object = AFS_OBJECT_DATA },
			  { .t = q->r.t + 1201 * (uint64_t)MS,
			    .ns = MS,
			    .kind = AFS_KIND_RUNQ,
			    .class = AFS_CLASS_USER } },
	};
}

static void calls_are_below_it(void **state)
{
	struct run_session s;
	struct slow_request q = sample(&s);
	const struct slow_calls calls = calls_of(&q);

	(void)state;
	q.calls = &calls;
	assert_string_equal(strchr(shown(&q, 100), '\n'),
			    "\n    process 4711, port 51234, request 17, 12 calls\n"
			    "    +1.00ms   1.20s  pread64: read · data file, fd 9 = 4096\n"
			    "    +2.00ms   1.20s    blocked in read · data file\n"
			    "    +1.20s   1.00ms    run queue\n"
			    "    and 7 shorter calls and waits, together 2.00ms\n");
}

/* To be decref'd. */
static json_t *as_json(const struct slow_request *q)
{
	const struct slow_view v = { .offset_ns = 1000000000 };
	FILE *out = fmemopen(text, sizeof(text), "w");
	json_t *o;

	assert_int_equal(slow_json(out, q, &v), 0);
	fclose(out);
	assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
	for (const char *c = text; *c != '\n'; c += text_char(c))
		assert_true(text_char(c));
	o = json_loads(text, 0, NULL);
	assert_non_null(o);
	return o;
}

static const char *string_in(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static long long number_in(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static void json_has_all_of_it(void **state)
{
	struct run_session s;
	struct slow_request q = sample(&s);
	const struct slow_calls calls = calls_of(&q);
	json_t *o;

	(void)state;
	q.r.result = -5018;
	q.calls = &calls;
	o = as_json(&q);
	assert_string_equal(string_in(o, "event"), "slow");
	assert_string_equal(string_in(o, "begin"), "1970-01-01T00:00:06.000000000Z");
	assert_string_equal(string_in(o, "command"), "FPOpenFork");
	assert_string_equal(string_in(o, "user"), "bench1");
	assert_string_equal(string_in(o, "address"), "192.168.1.20:51234");
	assert_string_equal(string_in(o, "name_hash"), "3f2a9c0112345678");
	assert_null(json_object_get(o, "name"));
	assert_int_equal(number_in(o, "time_ns"), 1230 * MS);
	assert_int_equal(number_in(o, "result"), -5018);
	assert_int_equal(number_in(json_object_get(o, "parts_ns"), "disk"), 1200 * MS);
	assert_int_equal(json_array_size(json_object_get(o, "longest")), 3);
	assert_int_equal(number_in(o, "shorter"), 7);
	json_decref(o);
	q.running = true;
	q.calls = NULL;
	o = as_json(&q);
	assert_string_equal(string_in(o, "event"), "running");
	assert_true(json_is_null(json_object_get(o, "result")));
	assert_null(json_object_get(o, "longest"));
	json_decref(o);
}

static void json_is_valid_whatever_the_names_are(void **state)
{
	static char hostile[] = HOSTILE;
	struct run_session s;
	struct slow_request q = sample(&s);
	json_t *o;

	(void)state;
	s.user = s.volume[0] = hostile;
	q.text = HOSTILE;
	o = as_json(&q);
	assert_memory_equal(string_in(o, "name"), "a\x1b[2J\nb", 7);
	assert_string_equal(string_in(o, "name"), string_in(o, "user"));
	json_decref(o);
}

static void the_sum_is_a_line(void **state)
{
	struct slow_sum sum = { .over_ns = 100 * MS,
				.ns = 60 * (uint64_t)1000000000,
				.requests = 81803,
				.slow = 332,
				.left_out = 312,
				.cpu_ns = 60 * MS,
				.attach_ns = 300 * MS,
				.programs_ns = 5 * MS };
	FILE *out = fmemopen(text, sizeof(text), "w");
	json_t *o;

	(void)state;
	slow_text_sum(out, &sum);
	fclose(out);
	assert_string_equal(
	    text, "60.0 s watched: 81,803 requests, 0 lost\n"
		  "  332 slow (100ms or more), 312 left out\n"
		  "  own CPU time 60.0ms (0.1 %), in the kernel 5.00ms, to attach 300ms\n");
	sum.running = 6;
	out = fmemopen(text, sizeof(text), "w");
	slow_text_sum(out, &sum);
	fclose(out);
	assert_non_null(strstr(
	    text, "\n  332 slow (100ms or more), 6 more without an answer yet, 312 left out\n"));
	out = fmemopen(text, sizeof(text), "w");
	assert_int_equal(slow_json_sum(out, &sum), 0);
	assert_int_equal(slow_json_count(out, "left out", 312), 0);
	fclose(out);
	o = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	assert_string_equal(string_in(o, "event"), "end");
	assert_int_equal(number_in(o, "left_out"), 312);
	assert_int_equal(number_in(o, "running"), 6);
	json_decref(o);
	assert_string_equal(strchr(text, '\n') + 1, "{\"event\":\"left out\",\"n\":312}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_how_long_what_why_who_and_on_what),
		cmocka_unit_test(little_room_is_not_for_a_path),
		cmocka_unit_test(parts_are_named_if_they_matter_and_fit),
		cmocka_unit_test(the_parts_are_all_of_the_time_the_longest_first),
		cmocka_unit_test(a_parked_request_says_so),
		cmocka_unit_test(what_it_names_is_shown),
		cmocka_unit_test(nothing_hostile_reaches_a_terminal),
		cmocka_unit_test(calls_are_below_it),
		cmocka_unit_test(json_has_all_of_it),
		cmocka_unit_test(json_is_valid_whatever_the_names_are),
		cmocka_unit_test(the_sum_is_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
