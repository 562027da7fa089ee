/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_MACHINE_H
#define HOST_MACHINE_H

/*
 * What this machine has done up to now, and what it allows a process, in one look. The difference
 * of two looks is what happened between. A look reads two files of each process.
 */

#include "base/procstat.h"
#include "host/cgroup_limits.h"
#include "host/devices.h"
#include "host/net/netcounts.h"

/* What each CPU has done since boot, by /proc/stat. */

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

/*
 * All processes of this host that there are now, kernel threads included, and what they have used.
 * In a container only its own.
 */
struct processes_entry {
	pid_t pid;
	struct procstat st;
	bool has_io;   /* false: no right to see */
	uint64_t io_b; /* read from and written to storage */
};

struct process_table {
	size_t n;
	struct processes_entry *entry; /* owned, by pid */
};

/* 0 or a negative errno; processes_fini in both cases. */
int processes_read(struct process_table *out);
void processes_fini(struct process_table *p);

/* NULL: there is none of this number. */
const struct processes_entry *processes_find(const struct process_table *p, pid_t pid);

/*
 * Whether it is one of n processes or descends from one, by the parents that live. from: in
 * ascending order.
 */
bool processes_descends(const struct process_table *p, pid_t pid, const pid_t *from, size_t n);

/* Totals since boot; false in known: this kernel does not say. */
enum machine_total {
	MACHINE_PRESSURE_CPU,    /* us in which a program waited for a CPU, ... */
	MACHINE_PRESSURE_IO,     /* ... I/O, ... */
	MACHINE_PRESSURE_MEMORY, /* ... memory */
	MACHINE_SWAPPED_IN,      /* pages */
	MACHINE_REFAULTED,       /* pages of files, read again soon after memory had dropped them */
	N_MACHINE_TOTALS
};

struct machine {
	uint64_t t_ns; /* CLOCK_MONOTONIC; 0: there was no look */
	bool known[N_MACHINE_TOTALS];
	uint64_t total[N_MACHINE_TOTALS];
	uint64_t memory_b, available_b; /* for programs, of it; 0: not known */
	struct cpus cpus;
	bool may_use[CPUS_MAX]; /* CPUs: the process */
	bool all_processes;     /* those in other containers, and kernel threads, are seen */
	struct process_table processes;
	struct devices devices;
	char mdstat[4096];           /* of RAIDs; empty: there are none */
	struct cgroup_limits groups; /* of the process */
	struct netcounts net;        /* of the process's network namespace */
	struct links links;          /* of this process's */
};

/* pid: the process that counts. 0 or -ENOMEM; nothing to free then. */
int machine_look(struct machine *out, pid_t pid);
void machine_fini(struct machine *m);

#endif
