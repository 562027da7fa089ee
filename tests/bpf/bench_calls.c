/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the watch adds to one system call and to one switch between threads. Loops in a process of
 * its own, pinned, in interleaved rounds of four states: nothing attached; empty programs on the
 * tracepoints of bpf/calls.bpf.c; the watch on another process; the watch on this one. Prints a
 * JSON line for each loop and state, in ns: medians of the rounds, and how far the middle half of
 * them is apart.
 *
 *	bench_calls [ROUNDS]
 *	bench_calls empty    has the empty programs attached, from the line it prints to the end
 *	                     of its standard input
 */

#include "base/clock.h"
#include "watch/bpf/rung.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 200
/* A loop is run in pieces of some milliseconds; the median piece counts. */
#define PIECES 9
#define CALLS  4000
/* Calls after which the watch has its own statistics, which cost time, and puts an end to them. */
#define WARM_UP 30000

enum state { NONE, EMPTY, UNWATCHED, WATCHED, N_STATES };
static const char *const state_names[] = { "none", "empty", "unwatched", "watched" };

struct files {
	int file, client[2], pipe[2], ping[2], pong[2];
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(1);
}

static void loop_getppid(const struct files *f)
{
	(void)f;
	syscall(SYS_getppid);
}

static void loop_pread(const struct files *f)
{
	char c;

	must(pread(f->file, &c, 1, 0) == 1, "pread");
}

static void loop_pipe(const struct files *f)
{
	char c;

	must(read(f->pipe[0], &c, 1) == -1, "read of an empty pipe");
}

static void loop_recv(const struct files *f)
{
	char c;

	must(recv(f->client[0], &c, 1, MSG_DONTWAIT) == -1, "recv of nothing");
}

/* A request to the watched end of the client's connection and its reply: four calls. */
static void loop_request(const struct files *f)
{
	static const char frame[2][24] = { { 0, 2, 0, 1, [11] = 8, [16] = 1 },
					   { 1, 2, 0, 1, [11] = 8 } };
	char in[24];

	must(write(f->client[1], frame[0], 24) == 24, "request");
	must(recv(f->client[0], in, 24, 0) == 24, "recv of a request");
	must(send(f->client[0], frame[1], 24, 0) == 24, "reply");
	must(read(f->client[1], in, 24) == 24, "read of a reply");
}

/* To another thread of the process and back: two switches, each with a write and a read. */
static void loop_switch(const struct files *f)
{
	char c = 0;

	must(write(f->ping[1], &c, 1) == 1 && read(f->pong[0], &c, 1) == 1, "pipe");
}

static void *echo(void *arg)
{
	const struct files *f = arg;
	char c;

	while (read(f->ping[0], &c, 1) == 1)
		must(write(f->pong[1], &c, 1) == 1, "pipe");
	return NULL;
}

static const struct loop {
	const char *name;
	void (*fn)(const struct files *f);
	int per; /* of what it is named after, in a turn */
} loops[] = {
	{ "getppid", loop_getppid, 1 }, { "read pipe", loop_pipe, 1 },
	{ "pread", loop_pread, 1 },     { "recv", loop_recv, 1 },
	{ "switch", loop_switch, 2 },   { "request", loop_request, 1 },
};

#define N_LOOPS (sizeof(loops) / sizeof(loops[0]))

struct shared {
	double ns[N_LOOPS][N_STATES][ROUNDS_MAX];
	ino_t client;
};

/* What the process of the loops is told to do. */
struct order {
	int state; /* N_STATES: warm up */
	int round;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rank(double *v, int n, int i)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return v[i];
}

/* Alone on its CPU: of the others there, none gets in between. */
static void pin(long cpu)
{
	const struct sched_param first = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
	must(!sched_setscheduler(0, SCHED_FIFO, &first), "sched_setscheduler");
}

static void open_files(struct files *f)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/bench-%d", getpid());
	f->file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(f->file >= 0 && write(f->file, "x", 1) == 1 && !unlink(name), name);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, f->client), "socketpair");
	must(!pipe2(f->pipe, O_NONBLOCK) && !pipe(f->ping) && !pipe(f->pong), "pipe");
}

static double run(const struct loop *loop, const struct files *f)
{
	double piece[PIECES];
	uint64_t at;

	for (int i = 0; i < CALLS / 4; i++)
		loop->fn(f);
	for (int p = 0; p < PIECES; p++) {
		at = clock_now_ns();
		for (int i = 0; i < CALLS; i++)
			loop->fn(f);
		piece[p] = (double)(clock_now_ns() - at) / CALLS / loop->per;
	}
	return rank(piece, PIECES, PIECES / 2);
}

