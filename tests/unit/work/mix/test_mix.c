/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mixes from INI texts: those that are built in, what a file may say, and each message. */
#include "work/mix/mix.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

static char path[64];

static int find(struct mix *m, const char *text, struct err *e)
{
	FILE *f = fopen(path, "w");
	int r;

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	*e = (struct err) { 0 };
	r = mix_find(m, path, e);
	unlink(path);
	return r;
}

/* The message for this text is "FILE" and then this. */
static void says(const char *text, const char *message)
{
	char expected[600];
	struct mix m;
	struct err e;

	assert_int_equal(find(&m, text, &e), -EINVAL);
	snprintf(expected, sizeof(expected), "%s%s", path, message);
	assert_string_equal(e.text, expected);
}

static void all_that_are_built_in_are_whole(void **state)
{
	static const struct {
		const char *name;
		unsigned int files, actions;
		uint64_t bytes;
		bool shared;
	} all[] = {
		{ "browse", 100, 3, 100 * 16384, false }, { "office", 20, 4, 20 * 262144, false },
		{ "batch-read", 1, 1, 64 << 20, true },   { "batch-write", 1, 1, 16 << 20, false },
		{ "metadata", 100, 1, 0, false },         { "timemachine", 4, 1, 32 << 20, false },
		{ "login-storm", 0, 2, 0, false },        { "idle", 0, 0, 0, false },
	};
	unsigned int n;
	struct mix m;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(mix_find(&m, all[i].name, &e), 0);
		assert_string_equal(m.name, all[i].name);
		assert_int_equal(m.files, all[i].files);
		assert_int_equal(mix_set_bytes(&m), all[i].bytes);
		assert_int_equal(m.shared, all[i].shared);
		n = 0;
		for (unsigned int a = 0; a < N_MIX_ACTIONS; a++)
			n += m.weight[a] != 0;
		assert_int_equal(n, all[i].actions);
		assert_int_equal(mix_check(&m, &e), 0);
	}
}

static void a_file_says_all(void **state)
{
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(find(&m,
			      "; what we do\n[mix]\nname = mine\nfiles=7 ; seven\n"
			      "file_size = 3K\nrequest=1M\r\n\n  window = 4\n\tthink = 0.25\n"
			      "shared = yes\n[actions]\nlist = 1\nlook=20\nread = 0\n",
			      &e),
			 0);
	assert_string_equal(m.name, "mine");
	assert_int_equal(m.files, 7);
	assert_int_equal(m.sizes.value, 3072);
	assert_int_equal(m.request_len, 1 << 20);
	assert_int_equal(m.window, 4);
	assert_int_equal(m.think.value, 250000000);
	assert_true(m.shared);
	assert_int_equal(m.weight[MIX_LIST], 1);
	assert_int_equal(m.weight[MIX_LOOK], 20);
	assert_int_equal(m.weight[MIX_READ], 0);
}

static void lengths_and_popularity_may_be_by_chance(void **state)
{
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(
	    find(&m,
		 "[mix]\nfile_size = 4K*60,1M*40\npopularity = zipf:0.8\nrequests = 7\n"
		 "[actions]\nrandom-read = 3\nrandom-write = 2\n",
		 &e),
	    0);
	assert_int_equal(m.sizes.kind, DRAW_TABLE);
	assert_int_equal(m.sizes.n, 2);
	assert_int_equal(mix_set_bytes(&m), 10 * (4096 * 6 + 1048576 * 4) / 10);
	assert_true(m.zipf == 0.8);
	assert_int_equal(m.requests, 7);
	assert_int_equal(m.weight[MIX_RANDOM_READ], 3);
	assert_int_equal(m.weight[MIX_RANDOM_WRITE], 2);
	assert_int_equal(find(&m, "[mix]\npopularity = zipf\n", &e), 0);
	assert_true(m.zipf == 1);
}

