/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler, on children that do known I/O. */
#include "host/sample.h"
#include "unit/working_child.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct sample *start(const struct child *c, size_t points)
{
	struct err e = {};
	struct sample *s;

	wait_asleep(c->pid);
	if (sample_open(&s, 100, points, &e) || sample_add(s, c->pid, AFS_ROLE_SERVER, &e))
		fail_msg("%s", e.text);
	return s;
}

static const struct sample_point *last(const struct sample_series *s)
{
	return &s->point[s->n - 1];
}

static void known_io_is_in_the_series(void **state)
{
	struct child c = child_start();
	struct sample *s = start(&c, 64);
	const struct sample_series *of = sample_series(s, 0);

	(void)state;
	assert_null(sample_series(s, 1));
	assert_int_equal(of->n, 1);
	assert_int_equal(of->point[0].value[SAMPLE_SYSCR], 0);
	sample_tick(s);
	assert_int_equal(of->n, 2);
	assert_int_equal(last(of)->value[SAMPLE_SYSCR], 0);
	child_do(&c, 'r');
	child_do(&c, 'b');
	sample_tick(s);
	/* The letters are read and answered, too. */
	assert_string_equal(of->why[SAMPLE_SYSCR], "");
	assert_int_equal(last(of)->value[SAMPLE_SYSCR], READS + 2);
	assert_int_equal(last(of)->value[SAMPLE_RCHAR], READS + 2);
	assert_int_equal(last(of)->value[SAMPLE_SYSCW], 2);
	assert_int_equal(last(of)->value[SAMPLE_WCHAR], 2);
	assert_string_equal(of->why[SAMPLE_CPU], "");
	assert_true(last(of)->value[SAMPLE_CPU] > 5000000);
	assert_true(last(of)->value[SAMPLE_SLICES] >= 2);
	assert_true(last(of)->value[SAMPLE_VOLUNTARY] >= 2);
	assert_true(last(of)->t_ns > of->point[0].t_ns);
	sample_close(s);
	child_end(&c);
}

static void a_full_series_is_merged_and_keeps_its_sums(void **state)
{
	struct child c = child_start();
	struct sample *s = start(&c, 8);
	const struct sample_series *of = sample_series(s, 0);
	size_t n, readings = 0;

	(void)state;
	for (int i = 0; i < 43; i++) {
		child_do(&c, 'r');
		sample_tick(s);
		assert_true(of->n <= 8);
	}
	/* By now at most every fourth tick is a reading. */
	for (int i = 0; i<4; i++, readings += of->n> n) {
		n = of->n;
		sample_tick(s);
	}
	assert_true(readings <= 1);
	sample_now(s);
	assert_int_equal(last(of)->value[SAMPLE_SYSCR], 43 * (READS + 1));
	assert_int_equal(last(of)->value[SAMPLE_SYSCW], 43);
	assert_int_equal(of->point[0].value[SAMPLE_SYSCR], 0);
	for (size_t i = 1; i < of->n; i++) {
		assert_true(of->point[i].t_ns > of->point[i - 1].t_ns);
		assert_int_equal(of->point[i].value[SAMPLE_SYSCR] % (READS + 1), 0);
		for (int v = 0; v < SAMPLE_N_VALUES; v++)
			assert_true(of->point[i].value[v] >= of->point[i - 1].value[v]);
	}
	sample_close(s);
	child_end(&c);
}

