/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_RING_H
#define WATCH_BPF_RING_H

/* Takes the programs' records from the kernel's ring buffer and passes them to a sink. */

#include "base/err.h"
#include "watch/watch.h"

struct bpf_rung;

/* Default size of the ring buffer, in bytes. */
#define RING_LEN (16u << 20)

/* A length that the kernel accepts: a power of two, whole pages. */
size_t ring_len_for(size_t wish);

/*
 * After this many bytes of a CPU's records the reader is woken; a power of two. Fewer wake-ups cost
 * less, but meanwhile the records of all CPUs must fit.
 */
size_t ring_wake_len(size_t ring_len, unsigned int n_cpus);

/* Whether any records are wanted. */
bool ring_wanted(const struct watch_sink *sink);

int ring_open(struct bpf_rung *b, struct err *e);
void ring_close(struct bpf_rung *b);

#endif
