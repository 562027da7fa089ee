/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The own report and the JSON of a run of transfers.
 * Also tests user/report/transfer.c, user/report/json/transfer.c, user/report/screen/brief.c,
 * user/report/long/connection.c, copies.c, options.c, verdicts.c.
 */
#include "compat/speed.h"
#include "unit/report_text.h"
#include "unit/sample_transfer.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static void is_within(const struct run *r, enum output what, size_t width)
{
	char *text = output(r, what), *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (text_columns(line) > width)
			fail_msg("too wide: %s", line);
	}
	free(text);
	has_not(r, what, " \n");
}

static void a_transfer_is_one_line_with_its_range_and_verdict(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 8, true);
	has(&r, OWN,
	    "\n    4 KiB  8   211µs   18.5  17.8–19.2   3.1  203µs  219µs    -    -    214µs    217µs  "
	    "by turns\n");
	has(&r, OWN, "\n  Read, requests of at most 4 KiB, 1 under way\n");
	has(&r, OWN, "\n  ServerCopy\n");
	has(&r, OWN, "  server CPU-bound\n");
	has(&r, OWN, "\n  Write      4 KiB I/O-bound: client's CPU 22 %, ");
	run_fini(&r);
}

/* Which takes 1 s in 100 writes, and reads 1,000 times for 1 us. */
static void requests_of_a_copy_are_those_that_took_most_of_its_time(void **state)
{
	struct run_command *c;
	struct run r;

	(void)state;
	sample_speed(&r, 1, 8, true);
	run_clear_commands(r.phase[0]);
	assert_int_equal(run_reserve_commands(r.phase[0], 2), 0);
	c = run_command(r.phase[0], 60, "FPReadExt");
	for (int i = 0; i < 1000; i++)
		hist_add(&c->latency, 1000);
	c = run_command(r.phase[0], 61, "FPWriteExt");
	for (int i = 0; i < 100; i++)
		hist_add(&c->latency, 10000000);
	has(&r, OWN, "219µs    -    -   10.0ms   10.0ms  by turns\n");
	run_fini(&r);
}

static void few_iterations_have_no_range_and_no_percentile(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 1, true);
	has(&r, OWN, "    4 KiB  1   203µs   19.2      -     -  203µs  203µs    -    - ");
	run_fini(&r);
	sample_speed(&r, 1, 2, true);
	has(&r, OWN, "    4 KiB  2   207µs   18.9      -   2.8  203µs  211µs    -    - ");
	run_fini(&r);
	sample_speed(&r, 1, 20, true);
	has(&r, OWN, "  18.1–18.9   2.8  203µs  219µs  219µs  219µs ");
	run_fini(&r);
}

static void only_warm_ups_are_no_figures(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 0, true);
	has(&r, OWN, "    4 KiB  0     n/a    n/a    n/a   n/a  n/a  n/a  n/a  n/a ");
	has(&r, OWN, "unknown: no measured iteration\n");
	has_not(&r, OWN, "ServerCopy explained");
	has_not(&r, OWN, "nan");
	run_fini(&r);
}

static void a_transfer_that_broke_off_is_red_and_without_costs(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 2, true);
	run_sample(r.phase[0]->transfer)->iteration = 3;
	r.phase[0]->complete = r.complete = false;
	has(&r, OWN_COLOR, "\n\033[1;31m    4 KiB  2/3   207µs ");
	has(&r, OWN, "  broke off\n");
	has(&r, OWN, "unknown: it broke off\n");
	has(&r, OWN, "\n    4 KiB      n/a      n/a    n/a    n/a ");
	run_fini(&r);
}

static void what_broke_off_later_keeps_its_figures(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	run_sample(r.phase[0]->transfer)->iteration = 7;
	free(r.options.note[3].text);
	r.options.note[3].text = strdup("20");
	r.complete = false;
	has(&r, OWN, "the tables hold the iterations that were completed\n");
	has(&r, OWN, "\n    4 KiB  6/7   209µs ");
	has(&r, OWN, "\n    4 KiB    24.8s    19.3s  512.0   1.00 ");
	has(&r, OWN, " of 20 iterations; the ");
	run_fini(&r);
}

