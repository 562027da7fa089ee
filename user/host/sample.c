/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files stay open and are read again from their start: about a third of the cost of opening
 * them. What exists only per thread (schedstat, switches) is summed over the threads; a thread that
 * has ended keeps the values of its last reading, so that no sum goes backwards.
 */

#include "host/sample.h"

#include "base/clock.h"
#include "host/taskstats.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELAYACCT "/proc/sys/kernel/task_delayacct"
#define N_THREADS 256 /* of one process */

const struct sample_def sample_values[SAMPLE_N_VALUES] = {
#define X(name, key, unit, meaning) { key, unit, meaning },
	SAMPLE_VALUES(X)
#undef X
};

/* Values that exist only per thread. */
enum { THREAD_CPU, THREAD_RUNQ, THREAD_SLICES, THREAD_VOLUNTARY, THREAD_INVOLUNTARY, N_OF_THREAD };

struct thread {
	pid_t tid;
	int schedstat, status; /* or -errno */
	uint64_t value[N_OF_THREAD];
};

struct process {
	struct sample_series series;
	int io, stat;          /* or -errno */
	struct thread *thread; /* N_THREADS of them */
	size_t n_threads;
	uint64_t gone[N_OF_THREAD]; /* of threads that have ended */
	uint64_t base[SAMPLE_N_VALUES];
};

struct sample {
	unsigned int hz;
	size_t limit;
	uint64_t stride, tick; /* every stride-th tick is a reading */
	struct taskstats_link *link;
	char no_link[160]; /* why taskstats is not available */
	char no_delays[160];
	long ticks_per_s;
	size_t n;
	struct process *process[SAMPLE_PROCESSES_MAX];
};

/* fd: or a negative errno, if it could not be opened. */
static int read_again(char *out, size_t len, int fd)
{
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, out, len - 1, 0);
	if (n < 0)
		return -errno;
	out[n] = '\0';
	return 0;
}

/* The number after "key:". */
static bool number_of(uint64_t *out, const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (!at)
		return false;
	*out = strtoull(at + strlen(key), NULL, 10);
	return true;
}

static void unknown(struct sample_series *s, unsigned int from, unsigned int to, const char *why)
{
	for (unsigned int v = from; v <= to; v++)
		if (!s->why[v][0])
			snprintf(s->why[v], sizeof(s->why[v]), "%s", why);
}

static void unreadable(struct sample_series *s, unsigned int from, unsigned int to,
		       const char *file, int r)
{
	char why[160];

	snprintf(why, sizeof(why), "/proc/PID/%s: %s%s", file, strerror(-r),
		 r == -EACCES || r == -EPERM ? " (run as root, or with CAP_SYS_PTRACE)" : "");
	unknown(s, from, to, why);
}

static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];
	int fd;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	else
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

static bool has_ended(int r)
{
	return r == -ESRCH || r == -ENOENT;
}

static void end_thread(struct process *p, size_t i)
{
	for (int v = 0; v < N_OF_THREAD; v++)
		p->gone[v] += p->thread[i].value[v];
	close_file(p->thread[i].schedstat);
	close_file(p->thread[i].status);
	p->thread[i] = p->thread[--p->n_threads];
	p->series.n_lost++;
}

static void add_thread(struct process *p, pid_t tid)
{
	struct thread *t = &p->thread[p->n_threads];

	for (size_t i = 0; i < p->n_threads; i++)
		if (p->thread[i].tid == tid)
			return;
	if (p->n_threads == N_THREADS) {
		unknown(&p->series, SAMPLE_CPU, SAMPLE_INVOLUNTARY, "too many threads");
		return;
	}
	*t = (struct thread) { .tid = tid };
	t->schedstat = open_file(p->series.pid, tid, "schedstat");
	t->status = open_file(p->series.pid, tid, "status");
	/* The thread has ended since the folder was listed: skip it. */
	if (has_ended(t->schedstat) || has_ended(t->status)) {
		close_file(t->schedstat);
		close_file(t->status);
		return;
	}
	p->n_threads++;
}

static int list_threads(struct process *p)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", p->series.pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_thread(p, atoi(entry->d_name));
	closedir(dir);
	return 0;
}

/* -ESRCH: it has ended. */
static int read_thread(struct process *p, struct thread *t)
{
	uint64_t *v = t->value;
	char text[4096];
	int r;

	r = read_again(text, sizeof(text), t->schedstat);
	if (r == -ESRCH)
		return r;
	if (r || sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &v[THREAD_CPU], &v[THREAD_RUNQ],
			&v[THREAD_SLICES]) != 3)
		unreadable(&p->series, SAMPLE_CPU, SAMPLE_SLICES, "task/TID/schedstat",
			   r ? r : -EPROTO);
	r = read_again(text, sizeof(text), t->status);
	if (r == -ESRCH)
		return r;
	if (r || !number_of(&v[THREAD_VOLUNTARY], text, "\nvoluntary_ctxt_switches:") ||
	    !number_of(&v[THREAD_INVOLUNTARY], text, "\nnonvoluntary_ctxt_switches:"))
		unreadable(&p->series, SAMPLE_VOLUNTARY, SAMPLE_INVOLUNTARY, "task/TID/status",
			   r ? r : -EPROTO);
	return 0;
}

