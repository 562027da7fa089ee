/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The environment of gfapi_perf_tool: its defaults, sizes, what is refused, and what it comes to.
 */
#include "compat/gfapi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs the headers above */

static struct gfapi_cfg cfg;
static struct err e;

/* The least that is needed, and one variable more (NULL: none). */
static int read_with(const char *name, const char *value)
{
	clearenv();
	setenv("GFAPI_VOLNAME", "vol", 1);
	setenv("GFAPI_HOSTNAME", "host", 1);
	setenv("GFAPI_FUSE", "1", 1);
	if (name)
		setenv(name, value, 1);
	e = (struct err) { 0 };
	return gfapi_read(&cfg, &e);
}

static int also(const char *name, const char *value)
{
	setenv(name, value, 1);
	e = (struct err) { 0 };
	return gfapi_read(&cfg, &e);
}

static void defaults_are_those_of_gfapi_perf_tool(void **state)
{
	const struct smallfile_opts *o = &cfg.set;

	(void)state;
	assert_int_equal(read_with(NULL, NULL), 0);
	assert_int_equal(cfg.load, SMALLFILE_CREATE);
	assert_string_equal(cfg.what, "sequential write");
	assert_string_equal(cfg.transport, "tcp");
	assert_int_equal(cfg.port, 24007);
	assert_string_equal(cfg.place, "/tmp");
	assert_string_equal(o->prefix, "f");
	assert_int_equal(o->record_len, 65536);
	assert_int_equal(o->file_len, 1048576);
	assert_int_equal(o->files, 100);
	assert_int_equal(o->files_per_dir, 1000);
	assert_int_equal(cfg.threads, 1);
	assert_int_equal(o->records, 0);
	assert_int_equal(o->read_percent, 0);
	assert_int_equal(cfg.gun_timeout_s, 60);
	assert_int_equal(cfg.delay_us, 0);
	assert_string_equal(cfg.gun, "");
	assert_false(o->flush || o->verify || cfg.w.s.buffered != true);
}

static void what_is_required_must_be_set(void **state)
{
	static const char *const names[] = { "GFAPI_VOLNAME", "GFAPI_HOSTNAME" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		read_with(NULL, NULL);
		unsetenv(names[i]);
		assert_int_equal(gfapi_read(&cfg, &e), -EINVAL);
		assert_non_null(strstr(e.text, names[i]));
	}
}

static void an_empty_variable_is_not_set(void **state)
{
	(void)state;
	assert_int_equal(read_with("GFAPI_APPEND", ""), 0);
	assert_int_equal(also("GFAPI_RDPCT", ""), 0);
	assert_int_equal(also("GFAPI_FSZ", ""), 0);
	assert_int_equal(cfg.file_kib, 1024);
	assert_int_equal(also("GFAPI_VOLNAME", ""), -EINVAL);
}

static void sizes_are_kib_or_have_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t kib;
	} rows[] = {
		{ "4", 4 },     { "4k", 4 },    { "4K", 4 },        { "0", 0 },
		{ "1M", 1024 }, { "3m", 3072 }, { "2g", 2u << 20 }, { "1T", 1u << 30 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(read_with("GFAPI_FSZ", rows[i].text), 0);
		assert_int_equal(cfg.set.file_len, rows[i].kib * 1024);
	}
	assert_int_equal(read_with("GFAPI_RECSZ", "64k"), 0);
	assert_int_equal(cfg.set.record_len, 65536);
}

