/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/stat, pressure, vmstat and mdstat; the rest is read by others of this folder. */
#include "host/machine.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "host/proc/procfs.h"
#include "host/proc/proctext.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX   16384
#define LINE_MAX_B 512
#define DEPTH_MAX  64 /* of a process below another */

void cpus_list(bool cpu[CPUS_MAX], const char *list)
{
	unsigned long first, last;
	char *end;

	for (; *list; list = *end == ',' ? end + 1 : end) {
		first = last = strtoul(list, &end, 10);
		if (end == list)
			return;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS_MAX; first++)
			cpu[first] = true;
	}
}

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TIMES };

/* " user nice system idle iowait irq softirq steal ..." */
static bool cpus_time(struct cpus_time *out, const char *text)
{
	uint64_t v[N_TIMES] = { 0 };

	if (sscanf(text,
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &v[USER], &v[NICE], &v[SYSTEM], &v[IDLE], &v[IOWAIT], &v[IRQ], &v[SOFTIRQ],
		   &v[STEAL]) != N_TIMES)
		return false;
	*out = (struct cpus_time) { .interrupts = v[IRQ] + v[SOFTIRQ], .stolen = v[STEAL] };
	for (size_t i = 0; i < N_TIMES; i++)
		out->all += v[i];
	out->busy = out->all - v[IDLE] - v[IOWAIT];
	return true;
}

/* "cpu  1 2 ..." is the sum, "cpu0 1 2 ..." one of them. */
static void cpus_take_line(struct cpus *c, const char *line)
{
	const char *at = line + strcspn(line, " ");
	unsigned int cpu;

	if (line[3] == ' ')
		cpus_time(&c->sum, at);
	else if (sscanf(line + 3, "%u", &cpu) == 1 && cpu < CPUS_MAX)
		c->known[cpu] = cpus_time(&c->cpu[cpu], at);
}

void cpus_read(struct cpus *out, const char *root)
{
	char line[LINE_MAX_B], path[PATH_MAX];
	FILE *f;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "%s/proc/stat", root);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3))
		cpus_take_line(out, line);
	if (f)
		fclose(f);
}

int processes_read(struct process_table *out)
{
	struct procfs_numbers process;
	int r = procfs_processes(&process);

	*out = (struct process_table) { 0 };
	while (!r && procfs_next(&process)) {
		struct processes_entry e = { .pid = process.number };

		if (procstat_read(&e.st, e.pid))
			continue;
		e.has_io = !e.st.is_kernel && !procfs_storage(&e.io_b, e.pid);
		r = VEC_PUSH(out->entry, out->n, e);
	}
	procfs_end(&process);
	if (out->n)
		qsort(out->entry, out->n, sizeof(*out->entry), procstat_by_pid);
	return r;
}

void processes_fini(struct process_table *p)
{
	free(p->entry);
	*p = (struct process_table) { 0 };
}

const struct processes_entry *processes_find(const struct process_table *p, pid_t pid)
{
	const struct processes_entry key = { .pid = pid };

	return p->n ? bsearch(&key, p->entry, p->n, sizeof(key), procstat_by_pid) : NULL;
}

bool processes_descends(const struct process_table *p, pid_t pid, const pid_t *from, size_t n)
{
	const struct processes_entry *e = processes_find(p, pid);

	for (unsigned int depth = 0; e && depth < DEPTH_MAX; depth++) {
		if (n && bsearch(&e->pid, from, n, sizeof(*from), procstat_by_pid))
			return true;
		e = e->st.ppid ? processes_find(p, e->st.ppid) : NULL;
	}
	return false;
}

static void look_pressure(struct machine *m, enum machine_total which, const char *path)
{
	char text[256];

	m->known[which] = file_text(text, sizeof(text), path) > 0 &&
			  proctext_stall(&m->total[which], text);
}

static void look_vmstat(struct machine *m)
{
	char text[TEXT_MAX];

	if (file_text(text, sizeof(text), "/proc/vmstat") < 0)
		return;
	m->known[MACHINE_SWAPPED_IN] = proctext_number(&m->total[MACHINE_SWAPPED_IN], text,
						       "pswpin");
	m->known[MACHINE_REFAULTED] = proctext_number(&m->total[MACHINE_REFAULTED], text,
						      "workingset_refault_file");
}

static void look_memory(struct machine *m)
{
	uint64_t all_kib, available_kib;

	if (!procfs_memory(&all_kib, "MemTotal") || !procfs_memory(&available_kib, "MemAvailable"))
		return;
	m->memory_b = all_kib * 1024;
	m->available_b = available_kib * 1024;
}

int machine_look(struct machine *out, pid_t pid)
{
	char list[4096];
	int r;

	memset(out, 0, sizeof(*out));
	out->t_ns = clock_now_ns();
	cpus_read(&out->cpus, "");
	if (!procfs_status(list, sizeof(list), pid, "Cpus_allowed_list"))
		cpus_list(out->may_use, list);
	look_pressure(out, MACHINE_PRESSURE_CPU, "/proc/pressure/cpu");
	look_pressure(out, MACHINE_PRESSURE_IO, "/proc/pressure/io");
	look_pressure(out, MACHINE_PRESSURE_MEMORY, "/proc/pressure/memory");
	look_vmstat(out);
	look_memory(out);
	file_text(out->mdstat, sizeof(out->mdstat), "/proc/mdstat");
	cgroup_limits_read(&out->groups, "", pid);
	netcounts_read(&out->net, "", pid);
	links_read(&out->links, "");
	out->all_processes = procfs_first_pid_namespace();
	r = devices_read(&out->devices, "");
	r = r ? r : processes_read(&out->processes);
	if (r == -ENOMEM)
		machine_fini(out);
	return r == -ENOMEM ? r : 0;
}

void machine_fini(struct machine *m)
{
	processes_fini(&m->processes);
	devices_fini(&m->devices);
	m->t_ns = 0;
}
