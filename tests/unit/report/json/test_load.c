/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A load as JSON: what jansson reads back is what the run holds. */
#include "report/json/parts.h"
#include "unit/sample_load.h"

static json_t *of(const struct run_load *l)
{
	struct json_doc d = { 0 };
	json_t *o = json_load(&d, l, NULL);

	assert_false(d.failed);
	return o;
}

static uint64_t member(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v))
		fail_msg("%s is no integer", key);
	return (uint64_t)json_integer_value(v);
}

static void a_closed_loop_has_no_arrivals(void **state)
{
	struct run_load *l = load_of_clients();
	json_t *o;

	(void)state;
	l->n_cut = 3;
	l->n_outlasting = 2;
	l->outlasting_max_ns = 12345;
	l->n_lost = 1;
	l->client[4].lost = true;
	o = of(l);
	assert_int_equal(member(o, "clients"), 10);
	assert_int_equal(member(o, "opened"), 9);
	assert_int_equal(member(o, "threads"), 2);
	assert_int_equal(member(o, "lost"), 1);
	assert_int_equal(member(o, "cut_off"), 3);
	assert_int_equal(member(o, "outlasting"), 2);
	assert_int_equal(member(o, "outlasting_max_ns"), 12345);
	assert_int_equal(member(o, "end_ns") - member(o, "measure_ns"), 10000 * LOAD_MS);
	assert_true(json_is_null(json_object_get(o, "rate_per_s")));
	assert_true(json_is_null(json_object_get(o, "arrivals")));
	assert_true(json_is_null(json_object_get(o, "no_room")));
	assert_true(json_is_null(json_object_get(o, "waiting")));
	assert_true(json_real_value(json_object_get(o, "fairness")) == run_load_fairness(l));
	json_decref(o);
	run_load_free(l);
}

static void a_time_without_an_answer_says_how_many_waited(void **state)
{
	const uint64_t s = 1000 * LOAD_MS;
	struct run_load *l = load_of_clients();
	json_t *o, *silence;

	(void)state;
	o = of(l);
	assert_true(json_is_null(json_object_get(o, "silence")));
	json_decref(o);
	for (size_t i = 0; i < l->n_seconds; i++) /* none in the third to fifth */
		l->second[i].n = i < 2 || i > 4;
	l->second[5].max_ns = 4 * s;
	for (size_t i = 0; i < l->n_actions; i++) {
		memset(&l->action[i].planned, 0, sizeof(l->action[i].planned));
		hist_add(&l->action[i].planned, LOAD_MS);
	}
	for (unsigned int i = 0; i < l->n_clients; i++)
		l->client[i].max_ns = i < 4 ? 4 * s : LOAD_MS;
	o = of(l);
	silence = json_object_get(o, "silence");
	assert_int_equal(member(silence, "from_ns"), 2 * s);
	assert_int_equal(member(silence, "ns"), 3 * s);
	assert_int_equal(member(silence, "clients"), 4);
	assert_true(json_is_null(json_object_get(silence, "ranks")));
	json_decref(o);
	run_load_free(l);
}

/* Readers do not judge it once more: by the time until the last action ended, not until it was to.
 */
static void it_says_whether_the_generator_was_the_limit(void **state)
{
	struct run_load *l = load_of_clients();
	uint64_t n = 0;
	json_t *o;

	(void)state;
	for (size_t i = 0; i < l->n_actions; i++)
		n += l->action[i].n;
	l->done_ns = l->begin_ns + 2000 * LOAD_MS;
	l->cpu_max_ns = 1000 * LOAD_MS;
	for (unsigned int full = 0; full < 2; full++) {
		l->runq_max_ns = (799 + full) * LOAD_MS;
		l->late_n = n / 100 + full;
		o = of(l);
		assert_int_equal(json_is_true(json_object_get(o, "saturated")), full);
		assert_int_equal(json_is_true(json_object_get(o, "behind")), full);
		json_decref(o);
	}
	l->done_ns = l->begin_ns;
	o = of(l);
	assert_true(json_is_false(json_object_get(o, "saturated")));
	json_decref(o);
	run_load_free(l);
}

static void an_open_loop_s_arrivals_add_up(void **state)
{
	struct run_load *l = load_of_clients();
	uint64_t n = 0;
	json_t *o, *a;

	(void)state;
	l->rate_per_s = 250;
	l->n_arrivals = 2500;
	l->n_no_room = 60;
	l->n_waiting = 30;
	l->n_cut = 10;
	l->n_held = 4;
	l->unoffered_ns = 77;
	l->n_ended_after = 21;
	l->n_due_before = 20;
	hist_add(&l->undone, 5000);
	o = of(l);
	assert_int_equal(member(o, "held"), 4);
	assert_int_equal(member(o, "unoffered_ns"), 77);
	assert_int_equal(member(o, "ended_after"), 21);
	assert_int_equal(member(o, "due_before"), 20);
	assert_int_equal(member(json_object_get(o, "undone"), "max_ns"), 5000);
	assert_true(json_is_null(json_object_get(o, "outlasting")));
	a = json_object_get(o, "actions");
	assert_int_equal(json_array_size(a), 2); /* those that were done */
	for (size_t i = 0; i < 2; i++)
		n += member(json_array_get(a, i), "n");
	assert_int_equal(member(o, "arrivals"),
			 n + member(o, "no_room") + member(o, "waiting") + member(o, "cut_off"));
	a = json_array_get(a, 1);
	assert_string_equal(json_string_value(json_object_get(a, "name")), "look");
	assert_int_equal(member(a, "failed"), 30);
	assert_int_equal(member(json_object_get(a, "begun"), "n"), 1970);
	assert_int_equal(member(json_object_get(a, "planned"), "max_ns"), 3940 * LOAD_MS);
	json_decref(o);
	run_load_free(l);
}

static void seconds_are_those_until_the_last_action(void **state)
{
	struct run_load *l = load_of_clients();
	json_t *o = of(l), *s = json_object_get(o, "seconds"), *one;

	(void)state;
	assert_int_equal(json_array_size(s), 11);
	one = json_array_get(s, 0);
	assert_int_equal(member(one, "n"), 240);
	assert_int_equal(member(one, "failed"), 40);
	assert_int_equal(member(one, "max_ns"), LOAD_MS);
	one = json_array_get(s, 5);
	assert_int_equal(member(one, "n"), 0);
	assert_true(json_is_null(json_object_get(one, "max_ns")));
	json_decref(o);
	run_load_free(l);
}

static void each_client_has_its_row(void **state)
{
	struct run_load *l = load_of_clients();
	json_t *o = of(l), *c = json_object_get(o, "each_client");

	(void)state;
	assert_int_equal(json_array_size(c), 10);
	assert_int_equal(member(json_array_get(c, 0), "actions"), 300);
	assert_int_equal(member(json_array_get(c, 0), "bytes"), 1000000);
	assert_true(json_is_null(json_object_get(json_array_get(c, 9), "last_ns")));
	assert_true(json_is_false(json_object_get(json_array_get(c, 9), "lost")));
	json_decref(o);
	run_load_free(l);
}

static void no_load_is_null(void **state)
{
	json_t *o = of(NULL);

	(void)state;
	assert_true(json_is_null(o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_loop_has_no_arrivals),
		cmocka_unit_test(a_time_without_an_answer_says_how_many_waited),
		cmocka_unit_test(it_says_whether_the_generator_was_the_limit),
		cmocka_unit_test(an_open_loop_s_arrivals_add_up),
		cmocka_unit_test(seconds_are_those_until_the_last_action),
		cmocka_unit_test(each_client_has_its_row),
		cmocka_unit_test(no_load_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