static void a_median_that_is_unsteady_is_marked(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	has_not(&r, OWN, "unsteady");
	r.phase[1]->transfer->sample[3].ns *= 3;
	has(&r, OWN, "\n    4 KiB  6  ~210µs ");
	has(&r, OWN, "\n  ~ unsteady: the standard deviation is more than 30 %");
	run_fini(&r);
}

static void a_size_of_the_server_is_told_as_one(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	has(&r, OWN, "; quantum: 1 MiB\n");
	run_fini(&r);
}

static void a_sweep_stays_within_the_terminal(void **state)
{
	const size_t iterations[] = { 0, 1, 6, 20 };
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(iterations) / sizeof(iterations[0]); i++) {
		sample_speed(&r, 18, iterations[i], true);
		is_within(&r, OWN, 116);
		is_within(&r, OWN_NARROW, 80);
		run_fini(&r);
	}
	sample_speed(&r, 18, 6, true);
	has(&r, OWN, "\n    512 MiB  6 ");
	has(&r, OWN, "\n  Write      512 MiB I/O-bound: ");
	has(&r, OWN, "17 I/O-bound\n");
	has(&r, OWN_NARROW, "more columns in a wider terminal)\n");
	has(&r, OWN_NARROW, "  run ");
	has_not(&r, OWN, "more columns in a wider terminal)\n");
	run_fini(&r);
}

static void without_a_watch_the_server_is_not_measured_never_0(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, false);
	has(&r, OWN, "n/a because the server is not on this machine (all of the server)\n");
	has(&r, OWN,
	    "\n    4 KiB    24.8s      n/a    n/a    n/a   n/a    n/a    n/a    45.0   n/a");
	has(&r, OWN, "afpd: n/a (the server is not on this machine)\n");
	has(&r, OWN, "\n  read from the file                       n/a ");
	has(&r, OWN, "How afpd copies was not seen");
	is_within(&r, OWN, 116);
	run_fini(&r);
}

static void without_a_server_only_this_program_is_told(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, false);
	free(r.options.note[1].text);
	r.options.note[1].text = strdup("local");
	has(&r, OWN, "\n    4 KiB    24.8s    45.0\n");
	has(&r, OWN,
	    "4 KiB I/O-bound: this program's CPU 45 %, waiting for the file system 55 %\n");
	has_not(&r, OWN, "afpd");
	has_not(&r, OWN, "server work");
	run_fini(&r);
}

static void a_copy_by_read_and_write_is_explained(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 2, 6, true);
	has(&r, OWN, "\nServerCopy explained  for each GiB copied\n");
	has(&r, OWN, "\n  read from the file                 1.000 GiB           -\n");
	has(&r, OWN, "\n  sent by sendfile                           -   1.000 GiB\n");
	has(&r, OWN,
	    "\n  afpd copies by read and write: 1 read of 8,192 bytes, 1 write of 8,192 bytes for a "
	    "file; every byte goes through\n  its memory, in and out again.");
	has(&r, OWN, "Beside Copy it takes 101 % of the time, 252 % of afpd's CPU, ");
	run_fini(&r);
}

/* Makes the last phase's reads and writes of data files calls of another class. */
static void turn_into(struct run *r, unsigned int class)
{
	struct ledger *l = &r->phase[r->n_phases - 1]->ledger;

	for (size_t i = 0; i < l->n_rows; i++)
		if (l->row[i].class == AFS_CLASS_WRITE || l->row[i].class == AFS_CLASS_READ)
			l->row[i].class = (uint8_t) class;
}

static void a_copy_by_the_kernel_is_explained(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	turn_into(&r, AFS_CLASS_COPY);
	has(&r, OWN, "afpd has the kernel copy (copy_file_range): 2 calls of 4,096 bytes ");
	turn_into(&r, AFS_CLASS_COPY);
	run_fini(&r);
	sample_speed(&r, 1, 6, true);
	turn_into(&r, AFS_CLASS_FD);
	has(&r, OWN, "No read, write or copy_file_range moved the data: ");
	run_fini(&r);
}

/* The calls of the last phase, whose work is ServerCopy: so many for each of its copies. */
static void set_calls(struct run *r, unsigned int class, uint64_t calls, uint64_t bytes)
{
	struct ledger *l = &r->phase[r->n_phases - 1]->ledger;

	for (size_t i = 0; i < l->n_rows; i++)
		if (l->row[i].class == class)
			l->row[i].cell = (struct afs_cell) { .calls = calls, .bytes = bytes };
}

