/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a child of the test waits for, in calls that it really makes. */
#include "host/proc/sleeping.h"

#include "unit/wait.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Pipes on which nothing comes, and a descriptor beyond the first words of a set of select. */
#define FAR 200
static int near[2], other[2];

static int setup(void **state)
{
	(void)state;
	if (pipe2(near, O_CLOEXEC) || pipe2(other, O_CLOEXEC) || dup2(near[0], FAR) != FAR)
		return -1;
	return 0;
}

static pid_t sleeper(void (*fn)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		fn();
}

static bool is_in(pid_t pid, struct sleeping *s, long nr, long or_nr)
{
	assert_int_equal(sleeping_read(s, pid, pid), 0);
	return !s->running && (s->nr == nr || s->nr == or_nr);
}

/* What is said of a child that sleeps in one of these calls. */
static struct sleeping asleep(void (*fn)(void), long nr, long or_nr)
{
	pid_t pid = sleeper(fn);
	struct sleeping s;

	wait_until(is_in(pid, &s, nr, or_nr));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return s;
}

static void reads(void)
{
	char c;

	if (read(near[0], &c, 1) != 1)
		_exit(1);
}

static void a_read_is_of_its_descriptor(void **state)
{
	struct sleeping s = asleep(reads, SYS_read, -1);

	(void)state;
	assert_false(s.ready || s.timed);
	assert_int_equal(s.n_fds, 1);
	assert_int_equal(s.fd[0], near[0]);
}

/* The second is none, as the kernel takes it. */
static void poll_three(int timeout_ms)
{
	struct pollfd list[] = { { .fd = near[0], .events = POLLIN },
				 { .fd = -1, .events = POLLIN },
				 { .fd = other[0], .events = POLLIN } };

	poll(list, 3, timeout_ms);
}

static void polls(void)
{
	poll_three(-1);
}

static void polls_for_a_time(void)
{
	poll_three(60000);
}

static void polls_many(void)
{
	struct pollfd list[40];

	for (int i = 0; i < 40; i++)
		list[i] = (struct pollfd) { .fd = near[0], .events = POLLIN };
	poll(list, 40, -1);
}

static void polls_nothing(void)
{
	poll(NULL, 0, 60000);
}

static void polls_finely(void)
{
	const struct timespec minute = { .tv_sec = 60 };
	struct pollfd list = { .fd = other[0], .events = POLLIN };

	ppoll(&list, 1, &minute, NULL);
}

#ifdef SYS_poll
#define NR_POLL SYS_poll
#else
#define NR_POLL SYS_ppoll
#endif

static void poll_names_its_list_and_whether_it_has_a_time(void **state)
{
	(void)state;
	for (int timed = 0; timed < 2; timed++) {
		struct sleeping s = asleep(timed ? polls_for_a_time : polls, NR_POLL,
					   SYS_restart_syscall);

		assert_true(s.ready);
		assert_int_equal(s.timed, timed);
		assert_false(s.naps);
		assert_int_equal(s.n_fds, 2);
		assert_int_equal(s.fd[0], near[0]);
		assert_int_equal(s.fd[1], other[0]);
	}
}

static void poll_names_no_more_than_there_is_room_for(void **state)
{
	struct sleeping s = asleep(polls_many, NR_POLL, -1);

	(void)state;
	assert_int_equal(s.n_fds, SLEEPING_FDS);
	s = asleep(polls_nothing, NR_POLL, -1);
	assert_true(s.ready && s.timed && s.naps);
	assert_int_equal(s.n_fds, 0);
	s = asleep(polls_finely, SYS_ppoll, -1);
	assert_true(s.ready && s.timed);
	assert_int_equal(s.n_fds, 1);
	assert_int_equal(s.fd[0], other[0]);
}

static void select_sets(struct timeval *time)
{
	fd_set in, except;

	FD_ZERO(&in);
	FD_ZERO(&except);
	FD_SET(near[0], &in);
	FD_SET(FAR, &in);
	FD_SET(other[0], &except);
	select(FAR + 1, &in, NULL, &except, time);
}

static void selects(void)
{
	select_sets(NULL);
}

static void selects_for_a_time(void)
{
	struct timeval minute = { .tv_sec = 60 };

	select_sets(&minute);
}

static void selects_nothing(void)
{
	struct timeval minute = { .tv_sec = 60 };

	select(0, NULL, NULL, NULL, &minute);
}

#ifdef SYS_select
#define NR_SELECT SYS_select
#else
#define NR_SELECT SYS_pselect6
#endif

