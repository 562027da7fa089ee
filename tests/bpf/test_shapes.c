/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of unusual shapes: their calls are counted exactly, or what is not is said.
 */
#include "watched.h"

#include "base/clock.h"
#include "kinds/afp/hints.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/resource.h>

#define CALLS 1000

/* As another program: makes its calls, and stays. */
static _Noreturn void be_a_program(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	for (;;)
		pause();
}

static void make_calls(void)
{
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

static uint64_t calls_of(const struct watched *x, enum afs_role role, enum afs_class class)
{
	return ledger_sum(&x->diff, role, class, AFS_N_OBJECTS).calls;
}

/* Waits until the role has made so many calls of the class; then x->diff is from the begin on. */
static void wait_for_calls(struct watched *x, enum afs_role role, enum afs_class class)
{
	uint64_t end_ns = clock_now_ns() + 20000000000u, calls;

	do {
		usleep(5000);
		assert_int_equal(watch_read(x->w, &x->after), 0);
		assert_int_equal(ledger_diff(&x->diff, &x->after, &x->before), 0);
		ledger_fini(&x->after);
		calls = calls_of(x, role, class);
		if (calls < CALLS)
			ledger_fini(&x->diff);
	} while (calls < CALLS && clock_now_ns() < end_ns);
	assert_int_equal(calls, CALLS);
}

static void *run_program(void *arg)
{
	execl("/proc/self/exe", "test_shapes", "program", NULL);
	return arg;
}

static void do_exec_in_a_thread(struct watched_shared *s)
{
	pthread_t thread;

	(void)s;
	pthread_create(&thread, NULL, run_program, NULL);
	for (;;)
		pause();
}

/* The thread takes over the number of the first one. */
/* Place: program run by a thread that is not the first; process whose first thread has ended |
 *   exact */
static void a_thread_that_runs_a_program_is_counted(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_exec_in_a_thread);
	watched_open(&x, (struct target) { .plain = true });
	assert_int_equal(watch_read(x.w, &x.before), 0);
	__atomic_store_n(&x.shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	wait_for_calls(&x, AFS_ROLE_OTHER, AFS_CLASS_IDENT);
	ledger_fini(&x.before);
	watched_end(&x);
}

static void filter_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog))
		_exit(1);
}

static void do_filtered(struct watched_shared *s)
{
	(void)s;
	if (syscall(SYS_getppid) > 0)
		filter_getppid();
	make_calls();
}

/* Place: calls that a seccomp filter answers | exact as class "other", said */
static void calls_that_a_filter_answers_are_counted(void **state)
{
	struct afs_cell other;
	struct watched x;
	struct run r;

	(void)state;
	watched_start(&x, do_filtered);
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	ledger_fini(&x.diff);
	watched_step(&x);
	other = ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_OTHER, AFS_N_OBJECTS);
	assert_int_equal(other.calls, CALLS + 1);
	assert_int_equal(other.errors, CALLS + 1);
	watched_finish(&x, &r);
	assert_non_null(strstr(run_note_find(&r.warnings, "filter"), "2001 calls"));
	run_fini(&r);
}

static struct watched_shared *of_thread;

static void *live_on(void *arg)
{
	watched_live(of_thread, arg);
	return NULL;
}

static void do_reads(struct watched_shared *s)
{
	int fd = open("/dev/zero", O_RDONLY);
	char byte;

	(void)s;
	for (int i = 0; i < CALLS; i++)
		if (read(fd, &byte, 1) != 1)
			_exit(1);
	close(fd);
}

static void do_end_first_thread(struct watched_shared *s)
{
	pthread_t thread;

	of_thread = s;
	s->step = s->done = 0; /* the other thread begins anew */
	pthread_create(&thread, NULL, live_on, do_reads);
	syscall(SYS_exit, 0);
}

