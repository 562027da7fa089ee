/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server is quiet only once it has dealt with what has reached it, however long it waits for a
 * CPU; the watch looks less and less often at one that is never quiet, and waits for it once, not
 * at each border of a phase; what carries from elsewhere is quiet; a reading of a quiet one has the
 * same calls in every table, though its threads wake up now and then; and waiting counts until the
 * watch is stopped. Tests user/watch/bpf/settle.c and tables.c.
 */
#include "base/clock.h"

#include "watched.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define TURNS    50
#define READINGS 1000
#define BORDERS  50 /* of phases */

static int ends[2]; /* of a connection: ours, the server's */
static int answer[2];

/* Reads bytes for ever, on a CPU that others want more. */
static void read_bytes(struct watched_shared *s)
{
	const struct sched_param none = { 0 };
	char c;

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		_exit(1);
	while (recv(ends[1], &c, 1, 0) == 1)
		__atomic_add_fetch(&s->value[0], 1, __ATOMIC_RELEASE);
}

static void pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
}

static pid_t start_hog(int cpu)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	pin(pid, cpu);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void start_as(struct watched *x, void (*work)(struct watched_shared *s), int cpu,
		     struct target t)
{
	watched_start(x, work);
	pin(x->pid, cpu);
	watched_open(x, t);
	__atomic_store_n(&x->shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x->shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Watches a child that runs "work", on "cpu". */
static void start(struct watched *x, void (*work)(struct watched_shared *s), int cpu)
{
	start_as(x, work, cpu, (struct target) { .plain = true });
}

static void stop(struct watched *x)
{
	struct run r;

	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(x->w, &r), 0);
	run_fini(&r);
	watch_free(x->w);
	end(x->pid);
}

static void a_server_that_waits_for_a_cpu_is_not_quiet(void **state)
{
	struct watched x;
	pid_t hog;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		print_message("needs two CPUs\n");
		skip();
	}
	pin(0, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	start(&x, read_bytes, 1);
	assert_true(watch_settle(x.w));
	hog = start_hog(1);
	for (uint64_t i = 1; i <= TURNS; i++) {
		assert_int_equal(send(ends[0], "x", 1, 0), 1);
		assert_true(watch_settle(x.w));
		assert_int_equal(__atomic_load_n(&x.shared->value[0], __ATOMIC_ACQUIRE), i);
	}
	end(hog);
	stop(&x);
}

/* Until it is told to sleep. */
static void spin(struct watched_shared *s)
{
	while (!__atomic_load_n(&s->value[0], __ATOMIC_ACQUIRE))
		;
	pause();
}

/* A thread beside those that serve: of a supervisor, or of what runs commands. */
static void read_pipe(struct watched_shared *s)
{
	char c;

	(void)s;
	while (read(ends[0], &c, 1) == 1)
		;
}

static void a_server_that_waits_for_a_pipe_is_quiet(void **state)
{
	struct watched x;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	start(&x, read_pipe, 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_true(watch_settle(x.w));
	stop(&x);
}

/*
 * A session beside whose thread another one reads for ever what comes from elsewhere, as a relay's
 * does; its own first waits for the client, then for an answer from elsewhere.
 */
static void *carry(void *fd)
{
	char c;

	while (read(*(int *)fd, &c, 1) == 1)
		;
	return NULL;
}

static void read_both_ways(struct watched_shared *s)
{
	pthread_t other;

	if (pthread_create(&other, NULL, carry, &ends[0]))
		_exit(1);
	while (!__atomic_load_n(&s->value[0], __ATOMIC_ACQUIRE))
		usleep(1000);
	carry(&answer[0]);
}

static void what_carries_from_elsewhere_is_quiet_what_serves_a_client_is_not(void **state)
{
	struct watched x;

	(void)state;
	for (int by_pipe = 0; by_pipe < 2; by_pipe++) {
		assert_int_equal(by_pipe ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends),
				 0);
		assert_int_equal(pipe(answer), 0);
		/* Its client has no socket here: it is a session all the same. */
		start_as(&x, read_both_ways, 0, (struct target) { .client = 1 });
		usleep(10000);
		assert_true(watch_settle(x.w));
		__atomic_store_n(&x.shared->value[0], 1, __ATOMIC_RELEASE);
		usleep(10000);
		assert_false(watch_settle(x.w));
		stop(&x);
	}
}

/*
 * With pauses that become 1 ms, and all together little longer than the first time: no border of a
 * phase is waited at for nothing again and again. One that has become quiet is waited for as
 * before.
 */
static void a_busy_server_is_looked_at_less_and_less_often(void **state)
{
	struct rusage before, after;
	struct watched x;
	uint64_t begin;

	(void)state;
	start(&x, spin, 0);
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	assert_false(watch_settle(x.w));
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 1, 2100);
	begin = clock_now_ns();
	for (int i = 0; i < BORDERS; i++)
		assert_false(watch_settle(x.w));
	assert_in_range(clock_now_ns() - begin, 1, WATCH_SETTLE_NS);
	__atomic_store_n(&x.shared->value[0], 1, __ATOMIC_RELEASE);
	usleep(10000);
	assert_true(watch_settle(x.w));
	stop(&x);
}

