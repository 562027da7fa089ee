/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_SLOTS_H
#define WATCH_BPF_SLOTS_H

/*
 * Returns the slots of processes, threads and clients' connections that have ended to the programs,
 * so that a watch can go on for any number of them. Their counts stay in the view's sums.
 */

#include "bpf/calls.h"

#include <stdbool.h>
#include <stdint.h>

struct bpf_rung;

/* All 0 at first. */
struct slots {
	uint32_t n[AFS_N_SLOTS], slot[AFS_N_SLOTS][AFS_N_THREADS]; /* collected, not free yet */
	bool ended[AFS_N_PROCESSES];                               /* at the last look */
};

/*
 * Collects the processes, threads and connections that have ended since the last call, and saves
 * what is only in the slot of a process or a connection, which is cleared then. A process's
 * connections end before it. 0 or -ENOMEM.
 */
int slots_collect(struct bpf_rung *b);

/*
 * Frees the slots of those that were collected. To be called some time after slots_collect, so that
 * programs that still use them have ended.
 */
void slots_release(struct bpf_rung *b);

#endif