static void read_threads(struct process *p, uint64_t *value)
{
	size_t i = 0;

	while (i < p->n_threads) {
		if (read_thread(p, &p->thread[i]) == -ESRCH)
			end_thread(p, i);
		else
			i++;
	}
	if (p->n_threads != p->series.n_threads) {
		i = p->n_threads;
		list_threads(p);
		for (; i < p->n_threads; i++)
			read_thread(p, &p->thread[i]);
	}
	for (int v = 0; v < N_OF_THREAD; v++) {
		value[SAMPLE_CPU + v] = p->gone[v];
		for (i = 0; i < p->n_threads; i++)
			value[SAMPLE_CPU + v] += p->thread[i].value[v];
	}
}

/* Fields of /proc/PID/stat. -ESRCH: gone, or a zombie. */
static int read_stat(const struct sample *s, struct process *p, uint64_t *value)
{
	uint64_t blkio = 0;
	char text[1024], *end, state;
	int n, r = read_again(text, sizeof(text), p->stat);

	if (r)
		return r;
	end = strrchr(text, ')');
	if (!end)
		return -EPROTO;
	/* Fields 3, 10, 12, 20 and 42. */
	n = sscanf(end + 1,
		   " %c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64
		   " %*u %*u %*u %*d %*d %*d %*d %u %*d %*u %*u %*d %*u %*u %*u %*u %*u %*u %*u"
		   " %*u %*u %*u %*u %*u %*u %*d %*d %*u %*u %" SCNu64,
		   &state, &value[SAMPLE_MINFLT], &value[SAMPLE_MAJFLT], &p->series.n_threads,
		   &blkio);
	if (n < 4)
		return -EPROTO;
	value[SAMPLE_BLKIO] = blkio * (1000000000u / (uint64_t)s->ticks_per_s);
	return state == 'Z' || state == 'X' ? -ESRCH : 0;
}

/* -ESRCH: gone. */
static int read_io(struct process *p, uint64_t *value)
{
	char text[512];
	int r = read_again(text, sizeof(text), p->io);

	if (r == -ESRCH)
		return r;
	if (r || !number_of(&value[SAMPLE_SYSCR], text, "syscr:") ||
	    !number_of(&value[SAMPLE_SYSCW], text, "syscw:") ||
	    !number_of(&value[SAMPLE_RCHAR], text, "rchar:") ||
	    !number_of(&value[SAMPLE_WCHAR], text, "wchar:"))
		unreadable(&p->series, SAMPLE_SYSCR, SAMPLE_WCHAR, "io", r ? r : -EPROTO);
	return 0;
}

/* Without taskstats the coarser figure of block I/O, of /proc/PID/stat, is kept. */
static int read_delays(const struct sample *s, struct process *p, uint64_t *value)
{
	static const char too_old[] = "this kernel does not account it";
	struct taskstats_delays d;
	char why[160];
	int r;

	if (s->no_delays[0]) {
		unknown(&p->series, SAMPLE_BLKIO, SAMPLE_IRQ, s->no_delays);
		return 0;
	}
	if (!s->link) {
		unknown(&p->series, SAMPLE_SWAPIN, SAMPLE_IRQ, s->no_link);
		return 0;
	}
	r = taskstats_read(s->link, p->series.pid, &d);
	if (r == -ESRCH)
		return r;
	if (r) {
		snprintf(why, sizeof(why), "taskstats: %s", strerror(-r));
		unknown(&p->series, SAMPLE_BLKIO, SAMPLE_IRQ, why);
		return 0;
	}
	value[SAMPLE_BLKIO] = d.blkio_ns;
	value[SAMPLE_SWAPIN] = d.swapin_ns;
	value[SAMPLE_FREEPAGES] = d.freepages_ns;
	value[SAMPLE_THRASHING] = d.thrashing_ns;
	value[SAMPLE_COMPACT] = d.compact_ns;
	value[SAMPLE_IRQ] = d.irq_ns;
	if (d.version < 9)
		unknown(&p->series, SAMPLE_THRASHING, SAMPLE_THRASHING, too_old);
	if (d.version < 11)
		unknown(&p->series, SAMPLE_COMPACT, SAMPLE_COMPACT, too_old);
	if (d.version < 14)
		unknown(&p->series, SAMPLE_IRQ, SAMPLE_IRQ, too_old);
	return 0;
}

/* false: it has ended, and value is not valid. */
static bool read_process(const struct sample *s, struct process *p, uint64_t *value)
{
	int r;

	memset(value, 0, SAMPLE_N_VALUES * sizeof(value[0]));
	r = read_stat(s, p, value);
	if (has_ended(r))
		return false;
	if (r)
		unreadable(&p->series, SAMPLE_MINFLT, SAMPLE_MAJFLT, "stat", r);
	/* If the process ends meanwhile, the partial reading is dropped. */
	if (read_io(p, value) == -ESRCH)
		return false;
	read_threads(p, value);
	return p->n_threads && read_delays(s, p, value) != -ESRCH;
}