static void nonsense_is_refused_and_named(void **state)
{
	static const char *const rows[][2] = {
		{ "GFAPI_FSZ", "1.5M" },
		{ "GFAPI_FSZ", "1Q" },
		{ "GFAPI_FSZ", "-1" },
		{ "GFAPI_FSZ", "M" },
		{ "GFAPI_FSZ", "1MB" },
		{ "GFAPI_FSZ", "99999999999T" },
		{ "GFAPI_FSZ", "1 M" },
		{ "GFAPI_RECSZ", "0" },
		{ "GFAPI_RECSZ", "1M" },
		{ "GFAPI_RECSZ", "4.5" },
		{ "GFAPI_RECSZ", "-64" },
		{ "GFAPI_FILES", "0" },
		{ "GFAPI_FILES", "many" },
		{ "GFAPI_FILES", "10k" },
		{ "GFAPI_THREADS_PER_PROC", "0" },
		{ "GFAPI_THREADS_PER_PROC", "1001" },
		{ "GFAPI_FILES_PER_DIR", "0" },
		{ "GFAPI_RDPCT", "101" },
		{ "GFAPI_RDPCT", "-1" },
		{ "GFAPI_RDPCT", "half" },
		{ "GFAPI_RDPCT", "nan" },
		{ "GFAPI_LOAD", "seq-rw" },
		{ "GFAPI_PORT", "0" },
		{ "GFAPI_FUSE", "yes" },
		{ "GFAPI_DIRECT", "on" },
		{ "GFAPI_PREFIX", "a/b" },
		{ "GFAPI_STARTING_GUN_TIMEOUT", "0" },
		{ "GFAPI_USEC_DELAY_PER_FILE", "1ms" },
		{ "GFAPI_BASEDIR", "/proc/not/there" },
		{ "GFAPI_BASEDIR", "/etc/passwd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(read_with(rows[i][0], rows[i][1]), -EINVAL);
		assert_non_null(strstr(e.text, rows[i][0]));
		assert_true(!rows[i][1][0] || strstr(e.text, rows[i][1]));
	}
}

static void append_and_overwrite_choose_the_load(void **state)
{
	(void)state;
	assert_int_equal(read_with("GFAPI_APPEND", "1"), 0);
	assert_int_equal(cfg.load, SMALLFILE_APPEND);
	assert_int_equal(also("GFAPI_OVERWRITE", "1"), -EINVAL);
	assert_int_equal(read_with("GFAPI_OVERWRITE", "1"), 0);
	assert_int_equal(cfg.load, SMALLFILE_OVERWRITE);
	assert_int_equal(also("GFAPI_LOAD", "seq-rdwrmix"), 0);
	assert_int_equal(cfg.load, SMALLFILE_MIX);
	assert_true(cfg.set.overwrites);
	assert_int_equal(also("GFAPI_OVERWRITE", "0"), 0);
	assert_false(cfg.set.overwrites);
	assert_int_equal(cfg.append, 1);
	assert_int_equal(also("GFAPI_RDPCT", "12.25"), 0);
	assert_int_equal(cfg.set.read_percent, 12);
	assert_int_equal(cfg.set.read_hundredths, 25);
}

static void a_record_is_no_longer_than_a_file(void **state)
{
	(void)state;
	assert_int_equal(read_with("GFAPI_FSZ", "4"), 0);
	assert_int_equal(cfg.record_kib, 4);
	assert_int_equal(cfg.asked_kib, 64);
	assert_int_equal(also("GFAPI_FSZ", "0"), 0);
	assert_int_equal(cfg.record_kib, 64);
}

static void requests_are_those_of_a_file_with_its_tail(void **state)
{
	(void)state;
	assert_int_equal(read_with("GFAPI_LOAD", "rnd-rd"), 0);
	assert_int_equal(cfg.requests, 16);
	assert_int_equal(also("GFAPI_FSZ", "100k"), 0);
	assert_int_equal(cfg.requests, 2);
	assert_int_equal(also("GFAPI_IOREQ", "2"), 0);
	assert_int_equal(cfg.set.records, 2);
	assert_int_equal(also("GFAPI_IOREQ", "3"), -EINVAL);
	assert_non_null(strstr(e.text, "GFAPI_IOREQ"));
	assert_int_equal(also("GFAPI_LOAD", "seq-rd"), 0); /* where they have no meaning */
	assert_int_equal(cfg.set.records, 0);
}

static void more_directories_than_their_names_have_digits_for_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_with("GFAPI_FILES", "10001"), 0);
	assert_int_equal(also("GFAPI_FILES_PER_DIR", "1"), -EINVAL);
	assert_int_equal(also("GFAPI_FILES", "10000"), 0);
}

static void only_what_is_removed_may_be_missing(void **state)
{
	(void)state;
	assert_int_equal(read_with("GFAPI_BASEDIR", "/tmp/not-there"), -EINVAL);
	assert_int_equal(also("GFAPI_LOAD", "unlink"), 0);
	assert_false(cfg.set.finds);
	assert_true(cfg.set.lenient);
	assert_int_equal(read_with("GFAPI_LOAD", "seq-rd"), 0);
	assert_true(cfg.set.finds);
}

static void without_fuse_the_files_are_in_the_volume(void **state)
{
	(void)state;
	read_with("GFAPI_PORT", "24008");
	setenv("GFAPI_BASEDIR", "/a/b", 1);
	assert_int_equal(also("GFAPI_FUSE", "0"), 0);
	assert_string_equal(cfg.volume_place, "gluster://host:24008/vol");
	assert_string_equal(cfg.place, "gluster://host:24008/vol/a/b");
	assert_true(store_is_local(cfg.place));
	assert_int_equal(also("GFAPI_HOSTNAME", "::1"), 0);
	assert_string_equal(cfg.volume_place, "gluster://[::1]:24008/vol");
	assert_int_equal(also("GFAPI_TRANSPORT", "rdma"), -EINVAL);
	assert_non_null(strstr(e.text, "GFAPI_TRANSPORT"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_gfapi_perf_tool),
		cmocka_unit_test(what_is_required_must_be_set),
		cmocka_unit_test(an_empty_variable_is_not_set),
		cmocka_unit_test(sizes_are_kib_or_have_a_unit),
		cmocka_unit_test(nonsense_is_refused_and_named),
		cmocka_unit_test(append_and_overwrite_choose_the_load),
		cmocka_unit_test(a_record_is_no_longer_than_a_file),
		cmocka_unit_test(requests_are_those_of_a_file_with_its_tail),
		cmocka_unit_test(more_directories_than_their_names_have_digits_for_are_refused),
		cmocka_unit_test(only_what_is_removed_may_be_missing),
		cmocka_unit_test(without_fuse_the_files_are_in_the_volume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
