/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/stat, pressure, vmstat, diskstats, net/snmp and every process's CPU time. */
#include "host/machine.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/procstat.h"
#include "host/cgroup.h"
#include "host/procfs.h"
#include "run/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S 1000000000.0

static void put(struct machine *m, enum machine_total which, uint64_t value)
{
	m->known[which] = true;
	m->total[which] = value;
}

/* "1,4-7" */
static void take_list(bool cpu[MACHINE_CPUS], const char *list)
{
	unsigned long first, last;
	char *end;

	for (; *list; list = *end == ',' ? end + 1 : end) {
		first = last = strtoul(list, &end, 10);
		if (end == list)
			return;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < MACHINE_CPUS; first++)
			cpu[first] = true;
	}
}

static void add(struct machine *m, enum machine_total which, uint64_t value)
{
	put(m, which, m->total[which] + value);
}

/* "cpu  user nice system idle iowait irq softirq steal ...", then "cpu0 ..." */
static void look_cpu(struct machine *m, const char *line)
{
	const char *at = line + strcspn(line, " ");
	uint64_t v[8] = { 0 }, all = 0;
	unsigned int cpu;

	if (sscanf(at,
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) < 5)
		return;
	for (size_t i = 0; i < 8; i++)
		all += v[i];
	if (line[3] == ' ') {
		put(m, MACHINE_CPU_ALL, all);
		put(m, MACHINE_CPU_BUSY, all - v[3] - v[4]);
	} else if (sscanf(line + 3, "%u", &cpu) == 1 && cpu < MACHINE_CPUS && m->own_cpu[cpu]) {
		add(m, MACHINE_OWN_ALL, all);
		add(m, MACHINE_OWN_BUSY, all - v[3] - v[4]);
	}
}

static void look_cpus(struct machine *m, pid_t server)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[8192];

	if (!procfs_status(line, sizeof(line), server, "Cpus_allowed_list"))
		take_list(m->own_cpu, line);
	while (f && fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3))
		look_cpu(m, line);
	if (f)
		fclose(f);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
static void look_pressure(struct machine *m, enum machine_total which, const char *path)
{
	char text[256], *at;

	if (file_line(text, sizeof(text), path))
		return;
	at = strstr(text, "total=");
	if (at)
		put(m, which, strtoull(at + strlen("total="), NULL, 10));
}

static void look_vmstat(struct machine *m)
{
	static const struct {
		enum machine_total which;
		const char *line;
	} lines[] = {
		{ MACHINE_SWAPPED_IN, "\npswpin " },
		{ MACHINE_REFAULTED, "\nworkingset_refault_file " },
	};
	char text[16384], *at;

	if (file_text(text, sizeof(text), "/proc/vmstat") < 0)
		return;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		at = strstr(text, lines[i].line);
		if (at)
			put(m, lines[i].which, strtoull(at + strlen(lines[i].line), NULL, 10));
	}
}

/* The word under "name" in the two lines that begin with "Tcp:". */
static void look_tcp_word(struct machine *m, enum machine_total which, const char *text,
			  const char *name)
{
	const char *head = strstr(text, "Tcp: "), *value;
	size_t len = strlen(name);

	value = head ? strstr(head + 1, "Tcp: ") : NULL;
	while (head && value) {
		head += strcspn(head, " \n");
		value += strcspn(value, " \n");
		if (*head != ' ' || *value != ' ')
			return;
		head++;
		value++;
		if (!strncmp(head, name, len) && strchr(" \n", head[len])) {
			put(m, which, strtoull(value, NULL, 10));
			return;
		}
	}
}

static void look_tcp(struct machine *m)
{
	char text[8192];

	if (file_text(text, sizeof(text), "/proc/net/snmp") < 0)
		return;
	look_tcp_word(m, MACHINE_SEGMENTS, text, "OutSegs");
	look_tcp_word(m, MACHINE_RETRANS, text, "RetransSegs");
}

