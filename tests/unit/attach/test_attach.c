/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of a watch of a server that runs: how often what is called, and what ends it. */
#include "attach/attach.h"

#include "base/clock.h"
#include "unit/working_child.h"

#include <errno.h>
#include <stdlib.h>

#define S 1000000000ull

/* A watched child, and what is to happen. */
struct scene {
	struct attach a;
	struct child child;
	unsigned int n_waits, n_ticks, n_looks;
	unsigned int fail_at, kill_at, over_at, stop_at; /* the n-th wait; 0: not */
	int look_fails;
	uint64_t longest_ns; /* that was asked for */
};

static int scene_wait(void *user, uint64_t until_ns)
{
	struct scene *s = user;
	uint64_t now = clock_now_ns(), ns = until_ns > now ? until_ns - now : 0;

	s->longest_ns = ns > s->longest_ns ? ns : s->longest_ns;
	s->n_waits++;
	clock_sleep_until(until_ns);
	if (s->n_waits == s->kill_at)
		child_end(&s->child);
	if (s->n_waits == s->stop_at)
		cmd_stop = SIGTERM;
	return s->n_waits == s->fail_at ? -EPIPE : 0;
}

static void scene_tick(void *user)
{
	((struct scene *)user)->n_ticks++;
}

static int scene_look(void *user)
{
	struct scene *s = user;

	s->n_looks++;
	return s->look_fails;
}

static bool scene_is_over(void *user)
{
	const struct scene *s = user;

	return s->over_at && s->n_waits >= s->over_at;
}

static const struct attach_steps steps = { scene_wait, scene_tick, scene_look, scene_is_over };

static struct scene *scene_begin(double max_cpu, unsigned int seconds)
{
	const struct watch_opts opts = { .mode = WATCH_PROC };
	struct scene *s = calloc(1, sizeof(*s));
	struct err e = { 0 };

	cmd_stop = 0;
	s->child = child_start();
	wait_asleep(s->child.pid);
	target_processes(&s->a.found.target, &s->child.pid, 1);
	if (attach_open(&s->a, &opts, false, &e))
		fail_msg("%s", e.text);
	attach_begin(&s->a, max_cpu, seconds);
	return s;
}

static int scene_loop(struct scene *s)
{
	return attach_loop(&s->a, &steps, s);
}

static void scene_end(struct scene *s)
{
	if (!s->kill_at)
		child_end(&s->child);
	attach_close(&s->a);
	assert_null(s->a.watch);
	free(s);
	cmd_stop = 0;
}

static void it_ends_when_its_time_is_over(void **state)
{
	struct scene *s = scene_begin(0, 1);
	uint64_t ns;

	(void)state;
	assert_int_equal(scene_loop(s), 0);
	ns = clock_now_ns() - s->a.begun_ns;
	assert_true(ns >= S);
	assert_true(s->longest_ns <= S / 10);
	assert_true(s->n_ticks > 0 && s->n_ticks <= 10); /* fewer on a busy machine */
	scene_end(s);
}

static void it_looks_once_a_second_and_a_failure_ends_it(void **state)
{
	struct scene *s = scene_begin(0, 0);

	(void)state;
	s->look_fails = -ENOMEM;
	assert_int_equal(scene_loop(s), -ENOMEM);
	assert_int_equal(s->n_looks, 1);
	assert_true(clock_now_ns() - s->a.begun_ns >= S);
	scene_end(s);
}

static void a_wait_that_fails_ends_it_at_once(void **state)
{
	struct scene *s = scene_begin(0, 0);

	(void)state;
	s->fail_at = 2;
	assert_int_equal(scene_loop(s), -EPIPE);
	assert_int_equal(s->n_waits, 2);
	assert_true(s->n_ticks <= 1); /* nothing is done after the failure */
	scene_end(s);
}

static void it_ends_with_its_server(void **state)
{
	struct scene *s = scene_begin(0, 0);

	(void)state;
	s->kill_at = 2;
	assert_int_equal(scene_loop(s), 0);
	assert_false(watch_lives(s->a.watch));
	assert_int_equal(s->n_waits, 2);
	scene_end(s);
}

static void a_signal_or_its_user_ends_it(void **state)
{
	struct scene *s = scene_begin(0, 0);

	(void)state;
	s->stop_at = 3;
	assert_int_equal(scene_loop(s), 0);
	assert_int_equal(s->n_waits, 3);
	cmd_stop = 0;
	s->over_at = 5;
	assert_int_equal(scene_loop(s), 0);
	assert_int_equal(s->n_waits, 5);
	assert_false(s->a.costly);
	scene_end(s);
}

/* The cost is judged over some seconds: as if they had passed. */
static void it_ends_where_it_costs_too_much(void **state)
{
	struct scene *s = scene_begin(1e-9, 0);

	(void)state;
	s->a.guard.t_ns -= GUARD_WINDOW_NS;
	assert_int_equal(scene_loop(s), 0);
	assert_true(s->a.costly);
	assert_int_equal(s->n_looks, 1);
	scene_end(s);
}

static void without_requests_it_does_not_open_where_they_are_needed(void **state)
{
	struct scene *s = scene_begin(0, 0);
	const struct watch_opts opts = { .mode = WATCH_PROC };
	struct err e = { 0 };

	(void)state;
	watch_free(s->a.watch);
	assert_int_equal(attach_open(&s->a, &opts, true, &e), -ENOTSUP);
	assert_string_equal(e.text, "the kernel does not allow reading its memory");
	scene_end(s);
}

static void no_right_to_see_is_another_code_than_no_server(void **state)
{
	(void)state;
	assert_int_equal(attach_not_found(-EACCES), OUTCOME_UNTRUSTED);
	assert_int_equal(attach_not_found(-ESRCH), OUTCOME_NO_SESSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_when_its_time_is_over),
		cmocka_unit_test(it_looks_once_a_second_and_a_failure_ends_it),
		cmocka_unit_test(a_wait_that_fails_ends_it_at_once),
		cmocka_unit_test(it_ends_with_its_server),
		cmocka_unit_test(a_signal_or_its_user_ends_it),
		cmocka_unit_test(it_ends_where_it_costs_too_much),
		cmocka_unit_test(without_requests_it_does_not_open_where_they_are_needed),
		cmocka_unit_test(no_right_to_see_is_another_code_than_no_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
