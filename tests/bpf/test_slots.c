/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Far more processes and threads than the watch has slots for, one after the other: each is
 * counted, and nothing of one is found in the next that has its slot.
 */
#include "watched.h"

#include "watch/bpf/load.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#define SLOTS   6
#define ROUNDS  20
#define AT_ONCE 3
#define READS   10
#define THREADS 2

static void *read_once(void *arg)
{
	char c;

	return (void *)read(*(int *)arg, &c, 1);
}

/* Reads, of its own and of two threads that end before it. */
static void be_session(int zero)
{
	pthread_t thread[THREADS];
	char buf[READS];

	for (int i = 0; i < READS; i++)
		if (read(zero, buf, (size_t)i + 1) != i + 1)
			_exit(1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, read_once, &zero))
			_exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

static void fork_some(struct watched_shared *s)
{
	int zero = open("/dev/zero", O_RDONLY), status;

	for (int i = 0; i < AT_ONCE; i++)
		if (!fork())
			be_session(zero);
	for (int i = 0; i < AT_ONCE; i++)
		s->value[0] += wait(&status) < 0 || status;
	close(zero);
}

static void step(struct watched *x)
{
	uint32_t step = x->shared->step;

	__atomic_store_n(&x->shared->step, step + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x->shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&x->shared->done, __ATOMIC_ACQUIRE) != step + 1)
		usleep(200);
	assert_int_equal(x->shared->value[0], 0);
}

/* Slots are collected by one tick and free after the next. */
static void tick(void *state)
{
	for (int i = 0; i < 2; i++)
		rung_bpf.tick(state);
}

static void *open_small(struct watched *x, void (*fn)(struct watched_shared *s))
{
	struct bpf_load_wish wish = bpf_load_best();
	struct target t = {};
	struct err e = {};
	void *state;

	wish.n_processes = SLOTS;
	wish.n_threads = SLOTS * (1 + THREADS);
	watched_start(x, fn);
	t.afpd = x->pid;
	if (rung_bpf_open(&state, &wish, &e) || rung_bpf.look(state, &t, &e))
		fail_msg("%s", e.text);
	assert_true(rung_bpf.settle(state));
	return state;
}

static void close_small(struct watched *x, void *state)
{
	rung_bpf.free(state);
	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	munmap(x->shared, sizeof(*x->shared));
}

static uint64_t loss_of(const struct run *r, const char *what)
{
	for (size_t i = 0; i < r->n_losses; i++)
		if (!strcmp(r->loss[i].what, what))
			return r->loss[i].n;
	fail_msg("no loss \"%s\"", what);
	return 0;
}

static bool has_book(const struct run *r, const char *name)
{
	for (size_t i = 0; i < r->n_books; i++)
		if (!strcmp(r->book[i].name, name))
			return true;
	return false;
}

static void slots_of_processes_that_ended_are_used_again(void **state)
{
	const uint64_t n = ROUNDS * AT_ONCE;
	struct ledger before, after, diff;
	struct watched x;
	struct afs_cell reads;
	void *rung;
	char name[64];
	struct run r;

	(void)state;
	rung = open_small(&x, fork_some);
	assert_int_equal(rung_bpf.read(rung, &before), 0);
	for (int i = 0; i < ROUNDS; i++) {
		step(&x);
		tick(rung);
	}
	assert_true(rung_bpf.settle(rung));
	assert_int_equal(rung_bpf.read(rung, &after), 0);
	assert_int_equal(ledger_diff(&diff, &after, &before), 0);
	reads = ledger_sum(&diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_N_OBJECTS);
	assert_int_equal(reads.calls, n * (READS + THREADS));
	assert_int_equal(reads.bytes, n * (READS * (READS + 1) / 2 + THREADS));
	assert_int_equal(diff.compat[AFS_ROLE_SERVER].rchar, reads.bytes);
	assert_int_equal(diff.compat[AFS_ROLE_SERVER].syscr, reads.calls);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	rung_bpf.stop(rung);
	assert_int_equal(rung_bpf.finish(rung, &r), 0);
	for (size_t i = 0; i < r.n_books; i++)
		if (!r.book[i].closed)
			fail_msg("%s: %llu, %llu", r.book[i].name,
				 (unsigned long long)r.book[i].ours,
				 (unsigned long long)r.book[i].theirs);
	for (size_t i = 0; i < r.n_losses; i++)
		if (r.loss[i].n)
			fail_msg("%s: %llu", r.loss[i].what, (unsigned long long)r.loss[i].n);
	snprintf(name, sizeof(name), "afpd (%llu ended) rchar", (unsigned long long)n);
	assert_true(has_book(&r, name));
	run_fini(&r);
	ledger_fini(&before);
	ledger_fini(&after);
	ledger_fini(&diff);
	close_small(&x, rung);
}

/* More at once than there are slots, and nobody who frees them. */
static void what_finds_no_slot_is_a_loss(void **state)
{
	struct watched x;
	void *rung;
	struct run r;

	(void)state;
	rung = open_small(&x, fork_some);
	for (int i = 0; i < 3; i++)
		step(&x);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	rung_bpf.stop(rung);
	assert_int_equal(rung_bpf.finish(rung, &r), 0);
	/* One of SLOTS is the server's. */
	assert_int_equal(loss_of(&r, "threads not watched: no slot for the process"),
			 3 * AT_ONCE - (SLOTS - 1));
	assert_true(run_books_closed(&r));
	run_fini(&r);
	close_small(&x, rung);
}

/* What has ended stays in the list of tasks until its parent asks for it. */
static void end_unnoticed(struct watched_shared *s)
{
	static pid_t pid;

	if (s->value[1]) {
		s->value[0] += waitpid(pid, NULL, 0) != pid;
		return;
	}
	pid = fork();
	if (!pid)
		_exit(0);
	s->value[0] += waitid(P_PID, (id_t)pid, &(siginfo_t) {}, WEXITED | WNOWAIT) != 0;
	s->value[1] = (uint64_t)pid;
}

static void what_has_ended_is_not_watched_again(void **state)
{
	struct target t = { .n_sessions = 1 };
	struct err e = {};
	struct watched x;
	void *rung;
	struct run r;

	(void)state;
	rung = open_small(&x, end_unnoticed);
	step(&x);
	tick(rung);
	t.afpd = x.pid;
	t.session[0].pid = (pid_t)x.shared->value[1];
	if (rung_bpf.look(rung, &t, &e))
		fail_msg("%s", e.text);
	step(&x);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	rung_bpf.stop(rung);
	assert_int_equal(rung_bpf.finish(rung, &r), 0);
	assert_true(run_books_closed(&r));
	assert_int_equal(run_losses(&r), 0);
	assert_true(has_book(&r, "afpd (1 ended) syscr"));
	run_fini(&r);
	close_small(&x, rung);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_of_processes_that_ended_are_used_again),
		cmocka_unit_test(what_finds_no_slot_is_a_loss),
		cmocka_unit_test(what_has_ended_is_not_watched_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
