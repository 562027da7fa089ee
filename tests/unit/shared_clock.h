/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_UNIT_SHARED_CLOCK_H
#define TESTS_UNIT_SHARED_CLOCK_H

/*
 * A clock for the threads of an engine, in place of the machine's
 * (--wrap=clock_gettime,kernel_epoll_wait in the Makefile). It goes on a little whenever a thread
 * reads it; when all threads of a job wait, the one whose events are there goes on, else the one
 * whose wait ends first, and the clock with it. A thread is in a job from its first look at its CPU
 * time to its second.
 *
 * The main thread's clock stands still in a job. It is an hour ahead, so that its own waits are
 * real.
 */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

#define SHARED_TICK_NS 30u /* each look at the clock takes this long */
#define SHARED_MAX     16

static struct {
	_Atomic uint64_t ns, main_ns;
	unsigned int n_threads; /* of a job, set by the test */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int n_in_job, n_waiting, n_waits; /* n_waits: begun until now */
	struct {
		bool there;
		int epoll;
		uint64_t due_ns;
	} wait[SHARED_MAX];
} shared_clock = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static _Thread_local bool shared_clock_is_main, shared_clock_in_job;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __real_kernel_epoll_wait(int epoll, struct epoll_event *event, int n, uint64_t wait_ns);
int __wrap_kernel_epoll_wait(int epoll, struct epoll_event *event, int n, uint64_t wait_ns);

static void shared_clock_leave(void)
{
	pthread_mutex_lock(&shared_clock.lock);
	shared_clock.n_in_job--;
	pthread_cond_broadcast(&shared_clock.changed);
	pthread_mutex_unlock(&shared_clock.lock);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns;

	if (id == CLOCK_THREAD_CPUTIME_ID) {
		if (shared_clock_in_job)
			shared_clock_leave();
		shared_clock_in_job = !shared_clock_in_job;
	}
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, t);
	ns = shared_clock_is_main
		 ? (uint64_t)shared_clock.main_ns
		 : atomic_fetch_add(&shared_clock.ns, SHARED_TICK_NS) + SHARED_TICK_NS;
	*t = (struct timespec) { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	return 0;
}

static bool shared_clock_has_events(int epoll)
{
	struct pollfd p = { .fd = epoll, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Which of those that wait goes on, all waiting. */
static unsigned int shared_clock_next(void)
{
	unsigned int next = SHARED_MAX;

	for (unsigned int i = 0; i < SHARED_MAX; i++) {
		if (!shared_clock.wait[i].there)
			continue;
		if (shared_clock_has_events(shared_clock.wait[i].epoll))
			return i;
		if (next == SHARED_MAX ||
		    shared_clock.wait[i].due_ns < shared_clock.wait[next].due_ns)
			next = i;
	}
	return next;
}

int __wrap_kernel_epoll_wait(int epoll, struct epoll_event *event, int n, uint64_t wait_ns)
{
	unsigned int i = 0;
	int got;

	pthread_mutex_lock(&shared_clock.lock);
	while (shared_clock.wait[i].there)
		i++;
	shared_clock.wait[i].there = true;
	shared_clock.wait[i].epoll = epoll;
	shared_clock.wait[i].due_ns = shared_clock.ns + wait_ns;
	shared_clock.n_waiting++;
	shared_clock.n_waits++;
	while (shared_clock.n_waiting < shared_clock.n_in_job || shared_clock_next() != i) {
		pthread_cond_broadcast(&shared_clock.changed);
		pthread_cond_wait(&shared_clock.changed, &shared_clock.lock);
	}
	shared_clock.wait[i].there = false;
	shared_clock.n_waiting--;
	got = __real_kernel_epoll_wait(epoll, event, n, 0);
	if (!got && shared_clock.ns < shared_clock.wait[i].due_ns)
		shared_clock.ns = shared_clock.wait[i].due_ns;
	pthread_mutex_unlock(&shared_clock.lock);
	return got;
}

/* A job begins after all that was. Before each. */
static void shared_clock_job(void)
{
	if (shared_clock.main_ns < shared_clock.ns)
		shared_clock.main_ns = (uint64_t)shared_clock.ns;
	shared_clock.main_ns += 1000000u;
	shared_clock.ns = (uint64_t)shared_clock.main_ns;
	shared_clock.n_in_job = shared_clock.n_threads;
}

/* Of the main thread, before all. */
static int shared_clock_begin(void **state)
{
	struct timespec t;

	(void)state;
	__real_clock_gettime(CLOCK_MONOTONIC, &t);
	shared_clock.main_ns = ((uint64_t)t.tv_sec + 3600) * 1000000000u;
	shared_clock_is_main = true;
	return 0;
}

#endif
