/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first screens of synthetic runs: against golden files, and their limits.
 * Also tests user/report/screen/cost.c, screen_server.c, screen_tests.c, screen_text.c,
 * screen_transfers.c.
 */
#include "unit/report_text.h"
#include "unit/sample_run.h"
#include "unit/sample_transfer.h"

#include <stdio.h>

#define GOLDEN "tests/golden/"

static char *screen(const struct run *r, unsigned int width, bool color)
{
	const struct report_opts opts = { .width = width, .color = color };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(report_screen(r, &opts, f), 0);
	fclose(f);
	return text;
}

/* AFPSCOPE_GOLDEN=1 writes the files anew. */
static void equals_golden(const struct run *r, unsigned int width, const char *name)
{
	char *text = screen(r, width, false), path[128], golden[16384];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	f = fopen(path, getenv("AFPSCOPE_GOLDEN") ? "w+" : "r");
	assert_non_null(f);
	if (getenv("AFPSCOPE_GOLDEN")) {
		fputs(text, f);
		rewind(f);
	}
	n = fread(golden, 1, sizeof(golden) - 1, f);
	fclose(f);
	golden[n] = '\0';
	assert_string_equal(text, golden);
	free(text);
}

/* Three lines are left for what is said of the run's folder. */
static void fits(const struct run *r, unsigned int width)
{
	char *text = screen(r, width, false), *save = NULL, *line;
	unsigned int lines = 3;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	if (lines > 40)
		fail_msg("%u lines:\n%s", lines, text);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (text_columns(line) > width)
			fail_msg("too wide: %s", line);
		if (line[strlen(line) - 1] == ' ')
			fail_msg("ends in a blank: %s", line);
	}
	free(text);
}

static void has_line(const struct run *r, const char *part)
{
	char *text = screen(r, 100, false);

	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
	free(text);
}

static void describe(struct run *r)
{
	run_note(&r->server, "host", "127.0.0.1");
	run_note(&r->server, "port", "28490");
	run_note(&r->server, "machine", "Netatalk4.5.1");
	run_note(&r->server, "volume", "vol1");
	run_note(&r->server, "afp_version", "AFP3.4");
	run_note(&r->options, "large_file_bytes", "104857600");
	run_note(&r->rungs, "price_ns", "885000000");
	run_note(&r->rungs, "watched_ns", "20000000000");
	run_note(&r->environment, "client.cpus", "allowed 1, last on 1");
	run_note(&r->server, "afpd.cpus", "allowed 1, last on 1");
}

static void lantest_is_the_golden_screen(void **state)
{
	describe(*state);
	equals_golden(*state, 100, "screen-lantest.txt");
	equals_golden(*state, 80, "screen-lantest-80.txt");
	fits(*state, 100);
	fits(*state, 80);
}

/* Two blanks part the words of the head: a name's own blanks are none of them. */
static void a_volume_with_blanks_is_one_word_of_the_head(void **state)
{
	struct run *r = *state;

	run_note(&r->server, "host", "127.0.0.1");
	run_note(&r->server, "port", "28490");
	run_note(&r->server, "volume", "My Volume \360\237\223\232");
	has_line(r, "  127.0.0.1:28490/My Volume \360\237\223\232  ");
}

static void noted_cost(struct run *r, uint64_t kernel_ns, uint64_t own_ns, uint64_t watched_ns)
{
	run_notes_fini(&r->rungs);
	if (kernel_ns)
		run_note(&r->rungs, "price_ns", "%llu", (unsigned long long)kernel_ns);
	if (own_ns)
		run_note(&r->rungs, "own_ns", "%llu", (unsigned long long)own_ns);
	if (watched_ns)
		run_note(&r->rungs, "watched_ns", "%llu", (unsigned long long)watched_ns);
}

#define MS 1000000ull

static void what_watching_cost_is_a_warning_above_one_percent_of_a_cpu(void **state)
{
	struct run r;

	(void)state;
	make_record(&r);
	/* An idle server, or one that was watched for long. */
	noted_cost(&r, 471000, 0, 8000 * MS);
	has_line(&r, "; watching cost 471us (kernel)\n");
	noted_cost(&r, 300 * MS, 300 * MS, 60000 * MS);
	has_line(&r, "; watching cost 600ms (kernel\n  300ms, afpscope 300ms)\n");
	/* What the programs took alone would not be one. */
	noted_cost(&r, 663 * MS, 42000 * MS, 305000 * MS);
	has_line(&r, "\nWarning: watching cost 42.7s, 14% of a CPU in 305s (kernel 663ms, afpscope "
		     "42.0s)\n");
	noted_cost(&r, 0, 90 * MS, 0);
	has_line(&r, "; watching cost 90.0ms\n  (afpscope)\n");
	noted_cost(&r, 0, 7 * MS, 300 * MS);
	has_line(&r, "; watching cost 7.00ms\n");
	run_fini(&r);
}