/* Sleeps for ever, each time for value[0] nanoseconds. */
static void nap(struct watched_shared *s)
{
	struct timespec pause = { 0 };

	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		pause.tv_nsec = (long)__atomic_load_n(&s->value[0], __ATOMIC_RELAXED);
		nanosleep(&pause, NULL);
	}
}

/* Calls of a quiet server, the same in every table; *ns: what a reading takes, if it took less. */
static uint64_t read_calls(struct watched *x, uint64_t *ns)
{
	uint64_t rows, parts = 0, begin;
	struct ledger l;

	assert_true(watch_settle(x->w));
	begin = clock_now_ns();
	assert_int_equal(watch_read(x->w, &l), 0);
	begin = clock_now_ns() - begin;
	*ns = begin < *ns ? begin : *ns;
	rows = ledger_sum(&l, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS).calls;
	for (size_t i = 0; i < l.n_parts; i++)
		parts += l.part[i].part.calls;
	ledger_fini(&l);
	assert_int_equal(rows, parts);
	return rows;
}

/* It sleeps hardly longer than a reading takes. */
static void a_reading_between_naps_has_the_same_calls_in_every_table(void **state)
{
	const struct timespec long_nap = { .tv_nsec = 100000000 };
	uint64_t ns = (uint64_t)long_nap.tv_nsec, first, last;
	struct watched x;

	(void)state;
	start(&x, nap, 0);
	__atomic_store_n(&x.shared->value[0], ns, __ATOMIC_RELAXED);
	for (int i = 0; i < 10; i++)
		read_calls(&x, &ns);
	__atomic_store_n(&x.shared->value[0], ns, __ATOMIC_RELAXED);
	nanosleep(&long_nap, NULL);
	first = read_calls(&x, &ns);
	for (int i = 0; i < READINGS; i++)
		last = read_calls(&x, &ns);
	print_message("%llu naps\n", (unsigned long long)(last - first));
	assert_true(last > first + READINGS / 2);
	watched_end(&x);
}

static uint64_t read_time(struct watch *w)
{
	struct ledger l;
	uint64_t ns = 0;

	assert_int_equal(watch_read(w, &l), 0);
	for (size_t i = 0; i < l.n_parts; i++)
		ns += l.part[i].part.cpu_ns + l.part[i].part.blocked_ns + l.part[i].part.runq_ns;
	ledger_fini(&l);
	return ns;
}

static void the_time_of_a_sleeping_thread_ends_with_the_watch(void **state)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	uint64_t before, begun, time, stopped, again;
	struct watched x;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	start(&x, read_bytes, 0);
	assert_true(watch_settle(x.w));
	before = clock_now_ns();
	time = read_time(x.w);
	begun = clock_now_ns();
	nanosleep(&pause, NULL);
	stopped = watch_stop(x.w);
	nanosleep(&pause, NULL);
	again = watch_stop(x.w);
	assert_int_equal(again, stopped);
	time = read_time(x.w) - time;
	assert_in_range(time, stopped - begun, stopped - before);
	watched_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_waits_for_a_cpu_is_not_quiet),
		cmocka_unit_test(a_server_that_waits_for_a_pipe_is_quiet),
		cmocka_unit_test(what_carries_from_elsewhere_is_quiet_what_serves_a_client_is_not),
		cmocka_unit_test(a_busy_server_is_looked_at_less_and_less_often),
		cmocka_unit_test(a_reading_between_naps_has_the_same_calls_in_every_table),
		cmocka_unit_test(the_time_of_a_sleeping_thread_ends_with_the_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
