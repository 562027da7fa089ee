/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rung of perf counters: known calls in, exactly these counted, by class. */
#include "watched.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/resource.h>

extern const struct rung rung_perf;

/* A watched child and the rung that watches it. */
struct counted {
	struct watched x;
	void *state;
	struct ledger before, after, diff;
};

static void counted_start(struct counted *c, void (*fn)(struct watched_shared *s))
{
	struct target t = {};
	struct err e = {};

	watched_start(&c->x, fn);
	t.afpd = c->x.pid;
	if (rung_perf.open(&c->state, NULL, &e) || rung_perf.look(c->state, &t, &e))
		fail_msg("%s", e.text);
	assert_true(rung_perf.settle(c->state));
	assert_int_equal(rung_perf.read(c->state, &c->before), 0);
	c->x.waits_before = c->x.shared->waits;
}

static void counted_step(struct counted *c)
{
	struct watched_shared *s = c->x.shared;
	uint32_t step = s->step + 1;

	__atomic_store_n(&s->step, step, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE) != step)
		usleep(200);
	assert_true(rung_perf.settle(c->state));
	assert_int_equal(rung_perf.read(c->state, &c->after), 0);
	assert_int_equal(ledger_diff(&c->diff, &c->after, &c->before), 0);
	assert_true(c->diff.has_calls);
}

static void counted_end(struct counted *c)
{
	rung_perf.free(c->state);
	ledger_fini(&c->before);
	ledger_fini(&c->after);
	ledger_fini(&c->diff);
	kill(c->x.pid, SIGKILL);
	waitpid(c->x.pid, NULL, 0);
	munmap(c->x.shared, sizeof(*c->x.shared));
}

static uint64_t calls(const struct counted *c, enum afs_class class)
{
	return ledger_sum(&c->diff, AFS_ROLE_AFPD, class, AFS_OBJECT_UNKNOWN).calls;
}

static void do_known(struct watched_shared *s)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	char c[4];

	(void)s;
	for (int i = 0; i < 7; i++)
		syscall(SYS_pwrite64, fd, "abc", 3, 0);
	for (int i = 0; i < 100; i++)
		syscall(SYS_pread64, fd, c, 3, 0);
	for (int i = 0; i < 3; i++)
		syscall(SYS_read, -1, c, 1); /* EBADF: a call, not in the account */
	for (int i = 0; i < 5; i++)
		syscall(SYS_fcntl, fd, F_SETLK, &lock);
	syscall(SYS_fcntl, fd, F_GETFD);
	syscall(SYS_lseek, fd, 0, SEEK_SET);
	for (int i = 0; i < 11; i++)
		syscall(SYS_getppid);
	syscall(SYS_newfstatat, AT_FDCWD, "/nowhere", NULL, 0);
	syscall(SYS_uname, NULL);        /* class other: not in the table */
	syscall(SYS_readv, -1, NULL, 0); /* in the account although EBADF */
	syscall(400);                    /* no such call */
	syscall(SYS_close, fd);
}

static void check_known(struct counted *c, uint64_t times)
{
	static const struct {
		enum afs_class class;
		uint64_t n;
	} want[] = {
		{ AFS_CLASS_OPEN, 1 }, { AFS_CLASS_WRITE, 7 }, { AFS_CLASS_READ, 104 },
		{ AFS_CLASS_LOCK, 5 }, { AFS_CLASS_FD, 2 },    { AFS_CLASS_IDENT, 11 },
		{ AFS_CLASS_STAT, 1 }, { AFS_CLASS_OTHER, 2 }, { AFS_CLASS_CLOSE, 1 },
	};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		if (calls(c, want[i].class) != times * want[i].n)
			fail_msg("%s: %llu, not %llu", ledger_class_name(want[i].class),
				 (unsigned long long)calls(c, want[i].class),
				 (unsigned long long)(times * want[i].n));
		n += times * want[i].n;
	}
	n += calls(c, AFS_CLASS_WAIT);
	assert_int_equal(calls(c, AFS_CLASS_WAIT), c->x.shared->waits - c->x.waits_before);
	/* And nothing else. */
	assert_int_equal(ledger_sum(&c->diff, AFS_N_ROLES, AFS_N_CLASSES, AFS_N_OBJECTS).calls, n);
}

