/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_SLOTS_H
#define WATCH_BPF_SLOTS_H

/*
 * Returns the slots of processes and threads that have ended to the programs, so that a watch
 * can go on for any number of them. Their counts stay in the view's sums.
 */

#include "watch/bpf/view.h"

struct slots;

/* Saves what is only in the slot of an ended process, which is cleared then. 0 or -ENOMEM. */
typedef int slots_end(void *arg, uint32_t process);

struct slots *slots_new(void); /* NULL: no memory */
void slots_free(struct slots *s);

/*
 * Collects the processes and threads that have ended since the last call, and calls "end" for each
 * such process. 0 or what "end" returned.
 */
int slots_collect(struct slots *s, struct bpf_view *v, slots_end *end, void *arg);

/*
 * Frees the slots of those that were collected. To be called some time after slots_collect, so that
 * programs that still use them have ended. 0 or a negative errno.
 */
int slots_release(struct slots *s, struct bpf_view *v, struct bpf_load *l);

#endif
