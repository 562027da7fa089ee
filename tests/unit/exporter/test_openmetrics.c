/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text for Prometheus: labels, histograms, both formats. Tests
 * user/exporter/openmetrics_text.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hist.h"
#include "exporter/openmetrics.h"
#include "run/account.h"
#include "run/kind.h"

#define READ    27
#define LOGIN   18
#define NOBODYS 99 /* a command without a name */

static const uint64_t took_ns[] = { 1,         12799,     12800,       12801,     102400,
				    838860799, 838860800, 60000000000, 1ull << 40 };

#define N_TOOK (sizeof(took_ns) / sizeof(took_ns[0]))

static struct ledger_account account(uint16_t number, uint64_t n, uint64_t errors)
{
	return (struct ledger_account) {
		.account = number,
		.sum = { .begun = n, .answered = n, .errors = errors, .bytes_in = 10 * n },
	};
}

/* Its requests took so long. */
static void fill(struct ledger_account *a)
{
	size_t bucket;

	for (size_t i = 0; i < N_TOOK; i++) {
		bucket = hist_index(took_ns[i], AFS_REQUEST_BITS);
		a->hist[bucket < AFS_REQUEST_BUCKETS ? bucket : AFS_REQUEST_BUCKETS - 1]++;
		a->sum.ns += took_ns[i];
	}
}

static char *text_of(const struct tally *t, bool openmetrics)
{
	const struct openmetrics_style s = { .openmetrics = openmetrics,
					     .created_ms = 1700000000123,
					     .unwatched_ns = 12000000034 };
	char *text = NULL;
	size_t len, age_at;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(openmetrics_write(out, t, &s, &age_at), 0);
	fclose(out);
	return text;
}

/* The value of a sample, which must be there once. */
static const char *value(const char *text, const char *sample)
{
	size_t len = strlen(sample);
	const char *found = NULL;

	for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		if (strncmp(at, sample, len) != 0 || at[len] != ' ')
			continue;
		assert_null(found);
		found = at + len + 1;
	}
	if (!found)
		fail_msg("no sample %s in:\n%s", sample, text);
	return found;
}

static uint64_t number(const char *text, const char *sample)
{
	return strtoull(value(text, sample), NULL, 10);
}

static bool has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void a_bucket_has_exactly_what_took_no_longer_than_its_border(void **state)
{
	struct ledger_account a = account(READ, N_TOOK, 0);
	struct tally t = { .up = true };
	char sample[160], *text;
	uint64_t border, before = 0, n, expected;

	(void)state;
	fill(&a);
	t.shown.ledger.account = &a;
	t.shown.ledger.n_accounts = 1;
	text = text_of(&t, false);
	for (size_t i = 0; (border = openmetrics_border(i)); i++) {
		expected = 0;
		for (size_t k = 0; k < N_TOOK; k++)
			expected += took_ns[k] <= border - 1;
		assert_int_equal(hist_low(hist_index(border, AFS_REQUEST_BITS), AFS_REQUEST_BITS),
				 border);
		snprintf(sample, sizeof(sample),
			 "afpscope_request_duration_seconds_bucket{command=\"FPRead\","
			 "le=\"%llu.%09llu\"}",
			 (unsigned long long)(border - 1) / 1000000000,
			 (unsigned long long)(border - 1) % 1000000000);
		n = number(text, sample);
		assert_int_equal(n, expected);
		assert_true(n >= before);
		before = n;
	}
	n = number(text,
		   "afpscope_request_duration_seconds_bucket{command=\"FPRead\",le=\"+Inf\"}");
	assert_int_equal(n, N_TOOK);
	assert_int_equal(
	    number(text, "afpscope_request_duration_seconds_count{command=\"FPRead\"}"), n);
	assert_int_equal(number(text, "afpscope_requests_total{command=\"FPRead\"}"), n);
	assert_true(has_line(text, "afpscope_unwatched_seconds_total 12.000000034"));
	free(text);
}

static void times_are_in_seconds_to_the_nanosecond(void **state)
{
	struct ledger_account a = account(READ, 1, 0);
	struct ledger_part part[] = {
		{ .account = READ,
		  .role = AFS_ROLE_SERVER,
		  .class = AFS_CLASS_USER,
		  .part = { .cpu_ns = 1234567890, .runq_ns = 5 } },
		{ .account = READ,
		  .role = AFS_ROLE_SERVER,
		  .class = AFS_CLASS_READ,
		  .object = AFS_OBJECT_DATA,
		  .part = { .blocked_ns = 7000000000 } },
	};
	struct tally t = { .up = true };
	char *text;

	(void)state;
	a.sum.ns = 8234567895;
	t.shown.ledger = (struct ledger) {
		.account = &a, .n_accounts = 1, .part = part, .n_parts = 2
	};
	text = text_of(&t, true);
#define TIME(part) "afpscope_request_time_seconds_total{command=\"FPRead\",part=\"" part "\"}"
	assert_memory_equal(value(text, TIME("user")), "1.234567890\n", 12);
	assert_memory_equal(value(text, TIME("runq")), "0.000000005\n", 12);
	assert_memory_equal(value(text, TIME("disk")), "7.000000000\n", 12);
	assert_memory_equal(
	    value(text, "afpscope_request_duration_seconds_sum{command=\"FPRead\"}"),
	    "8.234567895\n", 12);
	assert_null(strstr(text, "part=\"lock\""));
	free(text);
}

