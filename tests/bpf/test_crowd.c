/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More processes than can be watched: those that are watched are counted exactly, and of the
 * others it is said how many they are, each once.
 */
#include "watched.h"

#include "bpf/calls.h"
#include "kinds/target.h"

#include <errno.h>

/* Beyond the table, of which the server has a place. */
#define BEYOND 100
#define FORKED 20

/* The first step makes the crowd, the next ones a few more that end at once. */
static void do_fork(struct watched_shared *s)
{
	uint64_t n = s->value[0];
	pid_t pid;

	for (uint64_t i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			_exit(1);
		if (!pid && s->value[1])
			_exit(0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (s->value[1] && waitpid(pid, NULL, 0) != pid)
			_exit(1);
	}
	s->value[2]++;
}

static uint64_t loss(struct watch *w, const char *what)
{
	uint64_t n = UINT64_MAX;
	struct run r;

	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_losses(w, &r), 0);
	for (size_t i = 0; i < r.n_losses; i++)
		if (!strcmp(r.loss[i].what, what))
			n = r.loss[i].n;
	run_fini(&r);
	return n;
}

static void open_crowd(struct watched *x, enum watch_mode mode, struct target *t)
{
	struct err e = {};

	watched_start(x, do_fork);
	x->shared->value[0] = AFS_N_PROCESSES - 1 + BEYOND;
	watched_go(x);
	assert_int_equal(x->shared->value[2], 1);
	*t = (struct target) { .server = x->pid, .plain = true };
	if (watch_open_target(&x->w, mode, t, &e))
		fail_msg("%s", e.text);
}

static void end_crowd(struct watched *x)
{
	watch_free(x->w);
	kill(x->pid, SIGKILL);
	waitpid(x->pid, NULL, 0);
	munmap(x->shared, sizeof(*x->shared));
}

/* Place: more than 4,096 processes when the watch begins, or later | those in the table exact;
 *   how many are not watched is a loss */
static void those_beyond_the_table_are_a_loss_each_once(void **state)
{
	static const char found[] = "threads and processes found, and not watched";
	static const char forked[] = "threads not watched: no slot for the process";
	struct watched x;
	struct target t;

	(void)state;
	open_crowd(&x, WATCH_BPF, &t);
	assert_int_equal(loss(x.w, found), BEYOND);
	assert_int_equal(loss(x.w, forked), 0);
	watch_find_backends(x.w);
	assert_int_equal(loss(x.w, found), BEYOND);
	x.shared->value[0] = FORKED;
	x.shared->value[1] = 1;
	watched_step(&x);
	assert_int_equal(x.shared->value[2], 2);
	assert_int_equal(loss(x.w, forked), FORKED);
	/* A clone and a wait for each. */
	assert_int_equal(
	    ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_PROCESS, AFS_N_OBJECTS).calls,
	    2 * FORKED);
	ledger_fini(&x.diff);
	end_crowd(&x);
}

/* Place: more than 4,096 processes when the watch begins, or later */
static void those_beyond_what_is_read_of_proc_are_said(void **state)
{
	bool said = false;
	struct watched x;
	struct target t;
	struct run r;

	(void)state;
	open_crowd(&x, WATCH_PROC, &t);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(x.w, &r), 0);
	for (size_t i = 0; i < r.warnings.n; i++)
		said |= !strncmp(r.warnings.note[i].text, "more than 4096 sessions", 23);
	assert_true(said);
	run_fini(&r);
	end_crowd(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_beyond_the_table_are_a_loss_each_once),
		cmocka_unit_test(those_beyond_what_is_read_of_proc_are_said),
	};

	return cmocka_run_group_tests(tests, watched_mount_tracefs, NULL);
}
