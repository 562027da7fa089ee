/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rung for machines without BPF: perf counters on the tracepoint at which system calls
 * return, one for each class, selected by a filter in the kernel. Exact numbers of calls; no
 * times, errors, bytes or objects. The compatible ledger is read from /proc/PID/io, and the
 * cross-checks compare it with separate counters.
 *
 * Counters are inherited: threads and processes that a watched thread starts later count with the
 * process they come from. So sessions that begin later are in the counters of their server; only
 * their /proc/PID/io, which is not inherited while they live, must be read separately.
 */

#include "watch/rung.h"

#include "base/clock.h"
#include "watch/perf_filter.h"
#include "watch/procfs.h"
#include "watch/procio.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS    1000000
#define N_THREADS  256 /* of one process */
#define N_LISTINGS 10  /* until a process's threads stay the same while they are opened */
#define BOOK_WITH  "/proc/PID/io"

/* What perf_event_open writes for PERF_FORMAT_TOTAL_TIME_*. */
struct reading {
	uint64_t n, enabled_ns, running_ns;
};

struct perf_process {
	pid_t pid;
	enum afs_role role;
	size_t n_threads;
	int (*fd)[PERF_N_COUNTS];      /* of each thread */
	uint64_t count[PERF_N_COUNTS]; /* the last reading */
	uint64_t starved, unreadable;  /* counters, at the last reading */
};

struct perf_rung {
	int id_exit, id_fcntl; /* tracepoints; id_fcntl -1: not available */
	struct perf_filter filter[PERF_N_COUNTS];
	struct procio io;
	size_t n;
	struct perf_process process[1 + TARGET_CNID_MAX + AFS_N_PROCESSES];
};

/* The number of a tracepoint, or a negative errno. */
static int tracepoint(const char *name)
{
	static const char *const root[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int id, r = -ENOENT;
	char path[128];
	FILE *f;

	for (size_t i = 0; i < sizeof(root) / sizeof(root[0]); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", root[i], name);
		f = fopen(path, "re");
		if (!f) {
			/* Prefer EACCES, which is more informative than ENOENT. */
			r = errno == ENOENT ? r : -errno;
			continue;
		}
		if (fscanf(f, "%d", &id) != 1)
			id = -EPROTO;
		fclose(f);
		return id;
	}
	return r;
}

/* A counter that does not count yet. Its descriptor, or a negative errno. */
static int open_count(const struct perf_rung *p, int count, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)(count == PERF_LOCKS ? p->id_fcntl : p->id_exit),
		.inherit = 1,
		.disabled = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_FILTER, p->filter[count].text))
		return fd;
	r = -errno;
	close(fd);
	return r;
}

static int refuse(int r, pid_t pid, struct err *e)
{
	char paranoid[16] = "?";
	FILE *f;

	if (r == -EMFILE || r == -ENFILE)
		return err_set(e, r,
			       "too few file descriptors: each thread of the server takes %d; "
			       "raise the limit (ulimit -n)",
			       PERF_N_COUNTS);
	if (r == -ENOSYS)
		return err_set(e, r, "this kernel has no perf_event_open");
	if (r != -EACCES && r != -EPERM)
		return err_set(e, r, "perf_event_open for process %d: %s", pid, strerror(-r));
	f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	if (f && fscanf(f, "%15s", paranoid) != 1)
		strcpy(paranoid, "?");
	if (f)
		fclose(f);
	return err_set(e, r,
		       "perf_event_open for process %d is refused (perf_event_paranoid is %s): run "
		       "as root, or with CAP_PERFMON and CAP_SYS_PTRACE; a container needs a "
		       "seccomp profile that allows it",
		       pid, paranoid);
}

static int prepare(struct perf_rung *p, struct err *e)
{
	int r;

	p->id_exit = tracepoint("raw_syscalls/sys_exit");
	p->id_fcntl = tracepoint("syscalls/sys_enter_fcntl");
	if (p->id_exit < 0)
		return err_set(e, p->id_exit,
			       "no tracepoint raw_syscalls:sys_exit below /sys/kernel/tracing or "
			       "/sys/kernel/debug/tracing (%s): run as root with tracefs mounted "
			       "(mount -t tracefs tracefs /sys/kernel/tracing)",
			       strerror(-p->id_exit));
	if (!perf_filters(p->filter))
		return err_set(e, -E2BIG,
			       "the kernel does not accept filters of the length needed");
	/* On this process, only to see whether it is allowed. */
	r = open_count(p, 0, 0);
	if (r < 0)
		return refuse(r, getpid(), e);
	close(r);
	return 0;
}

