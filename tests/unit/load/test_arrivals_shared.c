/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One queue for the processes of a load: each has its own struct arrivals of it, here in one
 * process or in a child. Tests client/load/arrivals_shared.c, arrivals.c.
 */
#include "load/worker.h"

#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* needs the headers above */

#define THREADS 2

/* What a process of a load has. */
struct process {
	struct worker worker[THREADS];
	struct arrivals q;
};

static char share[32];

static struct engine_job job_of(unsigned int queue)
{
	return (struct engine_job) { .what = ENGINE_WORK,
				     .duration_ns = 1000000000u,
				     .pace = { PACE_POISSON, 100, 1 },
				     .queue = queue,
				     .share = share };
}

static struct process *process_new(unsigned int queue)
{
	struct process *p = calloc(1, sizeof(*p));
	const struct engine_job job = job_of(queue);
	struct err e = { 0 };

	for (unsigned int k = 0; k < THREADS; k++) {
		p->worker[k].shared_wake = -1;
		assert_int_equal(worker_init(&p->worker[k], 1, &e), 0);
	}
	arrivals_init(&p->q, p->worker, THREADS);
	assert_int_equal(arrivals_prepare(&p->q, &job, &e), 0);
	return p;
}

static void process_free(struct process *p)
{
	arrivals_fini(&p->q);
	for (unsigned int k = 0; k < THREADS; k++)
		worker_fini(&p->worker[k]);
	free(p);
}

static enum arrival_way come(struct process *p, uint64_t due_ns)
{
	struct arrival x = { .due_ns = due_ns, .measured = 1 };

	return arrivals_come(&p->q, &p->worker[0], &x);
}

static bool is_woken(const struct worker *w)
{
	struct pollfd one = { w->shared_wake, POLLIN, 0 };
	char byte;
	bool woken = poll(&one, 1, 0) == 1;

	while (woken && recv(w->shared_wake, &byte, 1, MSG_DONTWAIT) > 0)
		;
	return woken;
}

static int setup(void **state)
{
	(void)state;
	snprintf(share, sizeof(share), "test-%d", (int)getpid());
	return 0;
}

static void a_free_client_of_another_process_takes_it(void **state)
{
	struct process *a = process_new(ENGINE_QUEUE_ALL), *b = process_new(ENGINE_QUEUE_ALL);
	struct arrival x;

	(void)state;
	assert_int_equal(arrivals_processes(&a->q), 2);
	assert_int_equal(arrivals_processes(&b->q), 2);
	assert_int_equal(come(a, 1), ARRIVAL_WAITS);
	arrivals_rest(&b->q, &b->worker[1]);
	assert_true(arrivals_take(&b->q, &b->worker[1], &x));
	assert_int_equal(x.due_ns, 1);
	arrivals_rest(&b->q, &b->worker[1]);
	assert_int_equal(come(a, 2), ARRIVAL_GOES);
	assert_true(is_woken(&b->worker[1]));
	assert_false(is_woken(&b->worker[0]) || is_woken(&a->worker[0]));
	assert_int_equal(come(a, 3), ARRIVAL_WAITS);
	assert_false(arrivals_take(&a->q, &a->worker[0], &x)); /* it has no free client */
	assert_true(arrivals_take(&b->q, &b->worker[1], &x));
	assert_int_equal(x.due_ns, 2);
	assert_true(arrivals_next(&b->q, &b->worker[1], &x));
	assert_int_equal(x.due_ns, 3);
	process_free(a);
	process_free(b);
}

static void as_many_may_wait_as_for_all_together(void **state)
{
	struct process *a = process_new(3), *b = process_new(4);

	(void)state;
	for (uint64_t i = 0; i < 7; i++)
		assert_int_equal(come(i % 2 ? a : b, i), ARRIVAL_WAITS);
	assert_int_equal(come(a, 7), ARRIVAL_DROPPED);
	process_free(b);
	process_free(a);
}

/* Its clients will take nothing; what it was to take is for others. */
static void who_has_died_is_asked_once(void **state)
{
	struct process *a = process_new(ENGINE_QUEUE_ALL), *b = process_new(ENGINE_QUEUE_ALL);
	struct process *c = process_new(ENGINE_QUEUE_ALL);
	struct arrival x;

	(void)state;
	arrivals_rest(&b->q, &b->worker[0]);
	arrivals_rest(&c->q, &c->worker[0]);
	process_free(b); /* without having left */
	come(a, 1);
	assert_true(is_woken(&c->worker[0]));
	assert_true(arrivals_take(&c->q, &c->worker[0], &x));
	assert_int_equal(come(a, 2), ARRIVAL_WAITS);
	process_free(a);
	process_free(c);
}

static void who_dies_with_the_lock_holds_nobody_up(void **state)
{
	struct process *a = process_new(ENGINE_QUEUE_ALL);
	struct arrival x;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		pthread_mutex_lock(&a->q.q->lock);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(come(a, 1), ARRIVAL_WAITS);
	assert_true(arrivals_left(&a->q, &x));
	assert_false(arrivals_left(&a->q, &x));
	process_free(a);
}

/* Nothing is left behind by a load that is killed later, and the next one is not disturbed. */
static void the_queue_has_no_name_once_the_load_has_begun(void **state)
{
	struct process *a = process_new(ENGINE_QUEUE_ALL), *late;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "/dev/shm%s", a->q.name);
	assert_int_equal(access(path, F_OK), 0);
	come(a, 1);
	assert_int_equal(access(path, F_OK), -1);
	late = process_new(ENGINE_QUEUE_ALL);
	assert_int_equal(arrivals_processes(&late->q), 1);
	assert_int_equal(come(late, 2), ARRIVAL_WAITS);
	process_free(late);
	process_free(a);
	assert_int_equal(access(path, F_OK), -1);
}

/* Its clock may be another one, and a byte from here does not wake it. */
static void another_namespace_has_a_queue_of_its_own(void **state)
{
	struct process *a = process_new(ENGINE_QUEUE_ALL);
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		struct process *b;

		if (unshare(CLONE_NEWNET))
			_exit(77);
		b = process_new(ENGINE_QUEUE_ALL);
		status = arrivals_processes(&b->q) == 1 ? 0 : 1;
		process_free(b); /* its memory has a name */
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* only root can have one */
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(arrivals_processes(&a->q), 1);
	process_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_client_of_another_process_takes_it),
		cmocka_unit_test(as_many_may_wait_as_for_all_together),
		cmocka_unit_test(who_has_died_is_asked_once),
		cmocka_unit_test(who_dies_with_the_lock_holds_nobody_up),
		cmocka_unit_test(another_namespace_has_a_queue_of_its_own),
		cmocka_unit_test(the_queue_has_no_name_once_the_load_has_begun),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
