/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_CGROUP_LIMITS_H
#define HOST_CGROUP_LIMITS_H

/*
 * What the cgroup of a process, and those that contain it, allow it of CPUs, memory and devices,
 * and what was used of it. Counts are since the groups were made. Version 1 and 2.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Where the cgroup of a process is: of version 1 a folder for each controller, of version 2 one for
 * all; a machine may have both. In a container the groups above its own are not shown.
 */
#define CGROUP_PATH_MAX 512

struct cgroup_folder {
	unsigned int version; /* 1 or 2; 0: it is not known where the group is */
	bool whole;           /* all groups that contain it are shown */
	bool more_limits;     /* its groups have one whose counts cannot be read, or too many */
	bool apart;           /* others of the server's processes are in another one */
	size_t top_len;       /* length of the path of the topmost that is shown */
	char path[CGROUP_PATH_MAX];
};

/*
 * The group that a controller ("cpu") rules the process by; NULL: that of version 2. root: "", or
 * where another /proc and the path are. 0; -ENODATA: not known, and out->version is 0.
 */
int cgroup_folder(struct cgroup_folder *out, const char *root, pid_t pid, const char *controller);

/* Goes to the group that contains it. false: there is none, or it is not shown. */
bool cgroup_folder_up(struct cgroup_folder *f);

/* Whether it is the topmost of all, to which the whole machine belongs. */
bool cgroup_folder_is_all(const struct cgroup_folder *f);

/* Whether a freezer of either version holds the process now; false also if that is not known. */
bool cgroup_frozen(const char *root, pid_t pid);

#define CGROUP_LEVELS  8  /* groups with a limit, of one controller */
#define CGROUP_DEVICES 16 /* limits of devices */

struct cgroup_quota {
	double cpus;
	uint64_t periods, throttled; /* that the group used; of these, in which it had to wait */
	bool has_wait;
	uint64_t wait_ns; /* for which it had to, sum over the CPUs that it wanted meanwhile */
	char path[CGROUP_PATH_MAX];
};

struct cgroup_memory {
	uint64_t limit_b;
	bool high; /* above it the group is slowed down; else it gets no more */
	uint64_t used_b;
	uint64_t hits; /* how often the group has run into it */
	char path[CGROUP_PATH_MAX];
};

enum cgroup_io_of { CGROUP_READ_B, CGROUP_WRITE_B, CGROUP_READS, CGROUP_WRITES, CGROUP_N_IO };

struct cgroup_io {
	unsigned int major, minor;
	enum cgroup_io_of of;
	uint64_t limit; /* a second */
	uint64_t done;
	char path[CGROUP_PATH_MAX];
};

struct cgroup_limits {
	/* The folders; version 0: not known. If not all above are shown, others may have limits. */
	struct cgroup_folder cpu, memory, io;
	size_t n_quotas, n_memories, n_ios; /* from the group of the process upwards */
	struct cgroup_quota quota[CGROUP_LEVELS];
	struct cgroup_memory mem[CGROUP_LEVELS];
	struct cgroup_io device[CGROUP_DEVICES];
	/* Of the group of the process itself; not known of the one that has the whole machine. */
	bool has_kills, has_refaulted, has_memory_stall, has_io_stall;
	uint64_t kills;     /* processes killed because memory was short */
	uint64_t refaulted; /* pages of files, read again soon after memory had dropped them */
	uint64_t memory_stall_us, io_stall_us; /* in which a process waited for memory, I/O */
};

/* root: as in cgroup_folder(). */
void cgroup_limits_read(struct cgroup_limits *out, const char *root, pid_t pid);

/*
 * Whether another process is in the groups of which the limits were read of this one: what it may
 * use is not known if it is not (apart). One that has ended is in none.
 */
void cgroup_limits_compare(struct cgroup_limits *l, const char *root, pid_t pid, pid_t other);

#endif
