/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The synthetic run as JSON: what jansson reads back is what the run holds.
 * Also tests user/report/json/doc.c, ledger.c.
 */
#include "report/json/doc.h"
#include "report/report.h"
#include "unit/sample_run.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Saves the run, loads it again; the caller decrefs. */
static json_t *saved(const struct run *r, const char *path)
{
	json_error_t error;
	struct err e = { 0 };
	json_t *o;

	if (report_json(r, path, &e))
		fail_msg("%s", e.text);
	o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!o)
		fail_msg("line %d: %s", error.line, error.text);
	return o;
}

static const char *temp_file(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/afpscope-report-%d.json", (int)getpid());
	return path;
}

static uint64_t member(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("%s is no integer", key);
	return (uint64_t)json_integer_value(v);
}

static void json_holds_what_the_run_holds(void **state)
{
	const struct run *r = *state;
	json_t *o = saved(r, temp_file()), *p, *c;

	assert_int_equal(member(o, "schema"), RUN_SCHEMA);
	assert_string_equal(json_string_value(json_object_get(o, "id")), r->id);
	assert_true(json_is_true(json_object_get(o, "complete")));
	assert_int_equal(json_array_size(json_object_get(o, "phases")), r->n_phases);
	assert_int_equal(json_array_size(json_object_get(o, "metrics")), N_METRICS);
	assert_int_equal(json_array_size(json_object_get(o, "books")), 2);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(o, "server"), "address")),
	    "192.0.2.7:548");
	for (size_t i = 0; i < r->n_phases; i++) {
		p = json_array_get(json_object_get(o, "phases"), i);
		assert_int_equal(member(p, "test"), r->phase[i]->test);
		assert_int_equal(member(json_object_get(p, "metrics"), "elapsed"),
				 r->phase[i]->value[METRIC_ELAPSED]);
		assert_true(
		    json_is_null(json_object_get(json_object_get(p, "metrics"), "afpd_cpu")));
		assert_int_equal(json_array_size(json_object_get(p, "commands")), 3);
		c = json_array_get(json_object_get(p, "commands"), 0);
		assert_int_equal(member(c, "ops"), r->phase[i]->command[0]->latency.n);
		assert_int_equal(member(json_object_get(c, "latency"), "sum_ns"),
				 r->phase[i]->command[0]->latency.sum);
	}
	json_decref(o);
	unlink(temp_file());
}

static void json_says_how_each_metric_is_read(void **state)
{
	json_t *o = saved(*state, temp_file()), *all = json_object_get(o, "metrics");

	assert_int_equal(json_array_size(all), N_METRICS);
	for (size_t m = 0; m < N_METRICS; m++) {
		const json_t *found = json_array_get(all, m);
		const char *better = json_string_value(json_object_get(found, "better"));

		assert_string_equal(json_string_value(json_object_get(found, "key")),
				    run_metrics[m].key);
		assert_string_equal(json_string_value(json_object_get(found, "unit")),
				    run_metrics[m].unit);
		assert_non_null(json_object_get(found, "title"));
		if (m == METRIC_ELAPSED)
			assert_string_equal(better, "lower");
		else
			assert_true(!better || !strcmp(better, "lower") ||
				    !strcmp(better, "higher"));
	}
	json_decref(o);
	unlink(temp_file());
}

static void json_buckets_rebuild_the_histogram(void **state)
{
	const struct run *r = *state;
	json_t *o = saved(r, temp_file()), *list, *pair;
	struct hist *h = calloc(1, sizeof(*h));
	size_t i;

	list = json_array_get(json_object_get(o, "phases"), 0);
	list = json_array_get(json_object_get(list, "commands"), 1);
	list = json_object_get(json_object_get(list, "latency"), "histogram");
	assert_int_equal(member(list, "bits"), HIST_BITS);
	list = json_object_get(list, "buckets");
	json_array_foreach(list, i, pair)
	{
		assert_true(json_integer_value(json_array_get(pair, 1)) > 0);
		h->bucket[json_integer_value(json_array_get(pair, 0))] = (uint64_t)
		    json_integer_value(json_array_get(pair, 1));
	}
	assert_memory_equal(h->bucket, r->phase[0]->command[1]->latency.bucket, sizeof(h->bucket));
	free(h);
	json_decref(o);
	unlink(temp_file());
}

