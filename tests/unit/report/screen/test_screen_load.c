/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first screen of a load and of a probe: against golden files, and its limits. Tests
 * user/report/screen/screen_load.c, screen_stages.c.
 */
#include "run/load.h"
#include "unit/report_text.h"
#include "unit/sample_run.h"

#include <stdio.h>

#define GOLDEN "tests/golden/"
#define MS     1000000ull
#define STEP   10000u /* ns */

static const char *const kinds[] = { "list", "look", "read", "write", "save", "create", "band" };
static const char *const probes[] = { "stat", "read 4 KiB", "write 4 KiB" };

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

/* AFPSCOPE_GOLDEN=1 writes the files anew. */
static void equals_golden(const struct run *r, unsigned int width, const char *name)
{
	char *text = screen(r, width), path[128], golden[16384];
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
static unsigned int fits(const struct run *r, unsigned int width)
{
	char *text = screen(r, width), *save = NULL, *line;
	unsigned int lines = 3;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	if (lines > 40)
		fail_msg("%u lines:\n%s", lines, text);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (text_columns(line) > width)
			fail_msg("too wide: %s", line);
	free(text);
	return lines;
}

static void on_screen(const struct run *r, const char *part, bool wanted)
{
	char *text = screen(r, 100);

	if (!!strstr(text, part) != wanted)
		fail_msg("%s \"%s\" in:\n%s", wanted ? "no" : "there is", part, text);
	free(text);
}

/* n actions of each of the first kinds, the i-th took i times 10 us. */
static struct run_load *new_load(unsigned int clients, const char *const *names, size_t n_kinds,
				 unsigned int n)
{
	struct run_load *l = run_load_new(clients, n_kinds, 0);

	assert_non_null(l);
	l->n_threads = 1;
	l->begin_ns = 1000 * MS;
	l->measure_ns = 2000 * MS;
	l->end_ns = l->done_ns = 12000 * MS;
	l->cpu_ns = l->cpu_max_ns = 1100 * MS;
	for (size_t k = 0; k < n_kinds; k++) {
		l->action[k].name = names[k];
		l->action[k].n = n;
		for (unsigned int i = 1; i <= n; i++) {
			hist_add(&l->action[k].planned, (uint64_t)i * STEP);
			hist_add(&l->action[k].begun, (uint64_t)i * STEP / 2);
		}
	}
	for (unsigned int i = 0; i < clients; i++)
		l->client[i] = (struct run_client) { .actions = 100 + i, .opened = true };
	return l;
}

/* A run that has a ledger of the server. */
static struct run_phase *make_load(struct run *r, const char *command, size_t n_kinds)
{
	struct run_phase *p;

	assert_int_equal(run_init(r, command, "load-1"), 0);
	strcpy(r->id, "00112233445566ff");
	r->complete = true;
	p = run_phase(r, 1, 1, "office");
	p->complete = true;
	add_ledger(p, &samples[4], 0);
	run_set(p, METRIC_BYTES, 708000000);
	if (n_kinds)
		p->load = new_load(10, kinds, n_kinds, 2000);
	p->probe = new_load(1, probes, 3, 10);
	run_note(&r->server, "host", "127.0.0.1");
	run_note(&r->server, "port", "548");
	run_note(&r->server, "machine", "Netatalk4.5.1");
	run_note(&r->server, "volume", "vol1");
	run_note(&r->options, "directories", "10");
	run_note(&r->options, "files", "20");
	run_note(&r->options, "file_bytes", "262144");
	run_note(&r->options, "set_bytes", "52428800");
	run_note(&r->options, "shared", "no");
	run_loss(r, "call records", 0);
	return p;
}

static void add_slo(struct run_load *l, const char *text, bool known, bool kept)
{
	struct run_slo *s = &l->slo[l->n_slos++];

	*s = (struct run_slo) { .limit = 10 * MS, .value = 20 * MS, .known = known };
	s->verdict = !known ? RUN_SLO_UNSURE : kept ? RUN_SLO_KEPT : RUN_SLO_BROKEN;
	snprintf(s->text, sizeof(s->text), "%s", text);
	if (!known)
		snprintf(s->why, sizeof(s->why), "no such action was complete");
}

static void load_is_the_golden_screen(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	p = make_load(&r, "load", 5);
	p->load->steady_ns = 13400 * MS;
	p->timeline = calloc(1, sizeof(*p->timeline));
	run_timeline_mark(p->timeline, 3000 * MS, "systemctl set-property netatalk CPUQuota=200%");
	add_slo(p->load, "p99=10ms", true, false);
	add_slo(p->load, "probe.max=1s", true, true);
	equals_golden(&r, 100, "screen-load.txt");
	equals_golden(&r, 80, "screen-load-80.txt");
	fits(&r, 100);
	fits(&r, 80);
	run_fini(&r);
}

static void open_loops_say_what_was_not_done(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	p = make_load(&r, "load", 2);
	p->load->rate_per_s = 500;
	p->load->n_arrivals = 5000;
	p->load->n_no_room = 990;
	p->load->n_waiting = 10;
	p->load->late_n = 1;
	p->load->late_max_ns = 3 * MS;
	p->probe->n_no_room = 12;
	on_screen(&r,
		  "mix office, open loop of 500 actions/s, 10.0s: 400 actions/s, 70.8 "
		  "MB/s\nActions not done: 990 dropped:",
		  true);
	on_screen(&r, "10 still waited\n  for a client at the end", true);
	on_screen(&r, "One action took, from when it was due", true);
	on_screen(&r, "Without waiting for a free client: mean 5.00ms", true);
	on_screen(&r, "; 1 action", true);
	on_screen(&r, "Probe: 12 actions left out", true);
	on_screen(&r, "because of this machine", false);
	p->probe->late_n = 3;
	p->probe->late_max_ns = 40 * MS;
	on_screen(&r,
		  "Probe: 3 of its actions were more than 1 ms late because of this machine, not "
		  "of the server",
		  true);
	on_screen(&r, "40.0ms); that is in its times\n", true);
	p->load->rate_per_s = 0;
	on_screen(&r, "closed loop", true);
	on_screen(&r, "Without waiting", false);
	run_fini(&r);
}

static void a_generator_at_its_limit_is_named(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	p = make_load(&r, "load", 1);
	on_screen(&r, "Load generator: 10% of a CPU\n", true);
	p->load->n_threads = 2;
	p->load->cpu_max_ns = 10500 * MS;
	on_screen(&r, "busiest of 2 threads 95% of\n  a CPU, SATURATED", true);
	run_fini(&r);
}

static void limits_of_nothing_are_not_judged(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	p = make_load(&r, "load", 1);
	add_slo(p->load, "save.p99=1s", false, false);
	on_screen(&r, "Limit save.p99=1s: CANNOT TELL, no such action was complete\n", true);
	on_screen(&r, "NOT KEPT", false);
	run_fini(&r);
}

/* The first are those that matter; the rest is in -v. */
static void the_worst_load_fits(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	p = make_load(&r, "load", 7);
	p->timeline = calloc(1, sizeof(*p->timeline));
	for (unsigned int i = 0; i < 16; i++)
		run_timeline_mark(p->timeline, 3000 * MS, "a command");
	for (unsigned int i = 0; i < RUN_SLO_MAX; i++)
		add_slo(p->load, "p99.9=10ms", true, i % 2);
	for (unsigned int i = 0; i < 9; i++)
		run_note(&r.warnings, NULL,
			 "%u: a warning of one and a half lines, as there are some of those, which "
			 "say at length what was wrong on which of the things",
			 i);
	fits(&r, 100);
	fits(&r, 80);
	on_screen(&r, "... (-v shows the rest)\n", true);
	on_screen(&r, "mix office, closed loop", true);
	has(&r, OWN, "p99.9=10ms: NOT KEPT");
	has(&r, OWN, "After 3.00s: a command");
	run_fini(&r);
}

static void probe_is_the_golden_screen(void **state)
{
	struct run_phase *p;
	struct run r;

	(void)state;
	p = make_load(&r, "probe", 0);
	equals_golden(&r, 100, "screen-probe.txt");
	fits(&r, 80);
	add_slo(p->probe, "max=5ms", true, false);
	on_screen(&r,
		  "\n\nLimit max=5ms: NOT KEPT, it was 20.0ms, 10.0ms too long\n\nOne action took",
		  true);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load_is_the_golden_screen),
		cmocka_unit_test(open_loops_say_what_was_not_done),
		cmocka_unit_test(a_generator_at_its_limit_is_named),
		cmocka_unit_test(limits_of_nothing_are_not_judged),
		cmocka_unit_test(the_worst_load_fits),
		cmocka_unit_test(probe_is_the_golden_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
