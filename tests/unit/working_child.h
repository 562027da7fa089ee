/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_WORKING_CHILD_H
#define TESTS_UNIT_WORKING_CHILD_H

/* A child process that works when told to. */

#include "unit/wait.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define READS 100

/* A child that does what the letters say, one answer for each. */
struct child {
	pid_t pid;
	int tell, hear;
};

/* Of the thread's own time on a CPU: however busy the machine is. */
static inline void burn(uint64_t ns)
{
	struct timespec t;
	uint64_t now, end = 0;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
		end = end ? end : now + ns;
	} while (now < end);
}

static inline void *burn_and_wait(void *until)
{
	const int *end = until;

	burn(20000000);
	while (!__atomic_load_n(end, __ATOMIC_ACQUIRE))
		usleep(1000);
	return NULL;
}

static inline void *end_at_once(void *arg)
{
	return arg;
}

static inline void *make_threads(void *arg)
{
	pthread_t thread;

	/* The kernel refuses a thread now and then while others still end. */
	for (;;)
		if (!pthread_create(&thread, NULL, end_at_once, arg))
			pthread_join(thread, NULL);
	return arg;
}

static inline void work(int in, int out)
{
	int zero = open("/dev/zero", O_RDONLY), end = 0;
	pthread_t thread = 0;
	char what, c;

	while (read(in, &what, 1) == 1) {
		for (int i = 0; what == 'r' && i < READS; i++)
			if (read(zero, &c, 1) != 1)
				_exit(1);
		if (what == 'b')
			burn(20000000);
		if (what == 't' && pthread_create(&thread, NULL, burn_and_wait, &end))
			_exit(1);
		if (what == 'm' && pthread_create(&thread, NULL, make_threads, NULL))
			_exit(1);
		if (what == 'j') {
			__atomic_store_n(&end, 1, __ATOMIC_RELEASE);
			pthread_join(thread, NULL);
		}
		if (write(out, &what, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

/* live: reads letters, answers each, and does not return. */
static inline struct child child_fork(void (*live)(int in, int out))
{
	int there[2], back[2];
	struct child c;

	assert_int_equal(pipe2(there, O_CLOEXEC) | pipe2(back, O_CLOEXEC), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		live(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	c.tell = there[1];
	c.hear = back[0];
	return c;
}

static inline struct child child_start(void)
{
	return child_fork(work);
}

static inline void child_ask(const struct child *c, char what, void *answer, size_t len)
{
	assert_int_equal(write(c->tell, &what, 1), 1);
	assert_int_equal(read(c->hear, answer, len), len);
	wait_asleep(c->pid); /* it waits for the next letter */
}

static inline void child_do(const struct child *c, char what)
{
	child_ask(c, what, &what, 1);
}

static inline void child_end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->tell);
	close(c->hear);
}

#endif