static void json_ledgers_agree_and_unmeasured_ones_are_null(void **state)
{
	struct run *r = *state;
	json_t *o, *l, *row;
	uint64_t calls = 0;
	size_t i;

	r->phase[1]->ledger.has_calls = false;
	r->phase[1]->ledger.has_compat[AFS_ROLE_BACKEND] = false;
	o = saved(r, temp_file());
	l = json_object_get(json_array_get(json_object_get(o, "phases"), 0), "ledger");
	json_array_foreach(json_object_get(l, "rows"), i, row) calls += member(row, "calls");
	assert_true(
	    calls ==
	    ledger_sum(&r->phase[0]->ledger, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS).calls);
	assert_int_equal(member(json_object_get(json_object_get(l, "compat"), "afpd"), "syscr"),
			 9000);
	l = json_object_get(json_array_get(json_object_get(o, "phases"), 1), "ledger");
	assert_true(json_is_null(json_object_get(l, "rows")));
	assert_true(json_is_null(json_object_get(json_object_get(l, "compat"), "cnid_dbd")));
	json_decref(o);
	unlink(temp_file());
}

static const char *string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s)
		fail_msg("%s is no string", key);
	return s;
}

/* The account of this number in a list; NULL: not there. */
static json_t *account_in(const json_t *list, uint64_t number)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		if (member(o, "number") == number)
			return o;
	}
	return NULL;
}

static json_t *ledger_of(const json_t *run, size_t phase)
{
	return json_object_get(json_array_get(json_object_get(run, "phases"), phase), "ledger");
}

/* The parts of one role as sums; returns how many there are. */
static size_t sum_parts(const json_t *account, const char *role, struct afs_part *out)
{
	json_t *o;
	size_t i, n = 0;

	*out = (struct afs_part) { 0 };
	json_array_foreach(json_object_get(account, "parts"), i, o)
	{
		if (strcmp(string(o, "role"), role))
			continue;
		n++;
		out->calls += member(o, "calls");
		out->errors += member(o, "errors");
		out->bytes += member(o, "bytes");
		out->cpu_ns += member(o, "cpu_ns");
		out->blocked_ns += member(o, "blocked_ns");
		out->runq_ns += member(o, "runq_ns");
	}
	return n;
}

static void json_requests_are_what_the_ledger_holds(void **state)
{
	const struct run *r = *state;
	json_t *o = saved(r, temp_file());

	for (size_t i = 0; i < r->n_phases; i++) {
		const struct ledger *l = &r->phase[i]->ledger;
		json_t *list = json_object_get(ledger_of(o, i), "requests");

		assert_int_equal(json_array_size(list), l->n_accounts);
		for (size_t k = 0; k < l->n_accounts; k++) {
			const struct afs_account *want = &l->account[k].sum;
			json_t *a = account_in(list, l->account[k].account);
			struct afs_part sum, part;

			assert_int_equal(member(a, "requests"), want->answered);
			assert_int_equal(member(a, "begun"), want->begun);
			assert_int_equal(member(a, "errors"), want->errors);
			assert_int_equal(member(a, "bytes_in"), want->bytes_in);
			assert_int_equal(member(a, "bytes_out"), want->bytes_out);
			assert_int_equal(member(a, "time_ns"), want->ns);
			sum_parts(a, "afpd", &sum);
			part = ledger_part_sum(l, AFS_ROLE_SERVER, l->account[k].account,
					       LEDGER_ALL, LEDGER_ALL);
			assert_memory_equal(&sum, &part, sizeof(sum));
			assert_int_equal(sum.cpu_ns + sum.blocked_ns + sum.runq_ns, want->ns);
		}
	}
	json_decref(o);
	unlink(temp_file());
}

