/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of a parent and its children, which do known I/O and come and go. */
#include "watch/proc/procio.h"

#include "unit/memory_in_use.h"
#include "unit/working_child.h"

#include <stdlib.h>
#include <sys/resource.h>

#define MANY   300 /* sessions */
#define ROUNDS 3

/* A server: it starts and ends children as the letters say, and answers with a pid. */
struct server {
	struct child child;
	struct procio io;
	struct target t;
};

static void read_zeros(int zero)
{
	char c;

	for (int i = 0; i < READS; i++)
		if (read(zero, &c, 1) != 1)
			_exit(1);
}

static pid_t begin_one(int zero)
{
	int done[2];
	pid_t pid;
	char c;

	if (pipe2(done, O_CLOEXEC))
		_exit(1);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		read_zeros(zero);
		close(done[0]);
		close(done[1]);
		for (;;)
			pause();
	}
	close(done[1]);
	/* Its end of the pipe is closed when it has read. */
	if (read(done[0], &c, 1) != 0)
		_exit(1);
	close(done[0]);
	return pid;
}

static void live(int in, int out)
{
	int zero = open("/dev/zero", O_RDONLY);
	pid_t pid = 0;
	char what;

	while (read(in, &what, 1) == 1) {
		if (what == 'i')
			signal(SIGCHLD, SIG_IGN);
		if (what == 'b')
			pid = begin_one(zero);
		if (what == 'e' || what == 'z')
			kill(pid, SIGKILL);
		/* Without a zombie to wait for, until it is gone. */
		if (what == 'e')
			waitpid(pid, NULL, 0);
		if (write(out, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
	}
	_exit(0);
}

static pid_t tell(struct server *s, char what)
{
	pid_t pid;

	child_ask(&s->child, what, &pid, sizeof(pid));
	return pid;
}

static void look(struct server *s)
{
	struct err e = {};

	target_look(&s->t);
	if (procio_look(&s->io, &s->t, &e))
		fail_msg("%s", e.text);
}

static int setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	s->child = child_fork(live);
	s->t.server = s->child.pid;
	s->t.whole = true;
	wait_asleep(s->child.pid);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct server *s = *state;

	child_end(&s->child);
	procio_fini(&s->io);
	free(s);
	return 0;
}

/* Reads of the server's since the first look, but for its letters. */
static uint64_t reads(struct server *s, unsigned int letters)
{
	struct afs_compat sum;

	procio_read(&s->io);
	assert_true(procio_sum(&s->io, AFS_ROLE_SERVER, &sum));
	assert_false(procio_sum(&s->io, AFS_ROLE_BACKEND, &sum) && sum.syscr);
	procio_sum(&s->io, AFS_ROLE_SERVER, &sum);
	return sum.syscr - letters;
}

static const char *warning(const struct server *s, struct run *r)
{
	assert_int_equal(run_init(r, "record", "record"), 0);
	assert_int_equal(procio_note(&s->io, r), 0);
	return run_note_find(&r->warnings, "watch");
}

/* Each start is one more read of the server: the end of the child's pipe. */
#define START 1

static void a_child_that_was_there_counts_from_the_first_look(void **state)
{
	struct server *s = *state;
	struct run r;

	tell(s, 'b');
	look(s);
	assert_int_equal(s->io.n, 2);
	assert_int_equal(reads(s, 0), 0);
	/* Its reads of before are in its parent's account now. */
	tell(s, 'e');
	assert_int_equal(reads(s, 1), 0);
	assert_int_equal(s->io.n, 1);
	assert_int_equal(s->io.n_cut, 0);
	assert_null(warning(s, &r));
	run_fini(&r);
}

static void without_files_to_open_no_process_has_ended(void **state)
{
	struct server *s = *state;
	struct rlimit old, none;
	struct run r;

	look(s);
	tell(s, 'b');
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	assert_int_equal(reads(s, 0), 0);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(reads(s, 1 + START), 0);
	assert_null(warning(s, &r));
	run_fini(&r);
}

static void a_child_that_begins_counts_from_its_beginning(void **state)
{
	struct server *s = *state;
	struct run r;

	look(s);
	procio_tick(&s->io);
	tell(s, 'b');
	assert_true(procio_tick(&s->io));
	look(s);
	assert_int_equal(s->io.n, 2);
	assert_int_equal(s->io.n_began, 1);
	assert_int_equal(reads(s, 1 + START), READS);
	tell(s, 'e');
	assert_int_equal(reads(s, 2 + START), READS);
	assert_null(warning(s, &r));
	assert_string_equal(
	    run_note_find(&r.server, "sessions"),
	    "0 at the start, 1 began, 1 ended (without those that lived between two looks)");
	run_fini(&r);
}

static void a_child_between_two_looks_is_in_its_parents_account(void **state)
{
	struct server *s = *state;

	look(s);
	tell(s, 'b');
	tell(s, 'e');
	look(s);
	assert_int_equal(s->io.n, 1);
	assert_int_equal(reads(s, 2 + START), READS);
}

static void a_zombie_counts_once(void **state)
{
	struct server *s = *state;
	struct procstat st;
	pid_t pid;

	look(s);
	pid = tell(s, 'b');
	look(s);
	tell(s, 'z');
	do
		assert_int_equal(procstat_read(&st, pid), 0);
	while (st.state != 'Z');
	assert_int_equal(reads(s, 2 + START), READS);
	assert_int_equal(s->io.n, 2);
	tell(s, 'e');
	assert_int_equal(reads(s, 3 + START), READS);
	assert_int_equal(s->io.n, 1);
	assert_int_equal(s->io.n_cut, 0);
}

static void a_child_nobody_waits_for_keeps_its_last_reading(void **state)
{
	struct server *s = *state;
	struct run r;

	tell(s, 'i');
	look(s);
	tell(s, 'b');
	look(s);
	assert_int_equal(reads(s, 1 + START), READS);
	tell(s, 'e');
	assert_int_equal(reads(s, 2 + START), READS);
	assert_int_equal(s->io.n, 1);
	assert_int_equal(s->io.n_cut, 1);
	assert_non_null(strstr(warning(s, &r), "figures stop at the last reading"));
	run_fini(&r);
}

/* By how many bytes the memory in use has grown after so many sessions. */
static size_t grown_by(struct server *s, unsigned int n)
{
	size_t before = memory_in_use(), after;

	for (unsigned int i = 0; i < n; i++) {
		tell(s, 'b');
		look(s);
		assert_int_equal(s->io.n, 2);
		tell(s, 'e');
		procio_read(&s->io);
	}
	after = memory_in_use();
	return after > before ? after - before : 0;
}

/* In one of the rounds none: what grows with the processes of the whole machine does so once. */
static void processes_that_have_ended_need_no_memory(void **state)
{
	struct server *s = *state;
	size_t least = SIZE_MAX, grown;
	struct run r;

	look(s);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		grown = grown_by(s, MANY / ROUNDS);
		least = grown < least ? grown : least;
	}
	assert_int_equal(reads(s, MANY * (2 + START)), MANY * READS);
	assert_int_equal(s->io.n, 1);
	assert_in_range(least, 0, 4096 / ROUNDS);
	assert_null(warning(s, &r));
	assert_non_null(strstr(run_note_find(&r.server, "sessions"), "300 began, 300 ended"));
	run_fini(&r);
}

static void a_tick_asks_for_looks_only_after_changes(void **state)
{
	struct server *s = *state;
	int asked = 0;

	look(s);
	for (int i = 0; i < 10; i++)
		procio_tick(&s->io);
	assert_false(procio_tick(&s->io));
	tell(s, 'b');
	for (int i = 0; i < 10; i++)
		asked += procio_tick(&s->io);
	assert_in_range(asked, 1, 5);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_child_that_was_there_counts_from_the_first_look),
		T(without_files_to_open_no_process_has_ended),
		T(a_child_that_begins_counts_from_its_beginning),
		T(a_child_between_two_looks_is_in_its_parents_account),
		T(a_zombie_counts_once),
		T(a_child_nobody_waits_for_keeps_its_last_reading),
		T(processes_that_have_ended_need_no_memory),
		T(a_tick_asks_for_looks_only_after_changes),
	};

	(void)argc;
	count_memory_exactly(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
