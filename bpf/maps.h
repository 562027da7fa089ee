/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef AFS_MAPS_H
#define AFS_MAPS_H

/*
 * All data of the programs, and how they find that of a thread: by the storage of its task.
 *
 * Here and in what includes this, global functions (__noinline) are those that the verifier should
 * follow once: not for each call, and what comes after them not for each result.
 */

#include "bpf/calls.h"
#include "bpf/kernel.h"
#include "bpf/pool.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

const volatile struct afs_setup setup = { .objects_on = 1, .decoder = AFS_DECODER_DSI };

struct afs_shared shared;

/* For every watched thread its slot in "thread" + 1. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} watched SEC(".maps");

/* New threads that have made no call yet, by number: slot + 1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AFS_N_THREADS);
	__type(key, __u32);
	__type(value, __u32);
} newborn SEC(".maps");

#define AFS_ARRAY(name, n, of)                                                                     \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, n);                                                            \
		__type(key, __u32);                                                                \
		__type(value, of);                                                                 \
	} name SEC(".maps")

AFS_ARRAY(thread, AFS_N_THREADS, struct afs_thread);
AFS_ARRAY(inner, AFS_N_THREADS, struct afs_inner);
AFS_ARRAY(process, AFS_N_PROCESSES, struct afs_process);
AFS_ARRAY(stream, AFS_N_CLIENTS, struct afs_stream);
AFS_ARRAY(client, AFS_N_CLIENTS, struct afs_client); /* one if they are not wanted */
AFS_ARRAY(asked, AFS_N_ASKED, struct afs_asked);     /* the same */
AFS_ARRAY(row, AFS_N_ROLES *AFS_N_ACCOUNTS, struct afs_row);
AFS_ARRAY(datagram, AFS_N_THREADS, struct afs_datagram); /* one if there are none */

AFS_ARRAY(stripe, 1, struct afs_stripe); /* one for every CPU: user space sets how many */
AFS_ARRAY(times, 1, struct afs_times);

/*
 * CNID connections, by a key common to both ends; descriptors: the ends of such connections, and
 * any beyond the process's own table; handles of clients' connections, by the socket's inode
 * number. An evicted entry is looked up again. And requests of a server that answers in any order,
 * and calls over Rx: user space makes these maps small if there are none.
 */
#define AFS_LRU(name, n, by, of)                                                                   \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                               \
		__uint(max_entries, n);                                                            \
		__type(key, by);                                                                   \
		__type(value, of);                                                                 \
	} name SEC(".maps")

AFS_LRU(link, AFS_N_LINKS, __u64, struct afs_link);
AFS_LRU(seen, AFS_N_SEEN, struct afs_seen_key, struct afs_seen);
AFS_LRU(socket, 4 * AFS_N_CLIENTS, __u64, __u32);
AFS_LRU(pending, AFS_N_PENDING, struct afs_pending_key, struct afs_pending);
AFS_LRU(rx_call, AFS_N_RX_CALLS, struct afs_rx_key, struct afs_rx_call);

/* Records of a trace; a single page without one. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

/* Arguments of a system call that are looked at; the fifth only of datagrams. */
#define AFS_N_ARGS 5

/* For conditions that are false in most calls. */
#define AFS_RARE(condition) __builtin_expect(!!(condition), 0)

/* Adds 1 atomically. */
#define AFS_COUNT(counter) __sync_fetch_and_add(&(counter), 1)

/*
 * Sets or adds 1, and everything written before is visible to who sees it: on arm64 only atomics
 * that return what was there are ordered.
 */
#define AFS_ORDERED(atomic)                                                                        \
	({                                                                                         \
		typeof(atomic) was_ = atomic;                                                      \
		barrier_var(was_);                                                                 \
	})
#define AFS_PUBLISH(field, value) AFS_ORDERED(__sync_lock_test_and_set(&(field), value))
#define AFS_COUNT_LAST(counter)   AFS_ORDERED(AFS_COUNT(counter))

/* Whether clients' data come as datagrams. */
static __always_inline bool datagrams(void)
{
	return AFS_IS_DATAGRAMS(setup.decoder);
}

/*
 * Adds to a total of a client's connection: the threads of a server of datagrams use one at the
 * same time.
 */
#define STREAM_ADD(total, n)                                                                       \
	({                                                                                         \
		if (datagrams())                                                                   \
			__sync_fetch_and_add(&(total), n);                                         \
		else                                                                               \
			(total) += (n);                                                            \
	})

static __always_inline void *current_task(void)
{
	return bpf_get_current_task_btf();
}

/*
 * true: "i", a local variable, is below n. The first barrier keeps the compiler from checking a
 * copy, the second one from adding it to an address before the check, so that the verifier knows
 * the bound: that of Linux 6.1 does not see that two registers are the same.
 */
#define AFS_BELOW(i, n)                                                                            \
	({                                                                                         \
		bool below_;                                                                       \
		barrier_var(i);                                                                    \
		below_ = (i) < (n);                                                                \
		if (below_)                                                                        \
			barrier_var(i);                                                            \
		below_;                                                                            \
	})

/*
 * 1 or 0: whether a number is below 0. Without a branch, of which the verifier would follow both
 * ways: Clang makes one of the shift with what comes before it, or with what comes after it. Not as
 * a mask of -1 or 0, both of which Linux 6.16 and later follow.
 */
