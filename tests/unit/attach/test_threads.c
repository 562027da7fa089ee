/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of threads of a program that makes new ones all the time. */
#include "attach/threads.h"

#include "kinds/target.h"
#include "unit/memory_in_use.h"
#include "unit/working_child.h"

#define MANY 400

struct watched {
	struct child child;
	struct watch *w;
	struct threads *threads;
	struct run run;
};

static struct watched begin(pid_t *pids, size_t n)
{
	struct watched x = { .threads = threads_new() };
	static struct target t;
	struct err e = { 0 };

	x.child = child_start();
	wait_asleep(x.child.pid);
	pids[0] = x.child.pid;
	target_processes(&t, pids, n);
	if (watch_open_target(&x.w, WATCH_PROC, &t, &e))
		fail_msg("%s", e.text);
	assert_int_equal(run_init(&x.run, "record", "record"), 0);
	threads_look(x.threads, x.w);
	return x;
}

/* The first row: of the most CPU time. */
static const struct run_threads *note(struct watched *x)
{
	static const struct ledger none;

	assert_int_equal(threads_note(x->threads, &none, &x->run), 0);
	return x->run.threads;
}

static void end(struct watched *x)
{
	run_fini(&x->run);
	threads_free(x->threads);
	watch_free(x->w);
}

static void threads_that_have_ended_stay_in_their_group_and_need_no_memory(void **state)
{
	pid_t pid[1];
	struct watched x = begin(pid, 1);
	size_t used, looks = 0;

	(void)state;
	note(&x);
	assert_int_equal(x.run.n_threads, 1);
	used = memory_in_use();
	assert_int_equal(write(x.child.tell, "m", 1), 1);
	for (size_t n = 0; n < MANY; n = note(&x)->n)
		for (size_t i = 0; i < 100; i++, looks++)
			threads_look(x.threads, x.w);
	assert_int_equal(x.run.n_threads, 1);
	assert_string_equal(x.run.threads->name, "test_threads");
	assert_true(x.run.threads->cpu_ns > x.run.threads->busiest_cpu_ns);
	assert_true(memory_in_use() < used + 8192);
	child_end(&x.child);
	end(&x);
}

/* A child with a number that was another one's. */
static pid_t fork_numbered(pid_t wanted)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
	pid_t pid;

	if (!f)
		return -1;
	fprintf(f, "%d", wanted - 1);
	fclose(f);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	burn(50000000);
	for (;;)
		pause();
}

static void another_process_with_the_number_of_one_that_ended_is_not_counted(void **state)
{
	struct child second = child_start();
	pid_t pid[2] = { 0, second.pid }, stranger = -1;
	struct watched x;

	(void)state;
	wait_asleep(second.pid);
	x = begin(pid, 2);
	assert_int_equal(watch_process(x.w, AFS_ROLE_SERVER, &(size_t) { 1 }), second.pid);
	child_end(&second);
	/* By its number and its start, in ticks of 10 ms, the kernel tells a process. */
	usleep(20000);
	for (int i = 0; i < 20 && stranger != pid[1]; i++) {
		if (stranger > 0) {
			kill(stranger, SIGKILL);
			waitpid(stranger, NULL, 0);
		}
		stranger = fork_numbered(pid[1]);
	}
	if (stranger == pid[1]) {
		usleep(100000);
		wait_asleep(stranger);
		assert_int_equal(watch_process(x.w, AFS_ROLE_SERVER, &(size_t) { 1 }), 0);
		threads_look(x.threads, x.w);
		assert_int_equal(note(&x)->n, 2);
		assert_true(note(&x)->cpu_ns < 40000000);
	}
	if (stranger > 0) {
		kill(stranger, SIGKILL);
		waitpid(stranger, NULL, 0);
	}
	child_end(&x.child);
	end(&x);
	if (stranger != pid[1])
		skip();
}

/* What each did is known of all together: by how few one has, how much of that may be its own. */
static void threads_of_a_name_know_how_many_processes_have_them(void **state)
{
	struct child second = child_start();
	pid_t pid[2] = { 0, second.pid };
	struct watched x;

	(void)state;
	wait_asleep(second.pid);
	x = begin(pid, 2);
	assert_int_equal(note(&x)->n, 2);
	assert_int_equal(note(&x)->processes, 2);
	assert_int_equal(note(&x)->fewest, 1);
	child_end(&second);
	child_end(&x.child);
	end(&x);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_have_ended_stay_in_their_group_and_need_no_memory),
		cmocka_unit_test(threads_of_a_name_know_how_many_processes_have_them),
		cmocka_unit_test(another_process_with_the_number_of_one_that_ended_is_not_counted),
	};

	(void)argc;
	count_memory_exactly(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
