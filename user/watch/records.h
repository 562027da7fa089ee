/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_RECORDS_H
#define WATCH_RECORDS_H

/* Takes the programs' records out of the kernel's ring buffer, and hands them on. */

#include "base/err.h"
#include "watch/watch.h"

struct bpf_object;
struct records;

/* Bytes of the ring buffer where nothing else is asked for. */
#define RECORDS_RING_LEN (16u << 20)

/* The length that the kernel takes: a power of two, whole pages. */
size_t records_ring_len(size_t wish);

/*
 * So many bytes of a CPU's wake the reader, a power of two: sleeping costs less, but what comes
 * from all of them must find room meanwhile.
 */
size_t records_wake_len(size_t ring_len, unsigned int n_cpus);

int records_open(struct records **out, const struct bpf_object *object,
		 const struct watch_sink *sink, struct err *e);
/* As watch_pull. */
int records_pull(struct records *r, int timeout_ms);
void records_close(struct records *r); /* NULL is allowed */

#endif
