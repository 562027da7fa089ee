/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_TASKSTATS_H
#define HOST_TASKSTATS_H

/*
 * What the kernel's taskstats interface says about a process: its threads, live and ended.
 * Needs CAP_NET_ADMIN and the first namespaces of users, processes and network. Functions that
 * return int return 0 or a negative errno.
 */

#include "host/net/netlink.h"

#include <sys/types.h>

/* Nanoseconds waited since the process began, in the order of SAMPLE_BLKIO and the next. */
#define TASKSTATS_DELAYS 6

/* All 0 if task delay accounting is off, or was off when the process was started. */
struct taskstats_delays {
	uint64_t ns[TASKSTATS_DELAYS];
	bool known[TASKSTATS_DELAYS]; /* by this version of the interface */
	uint64_t cpu_ns;              /* accounted always */
};

/* All 0: closed. */
struct taskstats_link {
	struct netlink netlink;
	uint16_t family; /* what the interface is called here */
};

/*
 * -EPERM: no CAP_NET_ADMIN; -ENOENT: not in this kernel (or network namespace); -EOPNOTSUPP: it
 * has version 15, whose layout differs. Then out is closed.
 */
int taskstats_open(struct taskstats_link *out);
int taskstats_read(struct taskstats_link *l, pid_t pid, struct taskstats_delays *out);
void taskstats_close(struct taskstats_link *l); /* may be closed already */

#endif
