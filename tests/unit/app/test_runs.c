/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests user/app/runs.c, runs_load.c: the name of a run finds that run, or says why none; labels.
 */
#include "app/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define OLD    "2026-11-20T101010-record-aaaa1111"
#define NEW    "2026-11-21T101010-lantest-aaaa2222"
#define NAMED  "before"
#define NOBODY 65534
#define DEAD   "2026-11-22T101010-lantest-bbbb3333" /* killed, without a trace */

static int setup(void **state)
{
	char *dir = strdup("/tmp/afpscope-runs-XXXXXX"), command[512];

	assert_non_null(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "cd %s && mkdir %s %s %s %s && echo '{\"id\": \"aaaa1111cccc\"}' >%s/run.json && "
		 "echo '{\"id\": \"cccc1111cccc\", \"n\": 18446744073709551615}' >%s/run.json && "
		 "touch -d 2026-11-01 %s/run.json && mkdir %s/trace && touch %s/trace/metadata",
		 dir, OLD, NEW, DEAD, NAMED, OLD, NAMED, NAMED, NEW, NEW);
	assert_int_equal(system(command), 0);
	setenv("AFPSCOPE_RUNS", dir, 1);
	*state = dir;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", (char *)*state);
	assert_int_equal(system(command), 0);
	free(*state);
	return 0;
}

/* wanted NULL: it must be refused with this code. */
static void check(const char *dir, const char *name, const char *wanted, int code)
{
	struct err e = { 0 };
	char *path, full[128];

	assert_int_equal(runs_find(&path, name, &e), code);
	if (wanted) {
		snprintf(full, sizeof(full), "%s/%s", dir, wanted);
		assert_string_equal(path, full);
	} else {
		assert_null(path);
		assert_true(e.text[0]);
	}
	free(path);
}

static void names_and_ids_that_are_the_only_ones(void **state)
{
	char path[128];

	check(*state, "2026-11-20", OLD, 0);
	check(*state, NEW, NEW, 0);
	check(*state, "2026-11-22T", DEAD, 0);
	check(*state, "aaaa1", OLD, 0);
	check(*state, "aaaa1111", OLD, 0);
	check(*state, "aaaa1111cc", OLD, 0);
	check(*state, "cccc", NAMED, 0);
	check(*state, "aaaa1111dd", NULL, -ENOENT);
	check(*state, "aaaa", NULL, -EINVAL);
	check(*state, "2026", NULL, -EINVAL);
	check(*state, "2027", NULL, -ENOENT);
	check(*state, "", NULL, -ENOENT);
	check(*state, "../afpscope-no-such-run", NULL, -ENOENT);
	snprintf(path, sizeof(path), "%s/%s", (char *)*state, DEAD);
	check(*state, path, DEAD, 0);
}

/* Of many runs, large ones: what is behind the id may be damaged. An "id" of a part is none. */
static void an_id_is_found_without_reading_the_rest(void **state)
{
	static const struct {
		const char *text, *name, *wanted;
	} of[] = {
		{ "{\"schema\": 2, \"tool\": \"id\", \"id\": \"dddd1111\"}", "dddd", NAMED },
		{ "{\"schema\": 2, \"id\": \"eeee1111\", \"n\": [", "eeee", NAMED },
		{ "{\"server\": {\"id\": \"ffff1111\"}, \"id\": \"abcd1111\"}", "abcd", NAMED },
		{ "{\"server\": {\"id\": \"ffff1111\"}, \"id\": \"abcd1111\"}", "ffff", NULL },
		{ "{\"id\": 5, \"tool\": \"5\"}", "5", NULL },
		{ "{\"schema\": 2, \"id\"", "id", NULL },
		{ "", "id", NULL },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		char path[128];
		FILE *file;

		snprintf(path, sizeof(path), "%s/" NAMED "/run.json", (char *)*state);
		file = fopen(path, "w");
		assert_non_null(file);
		assert_true(fputs(of[i].text, file) >= 0);
		assert_int_equal(fclose(file), 0);
		check(*state, of[i].name, of[i].wanted, of[i].wanted ? 0 : -ENOENT);
	}
}

