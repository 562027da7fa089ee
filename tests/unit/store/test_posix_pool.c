/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of a local directory's store, for callers that never wait: nothing they call waits
 * for an operation, and its answer comes through wait, advance and take.
 * Tests client/store/blocking.c.
 */
#include "unit/posix_rig.h"
#include "unit/wait.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

/* A call that waits does so for ever: the fifo's other end does not come by itself. */
#define FIFO "fifo"

static void open_fifo(struct rig *g, struct store_op *op)
{
	char path[128];

	open_it(g, false);
	snprintf(path, sizeof(path), "%s/" FIFO, g->path);
	assert_int_equal(mkfifo(path, 0600), 0);
	*op = (struct store_op) {
		.verb = STORE_OPEN, .dir = g->s->root[0], .name = FIFO, .how = STORE_FOR_READ
	};
}

/* The other end comes, and the fifo goes. */
static void end_fifo(struct rig *g)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" FIFO, g->path);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(unlink(path), 0);
}

static unsigned int n_threads(void)
{
	char path[64];
	struct stat dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)getpid());
	assert_int_equal(stat(path, &dir), 0);
	return (unsigned int)dir.st_nlink - 2;
}

/* Gives op to the store and lets its thread begin. */
static void submit(struct rig *g, struct store_op *op)
{
	assert_int_equal(store_submit(g->s, op, &g->e), 0);
	assert_int_equal(store_advance(g->s, 0, &g->e), 0);
}

/* Until the thread is at work on op. */
static void wait_begun(const struct store_op *op)
{
	wait_until(__atomic_load_n(&op->t.begun_ns, __ATOMIC_RELAXED));
}

/* The next answer, as a caller gets it that has nothing else to do. */
static struct store_op *next_answer(struct rig *g)
{
	struct store_op *op;
	struct io_wait w;

	while (!(op = store_take(g->s))) {
		store_wait(g->s, &w);
		assert_int_equal(store_advance(g->s, io_wait(&w, WAIT_LIMIT_NS), &g->e), 0);
	}
	return op;
}

static void nothing_waits_for_an_operation_that_takes_long(void **state)
{
	struct rig *g = *state;
	struct store_op op, probe = { .verb = STORE_PROBE, .name = FIFO };
	struct io_wait w;

	open_fifo(g, &op);
	submit(g, &op);
	probe.dir = g->s->root[0];
	for (unsigned int i = 0; i < 3; i++) {
		store_wait(g->s, &w);
		assert_true(w.fd >= 0 && w.events == POLLIN && w.due_ns == UINT64_MAX);
		assert_int_equal(io_wait(&w, 1000000), 0); /* no answer */
		assert_null(store_take(g->s));
		assert_int_equal(store_advance(g->s, 0, &g->e), 0);
	}
	submit(g, &probe);
	assert_int_equal(g->s->in_flight, 2);
	assert_null(store_take(g->s));
	end_fifo(g);
	assert_ptr_equal(next_answer(g), &op);
	assert_int_equal(op.result, STORE_OK);
	assert_ptr_equal(next_answer(g), &probe);
	assert_true(probe.result == STORE_OK || probe.result == STORE_NONE);
	assert_int_equal(g->s->in_flight, 0);
	assert_true(op.t.begun_ns < op.t.last_ns && op.t.last_ns <= probe.t.begun_ns);
	assert_true(op.t.handed_ns && op.t.handed_ns <= op.t.begun_ns);
	/* it was the thread's turn when the one before it had ended */
	assert_true(probe.t.handed_ns >= op.t.last_ns && probe.t.handed_ns <= probe.t.begun_ns);
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = op.opened });
}

static void what_was_submitted_before_asks_to_be_advanced_at_once(void **state)
{
	struct rig *g = *state;
	struct store_op op[3] = { 0 };
	struct io_wait w;

	open_it(g, false);
	store_wait(g->s, &w);
	assert_true(w.fd == -1 && w.due_ns == UINT64_MAX); /* nothing to do */
	assert_int_equal(store_advance(g->s, 0, &g->e), 0);
	assert_int_equal(n_threads(), 1);
	for (unsigned int i = 0; i < 3; i++) {
		op[i] = (struct store_op) { .verb = STORE_PROBE,
					    .dir = g->s->root[0],
					    .name = "n" };
		assert_int_equal(store_submit(g->s, &op[i], &g->e), 0);
	}
	assert_null(store_take(g->s));
	store_wait(g->s, &w);
	assert_int_equal(w.due_ns, 0);
	assert_int_equal(n_threads(), 1);
	assert_int_equal(store_advance(g->s, 0, &g->e), 0);
	assert_int_equal(n_threads(), 2);
	for (unsigned int i = 0; i < 3; i++) {
		assert_ptr_equal(next_answer(g), &op[i]);
		assert_int_equal(op[i].result, STORE_NONE);
	}
}