static void the_series_of_a_process_that_vanishes_ends(void **state)
{
	struct child a = child_start(), b = child_start();
	struct sample *s = start(&a, 64);
	const struct sample_series *of_a = sample_series(s, 0), *of_b;
	struct err e = {};
	size_t n;

	(void)state;
	assert_int_equal(sample_add(s, b.pid, AFS_ROLE_BACKEND, &e), 0);
	assert_int_equal(sample_add(s, b.pid, AFS_ROLE_BACKEND, &e), 0);
	of_b = sample_series(s, 1);
	assert_null(sample_series(s, 2));
	assert_int_equal(of_b->role, AFS_ROLE_BACKEND);
	child_do(&a, 'r');
	sample_now(s);
	n = of_a->n;
	child_end(&a);
	child_do(&b, 'r');
	sample_now(s);
	sample_now(s);
	assert_true(of_a->ended && !of_b->ended);
	assert_int_equal(of_a->n, n);
	assert_int_equal(last(of_a)->value[SAMPLE_SYSCR], READS + 1);
	assert_string_equal(of_a->why[SAMPLE_SYSCR], "");
	assert_int_equal(of_b->n, n + 2);
	assert_int_equal(last(of_b)->value[SAMPLE_SYSCR], READS + 1);
	assert_int_equal(sample_add(s, a.pid, AFS_ROLE_SERVER, &e), -ESRCH);
	assert_non_null(strstr(e.text, "has ended"));
	sample_close(s);
	child_end(&b);
}

static void a_thread_that_ends_takes_nothing_with_it(void **state)
{
	struct child c = child_start();
	struct sample *s = start(&c, 64);
	const struct sample_series *of = sample_series(s, 0);
	uint64_t cpu;

	(void)state;
	child_do(&c, 't');
	wait_until((sample_now(s), last(of)->value[SAMPLE_CPU] > 5000000));
	assert_int_equal(of->n_threads, 2);
	cpu = last(of)->value[SAMPLE_CPU];
	child_do(&c, 'j');
	sample_now(s);
	assert_int_equal(of->n_threads, 1);
	assert_int_equal(of->n_lost, 1);
	assert_true(last(of)->value[SAMPLE_CPU] >= cpu);
	sample_close(s);
	child_end(&c);
}

static void threads_that_end_while_they_are_looked_for_are_none(void **state)
{
	struct child c = child_start();
	struct sample *s = start(&c, 64);
	const struct sample_series *of = sample_series(s, 0);

	(void)state;
	assert_int_equal(write(c.tell, "m", 1), 1);
	for (int i = 0; i < 2000; i++)
		sample_now(s);
	/* On a busy machine the child may not have run yet. */
	wait_until((sample_now(s), of->n_lost > 0));
	assert_string_equal(of->why[SAMPLE_CPU], "");
	assert_string_equal(of->why[SAMPLE_VOLUNTARY], "");
	sample_close(s);
	child_end(&c);
}

