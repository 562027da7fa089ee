/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen of a load: rates, and what was not done. Tests user/report/screen/screen_load.c.
 */
#include "unit/report_text.h"
#include "unit/sample_load.h"

#include <stdio.h>

static char *screen(const struct run *r, unsigned int width)
{
	const struct report_opts opts = { .width = width };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(report_screen(r, &opts, f), 0);
	fclose(f);
	return text;
}

static void shows(const struct run *r, const char *part)
{
	char *text = screen(r, 100);

	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
	free(text);
}

static void shows_no(const struct run *r, const char *part)
{
	char *text = screen(r, 100);

	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
	free(text);
}

/* Three lines are left for what is said of the run's folder. */
static void fits(const struct run *r, unsigned int width)
{
	char *text = screen(r, width), *save = NULL, *line;
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

/* What succeeded counts in a rate: in the first line as in the table. */
static void rates_are_of_what_succeeded(void **state)
{
	struct run r;

	(void)state;
	make_load(&r);
	shows(&r, "\n10 clients, mix browse, closed loop, 10.0s: 237 actions/s, 0.90 MB/s\n");
	shows(
	    &r,
	    "  action             per s  failed  time%    mean     p50     p90    p99  p99.9     max\n"
	    "  list                40.0            4.0   401ms   401ms   717ms  793ms          800ms\n"
	    "  look                 197      30   96.0   1.97s   1.97s   3.54s  3.91s  3.94s   3.94s\n");
	/* Quantiles of lists and looks together say nothing. */
	shows(
	    &r,
	    "  all                  237      30          1.71s                                 3.94s\n");
	shows(
	    &r,
	    "  probe: stat         1.00                 12.0ms  12.0ms  20.1ms                22.0ms\n");
	shows(
	    &r,
	    "Fairness among clients (Jain's index): 0.99; 1 is even. Load generator: busiest of 2 "
	    "threads 20% of\n  a CPU\n");
	shows_no(&r, "not done");
	shows_no(&r, "late");
	shows_no(&r, "SATURATED");
	fits(&r, 100);
	fits(&r, 80);
	run_fini(&r);
}

static void an_open_loop_says_what_was_not_done(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	l->rate_per_s = 250;
	l->n_arrivals = 2500;
	l->n_no_room = 60;
	l->n_waiting = 30;
	l->n_cut = 10;
	l->late_n = 1;
	l->late_max_ns = 3 * LOAD_MS;
	shows(&r, "open loop of 250 actions/s, 10.0s: 237 actions/s");
	shows(
	    &r,
	    "\nActions not done: 60 dropped: they would have had to wait, and the queue was full; "
	    "30 still");
	shows(&r, "10 cut off with their sessions\n");
	shows(&r, "more than 1 ms late (at most 3.00ms)\n");
	fits(&r, 100);
	fits(&r, 80);
	l->n_no_room = l->n_waiting = l->n_cut = 123456789;
	fits(&r, 80);
	run_fini(&r);
}

/* What 500 of 2,500 actions will take is not known, but that it is more than 30 s. */
static void what_dropped_actions_could_change_is_at_least_so_long(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	l->rate_per_s = 250;
	l->n_arrivals = 500;
	l->n_waiting = l->n_held = 500;
	shows_no(&r, ">=");
	shows(&r, "; 500 of these were due while this program\n  did not run\n");
	l->n_held = 0;
	for (unsigned int i = 0; i < 500; i++)
		hist_add(&l->undone, 30000 * LOAD_MS);
	shows(&r, " >= 6.64s                                     >= 30.0s\n");
	fits(&r, 100);
	fits(&r, 80);
	l->unoffered_ns = 2000 * LOAD_MS;
	shows(&r, "; it could not offer 250 actions/s: at the end it was 2.00s behind, and");
	fits(&r, 80);
	run_fini(&r);
}

/* Of an open loop they are in the figures: what the server did in the measured time was less. */
static void many_actions_that_end_after_the_measured_time_are_said(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	l->rate_per_s = 250;
	l->n_ended_after = 600;
	l->n_due_before = 500;
	shows_no(&r, "after the measured time");
	l->n_due_before = 100;
	shows(&r, "237 actions/s");
	shows(&r,
	      "\n500 of these ended after the measured time; within it only 187 actions/s were");
	fits(&r, 80);
	run_fini(&r);
}

/* Of a load that changes: little to do on average. */
static void a_generator_that_was_the_limit_for_a_second_is_said(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	l->busy_second_ns = 890 * LOAD_MS;
	shows_no(&r, "busiest second");
	l->busy_second_ns = 970 * LOAD_MS;
	shows(&r, "in its busiest second it");
	fits(&r, 80);
	run_fini(&r);
}

/* Each client has an action under way at the end: that is a word only where they are not few. */
static void many_actions_that_outlast_the_measured_time_are_said(void **state)
{
	struct run r;
	struct run_load *l;
	uint64_t n = 0;

	(void)state;
	l = make_load(&r)->load;
	for (size_t i = 0; i < l->n_actions; i++)
		n += l->action[i].n;
	l->n_outlasting = n / 20;
	shows_no(&r, "Actions not done");
	l->n_outlasting = n / 20 + 1;
	shows(&r, " under way when the measured time was over\n");
	fits(&r, 80);
	run_fini(&r);
}

/* Who waits at the end and who was cut off is not the same, nor who is neither. */
static void only_what_waited_is_said_to_have_waited(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	l->rate_per_s = 250;
	l->n_arrivals = 2410;
	l->n_cut = 10;
	shows_no(&r, "still waited");
	shows(&r, "\nActions not done: 10 cut off with their sessions\n");
	run_fini(&r);
}

static void a_quantile_is_shown_from_as_many_latencies_as_it_needs(void **state)
{
	struct run r;
	struct run_phase *p = make_load(&r);

	(void)state;
	memset(&p->load->action[0], 0, sizeof(p->load->action[0]));
	load_action(&p->load->action[0], "list", 10, 0);
	/* of 10, p50 and p90 */
	shows(
	    &r,
	    "\n  list                1.00            0.0  11.0ms  10.0ms  18.0ms                20.0ms\n");
	shows(&r, "  all  ");
	/* One kind has the quantiles of all. */
	p->load->n_actions = 1;
	shows(&r, "\n  list                1.00  11.0ms  10.0ms  18.0ms              20.0ms\n");
	shows_no(&r, "time%");
	shows_no(&r, "  all  ");
	p->load->n_actions = 2;
	run_fini(&r);
}

static void a_generator_at_its_limit_is_said_to_be(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	l->cpu_max_ns = 10500 * LOAD_MS;
	shows(&r, "SATURATED");
	fits(&r, 80);
	run_fini(&r);
}

static void a_load_without_an_action_has_no_rate(void **state)
{
	struct run r;
	struct run_load *l;

	(void)state;
	l = make_load(&r)->load;
	for (size_t i = 0; i < l->n_actions; i++)
		load_action(memset(&l->action[i], 0, sizeof(l->action[i])), "x", 0, 0);
	l->end_ns = l->begin_ns + 1; /* stopped in the ramp */
	l->done_ns = 0;
	shows(&r, "\n10 clients, mix browse, closed loop\n");
	shows_no(&r, "nan");
	shows(&r, "  probe: stat");
	run_load_free(r.phase[0]->probe);
	r.phase[0]->probe = NULL;
	shows_no(&r, "per s");
	shows_no(&r, "inf");
	fits(&r, 80);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_of_what_succeeded),
		cmocka_unit_test(an_open_loop_says_what_was_not_done),
		cmocka_unit_test(what_dropped_actions_could_change_is_at_least_so_long),
		cmocka_unit_test(many_actions_that_end_after_the_measured_time_are_said),
		cmocka_unit_test(a_generator_that_was_the_limit_for_a_second_is_said),
		cmocka_unit_test(many_actions_that_outlast_the_measured_time_are_said),
		cmocka_unit_test(only_what_waited_is_said_to_have_waited),
		cmocka_unit_test(a_quantile_is_shown_from_as_many_latencies_as_it_needs),
		cmocka_unit_test(a_generator_at_its_limit_is_said_to_be),
		cmocka_unit_test(a_load_without_an_action_has_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