/* A line of /proc/diskstats; counts of flushes since Linux 5.5. */
static bool device_of(struct machine_device *out, const char *line)
{
	uint64_t n[3] = { 0 }, ms[3] = { 0 };
	int found = sscanf(line,
			   " %*u %*u %31s %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64
			   " %*u %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %*u %*u %*u %" SCNu64
			   " %" SCNu64,
			   out->name, &n[0], &ms[0], &n[1], &ms[1], &out->busy_ms, &n[2], &ms[2]);

	out->n = n[0] + n[1] + n[2];
	out->ms = ms[0] + ms[1] + ms[2];
	return found >= 6;
}

static int look_devices(struct machine *m)
{
	FILE *f = fopen("/proc/diskstats", "re");
	struct machine_device one = { 0 }, *more;
	char line[512];
	int r = 0;

	if (!f)
		return 0;
	while (!r && fgets(line, sizeof(line), f)) {
		if (!device_of(&one, line))
			continue;
		more = realloc(m->device, (m->n_devices + 1) * sizeof(*more));
		if (more) {
			m->device = more;
			m->device[m->n_devices++] = one;
		} else {
			r = -ENOMEM;
		}
	}
	fclose(f);
	return r;
}

static int look_process(void *arg, pid_t pid)
{
	struct machine *m = arg;
	struct machine_process *more;
	struct procstat st;

	if (procstat_read(&st, pid))
		return 0;
	more = realloc(m->process, (m->n_processes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->process = more;
	more += m->n_processes++;
	*more = (struct machine_process) { .pid = pid,
					   .ppid = st.ppid,
					   .cpu = st.cpu,
					   .started = st.started,
					   .cpu_ticks = st.cpu_ticks };
	snprintf(more->comm, sizeof(more->comm), "%s", st.comm);
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct machine_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int machine_look(struct machine *out, pid_t server)
{
	uint64_t throttled_ns;
	int r;

	*out = (struct machine) { .t_ns = clock_now_ns() };
	look_cpus(out, server);
	look_pressure(out, MACHINE_PRESSURE_CPU, "/proc/pressure/cpu");
	look_pressure(out, MACHINE_PRESSURE_IO, "/proc/pressure/io");
	look_pressure(out, MACHINE_PRESSURE_MEMORY, "/proc/pressure/memory");
	look_vmstat(out);
	look_tcp(out);
	if (!cgroup_throttled(&throttled_ns, server))
		put(out, MACHINE_THROTTLED, throttled_ns);
	r = look_devices(out);
	if (!r)
		r = procfs_each(look_process, out);
	if (out->n_processes)
		qsort(out->process, out->n_processes, sizeof(*out->process), by_pid);
	if (r == -ENOMEM)
		machine_fini(out);
	return r == -ENOMEM ? r : 0;
}

void machine_fini(struct machine *m)
{
	free(m->process);
	free(m->device);
	*m = (struct machine) { 0 };
}

/* Between two looks */

struct between {
	struct run_figures *out;
	const struct machine *before, *after;
	double ns;
};

/* Growth of a total; false: not known. */
static bool grown(const struct between *b, enum machine_total which, double *by)
{
	if (!b->before->known[which] || !b->after->known[which] ||
	    b->after->total[which] < b->before->total[which])
		return false;
	*by = (double)(b->after->total[which] - b->before->total[which]);
	return true;
}

/* A share of the time between. */
static void share(const struct between *b, enum run_figure figure, enum machine_total which,
		  double ns_each)
{
	double by;

	if (grown(b, which, &by))
		run_figure_share(b->out, figure, by * ns_each < b->ns ? by * ns_each : b->ns,
				 b->ns);
}

static uint64_t ticks_before(const struct machine *m, const struct machine_process *p)
{
	const struct machine_process *q = m->n_processes ? bsearch(p, m->process, m->n_processes,
								   sizeof(*m->process), by_pid)
							 : NULL;

	return q && q->started == p->started && q->cpu_ticks <= p->cpu_ticks ? q->cpu_ticks : 0;
}

static bool is_own(const struct machine_process *p, const pid_t *own, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (own[i] == p->pid || own[i] == p->ppid)
			return true;
	return p->pid == getpid();
}

/* Its CPU time since the look before; 0: not on the server's CPUs, as far as is known. */
static uint64_t ticks_of(const struct between *b, const struct machine_process *p)
{
	if (p->cpu < 0 || p->cpu >= MACHINE_CPUS || !b->after->own_cpu[p->cpu])
		return 0;
	return p->cpu_ticks - ticks_before(b->before, p);
}

static void other_programs(const struct between *b, const pid_t *own, size_t n,
			   uint64_t server_cpu_ns)
{
	double tick_ns = NS_PER_S / (double)sysconf(_SC_CLK_TCK), all, busy, others;
	uint64_t most = 0, this_ticks = 0;

	if (grown(b, MACHINE_CPU_ALL, &all) && grown(b, MACHINE_CPU_BUSY, &busy))
		run_figure_share(b->out, RUN_FIGURE_CPUS_USED, busy, all);
	if (!grown(b, MACHINE_OWN_ALL, &all) || !grown(b, MACHINE_OWN_BUSY, &busy) || all <= 0)
		return;
	for (size_t i = 0; i < b->after->n_processes; i++) {
		const struct machine_process *p = &b->after->process[i];
		uint64_t ticks = ticks_of(b, p);

		if (p->pid == getpid())
			this_ticks = ticks;
		if (is_own(p, own, n) || ticks <= most)
			continue;
		most = ticks;
		run_figure_who(b->out, RUN_FIGURE_OTHERS, "%s (pid %d)", p->comm, p->pid);
	}
	others = busy - (double)server_cpu_ns / tick_ns - (double)this_ticks;
	run_figure_share(b->out, RUN_FIGURE_OTHERS, others > 0 ? others : 0, all);
}

static const struct machine_device *device(const struct machine *m, const char *name)
{
	for (size_t i = 0; i < m->n_devices; i++)
		if (!strcmp(m->device[i].name, name))
			return &m->device[i];
	return NULL;
}

/* The busiest; a disk stands before its partitions. */
static void devices(const struct between *b)
{
	double most = -1;

	for (size_t i = 0; i < b->after->n_devices; i++) {
		const struct machine_device *now = &b->after->device[i];
		const struct machine_device *then = device(b->before, now->name);
		double busy_ms = then ? (double)(now->busy_ms - then->busy_ms) : 0;

		if (!then || busy_ms <= most)
			continue;
		most = busy_ms;
		run_figure_share(b->out, RUN_FIGURE_DEVICE_BUSY, busy_ms * 1e6, b->ns);
		run_figure_who(b->out, RUN_FIGURE_DEVICE_BUSY, "%s", now->name);
		b->out->known[RUN_FIGURE_DEVICE_TIME] = false;
		run_figure_share(b->out, RUN_FIGURE_DEVICE_TIME, (double)(now->ms - then->ms) * 1e6,
				 (double)(now->n - then->n));
	}
}

void machine_between(struct run_figures *out, const struct machine *before,
		     const struct machine *after, const pid_t *own, size_t n,
		     uint64_t server_cpu_ns)
{
	const struct between b = { out, before, after, (double)(after->t_ns - before->t_ns) };
	double by, all;

	if (after->t_ns <= before->t_ns)
		return;
	other_programs(&b, own, n, server_cpu_ns);
	devices(&b);
	share(&b, RUN_FIGURE_PRESSURE_CPU, MACHINE_PRESSURE_CPU, 1000);
	share(&b, RUN_FIGURE_PRESSURE_IO, MACHINE_PRESSURE_IO, 1000);
	share(&b, RUN_FIGURE_PRESSURE_MEMORY, MACHINE_PRESSURE_MEMORY, 1000);
	share(&b, RUN_FIGURE_THROTTLED, MACHINE_THROTTLED, 1);
	if (grown(&b, MACHINE_SWAPPED_IN, &by))
		run_figure_set(out, RUN_FIGURE_SWAPPED_IN, by * NS_PER_S / b.ns);
	if (grown(&b, MACHINE_REFAULTED, &by))
		run_figure_set(out, RUN_FIGURE_REREAD,
			       by * (double)sysconf(_SC_PAGESIZE) * NS_PER_S / b.ns);
	if (grown(&b, MACHINE_SEGMENTS, &all) && grown(&b, MACHINE_RETRANS, &by))
		run_figure_share(out, RUN_FIGURE_RETRANS, by, all);
}
