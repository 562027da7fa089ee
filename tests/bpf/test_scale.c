/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ten million calls of sessions that begin and end inside the window, exact for every process;
 * watches that come and go by the dozen and leave nothing; and what a start costs the kernel.
 */
#include "watched.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#define SESSIONS         8
#define CALLS_OF_SESSION 1250000
#define CYCLES           60

struct scale {
	uint32_t go, done;
};

static void session(int zero, int null)
{
	char buf[16];

	/* Five calls a turn: bytes both ways, an error, and one that does not count in /proc. */
	for (int i = 0; i < CALLS_OF_SESSION / 5; i++) {
		if (read(zero, buf, 16) != 16 || write(null, buf, 7) != 7 ||
		    pread(zero, buf, 3, 0) != 3 || read(-1, buf, 1) != -1 ||
		    lseek(zero, 0, SEEK_SET))
			_exit(1);
	}
	_exit(0);
}

/* Forks sessions, two at a time, and waits for them; then idles. */
static void server(struct scale *s)
{
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY), status;
	uint32_t bad = 0;

	while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &s->go, FUTEX_WAIT, 0, NULL, NULL, 0);
	for (int i = 0; i < SESSIONS; i += 2) {
		for (int k = 0; k < 2; k++)
			if (!fork())
				session(zero, null);
		for (int k = 0; k < 2; k++)
			bad += wait(&status) < 0 || status;
	}
	__atomic_store_n(&s->done, 1 + bad, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void open_watch(struct watch **w, pid_t pid)
{
	struct target t = { .server = pid };
	struct err e = {};

	if (watch_open_target(w, WATCH_BPF, &t, &e))
		fail_msg("%s", e.text);
}

/* All accounts agree. n_ended: processes that are not alive. */
static void check_books(const struct run *r, unsigned int n_ended, uint64_t *calls)
{
	unsigned int ended = 0;

	*calls = 0;
	for (size_t i = 0; i < r->n_books; i++) {
		const struct run_book *b = &r->book[i];

		if (!b->closed)
			fail_msg("%s: %llu counted, %s says %llu", b->name,
				 (unsigned long long)b->ours, b->with,
				 (unsigned long long)b->theirs);
		if (sscanf(b->name, "afpd (%u ended) syscr", &ended) == 1)
			assert_string_equal(b->with, "the kernel's account at their end");
		if (!strcmp(b->name, "all threads calls"))
			*calls = b->ours;
	}
	assert_int_equal(ended, n_ended);
	for (size_t i = 0; i < r->n_losses; i++)
		if (r->loss[i].n)
			fail_msg("%s: %llu", r->loss[i].what, (unsigned long long)r->loss[i].n);
}

static void ten_million_calls_of_eight_sessions_are_exact(void **state)
{
	const uint64_t each = CALLS_OF_SESSION / 5;
	struct ledger l = {};
	struct scale *s;
	struct watch *w;
	uint64_t calls;
	struct run r;
	pid_t pid;

	(void)state;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(s != MAP_FAILED);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server(s);
	}
	open_watch(&w, pid);
	__atomic_store_n(&s->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->go, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE))
		usleep(10000);
	assert_int_equal(s->done, 1);
	watch_stop(w);
	assert_int_equal(watch_read(w, &l), 0);
	assert_int_equal(ledger_sum(&l, AFS_ROLE_SERVER, AFS_CLASS_READ, AFS_N_OBJECTS).calls,
			 3 * each * SESSIONS);
	assert_int_equal(ledger_sum(&l, AFS_ROLE_SERVER, AFS_CLASS_WRITE, AFS_N_OBJECTS).bytes,
			 7 * each * SESSIONS);
	assert_int_equal(l.compat[AFS_ROLE_SERVER].rchar, 19 * each * SESSIONS);
	ledger_fini(&l);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(w, &r), 0);
	check_books(&r, SESSIONS, &calls);
	assert_true(calls >= (uint64_t)CALLS_OF_SESSION * SESSIONS);
	print_message("%llu calls\n", (unsigned long long)calls);
	run_fini(&r);
	watch_free(w);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(s, sizeof(*s));
}

/* Programs of this name in the kernel. */
static unsigned int loaded(const char *name)
{
	struct bpf_prog_info info;
	__u32 id = 0, len;
	unsigned int n = 0;
	int fd;

	while (!bpf_prog_get_next_id(id, &id)) {
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		n += !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name);
		close(fd);
	}
	return n;
}

/* The kernel frees a program some time after its last user has gone. */
static void expect_no_more(const char *name, unsigned int n)
{
	for (int i = 0; i < 200 && loaded(name) > n; i++)
		usleep(50000);
	assert_true(loaded(name) <= n);
}

static uint64_t locked_kb(void)
{
	unsigned long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmallocUsed: %lu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/*
 * Two that wake each other: one sleeps for each message and reads it in two pieces. They take what
 * CPU time is left, so that programs are loaded quickly.
 */
static void talk(int from, int to, bool reads)
{
	char buf[22] = {};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setpriority(PRIO_PROCESS, 0, 19))
		_exit(1);
	while (reads || write(to, buf, 22) == 22) {
		if (read(from, buf, 11) != 11 || (reads && read(from, buf, 11) != 11))
			_exit(1);
		if (reads && write(to, buf, 11) != 11)
			_exit(1);
	}
	_exit(1);
}

static pid_t start_talk(pid_t *other)
{
	int there[2], back[2];
	pid_t pid;

	assert_int_equal(pipe(there) || pipe(back), 0);
	pid = fork();
	if (!pid)
		talk(there[0], back[1], true);
	*other = fork();
	if (!*other)
		talk(back[0], there[1], false);
	assert_true(pid > 0 && *other > 0);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return pid;
}