/* One file in a hundred is most of the set: which directories have one is known before. */
static void the_bytes_of_a_directory_are_those_that_are_made(void **state)
{
	uint64_t longest, bytes, all = 0, len, most = 0, last = 0;
	unsigned int others = 0;
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(
	    find(&m, "[mix]\nfiles = 10\nfile_size = 4K*99,1G*1\n[actions]\nread = 1\n", &e), 0);
	for (unsigned int dir = 0; dir < 50; dir++) {
		bytes = longest = 0;
		for (unsigned int i = 0; i < 10; i++) {
			len = mix_file_len(&m, 1, dir * 10 + i);
			bytes += len;
			most = len > most ? len : most;
		}
		assert_int_equal(mix_dir_bytes(&m, 1, dir, 50, &longest), bytes);
		assert_true(longest == 4096 || longest == 1 << 30);
		others += bytes != last;
		last = bytes;
		all += bytes;
	}
	assert_true(others > 1 && most == 1 << 30 && all > most);
	/* what is longer already stays */
	longest = 3ull << 30;
	mix_dir_bytes(&m, 1, 0, 50, &longest);
	assert_int_equal(longest, 3ull << 30);
	/* more than anybody would draw */
	longest = 0;
	assert_int_equal(mix_dir_bytes(&m, 1, 0, 100000000, &longest), mix_set_bytes(&m));
	assert_int_equal(longest, mix_set_bytes(&m));
	/* all alike */
	assert_int_equal(mix_find(&m, "office", &e), 0);
	longest = 0;
	assert_int_equal(mix_dir_bytes(&m, 1, 7, 100000, &longest), 20 * 262144);
	assert_int_equal(longest, 262144);
}

static void one_action_of_a_mix_is_kept(void **state)
{
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(mix_find(&m, "office", &e), 0);
	assert_int_equal(mix_keep(&m, "save"), 0);
	assert_int_equal(mix_kinds(&m), 1);
	assert_int_equal(m.weight[MIX_SAVE], 1);
	assert_int_equal(m.files, 20);
	assert_int_equal(mix_keep(&m, "read"), -ENOENT);
}

/* An indented line is one of its own, not more of the one before. */
static void blanks_at_a_line_s_begin_mean_nothing(void **state)
{
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(find(&m, "[mix]\n  name = a\n  files = 3\n[actions]\n  look = 1\n", &e),
			 0);
	assert_string_equal(m.name, "a");
	assert_int_equal(m.files, 3);
	assert_int_equal(m.weight[MIX_LOOK], 1);
}

static void what_a_file_does_not_say_has_its_default(void **state)
{
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(find(&m, "[actions]\nlook=1\n", &e), 0);
	assert_memory_equal(m.name, path, strlen(path) < 31 ? strlen(path) + 1 : 31);
	assert_int_equal(m.files, 10);
	assert_int_equal(m.sizes.value, 0);
	assert_int_equal(m.requests, 16);
	assert_true(m.zipf == 0);
	assert_int_equal(m.request_len, 1 << 20);
	assert_int_equal(m.window, 1);
	assert_int_equal(m.think.value, 0);
	assert_false(m.shared);
}