static void the_read_that_finds_the_end_is_no_part(void **state)
{
	const uint64_t mib = 1 << 20;
	struct run r;

	(void)state;
	sample_init(&r, "2");
	sample_phase(&r, 1, "ServerCopy", 64 * mib, 2, true);
	set_calls(&r, AFS_CLASS_WRITE, 2ull * 64, 128 * mib);
	set_calls(&r, AFS_CLASS_READ, 2ull * 65, 128 * mib);
	has(&r, OWN, "64 reads of 1,048,576 bytes and 1 that finds the end, 64 writes of ");
	/* another number of them each time */
	set_calls(&r, AFS_CLASS_READ, 131, 128 * mib);
	has(&r, OWN, "by read and write: 65.50 reads, 64.0 MiB, 64 writes of ");
	set_calls(&r, AFS_CLASS_READ, 132, 128 * mib);
	has(&r, OWN, "by read and write: 66 reads, 64.0 MiB, 64 writes of ");
	run_fini(&r);
}

static void a_copy_s_time_is_that_of_the_table(void **state)
{
	struct run r;

	(void)state;
	sample_init(&r, "3");
	sample_phase(&r, 1, "ServerCopy", 1 << 30, 3, true);
	r.phase[0]->transfer->sample[3].ns *= 10;
	has(&r, OWN, "\n    1 GiB  3  ~1.68s");
	has(&r, OWN, "\n  time (of the median)                   1.68s\n");
	run_fini(&r);
}

static void what_is_sent_by_sendfile_is_counted_where_it_goes(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	/* Read, then the reading half of Copy */
	has(&r, OWN, "\n    4 KiB    24.8s    19.3s  512.0   1.00     -      -       -    45.0");
	has(&r, OWN, "\n    4 KiB    26.7s    20.0s  554.7   1.00     -   1.00  8.48µs    48.0");
	run_fini(&r);
}

static void a_null_peer_that_is_void_is_no_number(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	r.phase[0]->transfer->null_ns = 1000000;
	r.phase[1]->transfer->null_ns = 100000;
	has(&r, OWN, "  void    45.0  ");
	has(&r, OWN, "null peer not usable: it was slower than the server (478 %)");
	run_fini(&r);
}

static void the_options_are_told(void **state)
{
	static const char *const more[][2] = {
		{ "outstanding", "8" }, { "flush", "no" },   { "sparse", "yes" },
		{ "recreate", "yes" },  { "verify", "yes" }, { "data", "random" },
		{ "delay_s", "1.5" },   { "direct", "yes" },
	};
	struct run r;

	(void)state;
	sample_speed(&r, 1, 6, true);
	run_note(&r.options, "sizes_bytes", "4096,1048576");
	has(&r, OWN,
	    "\nOptions     Read, Write, Copy, ServerCopy; sizes 4 KiB, 1 MiB; 6 iterations; "
	    "1 warm-up\n");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		run_note(&r.options, more[i][0], "%s", more[i][1]);
	r.set = "speedtest-4.5";
	has(&r, OWN,
	    "; 8 requests under way at\n            most; no flush; sparse files; files made anew for each; "
	    "verified; random data; 1.5 s between iterations;\n            set speedtest-4.5\n");
	has_not(&r, OWN, "buffered");
	run_fini(&r);
	sample_speed(&r, 1, 6, true);
	run_note(&r.options, "sizes_bytes", "4096,8192,16384,1,2,3,536870912");
	has(&r, OWN, "; sweep of 7 sizes from 4 KiB to 512 MiB; ");
	run_fini(&r);
}

/* Whether no other section follows this one. */
static bool is_last(const char *text, const char *heading)
{
	size_t n = strlen(text), len = strlen(heading), i = 0;

	while (i < n && strncmp(text + i, heading, len))
		i++;
	if (i == n)
		return false;
	for (i += len; i < n; i++)
		if (text[i - 1] == '\n' && text[i] == '\n')
			return false;
	return true;
}

