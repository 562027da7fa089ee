/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What text and JSON say of the layer below the system calls, of counts alone, of the rungs.
 * Also tests user/report/below.c, user/report/screen/rungs.c, user/report/json/ledger.c.
 */
#include "unit/report_text.h"
#include "unit/sample_run.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

/* What one role did for one account in a phase. */
static void add_storage(struct run *r, size_t phase, uint8_t role, uint16_t account,
			struct afs_storage sum)
{
	struct ledger_storage row = { .role = role, .account = account, .sum = sum };
	struct ledger one = r->phase[phase]->ledger;

	one.n_rows = one.n_parts = one.n_accounts = one.n_results = 0;
	one.n_storage = 1;
	one.storage = &row;
	memset(one.compat, 0, sizeof(one.compat));
	assert_int_equal(ledger_add(&r->phase[phase]->ledger, &one), 0);
}

static void forget_item(struct run *r, enum afs_storage_item item)
{
	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->ledger.has_item[item] = false;
}

/* Reads by FPRead, writes of cnid_dbd for FPCreateFile, a sync and a little outside requests. */
static void add_disk(struct run *r)
{
	add_storage(r, 0, AFS_ROLE_SERVER, 26,
		    (struct afs_storage) { .cache_pages = 2000,
					   .cache_meta_pages = 40,
					   .bio_reads = 150,
					   .bio_read_bytes = 8200000,
					   .bio_read_ns = 60000000,
					   .bio_done = 150 });
	add_storage(r, 0, AFS_ROLE_BACKEND, 34,
		    (struct afs_storage) { .syncs = 20,
					   .sync_ns = 8000000,
					   .bio_writes = 50,
					   .bio_write_bytes = 204800,
					   .bio_write_ns = 5000000,
					   .bio_flushes = 20,
					   .bio_flush_ns = 10000000,
					   .bio_done = 70 });
	add_storage(r, 0, AFS_ROLE_SERVER, 34, (struct afs_storage) { .file_reads = 5 });
	add_storage(
	    r, 1, AFS_ROLE_SERVER, AFS_ACCOUNT_BETWEEN,
	    (struct afs_storage) {
		.bio_reads = 1, .bio_read_bytes = 4096, .bio_read_ns = 100000, .bio_done = 1 });
}

static void nothing_on_a_disk_is_one_sentence(void **state)
{
	struct run *r = *state;

	has(r, OWN, "\n  Block I/O nothing reached a block device\n\n");
	add_storage(r, 0, AFS_ROLE_SERVER, 26, (struct afs_storage) { .file_reads = 5 });
	has(r, OWN,
	    "\n  Block I/O nothing reached a block device; all reads came from the page "
	    "cache\n\n");
	has_not(r, OWN, "Not seen");
	has_not(r, OWN, " pages ");
}

static void reads_are_said_to_come_from_the_cache_only_where_that_is_known(void **state)
{
	struct run *r = *state;

	add_storage(r, 0, AFS_ROLE_SERVER, 26, (struct afs_storage) { .cache_pages = 3 });
	has(r, OWN, "\n  Block I/O nothing reached a block device\n");
	forget_item(r, AFS_STORAGE_CACHE);
	has(r, OWN, "\n  Block I/O nothing reached a block device\n  Not seen  page cache ");
	has_not(r, OWN, "pages");
	forget_item(r, AFS_STORAGE_BLOCK);
	has_not(r, OWN, "nothing reached");
	has(r, OWN, "\n  Not seen  page cache, block I/O (why: \"Observed by\", above)\n");
}

static void disk_time_of_requests_is_told_by_reason(void **state)
{
	/* of 8.61 s: 0.914 s files, 53,796 * 30 µs fsync, 53,776 * 1 µs log */
	has(*state, OWN,
	    "  Disk      30.0 % of the requests' time blocked where a disk can be the reason: files "
	    "10.6 %, log 0.6 %,\n            cnid_dbd's fsync 18.8 %\n");
}

static void the_disks_work_is_told_by_command_and_process(void **state)
{
	struct run *r = *state;

	add_disk(r);
	has(r, OWN,
	    "  Block I/O 151 reads (8.20 MB), 50 writes (0.20 MB), 20 flushes; 75.1ms in all, most "
	    "for FPOpenFork (79.9 %)\n");
	has(r, OWN,
	    "                              file              pages block             block         "
	    "                  block\n"
	    "  command           process  reads syncs  mean cached reads   MB  mean writes   MB  "
	    "mean flushes  mean   time time%\n"
	    "  FPOpenFork        afpd         -     -     -  2,000   150 8.20 400µs      -    -     "
	    "-       -     - 60.0ms  79.9\n"
	    "  FPGetFileDirParms afpd         5     -     -      -     -    -     -      -    -     "
	    "-       -     -      -     -\n"
	    "  FPGetFileDirParms cnid_dbd     -    20 400µs      -     -    -     -     50 0.20 "
	    "100µs      20 500µs 15.0ms  20.0\n"
	    "  outside requests  afpd         -     -     -      -     1 <.01 100µs      -    -     "
	    "-       -     -  100µs   0.1\n"
	    "  all                            5    20 400µs  2,000   151 8.20 398µs     50 0.20 "
	    "100µs      20 500µs 75.1ms 100.0\n");
}