/* Whatever its folder is called. */
static void last_is_what_was_written_last(void **state)
{
	const struct timespec later[2] = { { .tv_sec = 1ll << 32 }, { .tv_sec = 1ll << 32 } };
	char path[128];

	check(*state, "last", NEW, 0);
	snprintf(path, sizeof(path), "%s/" OLD "/run.json", (char *)*state);
	assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
	check(*state, "last", OLD, 0);
	setenv("AFPSCOPE_RUNS", "/nowhere", 1);
	check(*state, "last", NULL, -ENOENT);
}

static void missing_permission_is_called_so(void **state)
{
	char path[128];

	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "%s/" OLD, (char *)*state);
	assert_int_equal(setresuid(NOBODY, NOBODY, 0), 0);
	check(*state, "last", NULL, -EACCES);
	check(*state, "2026-11-20", NULL, -EACCES);
	check(*state, path, NULL, -EACCES);
	assert_int_equal(setresuid(0, 0, 0), 0);
}

static void run_json_that_is_no_file_is_not_waited_for(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" NEW "/run.json", (char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(60);
	check(*state, "cccc", NAMED, 0);
	snprintf(path, sizeof(path), "%s/" NEW, (char *)*state);
	assert_null(runs_load(path));
	alarm(0);
}

/* The file with this text; whether it is read as a run. */
static bool is_read(const char *dir, const char *text, size_t len)
{
	json_t *run;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/bundle.json", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	run = runs_load(path);
	json_decref(run);
	return run;
}

static void a_bundle_with_a_changed_bit_is_not_read(void **state)
{
	static const char plain[] = "{\"id\": \"00\"}\n";
	/* The CRC-32 is that of zlib. */
	char text[] = "{\"bundle\": {}, \"id\": \"00\", \"crc32\": \"d4d90f2b\"}\n";
	size_t len = strlen(text);

	assert_true(is_read(*state, plain, strlen(plain)));
	assert_true(is_read(*state, text, len));
	for (size_t i = 0; i < 8 * len; i++) {
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
		assert_false(is_read(*state, text, len));
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
	}
	for (size_t n = 0; n < len; n++)
		assert_false(is_read(*state, text, n));
	assert_true(is_read(*state, text, len));
}

static void labels_are_keys_with_values(void **state)
{
	static const char *const wrong[] = { "",      "commit",      "commit=", "=1",
					     "a b=1", "k\xc3\xa4=1", "k=a\nb",  "commit=2" };
	struct runs_cfg cfg = { .not_kept = true };
	struct runs_folder folder;
	struct run r = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(runs_take_label(&cfg.labels, "commit=1f3a", &e), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(runs_take_label(&cfg.labels, wrong[i], &e), -EINVAL);
		assert_true(e.text[0]);
	}
	assert_int_equal(runs_take_label(&cfg.labels, "com=a=%s, \xc3\xa4", &e), 0);
	assert_int_equal(cfg.labels.n, 2);
	assert_int_equal(runs_open(&folder, &cfg, false, &r, &e), 0);
	assert_string_equal(run_note_find(&r.labels, "commit"), "1f3a");
	assert_string_equal(run_note_find(&r.labels, "com"), "a=%s, \xc3\xa4");
	runs_close(&folder);
	run_fini(&r);
}

static void a_run_has_so_many_labels(void **state)
{
	static char text[RUNS_LABELS_MAX + 1][8];
	struct runs_labels l = { 0 };
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i <= RUNS_LABELS_MAX; i++) {
		snprintf(text[i], sizeof(text[i]), "k%d=v", i);
		assert_int_equal(runs_take_label(&l, text[i], &e),
				 i < RUNS_LABELS_MAX ? 0 : -EINVAL);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(names_and_ids_that_are_the_only_ones),
		TEST(an_id_is_found_without_reading_the_rest),
		TEST(last_is_what_was_written_last),
		TEST(missing_permission_is_called_so),
		TEST(run_json_that_is_no_file_is_not_waited_for),
		TEST(a_bundle_with_a_changed_bit_is_not_read),
		TEST(labels_are_keys_with_values),
		TEST(a_run_has_so_many_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
