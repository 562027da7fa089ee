/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netatalk's speedtest, text and CSV: from the iterations of a real run the same bytes come out
 * that netatalk 4.5.1 printed. Only RTT and its variance in the last table are not of that run:
 * netatalk looks once more at the very end, here the last test's look is the last.
 * Also tests user/compat/speed_csv.c, speed_text.c, speed_sweep.c.
 */
#include "compat/speed.h"
#include "report/report.h"
#include "unit/sample_transfer.h"

#include <errno.h>
#include <stdio.h>

#ifndef GOLDEN
#define GOLDEN "tests/golden/"
#endif

enum output { TEXT, TEXT_PLAIN, CSV };

static char *output(const struct run *r, enum output what)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int e = what == CSV ? report_speed_csv(r, f) : report_speed_peer(r, what == TEXT, f);

	assert_int_equal(e, 0);
	fclose(f);
	return text;
}

static void has(const struct run *r, enum output what, const char *part)
{
	char *text = output(r, what);

	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
	free(text);
}

static void has_not(const struct run *r, enum output what, const char *part)
{
	char *text = output(r, what);

	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
	free(text);
}

static FILE *golden(const char *name)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s (run the tests in the top directory)", path);
	return f;
}

static void equals(const struct run *r, enum output what, const char *name)
{
	char *got = output(r, what), want[64 * 1024] = "";
	FILE *f = golden(name);

	want[fread(want, 1, sizeof(want) - 1, f)] = 0;
	fclose(f);
	assert_string_equal(got, want);
	free(got);
}

/* The client's looks of a size: what netatalk printed of it, as it was before that was rounded. */
struct look {
	uint64_t rcvbuf, mss, cwnd, ssthresh, rtt, rttvar, retrans, rcv_mss, rcv_space;
};

static void add_look(struct run_phase *p, enum run_tcp_when when, const struct look *l)
{
	struct run_tcp *look = sample_look(p, TCP_CLIENT, when);

	look->value[TCP_RCVBUF] = l->rcvbuf;
	look->value[TCP_MSS] = look->value[TCP_SND_MSS] = l->mss;
	look->value[TCP_CWND] = l->cwnd;
	look->value[TCP_SSTHRESH] = l->ssthresh;
	look->value[TCP_RTT] = l->rtt;
	look->value[TCP_RTT_VAR] = l->rttvar;
	look->value[TCP_RETRANS_TOTAL] = l->retrans;
	look->value[TCP_RCV_MSS] = l->rcv_mss;
	look->value[TCP_ADV_MSS] = 65483;
	look->value[TCP_REORDERING] = 8;
	look->value[TCP_RCV_SPACE] = l->rcv_space;
}

#define KB    1024u
#define SMALL 4194 /* that run's "4 KB": 0.004 MiB */

static const struct look text_looks[][2] = {
	{ { 128 * KB, 32768, 13, 2147483647, 1708, 2906, 0, 536, 63 * KB },
	  { 128 * KB, 52224, 17, 2147483647, 998, 964, 0, 4210, 63 * KB } },
	{ { 128 * KB, 52224, 17, 2147483647, 998, 964, 0, 4210, 63 * KB },
	  { 867 * KB + 1000, 65483, 10, 8, 1778, 1772, 0, 65483, 255 * KB } },
	{ { 867 * KB + 1000, 65483, 10, 8, 1777, 1766, 0, 65483, 255 * KB },
	  { 8385 * KB + 100, 65483, 10, 12, 8004, 6974, 1, 65483, 1916 * KB } },
};

static const struct look csv_looks[2] = {
	{ 128 * KB, 32768, 13, 2147483647, 820, 1320, 0, 536, 63 * KB + 512 },
	{ 1301 * KB, 65483, 12, 10, 7360, 6570, 7, 65483, 511 * KB },
};

static struct run_phase *next_phase(struct run *r, const char *work, uint64_t size)
{
	struct run_phase *p = sample_bare(r, (unsigned int)r->n_phases + 1,
					  speed_tests[sample_work(work)], size);

	if (p->transfer->requests)
		p->transfer->chunk = 1048548;
	return p;
}