static __always_inline __u64 is_negative(__u64 word)
{
	barrier_var(word);
	word >>= 63;
	barrier_var(word);
	return word;
}

/* This CPU's. */
static __always_inline struct afs_stripe *stripe_here(void)
{
	__u32 i = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&stripe, &i);
}

static __always_inline __u32 lane_here(void)
{
	return bpf_get_smp_processor_id() & (AFS_N_LANES - 1);
}

static __always_inline struct afs_times *times_here(void)
{
	__u32 i = lane_here();

	return bpf_map_lookup_elem(&times, &i);
}

static __always_inline struct afs_thread *thread_at(__u32 *slot)
{
	__u32 i;

	if (!slot)
		return NULL;
	i = *slot - 1;
	return bpf_map_lookup_elem(&thread, &i);
}

#define POOL_AGAIN (AFS_N_THREADS + 1)
#define POOL_ONCE  4 /* attempts in a function: the verifier follows each */

/* Some attempts to take a free slot; POOL_AGAIN: other CPUs changed the list meanwhile. */
__noinline __u32 pool_try_take(__u32 of)
{
	__u64 before;
	__u32 slot;

	if (!AFS_BELOW(of, AFS_N_SLOTS))
		return AFS_N_THREADS;
	for (int i = 0; i < POOL_ONCE; i++) {
		before = *(volatile __u64 *)&shared.free.head[of];
		slot = (__u32)before - 1;
		if (!AFS_BELOW(slot, AFS_N_THREADS))
			return AFS_N_THREADS;
		if (__sync_val_compare_and_swap(
			&shared.free.head[of], before,
			afs_pool_head(before, shared.free.next[of][slot])) == before)
			return slot;
	}
	return POOL_AGAIN;
}

__noinline int pool_try_give(__u32 of, __u32 slot)
{
	if (!AFS_BELOW(of, AFS_N_SLOTS) || !AFS_BELOW(slot, AFS_N_THREADS))
		return 1;
	for (int i = 0; i < POOL_ONCE; i++)
		if (afs_pool_give(&shared.free.head[of], &shared.free.next[of][slot], slot))
			return 1;
	return 0;
}

/* Takes a free slot; AFS_N_THREADS or more: none is left. */
__noinline __u32 pool_take(__u32 of)
{
	__u32 slot = POOL_AGAIN;

	for (int i = 0; i < AFS_POOL_TRIES / POOL_ONCE && slot == POOL_AGAIN; i++)
		slot = pool_try_take(of);
	return slot;
}

/* After too many attempts the slot is lost. */
__noinline int pool_give(__u32 of, __u32 slot)
{
	for (int i = 0; i < AFS_POOL_TRIES / POOL_ONCE; i++)
		if (pool_try_give(of, slot))
			return 1;
	return 0;
}

/* NULL: not watched, or it has ended and its slot was taken back. */
static __always_inline struct afs_thread *thread_known(void *task)
{
	const struct task_struct___afs *in = task;
	struct afs_thread *t;

	if (!in->bpf_storage)
		return NULL;
	t = thread_at(bpf_task_storage_get(&watched, task, NULL, 0));
	return t && t->task == (__u64)task ? t : NULL;
}

/* NULL: not watched, or not yet. */
static __always_inline struct afs_thread *thread_of(void *task)
{
	struct afs_thread *t = thread_known(task);

	return t && !t->marking ? t : NULL;
}

static __always_inline struct afs_thread *thread_current(void)
{
	return thread_of(current_task());
}

/*
 * The watched thread that this CPU ran last: a guess at the current one, which the caller confirms
 * by an address in it. Not a thread that has ended: its addresses may have been reused.
 */
static __always_inline struct afs_thread *thread_hinted(struct afs_stripe *s)
{
	struct afs_thread *t = thread_at(&s->slot);

	return t && !t->ended ? t : NULL;
}

/* Ways of a connection's bytes. */
enum {
	TO_SERVER,
	FROM_SERVER,
};

/* NULL: none, or its slot was taken back. */
static __always_inline struct afs_stream *stream_at(__u32 handle)
{
	__u32 i = AFS_CLIENT_SLOT(handle);
	struct afs_stream *s = bpf_map_lookup_elem(&stream, &i);

	return s && handle && s->handle == handle ? s : NULL;
}

static __always_inline struct afs_process *process_at(__u32 slot)
{
	return bpf_map_lookup_elem(&process, &slot);
}

static __always_inline struct afs_process *process_of(const struct afs_thread *t)
{
	return process_at(t->process);
}

static __always_inline struct afs_call call_of(long nr)
{
	union {
		__u64 word;
		struct afs_call call;
	} c;

	if ((unsigned long)nr >= AFS_N_CALLS)
		nr = AFS_N_CALLS - 1;
	c.word = *(const volatile __u64 *)&setup.calls[nr];
	return c.call;
}

/* The kernel's account of a task's own calls. */
static __always_inline struct afs_compat io_of(const struct task_struct___afs *task)
{
	struct afs_compat io = {};

	if (!bpf_core_field_exists(task->ioac.rchar))
		return io;
	io.syscr = task->ioac.syscr;
	io.syscw = task->ioac.syscw;
	io.rchar = task->ioac.rchar;
	io.wchar = task->ioac.wchar;
	return io;
}

#endif