static void json_times_of_a_request_add_up_to_its_time(void **state)
{
	json_t *o = saved(*state, temp_file()), *a, *v;
	const char *key;
	size_t i;

	json_array_foreach(json_object_get(ledger_of(o, 3), "requests"), i, a)
	{
		uint64_t sum = 0;

		json_object_foreach(json_object_get(a, "times"), key, v)
		    sum += (uint64_t)json_integer_value(v);
		assert_int_equal(sum, member(a, "time_ns"));
	}
	json_decref(o);
	unlink(temp_file());
}

static void json_tells_results_inside_and_histogram_of_a_command(void **state)
{
	json_t *o = saved(*state, temp_file()), *a, *list;
	uint64_t n;

	a = account_in(json_object_get(ledger_of(o, 0), "requests"), 26);
	n = member(a, "requests");
	assert_string_equal(string(a, "name"), "FPOpenFork");
	list = json_object_get(a, "results");
	assert_int_equal(json_array_size(list), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "code")),
			 -5018);
	assert_int_equal(member(json_array_get(list, 0), "n"), 1);
	assert_int_equal(member(json_object_get(a, "inside"), "sync"), 30000 * n);
	assert_int_equal(member(json_object_get(a, "inside"), "idle"), 8000 * n);
	assert_int_equal(member(json_object_get(a, "inside"), "io"), 0);
	assert_int_equal(json_object_size(json_object_get(a, "inside")), AFS_N_INSIDE);
	list = json_object_get(a, "histogram");
	assert_int_equal(member(list, "bits"), AFS_REQUEST_BITS);
	list = json_array_get(json_object_get(list, "buckets"), 0);
	assert_int_equal(json_integer_value(json_array_get(list, 0)),
			 hist_index(100000, AFS_REQUEST_BITS));
	assert_int_equal(json_integer_value(json_array_get(list, 1)), n);
	a = account_in(json_object_get(ledger_of(o, 0), "requests"), 4);
	assert_int_equal(json_array_size(json_object_get(a, "results")), 0);
	json_decref(o);
	unlink(temp_file());
}

static void json_accounts_outside_requests_stand_apart(void **state)
{
	json_t *o = saved(*state, temp_file()), *list, *a;
	struct afs_part sum;

	list = json_object_get(ledger_of(o, 0), "requests");
	assert_null(account_in(list, AFS_ACCOUNT_BETWEEN));
	list = json_object_get(ledger_of(o, 0), "outside");
	assert_int_equal(json_array_size(list), 2);
	a = account_in(list, AFS_ACCOUNT_BETWEEN);
	assert_string_equal(string(a, "name"), "between requests");
	assert_null(json_object_get(a, "requests"));
	assert_int_equal(sum_parts(a, "afpd", &sum), 2);
	assert_int_equal(sum_parts(a, "cnid_dbd", &sum), 0);
	assert_int_equal(member(json_object_get(a, "times"), "user"), 700 * 2667);
	json_decref(o);
	unlink(temp_file());
}

static void json_requests_that_were_not_measured_are_null(void **state)
{
	struct run *r = *state;
	json_t *o;

	r->phase[2]->ledger.has_requests = false;
	o = saved(r, temp_file());
	assert_true(json_is_null(json_object_get(ledger_of(o, 2), "requests")));
	assert_true(json_is_null(json_object_get(ledger_of(o, 2), "outside")));
	assert_true(json_is_array(json_object_get(ledger_of(o, 2), "rows")));
	assert_int_equal(json_array_size(json_object_get(o, "sessions")), 0);
	json_decref(o);
	unlink(temp_file());
}

