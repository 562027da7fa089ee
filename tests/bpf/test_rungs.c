/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is taken when the best is refused, what is said about it, and what full tables do.
 * Tests user/watch/ladder.c, user/watch/bpf/load.c, rung.c, user/watch/watch.c.
 */
#include "watched.h"

#include "watch/bpf/load.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

static void do_reads(struct watched_shared *s)
{
	char c;
	int fd = open("/dev/zero", O_RDONLY);

	(void)s;
	for (int i = 0; i < 100; i++)
		if (read(fd, &c, 1) != 1)
			_exit(1);
	close(fd);
}

/* Runs fn(arg) in a process that may be crippled first; its exit code must be 0. */
static void in_child(int (*fn)(struct watched *x), struct watched *x)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn(x));
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* What a container's rules do: bpf(2) answers EPERM. */
static bool forbid_bpf(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { .len = 4, .filter = code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

#define FAIL_UNLESS(condition)                                                                     \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static void step(struct watched *x)
{
	uint32_t now = x->shared->step;

	__atomic_store_n(&x->shared->step, now + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &x->shared->step, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&x->shared->done, __ATOMIC_ACQUIRE) != now + 1)
		usleep(1000);
}

static int without_bpf(struct watched *x)
{
	struct target t = { .server = x->pid };
	struct err e = {};
	struct procfs_times times;
	struct ledger l;
	struct watch *w;
	struct run r;

	FAIL_UNLESS(forbid_bpf());
	FAIL_UNLESS(watch_open_target(&w, WATCH_BPF, &t, &e) == -EPERM);
	FAIL_UNLESS(strstr(e.text, "although this is root"));
	FAIL_UNLESS(!watch_open_target(&w, WATCH_AUTO, &t, &e));
	step(x);
	FAIL_UNLESS(watch_settle(w) && !watch_read(w, &l));
	FAIL_UNLESS(!l.has_calls && !l.n_rows);
	FAIL_UNLESS(l.has_compat[AFS_ROLE_SERVER] && !l.has_compat[AFS_ROLE_BACKEND]);
	FAIL_UNLESS(l.compat[AFS_ROLE_SERVER].syscr == 100 &&
		    l.compat[AFS_ROLE_SERVER].rchar == 100);
	FAIL_UNLESS(watch_times(w, AFS_ROLE_SERVER, &times) && times.cpu_ns);
	FAIL_UNLESS(!watch_times(w, AFS_ROLE_BACKEND, &times));
	FAIL_UNLESS(!run_init(&r, "test", "test") && !watch_finish(w, &r));
	FAIL_UNLESS(strstr(run_note_find(&r.rungs, "not.bpf"), "although this is root"));
	FAIL_UNLESS(strstr(run_note_find(&r.rungs, "calls"), "/proc/PID/io"));
	FAIL_UNLESS(run_note_find(&r.absent, "afpd_calls"));
	FAIL_UNLESS(run_note_find(&r.absent, "cnid_syscr"));
	FAIL_UNLESS(!run_note_find(&r.absent, "afpd_syscr"));
	FAIL_UNLESS(!r.n_books && !r.n_losses);
	run_fini(&r);
	watch_free(w);
	return 0;
}

static void without_bpf_proc_is_read(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_reads);
	in_child(without_bpf, &x);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
}

static int without_rights(struct watched *x)
{
	struct target t = { .server = x->pid };
	struct err e = {};
	struct ledger l;
	struct watch *w;
	struct run r;

	FAIL_UNLESS(!setgid(65534) && !setuid(65534));
	FAIL_UNLESS(watch_open_target(&w, WATCH_BPF, &t, &e) < 0);
	FAIL_UNLESS(strstr(e.text, "CAP_BPF"));
	FAIL_UNLESS(watch_open_target(&w, WATCH_PROC, &t, &e) == -EACCES);
	FAIL_UNLESS(!watch_open_target(&w, WATCH_AUTO, &t, &e));
	FAIL_UNLESS(watch_settle(w) && !watch_read(w, &l));
	FAIL_UNLESS(!l.has_calls && !l.has_compat[AFS_ROLE_SERVER]);
	FAIL_UNLESS(!run_init(&r, "test", "test") && !watch_finish(w, &r));
	FAIL_UNLESS(strstr(run_note_find(&r.rungs, "not.bpf"), "CAP_BPF"));
	FAIL_UNLESS(strstr(run_note_find(&r.rungs, "not.proc"), "CAP_SYS_PTRACE"));
	FAIL_UNLESS(strstr(run_note_find(&r.absent, "*"), "run as root"));
	run_fini(&r);
	watch_free(w);
	return 0;
}