/* Keeps every second point and the last one: points are running totals, so no sum is lost. */
static void merge(struct sample_series *s)
{
	size_t n = 0, last = s->n - 1;

	for (size_t i = 0; i < s->n; i += 2)
		s->point[n++] = s->point[i];
	if (last % 2)
		s->point[n++] = s->point[last];
	s->n = n;
}

/* Frees what is only needed while the process lives; the series stays. */
static void end_process(struct process *p)
{
	for (size_t i = 0; i < p->n_threads; i++) {
		close_file(p->thread[i].schedstat);
		close_file(p->thread[i].status);
	}
	close_file(p->io);
	close_file(p->stat);
	free(p->thread);
	p->thread = NULL;
	p->n_threads = 0;
	p->io = p->stat = -ESRCH;
	p->series.ended = true;
}

static void add_point(struct process *p, uint64_t t_ns, const uint64_t *value)
{
	struct sample_point *at = &p->series.point[p->series.n++];
	const struct sample_point *before = at - 1;

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

	for (size_t i = 0; i < s->n; i++)
		full = full || s->process[i]->series.n == s->limit;
	if (full) {
		for (size_t i = 0; i < s->n; i++)
			merge(&s->process[i]->series);
		s->stride *= 2;
	}
	for (size_t i = 0; i < s->n; i++) {
		p = s->process[i];
		if (p->series.ended)
			continue;
		t_ns = clock_now_ns();
		if (read_process(s, p, value))
			add_point(p, t_ns, value);
		else
			end_process(p);
	}
}

void sample_tick(struct sample *s)
{
	if (!(++s->tick % s->stride))
		sample_now(s);
}

uint64_t sample_period_ns(const struct sample *s)
{
	return s->stride * 1000000000u / s->hz;
}

const struct sample_series *sample_series(const struct sample *s, size_t i)
{
	return i < s->n ? &s->process[i]->series : NULL;
}

static void free_process(struct process *p)
{
	end_process(p);
	free(p->series.point);
	free(p);
}

static bool is_shortage(int r)
{
	return r == -EMFILE || r == -ENFILE;
}

/* 0, or the errno (a lack of resources) for which not everything could be opened. */
static int open_process(struct process *p)
{
	int r = list_threads(p);

	p->stat = open_file(p->series.pid, 0, "stat");
	p->io = open_file(p->series.pid, 0, "io");
	r = is_shortage(p->stat) ? p->stat : is_shortage(p->io) ? p->io : r;
	for (size_t i = 0; i < p->n_threads && !is_shortage(r); i++)
		r = is_shortage(p->thread[i].status) ? p->thread[i].status : p->thread[i].schedstat;
	return is_shortage(r) ? r : 0;
}

int sample_add(struct sample *s, pid_t pid, enum afs_role role, struct err *e)
{
	struct process *p;
	int r;

	for (size_t i = 0; i < s->n; i++)
		if (s->process[i]->series.pid == pid && !s->process[i]->series.ended)
			return 0;
	if (s->n == SAMPLE_PROCESSES_MAX)
		return err_set(e, -E2BIG, "more than %d processes to sample", SAMPLE_PROCESSES_MAX);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->series.pid = pid;
	p->stat = p->io = -ESRCH;
	p->series.role = role;
	p->thread = calloc(N_THREADS, sizeof(*p->thread));
	p->series.point = calloc(s->limit, sizeof(*p->series.point));
	if (!p->thread || !p->series.point) {
		free_process(p);
		return err_set(e, -ENOMEM, "out of memory");
	}
	r = open_process(p);
	if (r) {
		free_process(p);
		return err_set(e, r, "open /proc/%d: %s (ulimit -n)", pid, strerror(-r));
	}
	p->series.point[0].t_ns = clock_now_ns();
	if (!read_process(s, p, p->base)) {
		free_process(p);
		return err_set(e, -ESRCH, "process %d has ended", pid);
	}
	p->series.n = 1;
	s->process[s->n++] = p;
	return 0;
}

/* Without the file (before 5.14) the kernel does account them. */
bool sample_wants_taskstats(void)
{
	FILE *f = fopen(DELAYACCT, "re");
	int on = 1;

	if (!f)
		return true;
	if (fscanf(f, "%d", &on) != 1)
		on = 1;
	fclose(f);
	return on;
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
	s->hz = hz;
	s->limit = points;
	s->stride = 1;
	s->ticks_per_s = sysconf(_SC_CLK_TCK);
	if (!sample_wants_taskstats())
		snprintf(s->no_delays, sizeof(s->no_delays),
			 "the kernel does not account delays (" DELAYACCT
			 " is 0): set it to 1 and restart the server");
	r = s->no_delays[0] ? 0 : taskstats_open(&s->link);
	if (r)
		snprintf(s->no_link, sizeof(s->no_link), "taskstats: %s%s", strerror(-r),
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
	taskstats_close(s->link);
	free(s);
}