static void sessions_that_are_not_listed_are_in_their_number(void **state)
{
	char number[64];
	struct run r;

	(void)state;
	make_record(&r);
	r.n_rest = 100;
	snprintf(number, sizeof(number), "  %zu sessions  ", 100 + r.n_sessions);
	has_line(&r, number);
	run_fini(&r);
}

/* A socket of Rx is that of all clients, and a brick's connection is seen once it moves bytes. */
static void what_has_no_sessions_is_not_said_to_have_so_many(void **state)
{
	const struct run_kind bricks = { .name = "gluster", .has_requests = true };
	struct run r;
	char *text;

	(void)state;
	make_record(&r);
	r.kind = &bricks;
	text = screen(&r, 100, false);
	assert_null(strstr(text, " session"));
	free(text);
	run_fini(&r);
}

static void record_is_the_golden_screen(void **state)
{
	struct run r;
	char user[16];

	(void)state;
	make_record(&r);
	strcpy(r.id, "00112233445566ff");
	run_note(&r.server, "port", "548");
	equals_golden(&r, 100, "screen-record.txt");
	for (unsigned int i = 0; i < 27; i++) {
		snprintf(user, sizeof(user), "user%u", i);
		add_session(&r, user, "a volume with a name of more than thirty characters", i);
	}
	equals_golden(&r, 80, "screen-record-80.txt");
	fits(&r, 100);
	fits(&r, 80);
	run_fini(&r);
}

static void speedtest_is_the_golden_screen(void **state)
{
	struct run r;

	(void)state;
	sample_speed(&r, 18, 6, true);
	strcpy(r.id, "00112233445566ff");
	equals_golden(&r, 100, "screen-speedtest.txt");
	fits(&r, 100);
	fits(&r, 80);
	run_fini(&r);
}

/* Every alarm, and more warnings than have room. */
static void the_worst_run_fits(void **state)
{
	struct run *r = *state;

	describe(r);
	for (unsigned int i = 0; i < 20; i++)
		run_note(
		    &r->warnings, NULL,
		    "%u: a long warning that says at length what is wrong, on which thing, and "
		    "what can be done about it, so that it takes more than a line, and more than "
		    "two lines of a terminal that has a hundred columns, as many have",
		    i);
	run_note(&r->warnings, NULL, "broke off: the server ended the session in test 5");
	run_loss(r, "call records", 12);
	run_loss(r, "threads beyond the table, of which nothing is known but that they were there",
		 3);
	for (unsigned int i = 0; i < 9; i++)
		run_book(r, "cnid_dbd 4712 syscw", "/proc/PID/io", 1000, 1002);
	r->complete = false;
	for (unsigned int i = 0; i < r->n_phases; i++)
		run_set(r->phase[i], METRIC_ERRORS, 7);
	r->phase[0]->complete = false;
	fits(r, 100);
	fits(r, 80);
}

/* What a thread did that had no room in the watch may be much. */
static void of_threads_that_were_not_watched_it_is_not_known_how_much_is_lost(void **state)
{
	struct run *r = *state;

	run_loss(r, "call records", 12);
	run_loss(r, "threads not watched: no slot", 3);
	has_line(r,
		 "LOST: 12 call records, 3 threads not watched: no slot: the counts are too low, "
		 "by how much is not\n  known\n");
}