static void each_message_has_file_and_line(void **state)
{
	(void)state;
	says("[mix]\nfiles\n", ", line 2: neither [section] nor key = value");
	says("[mix]\nfiles = 100000\n", ", line 2: files: '100000' is not in 0..99999");
	says("[mix]\n\nfiles = -1\n", ", line 3: files: '-1' is not in 0..99999");
	says("[mix]\nwindow = 0\n", ", line 2: window: '0' is not in 1..64");
	says("[mix]\nthink = soon\n",
	     ", line 2: think: 'soon' is not a time (seconds, or with ns, us, ms, s, m, h, d)");
	says("[mix]\nthink = nan\n",
	     ", line 2: think: 'nan' is not a time (seconds, or with ns, us, ms, s, m, h, d)");
	says("[mix]\nthink = -1\n", ", line 2: think: '-1' is not in 0..86400");
	says("[mix]\ncompressible = 150%\n", ", line 2: compressible: '150%' is not in 0..100");
	says("[mix]\ndedup = 101\n", ", line 2: dedup: '101' is not in 0..100");
	says("[mix]\nshared = 1\n", ", line 2: shared: '1' is neither yes nor no");
	says(
	    "[mix]\ncolour = red\n",
	    ", line 2: there is no key 'colour' in [mix]; its keys are name, files, file_size, "
	    "popularity, request, window, requests, think, shared, compressible, dedup and verify");
	says(
	    "[actions]\nlook = 1\ndance = 1\n",
	    ", line 3: there is no action 'dance'; there are list, look, read, write, save, create, band, "
	    "random-read, random-write, lock, mac-save, search, login, logout");
	says("[actions]\nlook = many\n", ", line 2: look: 'many' is not a whole number");
	says("[mixes]\nfiles = 1\n",
	     ", line 2: there is no section [mixes]; there are [mix] and [actions]");
	says("files = 1\n", ", line 1: there is no section []; there are [mix] and [actions]");
	says("[mix]\nfiles = 1\nwindow = 1\nfiles = 1\n",
	     ", line 4: files is there twice: line 2 has it already");
	says("[mix]\nfiles = 0\n[actions]\nlook = 1\n", ": 'look' needs files, but files is 0");
	says("[actions]\nrandom-read = 1\n",
	     ": 'random-read' needs files with data, but file_size is 0");
	says("[mix]\npopularity = zipf:x\n",
	     ", line 2: popularity: 'zipf:x' is not uniform, zipf, or zipf: and a number up to 5");
	says(
	    "[mix]\npopularity = zipf:0x1\n",
	    ", line 2: popularity: 'zipf:0x1' is not uniform, zipf, or zipf: and a number up to 5");
	says("[mix]\npopularity = zipf:6\n",
	     ", line 2: popularity: 'zipf:6' is not uniform, zipf, or zipf: and a number up to 5");
	says("[mix]\nrequests = 0\n", ", line 2: requests: '0' is not in 1..1000000");
	says("[mix]\nshared = yes\n[actions]\nsave = 1\n",
	     ": 'save' changes files: it cannot be used with shared = yes");
}

/* The line and the text are those of the same mistake. */
static void the_first_mistake_is_the_one_reported(void **state)
{
	(void)state;
	says("[mix]\nfiles = x\nthink = y\n", ", line 2: files: 'x' is not a whole number");
	says("[mix]\nnothing\nthink = y\n", ", line 2: neither [section] nor key = value");
	says("[mix]\nthink = y\nnothing\n",
	     ", line 2: think: 'y' is not a time (seconds, or with ns, us, ms, s, m, h, d)");
}

static void sizes_out_of_range_are_refused(void **state)
{
	static const char *const texts[] = { "[mix]\nfile_size = 2T\n", "[mix]\nrequest = 511\n",
					     "[mix]\nrequest = 65M\n", "[mix]\nfile_size = x\n" };
	struct mix m;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(find(&m, texts[i], &e), -EINVAL);
		assert_non_null(strstr(e.text, ", line 2: "));
	}
}

static void a_mix_that_is_not_there_is_an_error_that_lists_those_that_are(void **state)
{
	struct mix m;
	struct err e;

	(void)state;
	assert_int_equal(mix_find(&m, "brows", &e), -ENOENT);
	assert_string_equal(e.text,
			    "there is no mix 'brows'; there are browse, office, batch-read, "
			    "batch-write, metadata, timemachine, login-storm, idle, and INI "
			    "files (such as ./brows)");
	assert_int_equal(mix_find(&m, "./no-such.ini", &e), -ENOENT);
	assert_string_equal(e.text, "cannot open ./no-such.ini: No such file or directory");
	assert_int_equal(mix_find(&m, "/tmp/", &e), -EINVAL);
	assert_string_equal(e.text, "/tmp/ is not a regular file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_are_built_in_are_whole),
		cmocka_unit_test(a_file_says_all),
		cmocka_unit_test(lengths_and_popularity_may_be_by_chance),
		cmocka_unit_test(the_bytes_of_a_directory_are_those_that_are_made),
		cmocka_unit_test(one_action_of_a_mix_is_kept),
		cmocka_unit_test(blanks_at_a_line_s_begin_mean_nothing),
		cmocka_unit_test(what_a_file_does_not_say_has_its_default),
		cmocka_unit_test(each_message_has_file_and_line),
		cmocka_unit_test(the_first_mistake_is_the_one_reported),
		cmocka_unit_test(sizes_out_of_range_are_refused),
		cmocka_unit_test(a_mix_that_is_not_there_is_an_error_that_lists_those_that_are),
	};

	snprintf(path, sizeof(path), "/tmp/afpscope-mix-%d.ini", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