static void a_row_with_nothing_in_the_columns_left_over_is_left_out(void **state)
{
	struct run *r = *state;

	add_disk(r);
	has(r, OWN_NARROW, "\n  FPOpenFork        afpd ");
	has(r, OWN_NARROW, "\n  FPGetFileDirParms cnid_dbd ");
	has_not(r, OWN_NARROW, "\n  FPGetFileDirParms afpd ");
}

static void block_io_that_was_not_timed_is_told(void **state)
{
	struct run *r = *state;

	add_disk(r);
	has_not(r, OWN, "timed");
	add_storage(r, 0, AFS_ROLE_SERVER, 26,
		    (struct afs_storage) { .bio_reads = 100, .bio_untimed = 100 });
	has(r, OWN, " only 221");
	forget_item(r, AFS_STORAGE_LATENCY);
	has(r, OWN, "  Block I/O 251 reads (8.20 MB), 50 writes (0.20 MB), 20 flushes\n");
	has_not(r, OWN, "time%\n  FPOpenFork        afpd ");
}

static void a_command_with_little_is_one_of_the_others(void **state)
{
	struct run *r = *state;

	add_disk(r);
	add_storage(r, 2, AFS_ROLE_SERVER, 4,
		    (struct afs_storage) { .bio_reads = 1, .bio_done = 1 });
	has(r, OWN, "\n  FPCloseFork       afpd ");
	add_storage(r, 2, AFS_ROLE_SERVER, 14,
		    (struct afs_storage) { .bio_reads = 1, .bio_done = 1 });
	has(r, OWN, "\n  2 others  ");
	has_not(r, OWN, "\n  FPCloseFork       afpd ");
}

static void numbers_without_times_have_no_times_and_no_bytes(void **state)
{
	struct run *r = *state;

	add_storage(r, 0, AFS_ROLE_SERVER, 26,
		    (struct afs_storage) { .file_reads = 1000, .syncs = 4, .cache_pages = 1 });
	has(r, OWN,
	    "  command     process  reads  syncs  cached\n"
	    "  FPOpenFork  afpd     1,000      4       1\n");
}

static void storage_not_measured_is_told_with_the_reason(void **state)
{
	struct run *r = *state;

	r->phase[3]->ledger.has_storage = false;
	has(r, OWN, "\nBelow the system calls: n/a\n  because   only watching by BPF shows this\n");
	run_note(&r->rungs, "storage", "off: no maps");
	has(r, OWN, "\nBelow the system calls: n/a\n  because   no maps\n");
	r->phase[3]->ledger.has_requests = false;
	run_note(&r->absent, "requests", "no maps");
	has(r, OWN, "\nBelow the system calls: n/a (for the same reason)\n");
}

static void storage_of_which_nothing_can_be_observed_is_not_measured(void **state)
{
	struct run *r = *state;

	for (int i = 0; i < AFS_N_STORAGE_ITEMS; i++)
		forget_item(r, i);
	has(r, OWN, "\nBelow the system calls: n/a\n  because   nothing of it can be observed ");
	has_not(r, OWN, "nothing reached");
}

static void no_line_below_is_wider_than_the_terminal(void **state)
{
	struct run *r = *state;
	struct afs_storage full;

	for (size_t i = 0; i < AFS_N_STORAGE; i++)
		((__u64 *)&full)[i] = 1234567 * (i + 1);
	add_storage(r, 0, AFS_ROLE_BACKEND, 34, full);
	is_narrow(output(r, OWN_NARROW));
	has_not(r, OWN_NARROW, " \n");
	has_not(r, OWN, " \n");
}

/* The list of how each layer was observed */

static void rungs_are_a_list_by_layer_with_short_reasons(void **state)
{
	struct run *r = *state;

	run_note(&r->rungs, "times.totals", "/proc/PID/task/TID/schedstat, sampled at phase ends");
	run_note(&r->rungs, "calls.not", "fentry: %s", "no such thing: here");
	run_note(&r->rungs, "times", "tp_btf sched_switch");
	for (int i = 0; i < 2; i++) {
		run_note(&r->rungs, i ? "storage.sendfile" : "storage.file", "off");
		run_note(&r->rungs, i ? "storage.sendfile.not" : "storage.file.not",
			 "fentry/fexit %s: Operation not permitted; kprobe %s: none here",
			 i ? "c" : "a, b", i ? "c" : "a, b");
	}
	run_note(&r->rungs, "storage.sync", "kprobe d (numbers only)");
	run_note(&r->rungs, "storage.block", "off");
	run_note(&r->rungs, "not.bpf", "why not");
	has(r, OWN,
	    "\nObserved by calls    bpf tp_btf (highest of the ladder) (fentry: no such thing: "
	    "here)\n"
	    "                     not bpf: why not\n"
	    "            requests bytes of the client's connection\n"
	    "            times    totals: /proc/PID/task/TID/schedstat, sampled at phase ends\n"
	    "                     in requests: tp_btf sched_switch\n"
	    "            storage  file, sendfile: off (fentry/fexit: Operation not permitted; "
	    "kprobe: none here)\n"
	    "                     sync: kprobe d (numbers only)\n"
	    "                     block: off\n");
	is_narrow(output(r, OWN_NARROW));
}