static void without_files_to_open_nothing_has_ended(void **state)
{
	struct child c = child_start();
	struct rlimit old, few;
	struct sample *s;
	struct err e = {};
	int next = dup(0);

	(void)state;
	close(next);
	assert_int_equal(sample_open(&s, 100, 64, &e), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	for (int more = 0; more < 4; more++) {
		few.rlim_cur = (rlim_t)(next + more);
		setrlimit(RLIMIT_NOFILE, &few);
		assert_int_equal(sample_add(s, c.pid, AFS_ROLE_SERVER, &e), -EMFILE);
	}
	setrlimit(RLIMIT_NOFILE, &old);
	assert_non_null(strstr(e.text, "ulimit -n"));
	assert_int_equal(sample_add(s, c.pid, AFS_ROLE_SERVER, &e), 0);
	sample_close(s);
	child_end(&c);
}

static int look_without_rights(pid_t pid)
{
	const struct sample_series *of;
	struct err e = {};
	struct sample *s;

	if (setgid(65534) || setuid(65534) || sample_open(&s, 1, 4, &e) ||
	    sample_add(s, pid, AFS_ROLE_SERVER, &e))
		return 1;
	sample_now(s);
	of = sample_series(s, 0);
	if (!strstr(of->why[SAMPLE_SYSCR], "CAP_SYS_PTRACE") || of->why[SAMPLE_CPU][0] ||
	    of->why[SAMPLE_MINFLT][0])
		return 2;
	sample_close(s);
	return 0;
}

static void what_cannot_be_read_says_why(void **state)
{
	struct child c = child_start();
	int status;
	pid_t pid;

	(void)state;
	if (getuid()) {
		child_end(&c);
		skip();
	}
	pid = fork();
	if (!pid)
		_exit(look_without_rights(c.pid));
	waitpid(pid, &status, 0);
	child_end(&c);
	assert_int_equal(status, 0);
}

static void delays_are_told_from_no_accounting(void **state)
{
	struct child c = child_start();
	struct sample *s = start(&c, 64);
	const struct sample_series *of = sample_series(s, 0);
	FILE *f = fopen("/proc/sys/kernel/task_delayacct", "re");
	int on = 1;

	(void)state;
	if (f && fscanf(f, "%d", &on) != 1)
		on = 1;
	if (f)
		fclose(f);
	for (int v = SAMPLE_BLKIO; v <= SAMPLE_IRQ && !on; v++)
		assert_non_null(strstr(of->why[v], "task_delayacct is 0"));
	if (on && !geteuid())
		assert_null(strstr(of->why[SAMPLE_SWAPIN], "task_delayacct"));
	sample_close(s);
	child_end(&c);
}

static void more_processes_than_there_is_room_for_are_refused(void **state)
{
	struct child child[SAMPLE_PROCESSES_MAX + 1];
	struct err e = {};
	struct sample *s;
	size_t used;

	(void)state;
	assert_int_equal(sample_open(&s, 1, SAMPLE_POINTS_MAX, &e), 0);
	used = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int i = 0; i <= SAMPLE_PROCESSES_MAX; i++) {
		child[i].pid = fork();
		if (!child[i].pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
		assert_int_equal(sample_add(s, child[i].pid, AFS_ROLE_SERVER, &e),
				 i < SAMPLE_PROCESSES_MAX ? 0 : -E2BIG);
	}
	for (int i = 0; i <= SAMPLE_PROCESSES_MAX; i++) {
		kill(child[i].pid, SIGKILL);
		waitpid(child[i].pid, NULL, 0);
	}
	sample_now(s);
	for (size_t i = 0; i < SAMPLE_PROCESSES_MAX; i++)
		assert_true(sample_series(s, i)->ended);
	/* Memory is for points that were made. */
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd <
		    used + (size_t)SAMPLE_PROCESSES_MAX * 10000);
	/* The first that ended gives way to a new session. */
	assert_int_equal(sample_add(s, getpid(), AFS_ROLE_SERVER, &e), 1);
	assert_non_null(strstr(e.text, "the first that ended gave way"));
	assert_int_equal(sample_add(s, getpid(), AFS_ROLE_SERVER, &e), 0);
	assert_int_equal(sample_series(s, 0)->pid, getpid());
	assert_null(sample_series(s, SAMPLE_PROCESSES_MAX));
	sample_close(s);
}

static void a_rate_out_of_range_is_refused(void **state)
{
	struct err e = {};
	struct sample *s;

	(void)state;
	assert_int_equal(sample_open(&s, 0, 64, &e), -EINVAL);
	assert_int_equal(sample_open(&s, SAMPLE_HZ_MAX + 1, 64, &e), -EINVAL);
	assert_int_equal(sample_open(&s, 1, 3, &e), -EINVAL);
	assert_int_equal(sample_open(&s, 1, SAMPLE_POINTS_MAX + 1, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_io_is_in_the_series),
		cmocka_unit_test(a_full_series_is_merged_and_keeps_its_sums),
		cmocka_unit_test(the_series_of_a_process_that_vanishes_ends),
		cmocka_unit_test(a_thread_that_ends_takes_nothing_with_it),
		cmocka_unit_test(threads_that_end_while_they_are_looked_for_are_none),
		cmocka_unit_test(without_files_to_open_nothing_has_ended),
		cmocka_unit_test(what_cannot_be_read_says_why),
		cmocka_unit_test(delays_are_told_from_no_accounting),
		cmocka_unit_test(more_processes_than_there_is_room_for_are_refused),
		cmocka_unit_test(a_rate_out_of_range_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