/* A watch that may have begun between a sleep of the process and its next call. */
static void watch_a_moment(pid_t pid)
{
	struct watch *w;
	uint64_t calls;
	struct run r;

	open_watch(&w, pid);
	assert_true(loaded("on_sys_exit") > 0);
	watch_stop(w);
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(w, &r), 0);
	check_books(&r, 0, &calls);
	run_fini(&r);
	watch_free(w);
}

static void sixty_watches_of_a_busy_process_are_exact_and_leave_nothing(void **state)
{
	unsigned int before = loaded("on_sys_exit");
	uint64_t kb = locked_kb();
	pid_t pid, other, killed;
	struct watch *w;

	(void)state;
	pid = start_talk(&other);
	/* Half of them end as they should, half are killed. */
	for (int i = 0; i < CYCLES / 2; i++) {
		watch_a_moment(pid);
		killed = fork();
		if (!killed) {
			open_watch(&w, pid);
			raise(SIGKILL);
		}
		waitpid(killed, NULL, 0);
	}
	expect_no_more("on_sys_exit", before);
	/*
	 * One watch has some 40 MiB of arrays. This finds a leak in one watch of ten, and allows
	 * for the watches of a test that runs at the same time.
	 */
	for (int i = 0; i < 300 && locked_kb() >= kb + CYCLES * 3 * 1024; i++)
		usleep(100000);
	assert_true(locked_kb() < kb + CYCLES * 3 * 1024);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(other, NULL, 0);
}

/*
 * Most instructions of a program, on any path, that the kernel looks at before it takes it. Of
 * clients' requests that become records, or are shown as they come, it has to follow more: 36,274
 * of SMB for "slow -v", 31,245 of AFP for a replay, on Linux 6.18.
 */
#define VERIFIED_MAX 25000
#define RECORDED_MAX 40000

/* Of the programs of this process's watch. */
static void check_verified(const char *of, unsigned int most)
{
	struct bpf_prog_info info;
	unsigned int n = 0;
	__u32 len;

	for (int fd = 0; fd < 1024; fd++) {
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		/* Of a map this is another struct, which is shorter. */
		if (bpf_obj_get_info_by_fd(fd, &info, &len) ||
		    len <= offsetof(struct bpf_prog_info, verified_insns))
			continue;
		if (info.verified_insns > most)
			fail_msg("%s: %s: %u instructions are verified", of, info.name,
				 info.verified_insns);
		n += !strcmp(info.name, "mark_processes") || !strcmp(info.name, "on_sys_exit");
	}
	assert_int_equal(n, 2);
}

static void put_nowhere(void *user, unsigned int stream, const void *record)
{
	(void)user;
	(void)stream;
	(void)record;
}

static void check_variant(const char *of, const struct watch_sink *sink, const struct target *t)
{
	struct watch_opts opts = { .mode = WATCH_BPF, .sink = *sink };
	bool counts = !(sink->what & ~(unsigned int)AFS_TRACE_ASKED);
	struct err e = {};
	struct watch *w;
	struct run r;

	opts.sink.put = put_nowhere;
	if (watch_open_traced(&w, &opts, t, &e))
		fail_msg("%s: %s", of, e.text);
	check_verified(of, counts || !t->decoder ? VERIFIED_MAX : RECORDED_MAX);
	/* What the kernel refuses is left out, and said. */
	assert_int_equal(run_init(&r, "test", "test"), 0);
	assert_int_equal(watch_finish(w, &r), 0);
	if (run_note_find(&r.warnings, "objects"))
		fail_msg("%s: %s", of, run_note_find(&r.warnings, "objects"));
	run_fini(&r);
	watch_free(w);
}

#define RECORDS (AFS_TRACE_SMALL | AFS_TRACE_NAMES)
#define LOADED  AFS_TRACE_ASKED
#define TOP     (AFS_TRACE_ASKED | AFS_TRACE_LIVE)

/*
 * Loading the programs is most of the time until a command watches: about 1 us an instruction.
 * The programs of loads and top, which count repeated questions, are checked too; and those of all
 * that makes records.
 */
static void the_kernel_verifies_each_program_quickly(void **state)
{
	static const struct {
		const char *of;
		struct watch_sink sink;
	} variant[] = {
		{ "nothing but counts", { .what = 0 } },
		{ "load", { .what = LOADED } },
		{ "load --trace", { .what = LOADED | RECORDS | AFS_TRACE_CALLS } },
		{ "record --trace for replay",
		  { .what = LOADED | RECORDS | AFS_TRACE_CALLS | AFS_TRACE_REPLAYABLE } },
		{ "top", { .what = TOP } },
		{ "top with files", { .what = TOP | RECORDS } },
		{ "slow", { .what = RECORDS, .over_ns = 1000000 } },
		{ "slow -v", { .what = RECORDS | AFS_TRACE_CALLS, .over_ns = 1000000 } },
	};
	/* Of the other decoders it looks at fewer than of these. */
	const struct target server[] = {
		{ .server = getpid() },
		{ .server = getpid(), .decoder = AFS_DECODER_DSI },
		{ .server = getpid(),
		  .decoder = AFS_DECODER_SMB2,
		  .any_order = true,
		  .parks = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(variant) / sizeof(*variant); i++)
		for (size_t k = 0; k < sizeof(server) / sizeof(*server); k++)
			check_variant(variant[i].of, &variant[i].sink, &server[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_verifies_each_program_quickly),
		cmocka_unit_test(ten_million_calls_of_eight_sessions_are_exact),
		cmocka_unit_test(sixty_watches_of_a_busy_process_are_exact_and_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