static void each_call_counts_once_in_its_class(void **state)
{
	struct counted c;
	struct run r;

	(void)state;
	counted_start(&c, do_known);
	counted_step(&c);
	check_known(&c, 1);
	assert_true(c.diff.has_compat[AFS_ROLE_AFPD] && !c.diff.has_compat[AFS_ROLE_CNID]);
	assert_int_equal(c.diff.compat[AFS_ROLE_AFPD].syscr, 101);
	assert_int_equal(c.diff.compat[AFS_ROLE_AFPD].rchar, 300);
	assert_int_equal(c.diff.compat[AFS_ROLE_AFPD].syscw, 7);
	ledger_fini(&c.after);
	ledger_fini(&c.diff);
	counted_step(&c);
	check_known(&c, 2);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(rung_perf.finish(c.state, &r), 0);
	assert_int_equal(r.n_books, 2);
	assert_true(run_books_closed(&r) && !run_losses(&r) && r.n_losses == 2);
	assert_int_equal(r.book[0].ours, 202);
	assert_non_null(strstr(run_note_find(&r.rungs, "calls"), "perf"));
	run_fini(&r);
	counted_end(&c);
}

static void *reading_thread(void *arg)
{
	char c;

	(void)arg;
	for (int i = 0; i < 50; i++)
		syscall(SYS_read, -1, &c, 1);
	return NULL;
}

/* Two threads, one after the other, and two children, of which one starts its own. */
static void do_starts(struct watched_shared *s)
{
	pthread_t thread;
	pid_t pid;

	(void)s;
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&thread, NULL, reading_thread, NULL))
			_exit(1);
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 2; i++) {
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			reading_thread(NULL);
			if (i && !syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
				reading_thread(NULL);
			else
				syscall(SYS_wait4, -1, NULL, 0, NULL);
			syscall(SYS_exit_group, 0);
		}
		syscall(SYS_wait4, pid, NULL, 0, NULL);
	}
}

static void what_it_starts_counts_with_it(void **state)
{
	struct counted c;
	struct run r;

	(void)state;
	counted_start(&c, do_starts);
	counted_step(&c);
	assert_int_equal(calls(&c, AFS_CLASS_READ), 250);
	assert_int_equal(calls(&c, AFS_CLASS_READ),
			 ledger_sum(&c.diff, AFS_N_ROLES, AFS_CLASS_READ, AFS_N_OBJECTS).calls);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(rung_perf.finish(c.state, &r), 0);
	assert_true(run_books_closed(&r) && !run_losses(&r));
	run_fini(&r);
	counted_end(&c);
}

static void do_clones(struct watched_shared *s)
{
	(void)s;
	for (int i = 0; i < 20; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			syscall(SYS_exit_group, 0);
		syscall(SYS_wait4, pid, NULL, 0, NULL);
	}
}

static void a_clone_returns_twice_and_counts_once(void **state)
{
	struct counted c;

	(void)state;
	counted_start(&c, do_clones);
	counted_step(&c);
	assert_int_equal(calls(&c, AFS_CLASS_PROCESS), 40);
	counted_end(&c);
}

