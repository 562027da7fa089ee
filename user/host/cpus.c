/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/cpus.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_B 512

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
