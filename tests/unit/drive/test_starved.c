/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which clients of a closed loop starved, with and without a profile of clients. Tests
 * user/drive/load_clients.c.
 */
#include "drive/load_clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the headers above */

#define MS 1000000ull
#define S  1000000000ull

/* Four clients for 10 s; the first has completed actions of 1 s, the others none. */
static struct run_load *only_first_acted(void)
{
	struct run_load *l = run_load_new(4, 1, 0);

	assert_non_null(l);
	l->begin_ns = 5 * S;
	l->measure_ns = 6 * S;
	l->end_ns = l->done_ns = 16 * S;
	for (unsigned int i = 0; i < 4; i++)
		l->client[i].opened = true;
	l->client[0].actions = l->action[0].n = 9;
	for (unsigned int i = 0; i < 9; i++)
		hist_add(&l->action[0].planned, S);
	return l;
}

static void who_is_wanted_all_the_time_and_ends_nothing_starves(void **state)
{
	struct run_load *l = only_first_acted();

	(void)state;
	assert_int_equal(load_clients_starved(l, NULL), 3);
	l->client[1].lost = true;
	l->client[2].opened = false;
	assert_int_equal(load_clients_starved(l, NULL), 1);
	run_load_free(l);
}

static void an_action_longer_than_the_measured_time_excuses_nobody(void **state)
{
	struct run_load *l = only_first_acted();

	(void)state;
	hist_add(&l->action[0].planned, 12 * S);
	assert_int_equal(load_clients_starved(l, NULL), 3);
	run_load_free(l);
}

/* The second is wanted for 8 s, the third for 0.5 s, the fourth never. */
static void with_a_profile_a_client_counts_for_the_time_it_was_wanted(void **state)
{
	struct run_load *l = only_first_acted();
	struct err e = { 0 };
	struct rate crowd;

	(void)state;
	assert_int_equal(rate_parse(&crowd, "0:1,2:1,2:2,9.5:2,9.5:3,10:3", &e), 0);
	assert_int_equal(load_clients_starved(l, &crowd), 1);
	l->client[1].actions = 1;
	assert_int_equal(load_clients_starved(l, &crowd), 0);
	run_load_free(l);
}

/* An action that has begun goes on when its client is wanted no more. */
static void who_was_wanted_only_at_first_had_the_time_until_the_end(void **state)
{
	struct run_load *l = only_first_acted();
	struct err e = { 0 };
	struct rate crowd;

	(void)state;
	assert_int_equal(rate_parse(&crowd, "0:4,0.5:4,0.5:1,10:1", &e), 0);
	assert_int_equal(load_clients_starved(l, &crowd), 3);
	run_load_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_wanted_all_the_time_and_ends_nothing_starves),
		cmocka_unit_test(an_action_longer_than_the_measured_time_excuses_nobody),
		cmocka_unit_test(with_a_profile_a_client_counts_for_the_time_it_was_wanted),
		cmocka_unit_test(who_was_wanted_only_at_first_had_the_time_until_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