static int perf_open(void **state, const struct watch_sink *sink, struct err *e)
{
	struct perf_rung *p = calloc(1, sizeof(*p));
	int r;

	(void)sink;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	r = prepare(p, e);
	if (r) {
		free(p);
		return r;
	}
	*state = p;
	return 0;
}

static void close_counts(struct perf_process *one)
{
	for (size_t i = 0; i < one->n_threads; i++)
		for (int k = 0; k < PERF_N_COUNTS; k++)
			if (one->fd[i][k] >= 0)
				close(one->fd[i][k]);
	free(one->fd);
	one->fd = NULL;
	one->n_threads = 0;
}

static void perf_free(void *state)
{
	struct perf_rung *p = state;

	for (size_t i = 0; i < p->n; i++)
		close_counts(&p->process[i]);
	procio_fini(&p->io);
	free(p);
}

/* The threads of a process, in the kernel's order. Their number (at most N_THREADS + 1), or a
 * negative errno.
 */
static int list_threads(pid_t tid[N_THREADS + 1], pid_t pid)
{
	struct dirent *entry;
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (n <= N_THREADS && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			tid[n++] = atoi(entry->d_name);
	closedir(dir);
	return n ? n : -ESRCH;
}

static int open_threads(const struct perf_rung *p, struct perf_process *one, const pid_t *tid,
			size_t n)
{
	one->fd = malloc(n * sizeof(*one->fd));
	if (!one->fd)
		return -ENOMEM;
	memset(one->fd, -1, n * sizeof(*one->fd));
	one->n_threads = n;
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < PERF_N_COUNTS; k++) {
			if (k == PERF_LOCKS && p->id_fcntl < 0)
				continue;
			one->fd[i][k] = open_count(p, k, tid[i]);
			if (one->fd[i][k] < 0)
				return one->fd[i][k];
		}
	}
	return 0;
}

/*
 * Counters for every thread. If a thread was started meanwhile, it is unknown whether it has
 * inherited them: then starts again.
 */
static int open_counts(const struct perf_rung *p, struct perf_process *one, struct err *e)
{
	pid_t tid[N_THREADS + 1], again[N_THREADS + 1];
	int n, r;

	for (int i = 0; i < N_LISTINGS; i++) {
		n = list_threads(tid, one->pid);
		if (n < 0)
			return err_set(e, n, "list the threads of process %d: %s", one->pid,
				       strerror(-n));
		if (n > N_THREADS)
			return err_set(e, -E2BIG, "process %d has more than %d threads", one->pid,
				       N_THREADS);
		r = open_threads(p, one, tid, (size_t)n);
		if (!r && list_threads(again, one->pid) == n &&
		    !memcmp(tid, again, (size_t)n * sizeof(tid[0])))
			return 0;
		close_counts(one);
		if (r && r != -ESRCH)
			return refuse(r, one->pid, e);
	}
	return err_set(e, -EAGAIN, "process %d starts and ends threads all the time", one->pid);
}

static void start_counts(const struct perf_process *one)
{
	for (size_t i = 0; i < one->n_threads; i++)
		for (int k = 0; k < PERF_N_COUNTS; k++)
			if (one->fd[i][k] >= 0)
				ioctl(one->fd[i][k], PERF_EVENT_IOC_ENABLE, 0);
}

static void read_counts(struct perf_process *one)
{
	struct reading now;

	memset(one->count, 0, sizeof(one->count));
	one->starved = one->unreadable = 0;
	for (size_t i = 0; i < one->n_threads; i++) {
		for (int k = 0; k < PERF_N_COUNTS; k++) {
			if (one->fd[i][k] < 0)
				continue;
			if (read(one->fd[i][k], &now, sizeof(now)) != sizeof(now)) {
				one->unreadable++;
				continue;
			}
			one->count[k] += now.n;
			one->starved += now.running_ns < now.enabled_ns;
		}
	}
}

static bool is_counted(const struct perf_rung *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->process[i].pid == pid)
			return true;
	return false;
}