/* Every answer wakes its caller, and none of them twice. */
static void each_answer_is_one_event(void **state)
{
	enum { N = 500 };
	struct rig *g = *state;
	struct store_op *op = calloc(N, sizeof(*op)), *back;
	struct io_wait w;

	open_it(g, false);
	for (unsigned int i = 0; i < N; i++) {
		op[i] = (struct store_op) { .verb = STORE_PROBE,
					    .dir = g->s->root[0],
					    .name = "n" };
		submit(g, &op[i]);
	}
	for (unsigned int i = 0; i < N; i++) {
		store_wait(g->s, &w);
		assert_int_equal(io_wait(&w, WAIT_LIMIT_NS), POLLIN);
		back = store_take(g->s);
		assert_ptr_equal(back, &op[i]);
		assert_int_equal(back->result, STORE_NONE);
	}
	store_wait(g->s, &w);
	assert_int_equal(io_wait(&w, 1000000), 0);
	free(op);
}

/* Also for who waits: both ways lead to the same answers. */
static void a_caller_may_wait_again(void **state)
{
	struct rig *g = *state;
	struct store_op op;

	open_fifo(g, &op);
	op.verb = STORE_PROBE;
	submit(g, &op);
	assert_ptr_equal(next_answer(g), &op);
	assert_int_equal(n_threads(), 2);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(named(g, STORE_PROBE, op.dir, FIFO), STORE_OK);
	assert_int_equal(named(g, STORE_DELETE, op.dir, FIFO), STORE_OK);
	assert_int_equal(n_threads(), 2); /* the same */
}

static void signals_do_not_go_to_the_thread(void **state)
{
	struct rig *g = *state;
	struct store_op op;
	sigset_t one, before;
	unsigned int i = 0;

	open_fifo(g, &op);
	signal(SIGUSR1, SIG_DFL); /* whoever started this may ignore it */
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	submit(g, &op); /* a thread begins with the mask of its maker */
	wait_begun(&op);
	pthread_sigmask(SIG_BLOCK, &one, &before);
	assert_int_equal(kill(getpid(), SIGUSR1), 0); /* deadly to a thread that takes it */
	while (sigtimedwait(&one, NULL, &(struct timespec) { 0, 1000000 }) != SIGUSR1)
		assert_true(i++ < 1000);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	end_fifo(g);
	assert_ptr_equal(next_answer(g), &op);
	call(g, (struct store_op) { .verb = STORE_CLOSE, .file = op.opened });
}

/* ---- the end ---- */

static void *end_fifo_soon(void *arg)
{
	usleep(20000);
	end_fifo(arg);
	return NULL;
}

static void a_close_waits_for_all_that_is_lent(void **state)
{
	struct rig *g = *state;
	struct store_op op, create = { .verb = STORE_CREATE, .name = "made" };
	pthread_t other;
	char path[128];

	open_fifo(g, &op);
	create.dir = g->s->root[0];
	submit(g, &op);
	submit(g, &create);
	assert_int_equal(pthread_create(&other, NULL, end_fifo_soon, g), 0);
	store_close(g->s);
	g->s = NULL;
	pthread_join(other, NULL);
	assert_int_equal(op.result, STORE_OK);
	assert_int_equal(create.result, STORE_OK);
	assert_int_equal(n_threads(), 1);
	close((int)op.opened.id);
	snprintf(path, sizeof(path), "%s/made", g->path);
	assert_int_equal(unlink(path), 0);
}

/* What the caller has given up (as the engine does after a stop) is not begun any more. */
static void a_close_does_not_begin_what_was_given_up(void **state)
{
	struct rig *g = *state;
	struct store_op op, create = { .verb = STORE_CREATE, .name = "never" };
	struct stat st;
	pthread_t other;
	char path[128];

	open_fifo(g, &op);
	create.dir = g->s->root[0];
	submit(g, &op);
	wait_begun(&op);
	submit(g, &create);
	g->s->in_flight = 0;
	assert_int_equal(pthread_create(&other, NULL, end_fifo_soon, g), 0);
	store_close(g->s);
	g->s = NULL;
	pthread_join(other, NULL);
	assert_int_equal(n_threads(), 1);
	snprintf(path, sizeof(path), "%s/never", g->path);
	assert_int_equal(stat(path, &st), -1);
	close((int)op.opened.id);
}

static void a_store_that_was_never_used_closes(void **state)
{
	struct rig *g = *state;

	open_it(g, false);
	store_finish(g->s);
	assert_int_equal(g->s->state, STORE_ENDED);
	store_close(g->s);
	g->s = NULL;
	assert_int_equal(n_threads(), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_waits_for_an_operation_that_takes_long),
		TEST(what_was_submitted_before_asks_to_be_advanced_at_once),
		TEST(each_answer_is_one_event),
		TEST(a_caller_may_wait_again),
		TEST(signals_do_not_go_to_the_thread),
		TEST(a_close_waits_for_all_that_is_lent),
		TEST(a_close_does_not_begin_what_was_given_up),
		TEST(a_store_that_was_never_used_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
