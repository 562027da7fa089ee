/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The synthetic run as JSON: what jansson reads back is what the run holds. */
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
	r->phase[1]->ledger.has_compat[AFS_ROLE_CNID] = false;
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

static void json_that_cannot_be_saved_leaves_the_old_file_and_an_error(void **state)
{
	struct err e = { 0 };
	char temp[128];
	struct stat st;

	assert_true(report_json(*state, "/nowhere/at/all.json", &e) < 0);
	assert_non_null(strstr(e.text, "/nowhere/at/all.json"));
	/* The temporary name is taken: nothing is overwritten. */
	json_decref(saved(*state, temp_file()));
	snprintf(temp, sizeof(temp), "%s.00112233445566ff.tmp", temp_file());
	assert_int_equal(stat(temp, &st), -1);
	fclose(fopen(temp, "w"));
	assert_true(report_json(*state, temp_file(), &e) < 0);
	assert_int_equal(stat(temp_file(), &st), 0);
	assert_true(st.st_size > 1000);
	unlink(temp);
	unlink(temp_file());
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
	alarm(20);
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
	char temp[128];
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
	snprintf(temp, sizeof(temp), "%s.00112233445566ff.tmp", temp_file());
	assert_int_equal(stat(temp, &st), -1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(json_holds_what_the_run_holds),
		TEST(json_buckets_rebuild_the_histogram),
		TEST(json_ledgers_agree_and_unmeasured_ones_are_null),
		TEST(json_survives_bytes_that_are_not_utf_8_and_keys_noted_twice),
		TEST(json_that_cannot_be_saved_leaves_the_old_file_and_an_error),
		TEST(json_goes_through_a_pipe_and_does_not_replace_it),
		TEST(json_that_does_not_fit_on_the_disk_leaves_the_old_file_alone),
		TEST(json_behind_a_symbolic_link_replaces_what_it_points_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