static void openmetrics_has_units_and_an_end_and_the_older_text_has_not(void **state)
{
	struct ledger_account a = account(READ, 3, 0);
	struct tally t = { .up = true };
	char *text;

	(void)state;
	t.shown.ledger.account = &a;
	t.shown.ledger.n_accounts = 1;
	text = text_of(&t, true);
	assert_true(has_line(text, "# TYPE afpscope_requests counter"));
	assert_true(has_line(text, "# UNIT afpscope_request_time_seconds seconds") ||
		    !strstr(text, "afpscope_request_time_seconds"));
	assert_true(has_line(text, "# UNIT afpscope_request_received_bytes bytes"));
	assert_true(has_line(text, "# TYPE afpscope info"));
	assert_memory_equal(value(text, "afpscope_requests_created{command=\"FPRead\"}"),
			    "1700000000.123\n", 15);
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
	free(text);
	text = text_of(&t, false);
	assert_true(has_line(text, "# TYPE afpscope_requests_total counter"));
	assert_true(has_line(text, "# TYPE afpscope_info gauge"));
	assert_null(strstr(text, "# UNIT"));
	assert_null(strstr(text, "# EOF"));
	assert_null(strstr(text, "_created"));
	free(text);
}

/* Two of one host, in one file of node_exporter. */
static void every_sample_says_of_which_server_it_is(void **state)
{
	struct ledger_account a = account(READ, 3, 0);
	struct openmetrics_style style = { .name = "two\"rooms" };
	struct tally t = { .up = true };
	char *text;
	size_t len, age_at, n = 0;
	FILE *out;

	(void)state;
	t.shown.ledger.account = &a;
	t.shown.ledger.n_accounts = 1;
	t.shown.port = 548;
	out = open_memstream(&text, &len);
	assert_int_equal(openmetrics_write(out, &t, &style, &age_at), 0);
	fclose(out);
	assert_int_equal(number(text, "afpscope_up{port=\"548\",name=\"two\\\"rooms\"}"), 1);
	assert_int_equal(number(text, "afpscope_requests_total{command=\"FPRead\",port=\"548\","
				      "name=\"two\\\"rooms\"}"),
			 3);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++)
		assert_true(line[0] == '#' || strstr(line, "port=\"548\",name="));
	assert_true(n > 20);
	free(text);
	/* The one that was asked for, also before it is there. */
	style = (struct openmetrics_style) { .port = 10548 };
	out = open_memstream(&text, &len);
	assert_int_equal(openmetrics_write(out, &t, &style, &age_at), 0);
	fclose(out);
	assert_int_equal(number(text, "afpscope_up{port=\"10548\"}"), 1);
	free(text);
}

static void help_has_the_words_of_the_kind(void **state)
{
	static const struct run_kind plain = { .word = { [RUN_WORD_BACKEND] = "plain store" } };
	const struct openmetrics_style styles[] = { { 0 }, { .kind = &plain } };
	const char *const words[] = { " What the CNID server did", " What the plain store did" };
	struct ledger_account a = account(READ, 3, 0);
	struct tally t = { .up = true };

	(void)state;
	a.sum.inside[0] = 1;
	t.shown.ledger.account = &a;
	t.shown.ledger.n_accounts = 1;
	for (size_t i = 0; i < 2; i++) {
		char *text = NULL;
		size_t len, age_at;
		FILE *out = open_memstream(&text, &len);

		assert_int_equal(openmetrics_write(out, &t, &styles[i], &age_at), 0);
		fclose(out);
		assert_non_null(strstr(text, words[i]));
		assert_int_equal(!strstr(text, "CNID"), i);
		free(text);
	}
}

/* Each family's head is there once, directly before its samples. */
static void each_head_is_followed_by_its_own_samples(void **state)
{
	struct ledger_account a[] = { account(LOGIN, 3, 1), account(READ, 3, 0) };
	struct tally t = { .up = true };
	char *text, name[128] = "";
	size_t heads = 0;

	(void)state;
	t.shown.ledger.account = a;
	t.shown.ledger.n_accounts = 2;
	text = text_of(&t, true);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "# TYPE %127s", name) == 1)
			heads++;
		else if (line[0] != '#')
			assert_memory_equal(line, name, strlen(name));
	}
	assert_true(heads > 5);
	free(text);
}