static void json_sessions_keep_what_is_not_known_apart_from_nothing(void **state)
{
	struct run r;
	json_t *o, *s;

	(void)state;
	make_record(&r);
	o = saved(&r, temp_file());
	assert_true(json_is_null(json_object_get(o, "set")));
	assert_int_equal(json_array_size(json_object_get(o, "sessions")), 3);
	s = json_array_get(json_object_get(o, "sessions"), 0);
	assert_string_equal(string(s, "user"), "mori");
	assert_string_equal(string(s, "user_from"), "owner of its process");
	assert_string_equal(json_string_value(json_array_get(json_object_get(s, "volumes"), 0)),
			    "Projects");
	assert_int_equal(json_array_size(json_object_get(s, "volumes")), 1);
	assert_int_equal(member(s, "volumes_more"), 0);
	assert_string_equal(string(s, "volume_from"), "FPOpenVol");
	assert_string_equal(string(s, "address"), "192.0.2.9:50123");
	assert_true(json_is_null(json_object_get(s, "begun_ns")));
	assert_true(json_is_null(json_object_get(s, "ended_ns")));
	assert_int_equal(member(s, "requests"), 1000);
	assert_int_equal(member(s, "busy_ns"), 50000000);
	s = json_array_get(json_object_get(o, "sessions"), 2);
	assert_true(json_is_null(json_object_get(s, "user")));
	assert_true(json_is_null(json_object_get(s, "user_from")));
	assert_int_equal(json_array_size(json_object_get(s, "volumes")), 0);
	assert_true(json_is_null(json_object_get(s, "volume_from")));
	assert_int_equal(member(s, "begun_ns"), 3500000000);
	assert_int_equal(member(s, "ended_ns"), 4000000000);
	json_decref(o);
	run_fini(&r);
	unlink(temp_file());
}

static void json_survives_bytes_that_are_not_utf_8_and_keys_noted_twice(void **state)
{
	struct run *r = *state;
	json_t *o, *server;

	run_note(&r->server, "volume", "caf\x8e and \xc3\xa4\xf0\x9f\x98\x80\xc3");
	run_note(&r->server, "address", "second");
	o = saved(r, temp_file());
	server = json_object_get(o, "server");
	assert_string_equal(json_string_value(json_object_get(server, "volume")),
			    "caf\xef\xbf\xbd and \xc3\xa4\xf0\x9f\x98\x80\xef\xbf\xbd");
	assert_string_equal(json_string_value(json_object_get(server, "address")),
			    "192.0.2.7:548\nsecond");
	json_decref(o);
	unlink(temp_file());
}

static void json_that_cannot_be_saved_is_an_error_that_names_the_file(void **state)
{
	struct err e = { 0 };

	assert_true(report_json(*state, "/nowhere/at/all.json", &e) < 0);
	assert_non_null(strstr(e.text, "/nowhere/at/all.json"));
}

/* A device would do as well, but a bug would then replace a device of this machine. */
static void json_goes_through_a_pipe_and_does_not_replace_it(void **state)
{
	const char *path = temp_file(); /* of this process, in the child, too */
	struct err e = { 0 };
	char part[4096];
	struct stat st;
	ssize_t n;
	pid_t child;
	int fd, status;

	assert_int_equal(mkfifo(path, 0600), 0);
	child = fork();
	if (!child) {
		size_t all = 0;

		fd = open(path, O_RDONLY);
		while ((n = read(fd, part, sizeof(part))) > 0)
			all += (size_t)n;
		_exit(all > 1000 ? 0 : 1);
	}
	alarm(60);
	assert_int_equal(report_json(*state, path, &e), 0);
	assert_int_equal(lstat(path, &st), 0);
	unlink(path);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	alarm(0);
}

static void json_that_does_not_fit_on_the_disk_leaves_the_old_file_alone(void **state)
{
	struct rlimit before, small;
	struct err e = { 0 };
	struct stat st;
	int r;

	json_decref(saved(*state, temp_file()));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 1000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = report_json(*state, temp_file(), &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(e.text, temp_file()));
	assert_int_equal(stat(temp_file(), &st), 0);
	assert_true(st.st_size > 1000);
	unlink(temp_file());
}