/* The iterations of netatalk's text. A part of a microsecond is cut off. */
static void make_text(struct run *r)
{
	FILE *f = golden("speedtest-4.5.txt");
	struct run_phase *p = NULL;
	unsigned long long n, us;
	uint64_t size = 0;
	char line[512], word[32];

	sample_init(r, "5");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "**** Testing with File Size: %llu %31s", &n, word) == 2)
			size = *word == 'K' ? SMALL : n << 20;
		else if (sscanf(line, "===== Test Passes for %31s", word) == 1)
			p = next_phase(r, word, size);
		else if (sscanf(line, "[W%llu]\t%llu\t", &n, &us) == 2)
			sample_add(p, (unsigned int)n, true, us * 1000 + 999);
		else if (sscanf(line, "%llu\t%llu\t", &n, &us) == 2)
			sample_add(p, (unsigned int)n, false, us * 1000 + 999);
	}
	fclose(f);
	assert_int_equal(r->n_phases, 12);
	for (size_t i = 0; i < 3; i++) {
		add_look(r->phase[4 * i], TCP_BEFORE, &text_looks[i][0]);
		add_look(r->phase[4 * i + 3], TCP_AFTER, &text_looks[i][1]);
	}
}

static void make_csv(struct run *r)
{
	FILE *f = golden("speedtest-4.5.csv");
	struct run_phase *p = NULL;
	unsigned long long n, us;
	char line[512], word[32];
	double mb;

	sample_init(r, "5");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%31[A-Za-z],%llu,%lf,%llu,", word, &n, &mb, &us) != 4)
			continue;
		if (n == 1)
			p = next_phase(r, word, mb < 1 ? SMALL : (uint64_t)mb << 20);
		sample_add(p, (unsigned int)n, false, us * 1000);
	}
	fclose(f);
	assert_int_equal(r->n_phases, 12);
	add_look(r->phase[0], TCP_BEFORE, &csv_looks[0]);
	add_look(r->phase[11], TCP_AFTER, &csv_looks[1]);
}

static void the_text_is_netatalk_s_byte_for_byte(void **state)
{
	struct run r;

	(void)state;
	make_text(&r);
	equals(&r, TEXT, "speedtest-4.5.txt");
	run_fini(&r);
}

static void the_csv_is_netatalk_s_byte_for_byte(void **state)
{
	struct run r;

	(void)state;
	make_csv(&r);
	equals(&r, CSV, "speedtest-4.5.csv");
	run_fini(&r);
}

/* Fields of a block's lines; a block begins with a line of words. */
static void every_line_of_a_block_has_the_same_fields(void **state)
{
	char *text, *save = NULL;
	size_t want = 0;
	struct run r;

	(void)state;
	sample_speed(&r, 3, 7, true);
	text = output(&r, CSV);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t n = 0;

		for (const char *at = line; *at; at++)
			n += *at == ',';
		if (!strncmp(line, "test_name", 9) || !strncmp(line, "file_size", 9) ||
		    !strncmp(line, "metric", 6))
			want = n;
		else if (*line != '#')
			assert_int_equal(n, want);
	}
	free(text);
	run_fini(&r);
}

static void one_size_has_neither_headings_nor_tables_of_a_sweep(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 3, true);
	has_not(&r, TEXT, "Testing with File Size");
	has_not(&r, TEXT, "Performance Summary");
	has(&r, TEXT, "Network & DSI Metrics for File Size: 4 KB =");
	has_not(&r, CSV, "#");
	run_note(&r.options, "sweep", "4K");
	has(&r, TEXT, "**** Testing with File Size: 4 KB ****\n");
	has(&r, TEXT, "║     4 KB │");
	has(&r, CSV, "\n\n# TCP Metrics Evolution Summary\nmetric,initial,final,delta\n");
	run_fini(&r);
}

static void without_statistics_only_iterations_are_told(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 3, true);
	has_not(&r, TEXT_PLAIN, "Statistics");
	has_not(&r, TEXT_PLAIN, "Network & DSI");
	has(&r, TEXT_PLAIN,
	    "run\t  microsec\t  MB/s\n[W1]\t      609\t6.41\n1\t      203\t19.24\n");
	run_fini(&r);
}

