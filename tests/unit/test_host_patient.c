/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/patient.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG_MS  10000
#define SHORT_MS 20

static void answer(void *arg)
{
	*(pid_t *)arg = getpid();
}

static void an_answer_comes_from_another_process(void **state)
{
	pid_t q = 0;

	(void)state;
	assert_int_equal(patient_call(answer, &q, &q, sizeof(q), LONG_MS), 0);
	assert_true(q > 0 && q != getpid());
}

static void sleep_and_answer(void *arg)
{
	usleep(200000);
	answer(arg);
}

static void one_that_does_not_come_is_not_waited_for(void **state)
{
	pid_t q = 0;

	(void)state;
	assert_int_equal(patient_call(sleep_and_answer, &q, &q, sizeof(q), SHORT_MS), -ETIMEDOUT);
}

static void a_late_answer_is_that_of_a_later_question(void **state)
{
	pid_t q = 0;
	int pending = -1, first;
	pid_t answered;

	(void)state;
	assert_int_equal(patient_ask(&pending, sleep_and_answer, &q, &q, sizeof(q), 0), -ETIMEDOUT);
	assert_true(pending >= 0);
	first = pending;
	/* No other process is started: these would answer at once. */
	assert_int_equal(patient_ask(&pending, answer, &q, &q, sizeof(q), 0), -ETIMEDOUT);
	assert_int_equal(pending, first);
	assert_int_equal(patient_ask(&pending, answer, &q, &q, sizeof(q), LONG_MS), 0);
	assert_int_equal(pending, -1);
	answered = q;
	assert_int_equal(patient_ask(&pending, answer, &q, &q, sizeof(q), LONG_MS), 0);
	assert_true(q != answered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_from_another_process),
		cmocka_unit_test(one_that_does_not_come_is_not_waited_for),
		cmocka_unit_test(a_late_answer_is_that_of_a_later_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
