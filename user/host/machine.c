/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/pressure, vmstat and mdstat; the rest is read by others of this folder. */
#include "host/machine.h"

#include "base/clock.h"
#include "base/file.h"
#include "host/proc/procfs.h"
#include "host/proc/proctext.h"

#include <errno.h>
#include <string.h>

#define TEXT_MAX 16384

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
