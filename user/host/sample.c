/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's files stay open and are read again from their start: about a third of the cost of
 * opening them, and another process with its number is not taken for it. What exists only per
 * thread (schedstat, switches) is host/tasks.h's.
 */

#include "host/sample.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "host/proc/procfs.h"
#include "host/proc/proctext.h"
#include "host/proc/tasks.h"
#include "host/taskstats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELAYACCT "/proc/sys/kernel/task_delayacct"

const struct sample_def sample_values[SAMPLE_N_VALUES] = {
#define X(name, key, unit, meaning) { key, unit, meaning },
	SAMPLE_VALUES(X)
#undef X
};

struct process {
	struct sample_series series;
	int io, stat; /* or -errno */
	struct tasks tasks;
	uint64_t base[SAMPLE_N_VALUES];
};

struct sample {
	size_t limit;
	uint64_t stride, tick; /* every stride-th tick is a reading */
	struct taskstats_link link;
	char no_delays[160];       /* why taskstats is not asked; */
	enum sample_value no_from; /* from this value on nothing is known then */
	long ticks_per_s;
	size_t n;
	struct process *process[SAMPLE_PROCESSES_MAX];
};

static void unknown(struct sample_series *s, unsigned int from, unsigned int to, const char *why)
{
	for (unsigned int v = from; v <= to; v++)
		if (!s->why[v][0])
			snprintf(s->why[v], sizeof(s->why[v]), "%s", why);
}

/*
 * What to do about the result of a reading. 0: go on, the values are known or will never be;
 * -ESRCH: the process has ended; or the lack of resources for which it could not be made.
 */