static void json_behind_a_symbolic_link_replaces_what_it_points_to(void **state)
{
	struct stat st;
	char link[128];

	json_decref(saved(*state, temp_file()));
	assert_int_equal(truncate(temp_file(), 0), 0);
	snprintf(link, sizeof(link), "%s.link", temp_file());
	assert_int_equal(symlink(temp_file(), link), 0);
	json_decref(saved(*state, link));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat(temp_file(), &st), 0);
	assert_true(st.st_size > 1000);
	unlink(link);
	unlink(temp_file());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The text behind the key in a document of this one number. */
static void check_number(uint64_t v, const char *text)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();
	char *made, wanted[64];
	size_t len;

	json_put(&d, o, "n", json_number(v));
	made = json_memory(&d, o, &len);
	assert_non_null(made);
	snprintf(wanted, sizeof(wanted), "{\"n\": %s}\n", text);
	assert_string_equal(made, wanted);
	free(made);
}

/* jansson has no integers from 2^63 on; a float of them would be another number. */
static void json_numbers_are_integers_up_to_the_largest(void **state)
{
	(void)state;
	check_number(0, "0");
	check_number(INT64_MAX, "9223372036854775807");
	check_number(1ULL << 63, "9223372036854775808");
	check_number(UINT64_MAX, "18446744073709551615");
}

/* A name may look like the way in which a large number is kept. */
static void json_takes_no_name_for_a_number(void **state)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();
	size_t len;
	char *made;

	(void)state;
	json_put(&d, o, "n", json_text("\"\\u000018446744073709551615"));
	made = json_memory(&d, o, &len);
	assert_non_null(made);
	assert_string_equal(made, "{\"n\": \"\\\"\\\\u000018446744073709551615\"}\n");
	free(made);
}

/* Names are found in it as they are; what a terminal obeys, or ends a line, has another form. */
static void json_is_utf_8_without_controls(void **state)
{
	struct json_doc d = { 0 };
	json_t *o = json_object();
	size_t len;
	char *made;

	(void)state;
	json_put(
	    &d, o, "n",
	    json_text("\xe8\xb3\x87\xe6\x96\x99 \xf0\x9f\x93\x9a \xc3\xbc\xc2\xa0"
		      "\x7f\xc2\x9b\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xf3\xa0\x81\x81\xff\n"));
	made = json_memory(&d, o, &len);
	assert_non_null(made);
	assert_string_equal(
	    made, "{\"n\": \"\xe8\xb3\x87\xe6\x96\x99 \xf0\x9f\x93\x9a \xc3\xbc\xc2\xa0"
		  "\\u007f\\u009b\\u2028\\u2029\\u202a\\udb40\\udc41\xef\xbf\xbd\\n\"}\n");
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(json_holds_what_the_run_holds),
		TEST(json_is_utf_8_without_controls),
		TEST(json_says_how_each_metric_is_read),
		TEST(json_buckets_rebuild_the_histogram),
		TEST(json_ledgers_agree_and_unmeasured_ones_are_null),
		TEST(json_requests_are_what_the_ledger_holds),
		TEST(json_times_of_a_request_add_up_to_its_time),
		TEST(json_tells_results_inside_and_histogram_of_a_command),
		TEST(json_accounts_outside_requests_stand_apart),
		TEST(json_requests_that_were_not_measured_are_null),
		TEST(json_sessions_keep_what_is_not_known_apart_from_nothing),
		TEST(json_survives_bytes_that_are_not_utf_8_and_keys_noted_twice),
		TEST(json_that_cannot_be_saved_is_an_error_that_names_the_file),
		TEST(json_numbers_are_integers_up_to_the_largest),
		TEST(json_takes_no_name_for_a_number),
		TEST(json_goes_through_a_pipe_and_does_not_replace_it),
		TEST(json_that_does_not_fit_on_the_disk_leaves_the_old_file_alone),
		TEST(json_behind_a_symbolic_link_replaces_what_it_points_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