static void the_answer_is_at_the_end(void **state)
{
	const char *const begin = "\nIn short  per work, its largest file\n";
	char *text;
	struct run r;
	bool last;

	(void)state;
	sample_speed(&r, 2, 6, true);
	text = output(&r, OWN);
	last = is_last(text, begin);
	free(text);
	assert_true(last);
	has(&r, OWN,
	    "\n  Read 8 KiB          36.8 MiB/s (309 Mbit/s), by turns: the server works 48 %; a "
	    "single request: ");
	has(&r, OWN,
	    "\n  Write 8 KiB         36.4 MiB/s (306 Mbit/s), I/O-bound: the server waits for its files 55 % "
	    "(fsync 55 %); faster\n");
	run_fini(&r);
	sample_init(&r, "6");
	sample_phase(&r, 1, "Read", 64 << 20, 4, true);
	has(&r, OWN, " MiB/s (4 of 6 iterations), by turns: the server works 48 %; one request");
	has(&r, OWN, "try -r 8");
	r.phase[0]->transfer->sample[4].ns *= 5;
	has(&r, OWN, ", by turns, unsteady (CV 99 %): ");
	r.phase[0]->transfer->window = 4;
	run_set(r.phase[0], METRIC_CLIENT_CPU, 1);
	has(&r, OWN, ": neither end working 64 %;");
	has_not(&r, OWN, "BBR");
	run_note(&r.environment, "client.congestion", "bbr"); /* who sends is afpd */
	has_not(&r, OWN, "BBR");
	run_note(&r.server, "afpd.congestion", "bbr");
	has(&r, OWN, "BBR paces");
	r.phase[0]->transfer->window = 1;
	has_not(&r, OWN, "BBR");
	run_fini(&r);
}

static void a_server_elsewhere_asks_to_be_run_there(void **state)
{
	struct run r;

	(void)state;
	sample_init(&r, "4");
	sample_phase(&r, 1, "Read", 64 << 20, 4, false)->transfer->n_tcp = 0;
	has(&r, OWN, "; watch the server to learn more (as root)\n");
	free(r.server.note[0].text);
	r.server.note[0].text = strdup("nas.example");
	has(&r, OWN, ", unknown: the client's CPU 45 %; run it on the server to");
	has(&r, OWN, " more, or try -r 8\n");
	r.phase[0]->transfer->window = 2;
	has_not(&r, OWN, "-r 8");
	run_fini(&r);
}

static void decimal_units_are_decimal(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 8, true);
	has(&r, OWN, " MiB/s ");
	strcpy(r.options.note[0].text, "binarx");
	has_not(&r, OWN, "MiB/s");
	has(&r, OWN, "  19.4  18.7–20.2 ");
	has(&r, OWN, "for each GB copied\n");
	run_fini(&r);
}

static void both_ends_of_the_connection_are_shown(void **state)
{
	struct run_tcp *look;
	struct run r;

	(void)state;
	sample_speed(&r, 1, 1, true);
	look = &r.phase[1]->transfer->tcp[1];
	look->value[TCP_RETRANS_TOTAL] = 7;
	look->value[TCP_RWND_LIMITED] = 1500;
	has(&r, OWN, "\n  Write 4 KiB\n    client      2  180µs  40.0µs    10  1,448 ");
	has(&r, OWN, "     2,000      7     -         1.50ms           -\n    server ");
	look = sample_look(r.phase[1], TCP_CLIENT, TCP_DURING);
	look->value[TCP_RTT] = 999;
	has(&r, OWN, "\n    client      3  999µs ");
	run_fini(&r);
}

/* JSON */

static json_t *saved(const struct run *r)
{
	char path[64];
	struct err e = { 0 };
	json_t *o;

	snprintf(path, sizeof(path), "/tmp/afpscope-transfer-%d.json", (int)getpid());
	assert_int_equal(report_json(r, path, &e), 0);
	o = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	unlink(path);
	assert_non_null(o);
	return o;
}

static const json_t *transfer_of(const json_t *o, size_t i)
{
	return json_object_get(json_array_get(json_object_get(o, "phases"), i), "transfer");
}

static double number(const json_t *o, const char *group, const char *key)
{
	const json_t *v = json_object_get(group ? json_object_get(o, group) : o, key);

	if (!json_is_number(v))
		fail_msg("%s is no number", key);
	return json_number_value(v);
}

static bool is_null(const json_t *o, const char *group, const char *key)
{
	return json_is_null(json_object_get(json_object_get(o, group), key));
}

