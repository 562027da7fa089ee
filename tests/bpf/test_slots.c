/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Far more processes and threads than the watch has slots for, one after the other: each is
 * counted, and nothing of one is found in the next that has its slot. Tests bpf/pool.h,
 * user/watch/bpf/slots.c, losses.c.
 */
#include "rung_rig.h"

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

static void step(struct rung_rig *g)
{
	rig_step(g);
	assert_int_equal(g->x.shared->value[0], 0);
}

static void open_small(struct rung_rig *g, void (*fn)(struct watched_shared *s))
{
	struct bpf_load_wish wish = {};

	wish.n_processes = SLOTS;
	wish.n_threads = SLOTS * (1 + THREADS);
	rig_open(g, &wish, (struct target) {}, fn);
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
	struct afs_cell reads;
	struct rung_rig g;
	char name[64];
	struct run r;

	(void)state;
	open_small(&g, fork_some);
	for (int i = 0; i < ROUNDS; i++) {
		step(&g);
		rig_tick(&g);
	}
	rig_read(&g, &r);
	reads = ledger_sum(&g.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_N_OBJECTS);
	assert_int_equal(reads.calls, n * (READS + THREADS));
	assert_int_equal(reads.bytes, n * (READS * (READS + 1) / 2 + THREADS));
	assert_int_equal(g.diff.compat[AFS_ROLE_SERVER].rchar, reads.bytes);
	assert_int_equal(g.diff.compat[AFS_ROLE_SERVER].syscr, reads.calls);
	for (size_t i = 0; i < r.n_losses; i++)
		if (r.loss[i].n)
			fail_msg("%s: %llu", r.loss[i].what, (unsigned long long)r.loss[i].n);
	snprintf(name, sizeof(name), "afpd (%llu ended) rchar", (unsigned long long)n);
	assert_true(has_book(&r, name));
	rig_close(&g, &r);
}

/* More at once than there are slots, and nobody who frees them. */
static void what_finds_no_slot_is_a_loss(void **state)
{
	struct rung_rig g;
	struct run r;

	(void)state;
	open_small(&g, fork_some);
	for (int i = 0; i < 3; i++)
		step(&g);
	rig_read(&g, &r);
	/* One of SLOTS is the server's. */
	assert_int_equal(loss_of(&r, "threads not watched: no slot for the process"),
			 3 * AT_ONCE - (SLOTS - 1));
	rig_close(&g, &r);
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
	struct target t = { .n = 2 };
	struct err e = {};
	struct rung_rig g;
	struct run r;

	(void)state;
	open_small(&g, end_unnoticed);
	step(&g);
	rig_tick(&g);
	t.server = t.process[0].pid = g.x.pid;
	t.process[1].pid = (pid_t)g.x.shared->value[1];
	if (bpf_rung_look(g.rung, &t, 0, &e))
		fail_msg("%s", e.text);
	step(&g);
	rig_read(&g, &r);
	assert_int_equal(run_losses(&r), 0);
	assert_true(has_book(&r, "afpd (1 ended) syscr"));
	rig_close(&g, &r);
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