static void labels_are_escaped_and_bounded(void **state)
{
	char out[OPENMETRICS_LABEL_MAX], long_text[1000];

	(void)state;
	assert_string_equal(openmetrics_label(out, "a\"b\\c\nd\x1b[2J\xff\xc3\xa4"),
			    "a\\\"b\\\\c?d?[2J?\xc3\xa4");
	memset(long_text, '"', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	openmetrics_label(out, long_text);
	assert_true(strlen(out) < OPENMETRICS_LABEL_MAX && strlen(out) % 2 == 0);
}

static void what_the_server_says_of_itself_ends_no_line(void **state)
{
	struct tally t = { .up = true };
	char *text;

	(void)state;
	strcpy(t.shown.server, "x\"} 1\nafpscope_up 7\n");
	strcpy(t.shown.rung, "bpf");
	text = text_of(&t, false);
	assert_int_equal(number(text, "afpscope_up"), 1);
	assert_non_null(strstr(text, ",rung=\"bpf\",server=\"x\\\"} 1?afpscope_up 7?\"} 1\n"));
	free(text);
}

static void commands_without_a_name_are_one(void **state)
{
	struct ledger_account a[] = { account(READ, 2, 0), account(NOBODYS, 3, 3),
				      account(NOBODYS + 1, 4, 0) };
	struct ledger_result result[] = { { NOBODYS, -5000, 3 },
					  { READ, -5018, 1 },
					  { READ, 77, 1 } };
	struct tally t = { .up = true };
	char *text;

	(void)state;
	t.shown.ledger = (struct ledger) {
		.account = a, .n_accounts = 3, .result = result, .n_results = 3
	};
	text = text_of(&t, false);
	assert_int_equal(number(text, "afpscope_requests_total{command=\"FPRead\"}"), 2);
	assert_int_equal(number(text, "afpscope_requests_total{command=\"other\"}"), 7);
	assert_int_equal(number(text, "afpscope_request_received_bytes_total{command=\"other\"}"),
			 70);
#define ERRORS(command, code)                                                                      \
	number(text, "afpscope_request_errors_total{command=\"" command "\",code=\"" code "\"}")
	assert_int_equal(ERRORS("FPRead", "-5018"), 1);
	assert_int_equal(ERRORS("FPRead", "other"), 1);
	assert_int_equal(ERRORS("other", "other"), 3);
	assert_null(strstr(text, "duration_seconds_bucket{command=\"other\""));
	free(text);
}

static void what_is_not_known_is_absent(void **state)
{
	struct tally t = { 0 };
	char *text = text_of(&t, false);

	(void)state;
	assert_int_equal(number(text, "afpscope_up"), 0);
	assert_null(strstr(text, "afpscope_sessions"));
	assert_null(strstr(text, "where=\"programs\""));
	assert_null(strstr(text, "afpscope_requests"));
	assert_null(strstr(text, "afpscope_server_cpu"));
	assert_null(strstr(text, "afpscope_reading_age"));
	free(text);
}

static void openmetrics_is_sent_to_who_takes_it(void **state)
{
	static const char *const yes[] = {
		"application/openmetrics-text",
		"text/plain, application/openmetrics-text; version=1.0.0; q=0.5",
		"application/openmetrics-text;version=1.0.0;q=0.75,text/plain;q=0.5,*/*;q=0.1",
	};
	static const char *const no[] = { "text/plain",
					  "*/*",
					  "",
					  "application/openmetrics-text;q=0",
					  "application/openmetrics-text-2",
					  ",;,;q=" };

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(openmetrics_wanted(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(openmetrics_wanted(no[i]));
	assert_false(openmetrics_wanted(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_has_exactly_what_took_no_longer_than_its_border),
		cmocka_unit_test(times_are_in_seconds_to_the_nanosecond),
		cmocka_unit_test(openmetrics_has_units_and_an_end_and_the_older_text_has_not),
		cmocka_unit_test(every_sample_says_of_which_server_it_is),
		cmocka_unit_test(help_has_the_words_of_the_kind),
		cmocka_unit_test(each_head_is_followed_by_its_own_samples),
		cmocka_unit_test(labels_are_escaped_and_bounded),
		cmocka_unit_test(what_the_server_says_of_itself_ends_no_line),
		cmocka_unit_test(commands_without_a_name_are_one),
		cmocka_unit_test(what_is_not_known_is_absent),
		cmocka_unit_test(openmetrics_is_sent_to_who_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
