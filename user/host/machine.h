/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_MACHINE_H
#define HOST_MACHINE_H

/*
 * What the whole machine did between two looks: CPUs, other programs, pressure, swap, devices, TCP.
 * A look takes some milliseconds, for it reads one file of each process.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run_figures;

struct machine_process {
	pid_t pid, ppid;
	int cpu;                     /* where it last ran */
	uint64_t started, cpu_ticks; /* as in struct procstat */
	char comm[32];
};

struct machine_device {
	char name[32];
	uint64_t n, ms; /* accesses that have ended, their time */
	uint64_t busy_ms;
};

#define MACHINE_CPUS 1024

/* Totals since boot; false in known: this kernel does not say. */
#define MACHINE_TOTALS(X)                                                                          \
	X(CPU_BUSY) /* ticks, of all CPUs */                                                       \
	X(CPU_ALL)  /* ticks */                                                                    \
	X(OWN_BUSY) /* the same of the CPUs that the server may use */                             \
	X(OWN_ALL)                                                                                 \
	X(PRESSURE_CPU)    /* us in which a program waited for a CPU, ... */                       \
	X(PRESSURE_IO)     /* ... I/O, ... */                                                      \
	X(PRESSURE_MEMORY) /* ... memory */                                                        \
	X(SWAPPED_IN)      /* pages */                                                             \
	X(REFAULTED)       /* pages of files, read again soon after memory had dropped them */     \
	X(SEGMENTS)        /* TCP segments sent ... */                                             \
	X(RETRANS)         /* ... again */                                                         \
	X(THROTTLED)       /* ns in which a quota held back the server's cgroup */

enum machine_total {
#define X(name) MACHINE_##name,
	MACHINE_TOTALS(X)
#undef X
	    N_MACHINE_TOTALS
};

struct machine {
	uint64_t t_ns; /* CLOCK_MONOTONIC */
	bool known[N_MACHINE_TOTALS];
	uint64_t total[N_MACHINE_TOTALS];
	bool own_cpu[MACHINE_CPUS]; /* those that the server may use */
	size_t n_processes, n_devices;
	struct machine_process *process; /* owned, by pid */
	struct machine_device *device;   /* owned, in the kernel's order */
};

/* server: a process of it, whose CPUs and whose cgroup's quota count. 0 or -ENOMEM. */
int machine_look(struct machine *out, pid_t server);
void machine_fini(struct machine *m);

/*
 * What happened between two looks, as figures. own: processes that are, with their children, not
 * "other programs", n of them; server_cpu_ns: CPU time that the server used meanwhile.
 */
void machine_between(struct run_figures *out, const struct machine *before,
		     const struct machine *after, const pid_t *own, size_t n,
		     uint64_t server_cpu_ns);

#endif