static void *stepping_thread(void *arg)
{
	struct watched_shared *s = arg;
	char c;

	while (!__atomic_load_n(&s->value[0], __ATOMIC_ACQUIRE))
		usleep(1000);
	for (int i = 0; i < 30; i++)
		syscall(SYS_read, -1, &c, 1);
	__atomic_add_fetch(&s->value[1], 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

/* Both threads live before anybody looks: value[2] says so. */
static void do_prepare_threads(struct watched_shared *s)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, stepping_thread, s))
			_exit(1);
	__atomic_store_n(&s->value[2], 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void threads_that_live_already_are_counted(void **state)
{
	struct target t = {};
	struct ledger l;
	struct watched x;
	struct err e = {};
	void *rung;

	(void)state;
	watched_start(&x, do_prepare_threads);
	__atomic_store_n(&x.shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (!__atomic_load_n(&x.shared->value[2], __ATOMIC_ACQUIRE))
		usleep(1000);
	t.afpd = x.pid;
	if (rung_perf.open(&rung, NULL, &e) || rung_perf.look(rung, &t, &e))
		fail_msg("%s", e.text);
	__atomic_store_n(&x.shared->value[0], 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&x.shared->value[1], __ATOMIC_ACQUIRE) != 2)
		usleep(1000);
	assert_true(rung_perf.settle(rung));
	assert_int_equal(rung_perf.read(rung, &l), 0);
	assert_int_equal(ledger_sum(&l, AFS_ROLE_AFPD, AFS_CLASS_READ, AFS_N_OBJECTS).calls, 60);
	ledger_fini(&l);
	rung_perf.free(rung);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
}

static void a_process_that_ends_leaves_its_books_open(void **state)
{
	struct counted c;
	struct run r;

	(void)state;
	counted_start(&c, do_known);
	counted_step(&c);
	kill(c.x.pid, SIGKILL);
	waitpid(c.x.pid, NULL, 0);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(rung_perf.finish(c.state, &r), 0);
	assert_true(r.n_books == 2 && !run_books_closed(&r));
	assert_int_equal(r.book[0].ours, 101);
	assert_non_null(strstr(run_note_find(&r.warnings, "books"), "has ended"));
	run_fini(&r);
	counted_end(&c);
}

static void too_few_descriptors_are_a_refusal(void **state)
{
	struct rlimit old, few;
	struct target t = {};
	struct err e = {};
	struct watched x;
	void *rung;

	(void)state;
	watched_start(&x, do_known);
	t.afpd = x.pid;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit) { .rlim_cur = 20, .rlim_max = old.rlim_max };
	assert_int_equal(rung_perf.open(&rung, NULL, &e), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(rung_perf.look(rung, &t, &e), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_non_null(strstr(e.text, "ulimit -n"));
	/* Nothing is left open, and it works now. */
	assert_int_equal(rung_perf.look(rung, &t, &e), 0);
	rung_perf.free(rung);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
}

/* Runs fn in a process of its own. */
static void apart(int (*fn)(pid_t target))
{
	struct watched x;
	int status;
	pid_t pid;

	watched_start(&x, do_known);
	pid = fork();
	if (!pid)
		_exit(fn(x.pid));
	waitpid(pid, &status, 0);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
	assert_int_equal(status, 0);
}

static int without_tracefs(pid_t target)
{
	struct err e = {};
	void *rung;

	(void)target;
	if (unshare(CLONE_NEWNS) || mount("none", "/sys/kernel", "tmpfs", 0, NULL))
		return 2;
	return rung_perf.open(&rung, NULL, &e) == -ENOENT && strstr(e.text, "mount -t tracefs") ? 0
												: 1;
}

static int without_rights(pid_t target)
{
	struct err e = {};
	void *rung;

	(void)target;
	if (setgid(65534) || setuid(65534))
		return 2;
	return rung_perf.open(&rung, NULL, &e) == -EACCES && strstr(e.text, "run as root") ? 0 : 1;
}

/* What a container's rules do: perf_event_open answers EPERM. */
static int without_the_call(pid_t target)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = 4, .filter = code };
	struct err e = {};
	void *rung;

	(void)target;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 2;
	return rung_perf.open(&rung, NULL, &e) == -EPERM && strstr(e.text, "seccomp") ? 0 : 1;
}

/* The rung was opened with rights that are gone when it looks: ptrace decides. */
static int without_rights_over_it(pid_t target)
{
	struct target t = { .afpd = target };
	struct err e = {};
	void *rung;

	if (rung_perf.open(&rung, NULL, &e) || setgid(65534) || setuid(65534))
		return 2;
	if (rung_perf.look(rung, &t, &e) != -EACCES)
		return 1;
	rung_perf.free(rung);
	return strstr(e.text, "/proc/") ? 0 : 3;
}

static void refusals_say_what_to_do(void **state)
{
	(void)state;
	apart(without_tracefs);
	apart(without_rights);
	apart(without_the_call);
	apart(without_rights_over_it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_counts_once_in_its_class),
		cmocka_unit_test(what_it_starts_counts_with_it),
		cmocka_unit_test(a_clone_returns_twice_and_counts_once),
		cmocka_unit_test(threads_that_live_already_are_counted),
		cmocka_unit_test(a_process_that_ends_leaves_its_books_open),
		cmocka_unit_test(too_few_descriptors_are_a_refusal),
		cmocka_unit_test(refusals_say_what_to_do),
	};

	return cmocka_run_group_tests(tests, watched_mount_tracefs, NULL);
}