static int judge_reading(struct sample_series *s, unsigned int from, unsigned int to,
			 const char *file, int r)
{
	char why[160];

	if (r == -ESRCH || r == -ENOENT)
		return -ESRCH;
	if (!r || r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return r;
	snprintf(why, sizeof(why), "/proc/PID/%s: %s%s", file, strerror(-r),
		 r == -EACCES || r == -EPERM ? " (run as root, or with CAP_SYS_PTRACE)" : "");
	unknown(s, from, to, why);
	return 0;
}

static int read_threads(struct process *p, uint64_t *value)
{
	int r = tasks_look(&p->tasks, p->series.pid);
	struct procfs_times sum = tasks_sum(&p->tasks);

	p->series.n_lost = (unsigned int)p->tasks.n_gone;
	memcpy(&value[SAMPLE_CPU], &sum, sizeof(sum)); /* both are in one order */
	return judge_reading(&p->series, SAMPLE_CPU, SAMPLE_INVOLUNTARY,
			     "task/TID/{schedstat,status}", r);
}

static int read_stat(const struct sample *s, struct process *p, uint64_t *value)
{
	struct procstat st = { 0 };
	char text[1024];
	ssize_t n = file_text_again(text, sizeof(text), p->stat);
	int r = n < 0 ? (int)n : procstat_parse(&st, text);

	if (!r && !procstat_lives(&st))
		r = -ESRCH;
	p->series.n_threads = st.n_threads;
	value[SAMPLE_MINFLT] = st.minflt;
	value[SAMPLE_MAJFLT] = st.majflt;
	value[SAMPLE_BLKIO] = st.blkio_ticks * (1000000000u / (uint64_t)s->ticks_per_s);
	return judge_reading(&p->series, SAMPLE_MINFLT, SAMPLE_MAJFLT, "stat", r);
}

static int read_io(struct process *p, uint64_t *value)
{
	struct afs_compat io = { 0 };
	char text[512];
	ssize_t n = file_text_again(text, sizeof(text), p->io);
	int r = n < 0 ? (int)n : proctext_io(&io, text);

	memcpy(&value[SAMPLE_SYSCR], &io, sizeof(io)); /* both are in one order */
	return judge_reading(&p->series, SAMPLE_SYSCR, SAMPLE_WCHAR, "io", r);
}

/* Without taskstats the coarser figure of block I/O, of /proc/PID/stat, is kept. */
static int read_delays(struct sample *s, struct process *p, uint64_t *value)
{
	static const char too_old[] = "this kernel does not account it";
	struct taskstats_delays d;
	char why[160];
	int r;

	if (s->no_delays[0]) {
		unknown(&p->series, s->no_from, SAMPLE_IRQ, s->no_delays);
		return 0;
	}
	r = taskstats_read(&s->link, p->series.pid, &d);
	if (r == -ESRCH)
		return r;
	if (r) {
		snprintf(why, sizeof(why), "taskstats: %s", strerror(-r));
		unknown(&p->series, SAMPLE_BLKIO, SAMPLE_IRQ, why);
		return 0;
	}
	for (unsigned int i = 0; i < TASKSTATS_DELAYS; i++) {
		value[SAMPLE_BLKIO + i] = d.ns[i];
		if (!d.known[i])
			unknown(&p->series, SAMPLE_BLKIO + i, SAMPLE_BLKIO + i, too_old);
	}
	return 0;
}

/* -ESRCH: it has ended; or a lack of resources; then value is not valid. */
static int sample_read_process(struct sample *s, struct process *p, uint64_t *value)
{
	int r;

	memset(value, 0, SAMPLE_N_VALUES * sizeof(value[0]));
	r = read_io(p, value);
	r = r ? r : read_threads(p, value);
	/* Last: if the process has ended meanwhile, the partial reading is dropped. */
	r = r ? r : read_stat(s, p, value);
	return r ? r : read_delays(s, p, value);
}

/* Keeps every second point and the last one: points are running totals, so no sum is lost. */
static void sample_merge(struct sample_series *s)
{
	size_t n = 0, last = s->n - 1;

	for (size_t i = 0; i < s->n; i += 2)
		s->point[n++] = s->point[i];
	if (last % 2)
		s->point[n++] = s->point[last];
	s->n = n;
}

/* Frees what is only needed while the process lives; the series stays. */
static void sample_end_process(struct process *p)
{
	if (p->io >= 0)
		close(p->io);
	if (p->stat >= 0)
		close(p->stat);
	p->io = p->stat = -ESRCH;
	tasks_fini(&p->tasks);
	p->series.ended = true;
}

/* If there is none, as without memory or files to open, the next has what it would have. */
static void sample_add_point(struct process *p, uint64_t t_ns, const uint64_t *value)
{
	struct sample_point *at = VEC_ADD(p->series.point, p->series.n);
	const struct sample_point *before = at - 1;

	if (!at)
		return;
	at->t_ns = t_ns;
	for (int v = 0; v < SAMPLE_N_VALUES; v++) {
		at->value[v] = value[v] - p->base[v];
		/* Not measured any more: repeat the last value. */
		if (p->series.why[v][0] || value[v] < p->base[v])
			at->value[v] = before->value[v];
	}
}

void sample_now(struct sample *s)
{
	uint64_t value[SAMPLE_N_VALUES], t_ns;
	struct process *p;
	bool full = false;
	int r;

	for (size_t i = 0; i < s->n; i++)
		full = full || s->process[i]->series.n == s->limit;
	if (full) {
		for (size_t i = 0; i < s->n; i++)
			sample_merge(&s->process[i]->series);
		s->stride *= 2;
	}
	for (size_t i = 0; i < s->n; i++) {
		p = s->process[i];
		if (p->series.ended)
			continue;
		t_ns = clock_now_ns();
		r = sample_read_process(s, p, value);
		if (r == -ESRCH)
			sample_end_process(p);
		else if (!r)
			sample_add_point(p, t_ns, value);
	}
}

void sample_tick(struct sample *s)
{
	if (!(++s->tick % s->stride))
		sample_now(s);
}

const struct sample_series *sample_series(const struct sample *s, size_t i)
{
	return i < s->n ? &s->process[i]->series : NULL;
}

static void free_process(struct process *p)
{
	sample_end_process(p);
	free(p->series.point);
	free(p);
}

/* The place of the process that ended first; -1: all live. */
static int first_ended(const struct sample *s)
{
	const struct sample_series *one;
	uint64_t t_ns = UINT64_MAX;
	int first = -1;

	for (size_t i = 0; i < s->n; i++) {
		one = &s->process[i]->series;
		if (!one->ended || one->point[one->n - 1].t_ns >= t_ns)
			continue;
		t_ns = one->point[one->n - 1].t_ns;
		first = (int)i;
	}
	return first;
}

int sample_add(struct sample *s, pid_t pid, enum afs_role role, struct err *e)
{
	int r, at = (int)s->n;
	struct process *p;

	if (VEC_FIND(one, s->process, s->n, (*one)->series.pid == pid && !(*one)->series.ended))
		return 0;
	if (s->n == SAMPLE_PROCESSES_MAX)
		at = first_ended(s);
	if (at < 0)
		return err_set(e, -E2BIG, "more than %d processes to sample", SAMPLE_PROCESSES_MAX);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->series.pid = pid;
	p->stat = p->io = -ESRCH;
	p->series.role = role;
	p->tasks.switches = true;
	if (!VEC_ADD(p->series.point, p->series.n)) {
		free_process(p);
		return err_set(e, -ENOMEM, "out of memory");
	}
	p->stat = procfs_open(pid, 0, "stat");
	p->io = procfs_open(pid, 0, "io");
	p->series.point[0].t_ns = clock_now_ns();
	r = sample_read_process(s, p, p->base);
	if (r) {
		free_process(p);
		return r == -ESRCH
			   ? err_set(e, r, "process %d has ended", pid)
			   : err_set(e, r, "open /proc/%d: %s (ulimit -n)", pid, strerror(-r));
	}
	if (at < (int)s->n) {
		free_process(s->process[at]);
		err_set(e, -E2BIG,
			"more than %d processes to sample: the first that ended gave way",
			SAMPLE_PROCESSES_MAX);
	}
	r = at < (int)s->n;
	s->n += !r;
	s->process[at] = p;
	return r;
}

/* Without the file (before 5.14) the kernel does account them. */
bool sample_wants_taskstats(void)
{
	uint64_t on;

	return !file_first_number(&on, DELAYACCT) || on;
}

int sample_open(struct sample **out, unsigned int hz, size_t points, struct err *e)
{
	struct sample *s;
	int r;

	if (!hz || hz > SAMPLE_HZ_MAX || points < 4 || points > SAMPLE_POINTS_MAX)
		return err_set(e, -EINVAL, "samples a second: 1 to %d", SAMPLE_HZ_MAX);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->limit = points;
	s->stride = 1;
	s->ticks_per_s = sysconf(_SC_CLK_TCK);
	s->no_from = sample_wants_taskstats() ? SAMPLE_SWAPIN : SAMPLE_BLKIO;
	if (s->no_from == SAMPLE_BLKIO)
		snprintf(s->no_delays, sizeof(s->no_delays),
			 "the kernel does not account delays (" DELAYACCT
			 " is 0): set it to 1 and restart the server");
	else if ((r = taskstats_open(&s->link)))
		snprintf(s->no_delays, sizeof(s->no_delays), "taskstats: %s%s", strerror(-r),
			 r == -EPERM ? " (needs CAP_NET_ADMIN)" : "");
	*out = s;
	return 0;
}

void sample_close(struct sample *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free_process(s->process[i]);
	taskstats_close(&s->link);
	free(s);
}
