/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef APP_CAPACITY_H
#define APP_CAPACITY_H

/*
 * Whether this machine has room for the sessions of a load: ports, open files, threads, memory.
 * Looked at before the first one is opened, so that a load does not fail in the middle.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPACITY_UNKNOWN UINT64_MAX

/* What there is; CAPACITY_UNKNOWN: it is not known, and not judged. */
struct capacity {
	uint64_t ports;    /* of one address towards one server */
	uint64_t files;    /* more that this process may open */
	uint64_t threads;  /* more that may be made */
	uint64_t memory_b; /* free, of the machine and of the cgroup */
};

/* What is needed. */
struct capacity_need {
	uint64_t sessions, threads;
	uint64_t sources; /* addresses that the sessions begin at; at least 1 */
	uint64_t data_b;  /* memory for the data that they write */
	uint64_t taken;   /* ports that other connections to the server have */
	bool one_source;  /* no option gives more addresses */
	bool low_ports;   /* they use ports below 1024 first, then the range in `ports` */
};

/* root: "", or where another /proc and /sys are. */
void capacity_look(struct capacity *out, const char *root);

/* 0; -EMFILE with a text: what does not suffice, by how much, and what to change. */
int capacity_check(const struct capacity *c, const struct capacity_need *need, struct err *e);

#endif