/* Place: program run by a thread that is not the first; process whose first thread has ended */
static void a_process_lives_on_without_its_first_thread(void **state)
{
	struct watched x;
	struct procstat st;

	(void)state;
	watched_start(&x, do_end_first_thread);
	__atomic_store_n(&x.shared->step, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	do
		usleep(1000);
	while (!procstat_read(&st, x.pid) && st.state != 'Z');
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	assert_int_equal(calls_of(&x, AFS_ROLE_SERVER, AFS_CLASS_READ), CALLS);
	assert_true(watch_lives(x.w));
	watched_end(&x);
}

/* A static 32-bit program without a C library: CALLS calls, then it waits, or ends. */
static bool make_32bit(const char *path, bool ends)
{
	char command[1024];

	snprintf(
	    command, sizeof(command),
	    "printf '%%s\\n' 'void _start(void) { for (int i = 0; i < %d; i++) { int r;"
	    " __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"0\"(64)); }"
	    " for (;;) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"0\"(%d), \"b\"(0)); } }'"
	    " | cc -m32 -O1 -nostdlib -static -ffreestanding -fno-pie -no-pie -x c -o %s - 2>&1",
	    CALLS, ends ? 1 : 29, path);
	return !system(command);
}

static char program_32bit[64];

static void do_run_32bit(struct watched_shared *s)
{
	pid_t pid = fork();

	(void)s;
	if (!pid) {
		execl(program_32bit, "helper", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* Place: 32-bit program that a session runs | exact as class "other", without bytes; said */
static void calls_of_a_32bit_helper_are_counted_as_others(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	snprintf(program_32bit, sizeof(program_32bit), "/tmp/afpscope-32bit-%d", getpid());
	if (!make_32bit(program_32bit, true)) {
		print_message("no 32-bit programs can be made here\n");
		skip();
	}
	watched_start(&x, do_run_32bit);
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	assert_int_equal(calls_of(&x, AFS_ROLE_OTHER, AFS_CLASS_OTHER), CALLS);
	assert_int_equal(calls_of(&x, AFS_ROLE_OTHER, AFS_CLASS_READ), 0);
	watched_finish(&x, &r);
	assert_non_null(strstr(run_note_find(&r.warnings, "32-bit"), "1001 calls"));
	run_fini(&r);
	unlink(program_32bit);
}

#ifdef __x86_64__
/* As a 32-bit program does; its write() has the number of stat(), its close() that of lstat(). */
static long call_32bit(long nr, long a, const void *b, long c)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "0"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}

#define LEN_32BIT    10
#define GETPID_32BIT 20
#define WRITE_32BIT  4
#define CLOSE_32BIT  6

/* Then what was a file is a pipe. */
static void do_call_as_32bit(struct watched_shared *s)
{
	int file, ends[2];
	pid_t pid = fork();
	char *low;

	(void)s;
	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		   0);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (low == MAP_FAILED || read(file, low, 1) != 1 || pipe(ends))
		_exit(1);
	for (int i = 0; i < CALLS - 1; i++)
		if (call_32bit(WRITE_32BIT, ends[1], low, LEN_32BIT) != LEN_32BIT)
			_exit(1);
	/* Descriptors are given out from the lowest number on. */
	call_32bit(CLOSE_32BIT, file, NULL, 0);
	if (dup(ends[0]) == file && read(file, low, 1) == 1)
		_exit(0);
	_exit(1);
}

/* Place: calls that a 64-bit program makes as a 32-bit one does (`int 0x80`) | exact as class
 *   "other", without bytes; said; that process is not compared with `/proc/PID/io` */
static void calls_that_a_64bit_program_makes_as_a_32bit_one_are_counted_as_others(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	if (call_32bit(GETPID_32BIT, 0, NULL, 0) != getpid()) {
		print_message("no 32-bit calls can be made here\n");
		skip();
	}
	watched_start(&x, do_call_as_32bit);
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	assert_int_equal(calls_of(&x, AFS_ROLE_SERVER, AFS_CLASS_OTHER), CALLS);
	assert_int_equal(calls_of(&x, AFS_ROLE_SERVER, AFS_CLASS_STAT), 0);
	assert_int_equal(
	    ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE).calls, 1);
	watched_finish(&x, &r);
	assert_non_null(strstr(run_note_find(&r.warnings, "32-bit"), "1000 calls"));
	run_fini(&r);
}
#endif

/* Place: 32-bit server | refused in a sentence, `/proc` is sampled; `check` says it */
static void a_32bit_server_is_refused(void **state)
{
	struct hints hints = {};
	bool told = false;
	struct target t = { .plain = true };
	struct err e = {};
	struct watch *w;

	(void)state;
	snprintf(program_32bit, sizeof(program_32bit), "/tmp/afpscope-32bit-%d", getpid());
	if (!make_32bit(program_32bit, false))
		skip();
	t.server = fork();
	if (!t.server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(program_32bit, "server", NULL);
		_exit(1);
	}
	while (!procfs_is_32bit(t.server)) /* it runs the program now */
		usleep(1000);
	assert_int_equal(watch_open_target(&w, WATCH_BPF, &t, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "32-bit program"));
	/* /proc counts as the kernel does. */
	assert_int_equal(watch_open_target(&w, WATCH_AUTO, &t, &e), 0);
	assert_string_equal(watch_rung(w), "proc");
	watch_free(w);
	hints_server(&hints, &(struct servers_entry) { .master = t.server });
	for (size_t i = 0; i < hints.n; i++)
		told |= !strcmp(hints.hint[i].key, "32-bit");
	assert_true(told);
	hints_fini(&hints);
	kill(t.server, SIGKILL);
	waitpid(t.server, NULL, 0);
	unlink(program_32bit);
}

/* Another process with the same descriptors puts a pipe in a file's place. */
static void do_share_descriptors(struct watched_shared *s)
{
	struct clone_args args = { .flags = CLONE_FILES, .exit_signal = SIGCHLD };
	int file = open("/proc/self/exe", O_RDONLY), ends[2];
	char byte;
	pid_t pid;

	(void)s;
	if (read(file, &byte, 1) != 1)
		_exit(1);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		if (pipe(ends) || write(ends[1], "12345", 5) != 5 || dup2(ends[0], file) != file)
			_exit(1);
		syscall(SYS_exit_group, 0);
	}
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 5; i++)
		if (read(file, &byte, 1) != 1)
			_exit(1);
}