static void without_rights_the_watch_is_off(void **state)
{
	struct watched x;

	(void)state;
	watched_start(&x, do_reads);
	in_child(without_rights, &x);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
}

static uint64_t loss(const struct run *r, const char *what)
{
	for (size_t i = 0; i < r->n_losses; i++)
		if (!strcmp(r->loss[i].what, what))
			return r->loss[i].n;
	fail_msg("no loss called \"%s\"", what);
	return 0;
}

static void do_forks(struct watched_shared *s)
{
	pid_t pid;

	(void)s;
	for (int i = 0; i < AFS_N_PROCESSES + 76; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	do_reads(s);
}

static void a_full_table_is_a_loss_and_no_more(void **state)
{
	struct watched x;
	struct run r;

	(void)state;
	watched_start(&x, do_forks);
	watched_open(&x, (struct target) {});
	watched_step(&x);
	assert_int_equal(
	    ledger_sum(&x.diff, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_OBJECT_OTHER).calls, 100);
	watched_check_io(&x);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(x.w, &r), 0);
	/* One slot is the process's own. */
	assert_int_equal(loss(&r, "threads not watched: no slot for the process"), 77);
	assert_int_equal(loss(&r, "threads not watched: no slot"), 0);
	assert_int_equal(run_losses(&r), 77);
	assert_true(run_books_closed(&r));
	run_fini(&r);
	watch_free(x.w);
	ledger_fini(&x.diff);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
}

/* The ways to load; each must count the same. */
static void check_way(bool classic, bool no_objects, unsigned int n_parts)
{
	const struct bpf_load_wish wish = { .decoder = AFS_DECODER_DSI,
					    .way = classic ? BPF_LOAD_CLASSIC : BPF_LOAD_BTF,
					    .no_objects = no_objects,
					    .n_parts = n_parts };
	enum afs_object want = no_objects ? AFS_OBJECT_UNKNOWN : AFS_OBJECT_OTHER;
	/* Where the ladder does not take BTF tracepoints they may lose an event: not silently. */
	bool may_lose = (!classic && bpf_load_preempted()) || n_parts, told;
	uint64_t reads, closes;
	struct ledger before, after, diff;
	struct target t = {};
	struct err e = {};
	struct watched x;
	struct bpf_rung *rung;
	struct run r;

	watched_start(&x, do_reads);
	t.server = x.pid;
	target_look(&t);
	if (bpf_rung_open(&rung, &wish, &e) || bpf_rung_look(rung, &t, 0, &e))
		fail_msg("%s", e.text);
	assert_true(bpf_rung_settle(rung, WATCH_SETTLE_NS));
	assert_int_equal(bpf_rung_read(rung, false, &before), 0);
	step(&x);
	assert_true(bpf_rung_settle(rung, WATCH_SETTLE_NS));
	assert_int_equal(bpf_rung_read(rung, false, &after), 0);
	assert_int_equal(ledger_diff(&diff, &after, &before), 0);
	reads = ledger_sum(&diff, AFS_ROLE_SERVER, AFS_CLASS_READ, want).calls;
	closes = ledger_sum(&diff, AFS_ROLE_SERVER, AFS_CLASS_CLOSE, want).calls;
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(bpf_rung_finish(rung, &r), 0);
	told = !run_books_closed(&r) || run_losses(&r);
	assert_true((reads == 100 && closes == 1) || (may_lose && told));
	assert_true(!told || may_lose);
	assert_true(!n_parts || (reads == 100 && run_losses(&r)));
	assert_int_equal(r.n_books, 5);
	assert_non_null(strstr(run_note_find(&r.rungs, "calls"), classic ? "raw_syscalls" : "btf"));
	assert_int_equal(run_note_find(&r.warnings, "objects") != NULL, no_objects);
	run_fini(&r);
	ledger_fini(&before);
	ledger_fini(&after);
	ledger_fini(&diff);
	bpf_rung_free(rung);
	kill(x.pid, SIGKILL);
	waitpid(x.pid, NULL, 0);
}

static bool has_classic(void)
{
	return !access("/sys/kernel/tracing/events/raw_syscalls", R_OK) ||
	       !access("/sys/kernel/debug/tracing/events/raw_syscalls", R_OK);
}

static void every_way_to_load_counts_the_same(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		if (!(i & 1) || has_classic())
			check_way(i & 1, i & 2, 0);
}

static void states_without_room_are_counted_all_the_same(void **state)
{
	(void)state;
	check_way(bpf_load_preempted(), false, 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_bpf_proc_is_read),
		cmocka_unit_test(without_rights_the_watch_is_off),
		cmocka_unit_test(a_full_table_is_a_loss_and_no_more),
		cmocka_unit_test(every_way_to_load_counts_the_same),
		cmocka_unit_test(states_without_room_are_counted_all_the_same),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
