/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_SAMPLE_H
#define HOST_SAMPLE_H

/*
 * A time series of what /proc and taskstats say about processes. No thread and no lock: each call
 * reads and returns. The caller provides the clock (a timerfd of 1/hz among its descriptors); if it
 * blocks elsewhere it may hand the whole sampler to a separate thread until it has joined that.
 *
 * A series never grows beyond its limit: when it is full, neighbouring intervals are merged,
 * and from then on only every second tick is a reading. Points are running totals, so a merge
 * loses no sum.
 */

#include "base/err.h"
#include "bpf/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* X(name, key, unit, meaning), all since the process was added */
#define SAMPLE_VALUES(X)                                                                           \
	X(SYSCR, "syscr", "1", "/proc/PID/io")                                                     \
	X(SYSCW, "syscw", "1", "/proc/PID/io")                                                     \
	X(RCHAR, "rchar", "B", "/proc/PID/io")                                                     \
	X(WCHAR, "wchar", "B", "/proc/PID/io")                                                     \
	X(CPU, "cpu", "ns", "on a CPU")                                                            \
	X(RUNQ, "runq", "ns", "runnable, waiting for a CPU")                                       \
	X(SLICES, "slices", "1", "times put on a CPU")                                             \
	X(VOLUNTARY, "voluntary", "1", "switches because it waited")                               \
	X(INVOLUNTARY, "involuntary", "1", "switches because it was preempted")                    \
	X(MINFLT, "minflt", "1", "page faults without I/O")                                        \
	X(MAJFLT, "majflt", "1", "page faults with I/O")                                           \
	X(BLKIO, "blkio_delay", "ns", "waiting for block I/O")                                     \
	X(SWAPIN, "swapin_delay", "ns", "waiting for a page to be swapped in")                     \
	X(FREEPAGES, "freepages_delay", "ns", "reclaiming memory")                                 \
	X(THRASHING, "thrashing_delay", "ns", "waiting for a page that was just evicted")          \
	X(COMPACT, "compact_delay", "ns", "compacting memory")                                     \
	X(IRQ, "irq_delay", "ns", "interrupted")

enum sample_value {
#define X(name, key, unit, meaning) SAMPLE_##name,
	SAMPLE_VALUES(X)
#undef X
	    SAMPLE_N_VALUES
};

struct sample_def {
	const char *key, *unit, *meaning;
};

extern const struct sample_def sample_values[SAMPLE_N_VALUES];

#define SAMPLE_PROCESSES_MAX 256

#define SAMPLE_POINTS_MAX    4096
#define SAMPLE_HZ_MAX        1000

struct sample_point {
	uint64_t t_ns; /* CLOCK_MONOTONIC, when the reading began */
	uint64_t value[SAMPLE_N_VALUES];
};

/* One process. why[v] empty: known; else value v is not measured, and this says why. */
struct sample_series {
	pid_t pid;
	enum afs_role role;
	bool ended;             /* the process has ended; the last point was its last reading */
	unsigned int n_threads; /* at the last reading */
	unsigned int n_lost;    /* threads that ended: not observed since their last reading */
	size_t n;
	struct sample_point *point; /* the first, all 0, is from when it was added */
	char why[SAMPLE_N_VALUES][160];
};

struct sample;

/* Whether this kernel accounts delays, so that CAP_NET_ADMIN is enough to read them. */
bool sample_wants_taskstats(void);

/* hz: 1 to SAMPLE_HZ_MAX; points: limit of each series, 4 to SAMPLE_POINTS_MAX. 0 or -errno. */
int sample_open(struct sample **out, unsigned int hz, size_t points, struct err *e);

/*
 * Adds a process and reads it for the first time; does nothing if it was added before. 0; 1: in the
 * place of the one that ended first, whose series is lost, as e says; -E2BIG: there are
 * SAMPLE_PROCESSES_MAX that live.
 */
int sample_add(struct sample *s, pid_t pid, enum afs_role role, struct err *e);

/* To be called hz times a second. Reads all processes, or, after merges, only at every 2nd,
 * 4th, ... call.
 */
void sample_tick(struct sample *s);

/* Takes a reading now, whatever the rate: for the end of the measurement. */
void sample_now(struct sample *s);

/* The i-th process, in the order of sample_add; NULL: no more. Owned by s; until the next call. */
const struct sample_series *sample_series(const struct sample *s, size_t i);

/* NULL is allowed. */
void sample_close(struct sample *s);

#endif
