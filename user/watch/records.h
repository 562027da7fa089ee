/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_RECORDS_H
#define WATCH_RECORDS_H

/* Takes the programs' records from the kernel's ring buffer and passes them to a sink. */

#include "base/err.h"
#include "watch/watch.h"

struct bpf_object;
struct records;

/* Default size of the ring buffer, in bytes. */
#define RECORDS_RING_LEN (16u << 20)

/* A length that the kernel accepts: a power of two, whole pages. */
size_t records_ring_len(size_t wish);

/*
 * After this many bytes of a CPU's records the reader is woken; a power of two. Fewer wake-ups cost
 * less, but meanwhile the records of all CPUs must fit.
 */
size_t records_wake_len(size_t ring_len, unsigned int n_cpus);

int records_open(struct records **out, const struct bpf_object *object,
		 const struct watch_sink *sink, struct err *e);
/* As watch_pull. */
int records_pull(struct records *r, int timeout_ms);
void records_close(struct records *r); /* NULL is allowed */

#endif
