/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_CPUS_H
#define HOST_CPUS_H

/* What each CPU has done since boot, by /proc/stat. */

#include <stdbool.h>
#include <stdint.h>

#define CPUS_MAX 1024

/* In ticks. */
struct cpus_time {
	uint64_t all;
	uint64_t busy;       /* not idle; with the next two */
	uint64_t interrupts; /* in interrupts and what they leave to do (softirq) */
	uint64_t stolen;     /* used by other guests of the hypervisor meanwhile */
};

struct cpus {
	struct cpus_time sum; /* as the kernel adds them up; all is 0: not known */
	bool known[CPUS_MAX];
	struct cpus_time cpu[CPUS_MAX];
};

/* root: "", or where another /proc is. What cannot be read is not known. */
void cpus_read(struct cpus *out, const char *root);

/* Sets those that a list names: "1,4-7". */
void cpus_list(bool cpu[CPUS_MAX], const char *list);

#endif
