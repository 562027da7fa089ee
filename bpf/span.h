/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_SPAN_H
#define AFS_SPAN_H

/*
 * Where the programs of storage.bpf.c count, and spans: what takes time in a watched thread.
 *
 * A program may be preempted by a task that runs another one, and block I/O ends in interrupts:
 * every total is added to atomically, in the lane of the current CPU.
 */

#include "bpf/maps.h"
#include "bpf/storage.h"

#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#define N_ROWS (AFS_N_ROLES * AFS_N_ACCOUNTS)

/* In lanes: user space sets how many, as of struct afs_times. */
AFS_ARRAY(storage_row, N_ROWS, struct afs_storage);

/* What takes time in a thread. */
enum span { SPAN_READ, SPAN_WRITE, SPAN_SENDFILE, SPAN_SYNC, N_SPANS };

/* The outermost of its kind: a file system may be stacked on another. */
struct span_open {
	__u64 seq; /* of the thread's system call */
	__u64 ns;
	__u32 depth, spare;
};

AFS_ARRAY(storage_span, AFS_N_THREADS *N_SPANS, struct span_open);

#define ADD(counter, n) __sync_fetch_and_add(&(counter), n)

/* NULL: the current thread is not counted (yet: while "found" is set, its account has not begun).
 */
static __always_inline struct afs_thread *counting(void)
{
	struct afs_thread *t = thread_current();

	return t && !t->found && !t->stopped ? t : NULL;
}

static __always_inline __u32 row_of(const struct afs_thread *t)
{
	return t->role * AFS_N_ACCOUNTS + t->account;
}

static __always_inline struct afs_storage *storage_at(__u32 row)
{
	if (row >= N_ROWS)
		return NULL;
	row += lane_here() * N_ROWS;
	return bpf_map_lookup_elem(&storage_row, &row);
}

static __always_inline struct span_open *span_at(const struct afs_thread *t, enum span what)
{
	__u32 i = t->slot * N_SPANS + what;

	return bpf_map_lookup_elem(&storage_span, &i);
}

static __always_inline void span_begin(const struct afs_thread *t, enum span what)
{
	struct span_open *s = span_at(t, what);

	if (!s)
		return;
	if (s->depth && s->seq == t->seq) {
		s->depth++;
		return;
	}
	s->seq = t->seq;
	s->depth = 1;
	s->ns = bpf_ktime_get_ns();
}

/* false: not the end of the outermost span, or its begin is not known. */
static __always_inline bool span_end(const struct afs_thread *t, enum span what, __u64 *ns)
{
	struct span_open *s = span_at(t, what);

	if (!s || !s->depth || s->seq != t->seq || --s->depth)
		return false;
	*ns = bpf_ktime_get_ns() - s->ns;
	return true;
}

/* NULL: nothing to count. */
static __always_inline struct afs_storage *ended(enum span what, __u64 *ns)
{
	struct afs_thread *t = counting();

	return t && span_end(t, what, ns) ? storage_at(row_of(t)) : NULL;
}

#endif