static void json_holds_the_transfer(void **state)
{
	const json_t *t, *look;
	struct run r;
	json_t *o;

	(void)state;
	sample_speed(&r, 1, 6, true);
	r.phase[0]->transfer->tcp[0].known[TCP_LOST] = false;
	o = saved(&r);
	t = transfer_of(o, 0);
	assert_string_equal(json_string_value(json_object_get(t, "work")), "Read");
	assert_int_equal(number(t, NULL, "size_bytes"), 4096);
	assert_int_equal(number(t, NULL, "requests"), 1);
	assert_int_equal(json_array_size(json_object_get(t, "samples")), 7);
	assert_true(json_is_null(
	    json_object_get(json_array_get(json_object_get(t, "samples"), 0), "client_cpu_ns")));
	assert_int_equal(number(t, "stats", "n"), 6);
	assert_int_equal(number(t, "stats", "min_ns"), 203072);
	assert_true(number(t, "stats", "ci_level") == 0.96875);
	assert_true(number(t, NULL, "throughput") * number(t, "stats", "median_ns") - 4096e9 < 1);
	assert_true(is_null(t, "null", "ns"));
	assert_int_equal(json_array_size(json_object_get(t, "tcp")), 4);
	look = json_array_get(json_object_get(t, "tcp"), 0);
	assert_true(is_null(look, "values", "lost"));
	assert_int_equal(number(look, "values", "mss"), 1448);
	assert_int_equal(json_array_size(json_object_get(o, "tcp_values")), N_TCP);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(t, "verdict"), "kind")), "turns");
	assert_true(number(json_object_get(t, "verdict"), "figures", "client_cpu") > 0.44);
	assert_true(is_null(json_object_get(t, "verdict"), "figures", "null_peer"));
	json_decref(o);
	run_fini(&r);
}

static void json_has_null_for_what_too_few_iterations_cannot_tell(void **state)
{
	const json_t *t;
	struct run r;
	json_t *o;

	(void)state;
	sample_speed(&r, 1, 1, true);
	assert_non_null(run_phase(&r, 9, 1, "no transfer"));
	o = saved(&r);
	t = transfer_of(o, 0);
	assert_true(is_null(t, "stats", "stddev_ns"));
	assert_true(is_null(t, "stats", "ci_low_ns"));
	assert_int_equal(number(t, "stats", "median_ns"), 203072);
	assert_true(json_is_null(transfer_of(o, 4)));
	json_decref(o);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transfer_is_one_line_with_its_range_and_verdict),
		cmocka_unit_test(requests_of_a_copy_are_those_that_took_most_of_its_time),
		cmocka_unit_test(few_iterations_have_no_range_and_no_percentile),
		cmocka_unit_test(only_warm_ups_are_no_figures),
		cmocka_unit_test(a_transfer_that_broke_off_is_red_and_without_costs),
		cmocka_unit_test(what_broke_off_later_keeps_its_figures),
		cmocka_unit_test(a_median_that_is_unsteady_is_marked),
		cmocka_unit_test(a_size_of_the_server_is_told_as_one),
		cmocka_unit_test(a_sweep_stays_within_the_terminal),
		cmocka_unit_test(without_a_watch_the_server_is_not_measured_never_0),
		cmocka_unit_test(without_a_server_only_this_program_is_told),
		cmocka_unit_test(a_copy_by_read_and_write_is_explained),
		cmocka_unit_test(a_copy_by_the_kernel_is_explained),
		cmocka_unit_test(the_read_that_finds_the_end_is_no_part),
		cmocka_unit_test(a_copy_s_time_is_that_of_the_table),
		cmocka_unit_test(what_is_sent_by_sendfile_is_counted_where_it_goes),
		cmocka_unit_test(a_null_peer_that_is_void_is_no_number),
		cmocka_unit_test(the_options_are_told),
		cmocka_unit_test(the_answer_is_at_the_end),
		cmocka_unit_test(a_server_elsewhere_asks_to_be_run_there),
		cmocka_unit_test(decimal_units_are_decimal),
		cmocka_unit_test(both_ends_of_the_connection_are_shown),
		cmocka_unit_test(json_holds_the_transfer),
		cmocka_unit_test(json_has_null_for_what_too_few_iterations_cannot_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