static void select_names_all_of_its_sets(void **state)
{
	struct sleeping s;

	(void)state;
	for (int timed = 0; timed < 2; timed++) {
		s = asleep(timed ? selects_for_a_time : selects, NR_SELECT, SYS_pselect6);
		assert_true(s.ready);
		assert_int_equal(s.timed, timed);
		assert_false(s.naps || s.writes);
		assert_int_equal(s.n_fds, 3);
		assert_int_equal(s.fd[0], near[0]);
		assert_int_equal(s.fd[1], other[0]);
		assert_int_equal(s.fd[2], FAR);
	}
	s = asleep(selects_nothing, NR_SELECT, SYS_pselect6);
	assert_true(s.ready && s.timed && s.naps);
	assert_int_equal(s.n_fds, 0);
}

static int polled;

static void waits_for_events(void)
{
	struct epoll_event e;

	epoll_wait(polled, &e, 1, -1);
}

static void waits_for_events_for_a_time(void)
{
	struct epoll_event e;

	epoll_wait(polled, &e, 1, 60000);
}

static void epoll_names_its_own_descriptor(void **state)
{
#ifdef SYS_epoll_wait
	const long nr = SYS_epoll_wait;
#else
	const long nr = SYS_epoll_pwait;
#endif
	(void)state;
	polled = epoll_create1(EPOLL_CLOEXEC);
	assert_true(polled >= 0);
	for (int timed = 0; timed < 2; timed++) {
		struct sleeping s = asleep(timed ? waits_for_events_for_a_time : waits_for_events,
					   nr, SYS_epoll_pwait);

		assert_true(s.ready);
		assert_int_equal(s.timed, timed);
		assert_false(s.naps);
		assert_int_equal(s.n_fds, 1);
		assert_int_equal(s.fd[0], polled);
	}
	close(polled);
}

static void naps(void)
{
	const struct timespec minute = { .tv_sec = 60 };

	syscall(SYS_nanosleep, &minute, NULL);
}

static void naps_by_the_clock(void)
{
	const struct timespec minute = { .tv_sec = 60 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &minute, NULL);
}

static void a_sleep_has_a_time_and_no_descriptor(void **state)
{
	struct sleeping s;

	(void)state;
	for (int clock = 0; clock < 2; clock++) {
		s = asleep(clock ? naps_by_the_clock : naps,
			   clock ? SYS_clock_nanosleep : SYS_nanosleep, -1);
		assert_true(s.timed && s.naps && !s.ready);
		assert_int_equal(s.n_fds, 0);
	}
}

static void one_that_is_stopped_does_not_nap(void **state)
{
	pid_t pid = sleeper(naps);
	struct sleeping s;

	(void)state;
	wait_until(is_in(pid, &s, SYS_nanosleep, -1));
	assert_true(s.naps);
	kill(pid, SIGSTOP);
	wait_until(wait_state(pid) == 'T');
	assert_int_equal(sleeping_read(&s, pid, pid), 0);
	assert_false(s.naps);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void waits_at_a_futex(void)
{
	uint32_t word = 1;

	syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void a_lock_has_neither(void **state)
{
	struct sleeping s = asleep(waits_at_a_futex, SYS_futex, -1);

	(void)state;
	assert_false(s.timed || s.naps || s.ready || s.running);
	assert_int_equal(s.n_fds, 0);
}

static void computes(void)
{
	static volatile uint64_t n;

	n++;
}

static void who_computes_runs(void **state)
{
	pid_t pid = sleeper(computes);
	struct sleeping s;

	(void)state;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(sleeping_read(&s, pid, pid), 0);
		assert_true(s.running);
		assert_false(s.timed || s.ready);
		assert_int_equal(s.n_fds, 0);
		usleep(1000);
	}
	/* A stopped process sleeps, in no call. */
	kill(pid, SIGSTOP);
	wait_until(wait_state(pid) == 'T');
	assert_int_equal(sleeping_read(&s, pid, pid), 0);
	assert_false(s.running);
	assert_int_equal(s.nr, -1);
	assert_int_equal(s.n_fds, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(sleeping_read(&s, pid, pid) < 0);
}

static void reads_with_more_bits(void)
{
	char c;

	syscall(SYS_read, (uint64_t)near[0] | 0xdead00000000ull, &c, 1);
}

static void what_is_above_a_descriptor_is_none_of_it(void **state)
{
	struct sleeping s = asleep(reads_with_more_bits, SYS_read, -1);

	(void)state;
	assert_int_equal(s.fd[0], near[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_is_of_its_descriptor),
		cmocka_unit_test(poll_names_its_list_and_whether_it_has_a_time),
		cmocka_unit_test(poll_names_no_more_than_there_is_room_for),
		cmocka_unit_test(select_names_all_of_its_sets),
		cmocka_unit_test(epoll_names_its_own_descriptor),
		cmocka_unit_test(a_sleep_has_a_time_and_no_descriptor),
		cmocka_unit_test(one_that_is_stopped_does_not_nap),
		cmocka_unit_test(a_lock_has_neither),
		cmocka_unit_test(who_computes_runs),
		cmocka_unit_test(what_is_above_a_descriptor_is_none_of_it),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
