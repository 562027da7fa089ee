/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seconds of a load, as they are kept and as they are given to whoever looks on while it is
 * under way. The clock is that of unit/shared_clock.h.
 * Also tests client/load/engine.c.
 */
#include "load/worker.h"
#include "unit/clocked_rig.h"

#include <stdio.h>
#include <unistd.h>

static void seconds_are_given_when_they_are_over(void **state)
{
	const struct engine_job work = rig_work(3500 * MS);
	struct rig *g = rig(4, 2);
	struct run_second second[5];

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		g->play[i].slow.service_ns = (1 + i) * MS;
	rig_open(g);
	rig_start(g, &work);
	while (!engine_wait(g->engine, 1000 * MS))
		;
	assert_false(engine_second(g->engine, 0, &second[0]));
	shared_clock.main_ns += 4200 * MS;
	for (size_t i = 0; i < 4; i++)
		assert_true(engine_second(g->engine, i, &second[i]));
	assert_false(engine_second(g->engine, 4, &second[4]));
	rig_join(g);
	assert_memory_equal(second, g->load->second, 4 * sizeof(second[0]));
	assert_true(is_about(second[0].n, 1000 + 500 + 333 + 250, 8));
	assert_true(is_about(second[3].n, 500 + 250 + 166 + 125, 8));
	assert_true(is_about(run_second_quantile(&second[0], 0.1), MS, 100000));
	rig_free(g);
}

/* What is looked at each second is there second by second, however long it takes. */
static void a_load_of_hours_is_in_constant_memory(void **state)
{
	const uint64_t hours = 5, seconds = hours * 3600;
	struct engine_job work = open_loop(PACE_FIXED, 3, seconds * 1000 * MS);
	struct rig *g = rig(1, 1);
	struct run_second s;

	(void)state;
	g->play[0].slow.service_ns = MS;
	work.queue = 0;
	rig_open(g);
	rig_start(g, &work);
	while (!engine_wait(g->engine, 1000 * MS))
		;
	shared_clock.main_ns += seconds * 1000 * MS + 4200 * MS;
	for (uint64_t i = seconds - 10; i < seconds; i++) {
		assert_true(engine_second(g->engine, i, &s));
		assert_int_equal(s.n, 3);
	}
	rig_join(g);
	assert_int_equal(g->load->n_seconds, RUN_SECONDS_MAX);
	assert_int_equal(g->load->seconds_each, 4);
	assert_int_equal(rig_seconds(g), 3 * seconds);
	assert_int_equal(rig_actions(g), 3 * seconds);
	assert_int_equal(g->load->second[1000].n, 12);
	rig_free(g);
}

/* What is due in the ramp and ends after it is in a measured second, and is said not to count. */
static void seconds_say_what_was_not_due_in_the_measured_time(void **state)
{
	struct engine_job work = open_loop(PACE_FIXED, 100, 3000 * MS);
	struct rig *g = rig(1, 1);
	struct run_second s[4];

	(void)state;
	work.ramp_ns = 1000 * MS;
	g->play[0].slow.service_ns = MS;
	g->play[0].slow.stall_at = 50; /* with 51 more until then */
	g->play[0].slow.stall_ns = 1000 * MS;
	rig_open(g);
	rig_start(g, &work);
	while (!engine_wait(g->engine, 1000 * MS))
		;
	shared_clock.main_ns += 4200 * MS;
	for (size_t i = 0; i < 4; i++)
		assert_true(engine_second(g->engine, i, &s[i]));
	rig_join(g);
	rig_adds_up(g);
	assert_int_equal(rig_actions(g), 300);
	assert_int_equal(s[0].astray, s[0].n);
	assert_int_equal(s[0].n + s[1].astray, 100);
	assert_in_range(s[1].astray, 48, 52);
	assert_true(s[1].n > s[1].astray && s[1].astray_ns > s[1].astray * 500 * MS);
	assert_true(s[1].astray_ns < s[1].sum_ns);
	assert_int_equal(s[2].astray + s[3].astray, 0);
	rig_free(g);
}

/* Of the address sanitizer, which else keeps up to 256 MiB that were freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

static long resident_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* As a probe, three actions a second. What it takes before it ends, in KiB. */
static long resident_after(uint64_t actions)
{
	const uint64_t ns = actions / 3 * 1000 * MS;
	struct engine_job work = open_loop(PACE_FIXED, 3, ns);
	struct rig *g = rig(1, 1);
	struct run_second s;
	long kib;

	work.queue = 0;
	work.keeps_recent = true;
	rig_open(g);
	rig_start(g, &work);
	while (!engine_wait(g->engine, 1000 * MS))
		;
	shared_clock.main_ns += ns + 4200 * MS;
	assert_true(engine_second(g->engine, actions / 3 - 1, &s));
	kib = resident_kib();
	rig_join(g);
	assert_int_equal(rig_actions(g), actions);
	print_message("%llu actions: %ld KiB\n", (unsigned long long)actions, kib);
	rig_free(g);
	return kib;
}

/* Four days of a probe. The seconds that are kept are as many after 100,000. */
static void a_million_probes_take_no_more_memory_than_a_tenth_of_them(void **state)
{
	long tenth = resident_after(99999), all = resident_after(999999);

	(void)state;
	assert_in_range(all, 0, tenth + 512);
}

/* Of a load without a known end only the last seconds are kept. */
static void the_last_seconds_of_a_load_without_an_end_are_given(void **state)
{
	struct engine_job work = rig_work(0);
	struct rig *g = rig(2, 2);
	struct run_second second;
	size_t first;

	(void)state;
	work.keeps_recent = true;
	for (unsigned int i = 0; i < 2; i++) {
		g->play[i].slow.service_ns = (1 + i) * MS;
		g->play[i].stop_at = 20000 / (1 + i);
	}
	rig_open(g);
	rig_start(g, &work);
	while (!engine_wait(g->engine, 1000 * MS))
		;
	shared_clock.main_ns += 20200 * MS;
	first = engine_first_second(g->engine);
	assert_in_range(first, 20 + 2 - RECENT_SECONDS, 20);
	assert_false(engine_second(g->engine, first - 1, &second));
	for (size_t i = first; i < 20; i++) {
		assert_true(engine_second(g->engine, i, &second));
		if (i < 19)
			assert_true(is_about(second.n, 1000 + 500, 8));
	}
	assert_false(engine_second(g->engine, 20, &second));
	rig_join(g);
	assert_int_equal(g->load->n_seconds, 0);
	rig_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_are_given_when_they_are_over),
		cmocka_unit_test(seconds_say_what_was_not_due_in_the_measured_time),
		cmocka_unit_test(a_load_of_hours_is_in_constant_memory),
		cmocka_unit_test(a_million_probes_take_no_more_memory_than_a_tenth_of_them),
		cmocka_unit_test(the_last_seconds_of_a_load_without_an_end_are_given),
	};

	return cmocka_run_group_tests(tests, shared_clock_begin, NULL);
}
