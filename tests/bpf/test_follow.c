/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads and children are followed, others are not, and nothing is lost in a crowd.
 * Tests user/watch/bpf/books.c.
 */
#include "watched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>

#define N_CROWD  4
#define PER_TURN 50000 /* test_scale has ten million calls: this one runs in emulators, too */

static struct afs_cell reads_of(const struct watched *x, enum afs_role role)
{
	return ledger_sum(&x->diff, role, AFS_CLASS_READ, AFS_OBJECT_OTHER);
}

/* Reads bytes from /dev/zero: class READ on OTHER, and nothing else there. */
static void read_zero(int fd, int n)
{
	char c;

	for (int i = 0; i < n; i++)
		if (read(fd, &c, 1) != 1)
			_exit(1);
}

static int zero;

struct worker {
	pthread_t id;
	uint32_t go, done;
	int n;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct watched_shared *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint32_t turn = 0;; turn++) {
		watched_wait(s, &w->go, turn);
		read_zero(zero, w->n);
		__atomic_store_n(&w->done, turn + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &w->done, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static struct worker workers[N_CROWD];

static void turn(struct watched_shared *s, struct worker *w, int n)
{
	uint32_t now = w->go;

	w->n = n;
	__atomic_store_n(&w->go, now + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &w->go, FUTEX_WAKE, 1, NULL, NULL, 0);
	(void)s;
}

/* Threads that are there when the watch begins. */
static void start_workers(struct watched_shared *s)
{
	(void)s;
	for (int i = 0; i < N_CROWD; i++)
		pthread_create(&workers[i].id, NULL, work, &workers[i]);
}

static void wait_workers(struct watched_shared *s)
{
	for (int i = 0; i < N_CROWD; i++)
		watched_wait(s, &workers[i].done, workers[i].go - 1);
}

static void do_crowd(struct watched_shared *s)
{
	if (s->step == 1) {
		start_workers(s);
		return;
	}
	for (int i = 0; i < N_CROWD; i++)
		turn(s, &workers[i], PER_TURN);
	wait_workers(s);
}

static void calls_of_four_threads_are_exact(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_crowd);
	/* The first step, before anybody watches. */
	__atomic_store_n(&x.shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&x.shared->done, __ATOMIC_ACQUIRE) != 1)
		usleep(1000);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, N_CROWD * PER_TURN);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).bytes, N_CROWD * PER_TURN);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).errors, 0);
	watched_check_io(&x);
	watched_end(&x);
}

static void *read_some(void *arg)
{
	read_zero(zero, *(int *)arg);
	return NULL;
}

/* Threads that come and go under watch. */
static void do_threads(struct watched_shared *s)
{
	int n[3] = { 100, 200, 300 };
	pthread_t id[3];

	(void)s;
	for (int i = 0; i < 3; i++)
		pthread_create(&id[i], NULL, read_some, &n[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	read_zero(zero, 7);
}

static void new_threads_are_followed(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_threads);
	watched_open(&x, (struct target) {});
	for (int i = 0; i < 5; i++) {
		watched_step(&x);
		assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, 607);
		watched_check_io(&x);
		ledger_fini(&x.diff);
	}
	watched_end(&x);
}

/* A child, its child, and a program: all waited for. */
static void do_children(struct watched_shared *s)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = fork(), program;

	(void)s;
	if (!pid) {
		pid = fork();
		if (!pid) {
			read_zero(zero, 1000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		read_zero(zero, 100);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (!posix_spawn(&program, "/bin/true", NULL, NULL, argv, argv + 1))
		waitpid(program, NULL, 0);
	read_zero(zero, 10);
}

/* Serves a client: what it forks are helpers. */
static const struct target a_session = { .client = 1 };

static void children_count_as_helpers(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_children);
	watched_open(&x, a_session);
	for (int i = 0; i < 3; i++) {
		watched_step(&x);
		assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, 10);
		assert_int_equal(reads_of(&x, AFS_ROLE_HELPER).calls, 1100);
		/* What waited-for children did is in the process's own account. */
		assert_int_equal(x.io_after.syscr - x.io_before.syscr,
				 x.diff.compat[AFS_ROLE_SERVER].syscr +
				     x.diff.compat[AFS_ROLE_HELPER].syscr);
		assert_int_equal(x.io_after.rchar - x.io_before.rchar,
				 x.diff.compat[AFS_ROLE_SERVER].rchar +
				     x.diff.compat[AFS_ROLE_HELPER].rchar);
		assert_true(
		    ledger_sum(&x.diff, AFS_ROLE_HELPER, AFS_CLASS_PROCESS, AFS_N_OBJECTS).calls >
		    0);
		ledger_fini(&x.diff);
	}
	watched_end(&x);
}