static void what_spoils_the_figures_stands_above_them(void **state)
{
	static const char top[] =
	    "INCOMPLETE: the run broke off: the server ended the session; these figures cover "
	    "what was completed\n"
	    "LOST: 12 call records: the counts are too low by these numbers\n"
	    "CROSS-CHECKS DISAGREE: 1 of 3, first cnid_dbd 4712 syscw: 1,000 counted, 1,002 by "
	    "/proc/PID/io; do\n  not trust the server's figures\n"
	    "lantest  ";
	struct run *r = *state;
	char *text;

	run_note(&r->warnings, NULL, "broke off: the server ended the session");
	run_loss(r, "call records", 12);
	run_book(r, "cnid_dbd 4712 syscw", "/proc/PID/io", 1000, 1002);
	r->complete = false;
	text = screen(r, 100, false);
	if (strncmp(text, top, strlen(top)))
		fail_msg("%s", text);
	free(text);
	text = screen(r, 100, true);
	assert_int_equal(strncmp(text, "\033[1;31mINCOMPLETE: ", 19), 0);
	free(text);
	has_line(r, "system calls counted, 12 lost, cross-checks DISAGREE\n");
	/* What is not known of a test that broke off is no error. */
	r->phase[r->n_phases - 1]->complete = r->phase[N_TESTS - 1]->complete = false;
	has_line(r, "\n  #   test                done    time  +-%  per op  calls  cnid  MB/s\n");
}

static void a_server_that_was_not_watched_has_no_figures(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++) {
		ledger_fini(&r->phase[i]->ledger);
		for (enum metric m = METRIC_AFPD_SYSCR; m < N_METRICS; m++)
			r->phase[i]->known[m] = false;
	}
	run_note(&r->absent, "*", "not on this host");
	has_line(r, "\nThe server was not watched: not on this host\n");
	has_line(r, "\n  #   test                time  +-%  per op  MB/s\n");
}

static void a_server_that_was_watched_in_vain_is_not_called_unwatched(void **state)
{
	struct run *r = *state;

	for (size_t i = 0; i < r->n_phases; i++)
		r->phase[i]->complete = false;
	has_line(r, "\nWhat the server did in a phase that is not complete is only in run.json\n");
}

static void a_run_without_a_server_says_nothing_of_watching_one(void **state)
{
	struct run r;
	char *text;

	(void)state;
	assert_int_equal(run_init(&r, "box", "box-1"), 0);
	r.complete = true;
	text = screen(&r, 80, false);
	assert_null(strstr(text, "watched"));
	free(text);
	run_fini(&r);
}

/* As the sanitizers see it: no list of nothing is copied or sorted. */
static void a_run_without_anything_has_all_outputs(void **state)
{
	const enum run_about all[] = { RUN_ABOUT_FILES, RUN_ABOUT_CALLS, RUN_ABOUT_SERVER,
				       RUN_ABOUT_FAULTS };
	const struct run_kind any = { .name = "any" };

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(all) / sizeof(all[0]); i++) {
		struct run_phase *p;
		struct run r;

		assert_int_equal(run_init(&r, i % 2 ? "record" : "lantest", "record"), 0);
		r.about = all[i / 4];
		p = i % 4 < 2 ? run_phase(&r, 0, 1, "nothing") : NULL;
		if (p)
			p->complete = p->ledger.has_calls = p->ledger.has_requests = true;
		r.kind = i % 2 ? &any : NULL;
		free(screen(&r, 80, false));
		free(output(&r, OWN));
		run_fini(&r);
	}
}

static void names_from_a_server_cannot_move_the_cursor(void **state)
{
	struct run *r = *state;

	run_note(&r->server, "host", "nas\033[2J");
	run_note(&r->server, "machine", "x\033]0;evil\007");
	run_note(&r->server, "volume", "a\rb");
	run_note(&r->warnings, NULL, "\033[2J");
	has_line(r, "x?]0;evil?  nas?[2J:?/a?b  ");
	has_line(r, "Warning: ?[2J\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lantest_is_the_golden_screen),
		TEST(a_volume_with_blanks_is_one_word_of_the_head),
		TEST(what_watching_cost_is_a_warning_above_one_percent_of_a_cpu),
		TEST(sessions_that_are_not_listed_are_in_their_number),
		TEST(what_has_no_sessions_is_not_said_to_have_so_many),
		TEST(record_is_the_golden_screen),
		TEST(speedtest_is_the_golden_screen),
		TEST(the_worst_run_fits),
		TEST(what_spoils_the_figures_stands_above_them),
		TEST(of_threads_that_were_not_watched_it_is_not_known_how_much_is_lost),
		TEST(a_server_that_was_not_watched_has_no_figures),
		TEST(a_server_that_was_watched_in_vain_is_not_called_unwatched),
		TEST(names_from_a_server_cannot_move_the_cursor),
		cmocka_unit_test(a_run_without_a_server_says_nothing_of_watching_one),
		cmocka_unit_test(a_run_without_anything_has_all_outputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
