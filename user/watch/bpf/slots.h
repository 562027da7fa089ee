/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_SLOTS_H
#define WATCH_BPF_SLOTS_H

/*
 * Returns the slots of processes, threads and clients' connections that have ended to the programs,
 * so that a watch can go on for any number of them. Their counts stay in the view's sums.
 */

#include "watch/bpf/view.h"

struct slots;

/*
 * Save what is only in the slot of a process or a connection that has ended, which is cleared then.
 * A process's connections end before it. 0 or -ENOMEM.
 */
struct slots_end {
	int (*process)(void *arg, uint32_t i);
	int (*stream)(void *arg, uint32_t i);
};

struct slots *slots_new(void); /* NULL: no memory */
void slots_free(struct slots *s);

/*
 * Collects the processes, threads and connections that have ended since the last call, and calls
 * "end" for them. 0 or what "end" returned.
 */
int slots_collect(struct slots *s, struct bpf_view *v, const struct slots_end *end, void *arg);

/*
 * Frees the slots of those that were collected. To be called some time after slots_collect, so that
 * programs that still use them have ended.
 */
void slots_release(struct slots *s, struct bpf_view *v, struct bpf_load *l);

#endif