static int add(struct perf_rung *p, pid_t pid, enum afs_role role, struct err *e)
{
	struct perf_process one = { .pid = pid, .role = role };
	int r;

	if (p->n == sizeof(p->process) / sizeof(p->process[0]))
		return err_set(e, -E2BIG, "more processes than can be counted");
	r = open_counts(p, &one, e);
	if (r)
		return r;
	start_counts(&one);
	p->process[p->n++] = one;
	return 0;
}

/* The account's base is read once the counters count. */
static void rebase(struct procio_one *one)
{
	struct afs_compat now;

	if (!procfs_io(&now, one->pid))
		one->base = one->now = one->before = now;
}

/* Processes started by a counted one are in its counters already. */
static int perf_look(void *state, const struct target *t, struct err *e)
{
	struct perf_rung *p = state;
	size_t before = p->io.n;
	int r = procio_look(&p->io, t, e);

	for (size_t i = before; i < p->io.n && !r; i++) {
		struct procio_one *one = &p->io.one[i];

		if (is_counted(p, one->pid) || (one->begun && is_counted(p, one->parent)))
			continue;
		r = add(p, one->pid, one->role, e);
		if (!r && !one->begun)
			rebase(one);
		/* The process has ended since it was found. */
		if (i && r == -ESRCH)
			r = 0;
	}
	return r;
}

static bool perf_tick(void *state)
{
	struct perf_rung *p = state;

	return procio_tick(&p->io);
}

static bool is_asleep(pid_t pid)
{
	pid_t tid[N_THREADS + 1];
	int n = list_threads(tid, pid);
	struct procfs_stat st;

	for (int i = 0; i < n; i++)
		if (!procfs_stat(&st, tid[i]) && (st.state == 'R' || st.state == 'D'))
			return false;
	return true;
}

/* One look: all asleep, and the sum of all calls; the same twice means quiet. */
static bool look_at_all(struct perf_rung *p, uint64_t *calls)
{
	bool asleep = true;

	*calls = 0;
	for (size_t i = 0; i < p->n; i++) {
		asleep = asleep && is_asleep(p->process[i].pid);
		read_counts(&p->process[i]);
		for (int k = 0; k < AFS_N_CLASSES; k++)
			*calls += p->process[i].count[k];
	}
	return asleep;
}

static bool perf_settle(void *state)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t end = clock_now_ns() + RUNG_SETTLE_NS, calls, before = 0;
	bool was_asleep = false, asleep;

	do {
		asleep = look_at_all(state, &calls);
		if (asleep && was_asleep && calls == before)
			return true;
		was_asleep = asleep;
		before = calls;
		nanosleep(&pause, NULL);
	} while (clock_now_ns() < end);
	return false;
}

/* A lock call in progress is known before its fcntl has returned. */
static uint64_t calls_of(const struct perf_process *one, unsigned int class)
{
	uint64_t n = one->count[class], locks = one->count[PERF_LOCKS];

	if (class == AFS_CLASS_LOCK)
		return n + locks;
	if (class == AFS_CLASS_FD)
		return n > locks ? n - locks : 0;
	return n;
}

static int perf_read(void *state, struct ledger *out)
{
	struct perf_rung *p = state;
	struct ledger_row *row;
	uint64_t n;

	memset(out, 0, sizeof(*out));
	row = calloc(AFS_N_ROLES * AFS_N_CLASSES, sizeof(*row));
	if (!row)
		return -ENOMEM;
	out->row = row;
	out->has_calls = true;
	out->only_calls = true;
	for (size_t i = 0; i < p->n; i++)
		read_counts(&p->process[i]);
	procio_read(&p->io);
	for (unsigned int role = 0; role < AFS_N_ROLES; role++) {
		out->has_compat[role] = procio_sum(&p->io, role, &out->compat[role]);
		for (unsigned int class = 0; class < AFS_N_CLASSES; class ++) {
			n = 0;
			for (size_t i = 0; i < p->n; i++)
				if (p->process[i].role == role)
					n += calls_of(&p->process[i], class);
			if (!n)
				continue;
			row = &out->row[out->n_rows++];
			row->role = (uint8_t)role;
			row->class = (uint8_t) class;
			row->object = AFS_OBJECT_UNKNOWN;
			row->cell.calls = n;
		}
	}
	return 0;
}

/* Counters and accounts of one process, or of all of a role. */
struct perf_book {
	char who[64];
	bool gone;
	uint64_t starts, ours[2], theirs[2]; /* syscr, syscw */
};