static void requests_are_absent_for_the_reason_of_their_rung(void **state)
{
	struct run r;

	(void)state;
	make_record(&r);
	r.phase[0]->ledger.has_requests = false;
	has(&r, OWN, "inside the server: n/a\n  because   not measured\n");
	run_note(&r.rungs, "calls", "/proc/PID/io");
	has(&r, OWN, "inside the server: n/a\n  because   only watching by BPF shows this\n");
	run_note(&r.rungs, "not.bpf", "no right to");
	has(&r, OWN, "inside the server: n/a\n  because   no right to\n");
	run_note(&r.rungs, "requests", "off: the kernel refuses");
	has(&r, OWN, "inside the server: n/a\n  because   the kernel refuses\n");
	run_fini(&r);
}

/* JSON */

static json_t *saved(const struct run *r)
{
	char path[64];
	json_error_t error;
	struct err e = { 0 };
	json_t *o;

	snprintf(path, sizeof(path), "/tmp/afpscope-below-%d.json", (int)getpid());
	if (report_json(r, path, &e))
		fail_msg("%s", e.text);
	o = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	unlink(path);
	assert_non_null(o);
	return o;
}

static json_t *ledger_of(json_t *run, size_t phase)
{
	return json_object_get(json_array_get(json_object_get(run, "phases"), phase), "ledger");
}

static void json_storage_has_every_field_and_null_for_the_unknown(void **state)
{
	struct run *r = *state;
	json_t *o, *row;

	add_disk(r);
	r->phase[0]->ledger.has_item[AFS_STORAGE_SENDFILE] = false;
	r->phase[2]->ledger.has_storage = false;
	o = saved(r);
	assert_int_equal(json_array_size(json_object_get(ledger_of(o, 0), "storage")), 3);
	row = json_array_get(json_object_get(ledger_of(o, 0), "storage"), 0);
	assert_int_equal(json_object_size(row), 3 + AFS_N_STORAGE);
	assert_string_equal(json_string_value(json_object_get(row, "role")), "afpd");
	assert_int_equal(json_integer_value(json_object_get(row, "number")), 26);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "FPOpenFork");
	assert_int_equal(json_integer_value(json_object_get(row, "bio_read_bytes")), 8200000);
	assert_int_equal(json_integer_value(json_object_get(row, "cache_meta_pages")), 40);
	assert_true(json_is_integer(json_object_get(row, "bio_flushes")));
	assert_true(json_is_null(json_object_get(row, "sendfiles")));
	/* five reads that took no time: only their number was seen */
	assert_true(json_is_integer(json_object_get(row, "file_reads")));
	assert_true(json_is_null(json_object_get(row, "file_read_ns")));
	assert_true(json_is_null(json_object_get(row, "file_write_bytes")));
	row = json_array_get(json_object_get(ledger_of(o, 1), "storage"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "name")), "between requests");
	assert_int_equal(json_integer_value(json_object_get(row, "file_read_ns")), 0);
	assert_true(json_is_null(json_object_get(ledger_of(o, 2), "storage")));
	assert_int_equal(json_array_size(json_object_get(ledger_of(o, 3), "storage")), 0);
	json_decref(o);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_on_a_disk_is_one_sentence),
		TEST(reads_are_said_to_come_from_the_cache_only_where_that_is_known),
		TEST(disk_time_of_requests_is_told_by_reason),
		TEST(the_disks_work_is_told_by_command_and_process),
		TEST(a_row_with_nothing_in_the_columns_left_over_is_left_out),
		TEST(block_io_that_was_not_timed_is_told),
		TEST(a_command_with_little_is_one_of_the_others),
		TEST(numbers_without_times_have_no_times_and_no_bytes),
		TEST(storage_not_measured_is_told_with_the_reason),
		TEST(storage_of_which_nothing_can_be_observed_is_not_measured),
		TEST(no_line_below_is_wider_than_the_terminal),
		TEST(rungs_are_a_list_by_layer_with_short_reasons),
		TEST(requests_are_absent_for_the_reason_of_their_rung),
		TEST(json_storage_has_every_field_and_null_for_the_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