static void p95_is_told_from_twenty_iterations_on(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 19, true);
	has_not(&r, TEXT, "P95");
	run_fini(&r);
	sample_init(&r, "20");
	sample_bare(&r, 1, "Read", 1 << 20);
	for (unsigned int i = 1; i <= 20; i++)
		sample_add(r.phase[0], i, false, i * 1000000);
	/* sorted[floor(19 * 0.95)] = sorted[18] */
	has(&r, TEXT, "\nP95:            19000 μs (52.63 MB/s)\n");
	run_fini(&r);
}

static void one_iteration_has_no_statistics_and_only_warm_ups_no_row(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 2, 1, true);
	has_not(&r, TEXT, "===== Statistics");
	has_not(&r, CSV, "_mean,");
	has(&r, TEXT, "║     4 KB │      19.24 │");
	run_fini(&r);
	sample_speed(&r, 2, 0, true);
	has(&r, TEXT, "[W1]\t      609\t6.41\n\n===== Test Passes for Write");
	has_not(&r, TEXT, "║     4 KB");
	has_not(&r, CSV, "Read,");
	run_fini(&r);
}

static void what_broke_off_is_said_and_not_counted(void **state)
{
	struct run_sample *s;
	struct run r;

	(void)state;
	sample_speed(&r, 1, 2, true);
	s = run_sample(r.phase[0]->transfer);
	s->iteration = 3;
	s->ns = 1;
	r.phase[0]->complete = r.complete = false;
	has(&r, TEXT, "\n3\tbroke off\n");
	has(&r, TEXT, "\nIterations:     2\n");
	has(&r, TEXT, "\nINCOMPLETE: the run broke off\n");
	has_not(&r, CSV, "Read,3");
	run_fini(&r);
}

static void local_mode_says_so_and_skips_server_copy(void **state)
{
	struct run r;

	(void)state;
	sample_init(&r, "1");
	free(r.options.note[1].text);
	r.options.note[1].text = strdup("local");
	run_note(&r.options, "directory", "/srv/test");
	sample_add(sample_bare(&r, 1, "Read", 4096), 1, false, 5000);
	has(&r, TEXT,
	    " Mode:            Local (Direct Filesystem I/O)\n"
	    " AFP Version:     N/A (Local)\n Directory:       /srv/test\n");
	has(&r, TEXT, "\nServerCopy test skipped in Local mode (requires AFP server)\n");
	has_not(&r, TEXT, "Network & DSI");
	run_fini(&r);
}

static void no_delay_and_no_warm_up_have_no_line(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 2, true);
	has_not(&r, TEXT, "Delay");
	run_note(&r.options, "delay_s", "2");
	has(&r, TEXT, "\n Delay:           2 seconds\n");
	free(r.options.note[4].text);
	r.options.note[4].text = strdup("0");
	has_not(&r, TEXT, "Warmup: ");
	r.phase[0]->transfer->sparse = true;
	has(&r, TEXT, "\nRead quantum 4 KB, size 4 KB sparse file\nrun\t");
	run_fini(&r);
}

static void the_quantum_is_that_of_the_test(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 1, 2, true);
	/* the run's first work is Write, of smaller requests */
	run_note(&r.options, "chunk_bytes", "1044480");
	r.phase[0]->transfer->chunk = 1048576;
	has(&r, TEXT, "\nRead quantum 1024 KB, size 4 KB ");
	has(&r, TEXT, "\nServerCopy quantum 1020 KB, size 4 KB ");
	run_fini(&r);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct run r;

	(void)state;
	if (!full)
		skip();
	sample_speed(&r, 1, 2, true);
	assert_int_equal(report_speed_csv(&r, full), -ENOSPC);
	fclose(full);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_netatalk_s_byte_for_byte),
		cmocka_unit_test(the_csv_is_netatalk_s_byte_for_byte),
		cmocka_unit_test(every_line_of_a_block_has_the_same_fields),
		cmocka_unit_test(one_size_has_neither_headings_nor_tables_of_a_sweep),
		cmocka_unit_test(without_statistics_only_iterations_are_told),
		cmocka_unit_test(p95_is_told_from_twenty_iterations_on),
		cmocka_unit_test(one_iteration_has_no_statistics_and_only_warm_ups_no_row),
		cmocka_unit_test(what_broke_off_is_said_and_not_counted),
		cmocka_unit_test(local_mode_says_so_and_skips_server_copy),
		cmocka_unit_test(no_delay_and_no_warm_up_have_no_line),
		cmocka_unit_test(the_quantum_is_that_of_the_test),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