/* Place: processes that share descriptors without their memory | exact */
static void descriptors_that_processes_share_are_told_apart(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_share_descriptors);
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	assert_int_equal(
	    ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_DATA).calls, 1);
	assert_int_equal(
	    ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_PIPE).calls, 5);
	watched_end(&x);
}

static int make_ring(struct io_uring_params *p)
{
	return (int)syscall(SYS_io_uring_setup, 4, p);
}

static void do_ring(struct watched_shared *s)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000 };

	s->value[0] = make_ring(&p) < 0;
}

/* Reads from an empty pipe in a worker of the kernel's. */
static void do_ring_worker(struct watched_shared *s)
{
	static char byte;
	struct io_uring_params p = { .flags = 0 };
	struct io_uring_sqe *sqe;
	int ring = make_ring(&p), ends[2];
	char *sq;

	s->value[0] = ring < 0 || pipe(ends);
	if (s->value[0])
		return;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(uint32_t), PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		   IORING_OFF_SQES);
	*sqe = (struct io_uring_sqe) { .opcode = IORING_OP_READ,
				       .flags = IOSQE_ASYNC,
				       .fd = ends[0],
				       .addr = (uintptr_t)&byte,
				       .len = 1 };
	__atomic_store_n((uint32_t *)(void *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	s->value[0] = syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1;
}

/* It has no registers, which look like a call of read(0) that never returns. */
/* Place: io_uring */
static void a_worker_of_a_ring_is_no_thread(void **state)
{
	struct procfs_numbers thread;
	char name[32] = "";
	unsigned int n = 0;
	struct watched x;

	(void)state;
	watched_start(&x, do_ring_worker);
	watched_go(&x);
	if (x.shared->value[0]) {
		print_message("no io_uring here\n");
		skip();
	}
	for (int i = 0; i < 500 && !n; i++) {
		usleep(10000);
		procfs_threads(&thread, x.pid);
		while (procfs_next(&thread)) {
			procfs_thread_name(name, sizeof(name), x.pid, thread.number);
			n += !strncmp(name, "iou-wrk", 7);
		}
	}
	assert_int_equal(n, 1);
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	assert_int_equal(ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_N_OBJECTS).ns, 0);
	watched_end(&x);
}

