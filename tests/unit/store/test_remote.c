/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a server is waited for. Tests client/store/remote.c, with an invented library. */
#include "store/remote.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull

/* A library that asks the server again and again for one operation: a byte is an answer. */
struct library {
	struct remote r;
	int pipe[2];
	unsigned int n_answers, n_needed;
	struct remote_job *job;
};

static struct library *library_of(struct remote *r)
{
	return (struct library *)r;
}

static int library_fd(struct remote *r)
{
	return library_of(r)->pipe[0];
}

static short library_events(struct remote *r)
{
	const struct library *l = library_of(r);

	/* It has another message to send after each answer. */
	return l->n_answers && l->n_answers < l->n_needed ? POLLIN | POLLOUT : POLLIN;
}

static int library_service(struct remote *r, short events)
{
	struct library *l = library_of(r);
	char byte;

	if (events & POLLIN && read(l->pipe[0], &byte, 1) == 1 && ++l->n_answers == l->n_needed)
		remote_end(l->job, 0);
	return 0;
}

static const char *library_error(struct remote *r)
{
	(void)r;
	return "";
}

static int library_on_name(struct remote_job *j, const char *path)
{
	(void)path;
	library_of(j->r)->job = j;
	return 0;
}

static void library_destroy(struct remote *r)
{
	(void)r;
}

static const char *const library_words[N_STORE_VERBS];
static const struct remote_calls library_calls = { .what = library_words,
						   .lacks = library_words,
						   .units_max = 8,
						   .fd = library_fd,
						   .events = library_events,
						   .service = library_service,
						   .error = library_error,
						   .on_name = library_on_name,
						   .destroy = library_destroy };
static const struct store_type library_type = REMOTE_TYPE("invented");

static struct library *library_begin(unsigned int n_needed)
{
	struct library *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	assert_int_equal(pipe(l->pipe), 0);
	l->r.s = (struct store) { .type = &library_type,
				  .state = STORE_IS_OPEN,
				  .patience_ns = 600 * MS };
	l->r.calls = &library_calls;
	store_queue_init(&l->r.answered);
	l->n_needed = n_needed;
	return l;
}

static void library_end(struct library *l)
{
	int ends[] = { l->pipe[0], l->pipe[1] };

	remote_close(&l->r.s);
	close(ends[0]);
	close(ends[1]);
}

/* Eight answers, each after 100 ms; keeping: what comes may be the answer to another question. */
static int with_pauses(bool keeping)
{
	struct store_op op = { .verb = STORE_ROOM, .name = "" };
	struct library *l = library_begin(8);
	struct err e = { 0 };
	int r = remote_submit(&l->r.s, &op, &e);

	assert_int_equal(r, 0);
	l->r.keeping = keeping;
	for (int i = 0; i < 8 && !r; i++) {
		usleep(100000);
		assert_int_equal(write(l->pipe[1], "a", 1), 1);
		r = remote_work(&l->r.s, 10 * MS, &e);
	}
	assert_true(r || remote_take(&l->r.s) == &op);
	library_end(l);
	return r;
}

static void a_server_that_answers_in_parts_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(with_pauses(false), 0);
}

static void answers_to_another_question_do_not_count(void **state)
{
	(void)state;
	assert_int_equal(with_pauses(true), -ECONNRESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_answers_in_parts_is_waited_for),
		cmocka_unit_test(answers_to_another_question_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