/* Children waited for and a thread ended: only the whole process's account is left. */
static void do_both(struct watched_shared *s)
{
	do_children(s);
	do_threads(s);
}

static void books_close_over_ended_threads_and_children(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_both);
	watched_open(&x, a_session);
	watched_step(&x);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, 617);
	watched_end(&x);
}

static void do_little(struct watched_shared *s)
{
	(void)s;
	read_zero(zero, 5);
}

/* The parent's own calls, a sibling's, and a child's of the time before. */
static void others_are_not_counted(void **state)
{
	struct watched x, y;
	size_t rows = 0;

	(void)state;
	watched_start(&x, do_little);
	watched_start(&y, do_crowd);
	watched_open(&x, (struct target) {});
	read_zero(zero, 1000);
	watched_step(&x);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, 5);
	for (size_t i = 0; i < x.diff.n_rows; i++)
		rows += x.diff.row[i].class != AFS_CLASS_WAIT;
	assert_int_equal(rows, 1);
	kill(y.pid, SIGKILL);
	waitpid(y.pid, NULL, 0);
	watched_end(&x);
}

/* Whoever watches may die in any way: nothing of it is left in the kernel. */
static void a_dead_watcher_leaves_nothing(void **state)
{
	struct target t = {};
	struct watched x;
	struct watch *w;
	struct err e;
	pid_t pid;
	int left;

	(void)state;
	watched_start(&x, do_little);
	t.server = x.pid;
	pid = fork();
	if (!pid) {
		if (watch_open_target(&w, WATCH_BPF, &t, &e))
			_exit(1);
		raise(SIGKILL);
	}
	waitpid(pid, &left, 0);
	assert_true(WIFSIGNALED(left));
	/* Not watched any more: a new watch finds its threads free and counts once. */
	watched_open(&x, (struct target) {});
	watched_step(&x);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, 5);
	watched_end(&x);
}

/* What serves no client forks more of its kind, until they run another program. */
static void a_parent_forks_its_like(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_children);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	assert_int_equal(reads_of(&x, AFS_ROLE_SERVER).calls, 1110);
	assert_true(ledger_sum(&x.diff, AFS_ROLE_OTHER, AFS_CLASS_MEMORY, AFS_N_OBJECTS).calls > 0);
	watched_end(&x);
}

static void an_ended_process_closes_its_book(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	watched_start(&x, do_little);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_true(watch_settle(x.w));
	assert_int_equal(watch_finish(x.w, &r), 0);
	assert_int_equal(r.n_books, 5);
	assert_true(run_books_closed(&r));
	assert_true(r.book[0].ours == 5 && strstr(r.book[0].with, "at their end"));
	run_fini(&r);
	ledger_fini(&x.diff);
	watch_free(x.w);
}

static int setup(void **state)
{
	(void)state;
	zero = open("/dev/zero", O_RDONLY);
	return zero < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_four_threads_are_exact),
		cmocka_unit_test(new_threads_are_followed),
		cmocka_unit_test(children_count_as_helpers),
		cmocka_unit_test(books_close_over_ended_threads_and_children),
		cmocka_unit_test(others_are_not_counted),
		cmocka_unit_test(a_dead_watcher_leaves_nothing),
		cmocka_unit_test(a_parent_forks_its_like),
		cmocka_unit_test(an_ended_process_closes_its_book),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
