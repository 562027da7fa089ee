// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the programs of bpf/calls.bpf.c cost one system call, in interleaved rounds pinned to
 * one CPU: nothing attached, empty programs on the same tracepoints, a process that is not
 * watched, a watched one. Prints JSON lines: median and minimum of the rounds in ns per call.
 */

#include "base/clock.h"
#include "watch/rung.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 200
#define CALLS      20000

enum state { NONE, EMPTY, UNWATCHED, WATCHED, N_STATES };
static const char *const state_names[] = { "none", "empty", "unwatched", "watched" };

struct files {
	int file, meta, pair[2], pipe[2];
};

static void loop_getppid(const struct files *f)
{
	(void)f;
	syscall(SYS_getppid);
}

static void loop_stat(const struct files *f)
{
	struct stat st;

	(void)f;
	stat("/", &st);
}

static void loop_pread(const struct files *f)
{
	char c;

	if (pread(f->file, &c, 1, 0) != 1)
		abort();
}

static void loop_meta(const struct files *f)
{
	char c;

	if (pread(f->meta, &c, 1, 0) != 1)
		abort();
}

static void loop_pipe(const struct files *f)
{
	char c;

	if (read(f->pipe[0], &c, 1) != -1)
		abort();
}

static void loop_recv(const struct files *f)
{
	char c;

	if (recv(f->pair[0], &c, 1, MSG_DONTWAIT) != -1)
		abort();
}

static const struct loop {
	const char *name;
	void (*fn)(const struct files *f);
} loops[] = {
	{ "getppid", loop_getppid }, { "stat", loop_stat },      { "pread", loop_pread },
	{ "pread ._", loop_meta },   { "read pipe", loop_pipe }, { "recv socket", loop_recv },
};

#define N_LOOPS (sizeof(loops) / sizeof(loops[0]))

struct shared {
	double ns[N_LOOPS][N_STATES][ROUNDS_MAX];
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int make_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		abort();
	unlink(name);
	return fd;
}

/* The child: measures when told which state it is in. */
static void work(struct shared *out, int cmd, int done)
{
	char names[2][64];
	struct files f;
	int msg[2];

	snprintf(names[0], sizeof(names[0]), "/tmp/bench-%d", getpid());
	snprintf(names[1], sizeof(names[1]), "/tmp/._bench-%d", getpid());
	f.file = make_file(names[0]);
	f.meta = make_file(names[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, f.pair) || pipe2(f.pipe, O_NONBLOCK))
		abort();
	pin(1);
	while (read(cmd, msg, sizeof(msg)) == sizeof(msg)) {
		for (size_t k = 0; k < N_LOOPS; k++) {
			uint64_t at;

			for (int i = 0; i < CALLS / 10; i++)
				loops[k].fn(&f);
			at = clock_now_ns();
			for (int i = 0; i < CALLS; i++)
				loops[k].fn(&f);
			out->ns[k][msg[0]][msg[1]] = (double)(clock_now_ns() - at) / CALLS;
		}
		if (write(done, "", 1) != 1)
			break;
	}
	_exit(0);
}

static void measure(int cmd, int done, enum state s, int round)
{
	int msg[2] = { s, round };
	char c;

	if (write(cmd, msg, sizeof(msg)) != sizeof(msg) || read(done, &c, 1) != 1)
		abort();
}

/* An empty program on a BTF tracepoint; its descriptors in fd[0], fd[1]. */
static void attach_empty(const char *tracepoint, int fd[2])
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);

	opts.attach_btf_id = libbpf_find_vmlinux_btf_id(tracepoint, BPF_TRACE_RAW_TP);
	fd[0] = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", code, 2, &opts);
	fd[1] = fd[0] < 0 ? -1 : bpf_raw_tracepoint_open(NULL, fd[0]);
	if (fd[1] < 0)
		abort();
}

static void round_empty(int cmd, int done, int round)
{
	int a[2], b[2];

	attach_empty("sys_enter", a);
	attach_empty("sys_exit", b);
	measure(cmd, done, EMPTY, round);
	close(a[1]);
	close(a[0]);
	close(b[1]);
	close(b[0]);
}

static void round_watch(int cmd, int done, int round, enum state s, pid_t pid)
{
	struct target t = { .afpd = pid };
	struct err e = {};
	struct watch *w;

	if (watch_open_target(&w, WATCH_BPF, &t, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	measure(cmd, done, s, round);
	watch_free(w);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(struct shared *out, int rounds)
{
	double base = 0, min = 0, *v;

	for (size_t k = 0; k < N_LOOPS; k++) {
		for (int s = 0; s < N_STATES; s++) {
			v = out->ns[k][s];
			qsort(v, (size_t)rounds, sizeof(*v), compare);
			if (s == NONE) {
				base = v[rounds / 2];
				min = v[0];
			}
			printf("{\"call\": \"%s\", \"state\": \"%s\", \"median\": %.0f, \"added\": "
			       "%.0f, \"min\": %.0f, \"min_added\": %.0f}\n",
			       loops[k].name, state_names[s], v[rounds / 2], v[rounds / 2] - base,
			       v[0], v[0] - min);
		}
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15, cmd[2], done[2];
	struct shared *out;
	pid_t pid;

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out == MAP_FAILED || pipe(cmd) || pipe(done))
		return 1;
	pid = fork();
	if (!pid) {
		close(cmd[1]);
		work(out, cmd[0], done[1]);
	}
	close(cmd[0]);
	pin(0);
	for (int i = 0; i < rounds; i++) {
		measure(cmd[1], done[0], NONE, i);
		round_empty(cmd[1], done[0], i);
		round_watch(cmd[1], done[0], i, UNWATCHED, getpid());
		round_watch(cmd[1], done[0], i, WATCHED, pid);
	}
	close(cmd[1]);
	waitpid(pid, NULL, 0);
	print(out, rounds);
	return 0;
}
