/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a server is waited for. Tests client/store/remote.c and nfs_ops.c, with
 * invented libraries. */
#include "store/nfs_priv.h"

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
		remote_take_list(l->job, NULL);
	return 0;
}

static bool library_next(struct remote *r, void *list, const char **name, bool *is_file)
{
	(void)r, (void)list, (void)name, (void)is_file;
	return false;
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
						   .next = library_next,
						   .destroy = library_destroy };
static const struct store_type library_type = REMOTE_TYPE("invented");

static struct library *library_begin(unsigned int n_needed)
{
	struct library *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	assert_int_equal(pipe(l->pipe), 0);
	l->r.s = (struct store) { .type = &library_type,
				  .state = STORE_IS_OPEN,
				  .patience_ns = 3000 * MS };
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

/* As if so much time had passed since the operation began and since the last answer. */
static void later(struct library *l, struct store_op *op, uint64_t ns)
{
	l->r.progress_ns -= ns;
	op->t.begun_ns -= ns;
}

/* The answers that a list needs, some time after each other; keeping: what comes may be the answer
 * to another question. */
static int with_pauses(unsigned int n, uint64_t pause_ns, bool keeping, struct err *e)
{
	struct store_op op = { .verb = STORE_LIST, .len = STORE_LIST_LEN };
	struct library *l = library_begin(n);
	int r = remote_submit(&l->r.s, &op, e);

	assert_int_equal(r, 0);
	l->r.keeping = keeping;
	for (unsigned int i = 0; i < n && !r; i++) {
		later(l, &op, pause_ns);
		assert_int_equal(write(l->pipe[1], "a", 1), 1);
		r = remote_work(&l->r.s, 10 * MS, e);
	}
	assert_true(r || remote_take(&l->r.s) == &op);
	library_end(l);
	return r;
}

static void a_server_that_answers_in_parts_is_waited_for(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(with_pauses(8, 500 * MS, false, &e), 0);
}

static void answers_to_another_question_do_not_count(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(with_pauses(8, 500 * MS, true, &e), -ECONNRESET);
}

/* A list of NFS may go in circles, and who waits for it may not hear a stop. */
static void one_that_finds_no_end_is_not(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(with_pauses(20, 2000 * MS, false, &e), -ECONNRESET);
	assert_non_null(strstr(e.text, "no end of them"));
	e = (struct err) { 0 };
	assert_int_equal(with_pauses(200000, 0, false, &e), -ECONNRESET);
	assert_non_null(strstr(e.text, "100000 answers to one operation"));
}

static nfs_callback asked;
static void *asked_for;
static bool at_once, refuses;

static int invented_open(struct nfs_context *c, const char *path, int flags, nfs_callback back,
			 void *user)
{
	(void)path, (void)flags;
	asked = back;
	asked_for = user;
	if (at_once)
		back(0, c, NULL, user);
	return refuses ? -1 : 0;
}

static int invented_close(struct nfs_context *c, struct nfsfh *file, nfs_callback back, void *user)
{
	(void)file;
	asked = back;
	if (at_once)
		back(0, c, NULL, user);
	return refuses ? -1 : 0;
}

/* libnfs calls back before it returns where it need not ask the server. */
static void what_keeps_a_client_known_is_over_once_it_is_answered(void **state)
{
	const struct nfs_calls calls = { .open_async = invented_open,
					 .close_async = invented_close };
	struct nfs n = { .call = &calls };

	(void)state;
	nfs_keep(&n.r);
	assert_true(n.r.keeping);
	asked(0, NULL, NULL, asked_for); /* there is such a file: it is closed */
	assert_true(n.r.keeping);
	asked(0, NULL, NULL, asked_for);
	assert_false(n.r.keeping);
	nfs_keep(&n.r);
	at_once = true;
	asked(0, NULL, NULL, asked_for);
	assert_false(n.r.keeping);
	nfs_keep(&n.r);
	assert_false(n.r.keeping);
	at_once = false;
	refuses = true;
	nfs_keep(&n.r);
	assert_false(n.r.keeping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_answers_in_parts_is_waited_for),
		cmocka_unit_test(answers_to_another_question_do_not_count),
		cmocka_unit_test(one_that_finds_no_end_is_not),
		cmocka_unit_test(what_keeps_a_client_known_is_over_once_it_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