static void work(struct shared *out, int cmd, int done)
{
	static struct files f;
	struct order o;
	pthread_t other;
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_files(&f);
	must(!fstat(f.client[0], &st), "fstat");
	out->client = st.st_ino;
	pin(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	must(!pthread_create(&other, NULL, echo, &f), "pthread_create");
	do {
		must(write(done, "", 1) == 1, "pipe");
		if (read(cmd, &o, sizeof(o)) != sizeof(o))
			_exit(0);
		for (int i = 0; o.state == N_STATES && i < WARM_UP; i++)
			loop_getppid(&f);
		for (size_t k = 0; o.state < N_STATES && k < N_LOOPS; k++)
			out->ns[k][o.state][o.round] = run(&loops[k], &f);
	} while (true);
}

struct worker {
	pid_t pid;
	int cmd, done;
	struct shared *shared;
};

static void start(struct worker *w)
{
	int cmd[2], done[2];
	char c;

	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(w->shared != MAP_FAILED && !pipe(cmd) && !pipe(done), "pipe");
	w->pid = fork();
	must(w->pid >= 0, "fork");
	if (!w->pid) {
		close(cmd[1]);
		work(w->shared, cmd[0], done[1]);
	}
	close(cmd[0]);
	close(done[1]);
	w->cmd = cmd[1];
	w->done = done[0];
	must(read(w->done, &c, 1) == 1, "start of the loops");
}

static void order(const struct worker *w, int state, int round)
{
	const struct order o = { state, round };
	char c;

	must(write(w->cmd, &o, sizeof(o)) == sizeof(o) && read(w->done, &c, 1) == 1, "loops");
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
	must(fd[1] >= 0, tracepoint);
}

#define N_EMPTY 4

static void attach_all_empty(int fd[N_EMPTY][2])
{
	static const char *const on[N_EMPTY] = { "sys_enter", "sys_exit", "sched_switch",
						 "sched_waking" };

	for (int i = 0; i < N_EMPTY; i++)
		attach_empty(on[i], fd[i]);
}

static void round_empty(const struct worker *w, int round)
{
	int fd[N_EMPTY][2];

	attach_all_empty(fd);
	order(w, EMPTY, round);
	for (int i = 0; i < N_EMPTY; i++) {
		close(fd[i][1]);
		close(fd[i][0]);
	}
}

static int hold_empty(void)
{
	int fd[N_EMPTY][2];
	char c;

	attach_all_empty(fd);
	puts("attached");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

static void round_watch(const struct worker *w, int round, enum state s)
{
	struct target t = { .server = getpid(), .decoder = AFS_DECODER_DSI };
	struct ledger none;
	struct watch *watch;
	struct err e = {};

	if (s == WATCHED)
		t = (struct target) { .server = w->pid, .client = w->shared->client };
	if (watch_open_target(&watch, WATCH_BPF, &t, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	order(w, N_STATES, 0);
	must(!watch_read(watch, &none), "watch_read");
	ledger_fini(&none);
	order(w, s, round);
	watch_free(watch);
}

static void one(const struct worker *w, enum state s, int round)
{
	if (s == NONE)
		order(w, NONE, round);
	else if (s == EMPTY)
		round_empty(w, round);
	else
		round_watch(w, round, s);
}

/* Of the rounds' differences: the median and the middle half. */
static void print_over(const char *what, const double *v, const double *base, int n)
{
	double d[ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		d[i] = v[i] - base[i];
	rank(d, n, 0);
	printf(", \"%s\": %.0f, \"%s_low\": %.0f, \"%s_high\": %.0f", what, d[n / 2], what,
	       d[n / 4], what, d[n - 1 - n / 4]);
}

static void print(const struct shared *s, int rounds)
{
	const double(*v)[ROUNDS_MAX];
	double ns[ROUNDS_MAX], min;

	for (size_t k = 0; k < N_LOOPS; k++) {
		v = s->ns[k];
		for (int state = 0; state < N_STATES; state++) {
			memcpy(ns, v[state], sizeof(ns));
			min = rank(ns, rounds, 0);
			printf("{\"call\": \"%s\", \"state\": \"%s\", \"ns\": %.0f, \"min\": %.0f",
			       loops[k].name, state_names[state], ns[rounds / 2], min);
			print_over("over_none", v[state], v[NONE], rounds);
			print_over("over_empty", v[state], v[EMPTY], rounds);
			printf("}\n");
		}
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 15;
	struct worker w;

	if (argc > 1 && !strcmp(argv[1], "empty"))
		return hold_empty();
	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	start(&w);
	for (int i = 0; i < rounds; i++)
		for (int s = 0; s < N_STATES; s++)
			one(&w, i % 2 ? N_STATES - 1 - s : s, i);
	close(w.cmd);
	waitpid(w.pid, NULL, 0);
	print(w.shared, rounds);
	return 0;
}