/*
 * The account includes children that were waited for and what the kernel reads when it executes a
 * program; the counters include all children. So once something was started, the two may differ
 * without an error.
 */
static int close_book(const struct perf_book *b, struct run *r)
{
	const char *why = b->gone ? "has ended" : "has started threads or processes";
	bool same = b->ours[0] == b->theirs[0] && b->ours[1] == b->theirs[1];
	bool open = b->gone || (b->starts && !same);
	static const char *const what[] = { "syscr", "syscw" };
	char name[96];
	int err = 0;

	for (size_t i = 0; i < 2 && !err; i++) {
		snprintf(name, sizeof(name), "%s %s", b->who, what[i]);
		if (open)
			err = run_book_open(r, name, BOOK_WITH, b->ours[i]);
		else
			err = run_book(r, name, BOOK_WITH, b->ours[i], b->theirs[i]);
	}
	if (!err && open)
		err = run_note(&r->warnings, "books", "%s %s: its counts cannot be cross-checked",
			       b->who, why);
	return err;
}

static void book_counts(struct perf_book *b, const struct perf_process *one)
{
	b->starts += one->count[PERF_STARTS];
	b->ours[0] += one->count[PERF_SYSCR];
	b->ours[1] += one->count[PERF_SYSCW];
}

static int close_process(const struct perf_rung *p, const struct perf_process *one, struct run *r)
{
	struct perf_book b = { 0 };

	snprintf(b.who, sizeof(b.who), "%s %d", ledger_role_name(one->role), one->pid);
	book_counts(&b, one);
	for (size_t i = 0; i < p->io.n; i++) {
		const struct procio_one *io = &p->io.one[i];

		if (io->pid != one->pid)
			continue;
		b.gone = io->gone;
		b.theirs[0] = io->now.syscr - io->base.syscr;
		b.theirs[1] = io->now.syscw - io->base.syscw;
	}
	return close_book(&b, r);
}

/* For a whole server only sums can be compared: a parent inherits the accounts of ended children.
 */
static int close_role(const struct perf_rung *p, enum afs_role role, struct run *r)
{
	struct perf_book b = { 0 };
	struct afs_compat sum;

	if (!procio_sum(&p->io, role, &sum))
		return 0;
	snprintf(b.who, sizeof(b.who), "%s (all processes)", ledger_role_name(role));
	for (size_t i = 0; i < p->n; i++)
		if (p->process[i].role == role)
			book_counts(&b, &p->process[i]);
	for (size_t i = 0; i < p->io.n; i++)
		b.gone |= p->io.one[i].role == role && p->io.one[i].gone && !p->io.one[i].inherited;
	b.theirs[0] = sum.syscr;
	b.theirs[1] = sum.syscw;
	return close_book(&b, r);
}

static int perf_finish(void *state, struct run *r)
{
	uint64_t starved = 0, unreadable = 0;
	struct perf_rung *p = state;
	int err;

	err = run_note(&r->rungs, "calls",
		       "perf counters on raw_syscalls:sys_exit, numbers of calls only; reads and "
		       "writes from /proc/PID/io, sampled at phase ends");
	if (!err && p->id_fcntl < 0)
		err = run_note(
		    &r->warnings, "watch",
		    "no tracepoint syscalls:sys_enter_fcntl: fcntl locks count as \"%s\"",
		    ledger_class_name(AFS_CLASS_FD));
	procio_read(&p->io);
	for (size_t i = 0; i < p->n && !err; i++) {
		read_counts(&p->process[i]);
		starved += p->process[i].starved;
		unreadable += p->process[i].unreadable;
		if (!p->io.whole)
			err = close_process(p, &p->process[i], r);
	}
	for (unsigned int role = 0; role < AFS_N_ROLES && p->io.whole && !err; role++)
		err = close_role(p, role, r);
	if (!err)
		err = run_note(&r->absent, "requests", "only the bpf rung follows requests");
	if (!err && p->io.whole)
		err = procio_note(&p->io, r);
	if (!err)
		err = run_loss(r, "perf counters that did not count all the time", starved);
	if (!err)
		err = run_loss(r, "perf counters that could not be read", unreadable);
	return err;
}

const struct rung rung_perf = {
	.name = "perf",
	.open = perf_open,
	.look = perf_look,
	.settle = perf_settle,
	.read = perf_read,
	.tick = perf_tick,
	.finish = perf_finish,
	.free = perf_free,
};