/* Made before the watch, or during it. */
/* Place: io_uring */
static void a_ring_without_calls_is_said_to_be_there(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	for (int before = 0; before < 2; before++) {
		watched_start(&x, do_ring);
		if (before)
			watched_go(&x);
		watched_open(&x, (struct target) { .plain = true });
		if (!before)
			watched_step(&x);
		if (x.shared->value[0]) {
			print_message("no io_uring here\n");
			skip();
		}
		watched_finish(&x, &r);
		assert_non_null(run_note_find(&r.warnings, "io_uring.polling"));
		run_fini(&r);
	}
}

static void do_crash(struct watched_shared *s)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &all);
		abort();
	}
	waitpid(pid, &status, 0);
	s->value[0] = WCOREDUMP(status);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define CORE_PATTERN "/proc/sys/kernel/core_pattern"

/* The kernel writes the dump in the process's name. */
/* Place: process that dumps its memory | exact */
static void a_dump_of_memory_is_no_call(void **state)
{
	char before[256] = {};
	struct watched x;
	int fd = open(CORE_PATTERN, O_RDONLY);

	(void)state;
	assert_true(read(fd, before, sizeof(before) - 1) > 0);
	close(fd);
	write_text(CORE_PATTERN, "/tmp/afpscope-shapes-core");
	watched_start(&x, do_crash);
	watched_open(&x, (struct target) { .plain = true });
	watched_step(&x);
	write_text(CORE_PATTERN, before);
	assert_true(x.shared->value[0]);
	watched_end(&x);
	unlink("/tmp/afpscope-shapes-core");
}

/* Works for half a second and then sleeps, so that it is at work when the watch stops. */
static void do_work_and_sleep(struct watched_shared *s)
{
	uint64_t end_ns = clock_now_ns() + 500000000;

	(void)s;
	while (clock_now_ns() < end_ns)
		;
	usleep(400000);
}

static uint64_t all_ns(const struct ledger *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n_parts; i++) {
		const struct afs_part *p = &l->part[i].part;

		sum += p->cpu_ns + p->blocked_ns + p->runq_ns + p->stopped_ns;
	}
	return sum;
}

/* Whether the thread works, sleeps, or has been stopped by a signal when counting stops. */
static void no_time_counts_after_the_stop(void **state)
{
	uint64_t begin_ns, begun_ns, stop_ns, ns;
	struct watched x;

	(void)state;
	for (int i = 0; i < 3; i++) {
		watched_start(&x, do_work_and_sleep);
		watched_open(&x, (struct target) { .plain = true });
		begin_ns = clock_now_ns();
		assert_int_equal(watch_glance(x.w, &x.before), 0);
		begun_ns = clock_now_ns();
		__atomic_store_n(&x.shared->step, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &x.shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
		usleep(i == 1 ? 600000 : 200000);
		if (i == 2)
			kill(x.pid, SIGSTOP);
		stop_ns = watch_stop(x.w);
		/* Half a second, however long the server takes. */
		assert_true(clock_now_ns() - stop_ns < 1500000000);
		usleep(700000);
		kill(x.pid, SIGCONT);
		usleep(100000);
		assert_int_equal(watch_glance(x.w, &x.after), 0);
		assert_int_equal(ledger_diff(&x.diff, &x.after, &x.before), 0);
		ns = all_ns(&x.diff);
		assert_in_range(ns, stop_ns - begun_ns - 2000000, stop_ns - begin_ns + 2000000);
		ledger_fini(&x.before);
		ledger_fini(&x.after);
		watched_end(&x);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_runs_a_program_is_counted),
		cmocka_unit_test(calls_that_a_filter_answers_are_counted),
		cmocka_unit_test(a_process_lives_on_without_its_first_thread),
		cmocka_unit_test(calls_of_a_32bit_helper_are_counted_as_others),
#ifdef __x86_64__
		cmocka_unit_test(
		    calls_that_a_64bit_program_makes_as_a_32bit_one_are_counted_as_others),
#endif
		cmocka_unit_test(a_32bit_server_is_refused),
		cmocka_unit_test(descriptors_that_processes_share_are_told_apart),
		cmocka_unit_test(a_ring_without_calls_is_said_to_be_there),
		cmocka_unit_test(a_worker_of_a_ring_is_no_thread),
		cmocka_unit_test(a_dump_of_memory_is_no_call),
		cmocka_unit_test(no_time_counts_after_the_stop),
	};

	if (argc > 1 && !strcmp(argv[1], "program"))
		be_a_program();
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
