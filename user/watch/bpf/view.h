/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_VIEW_H
#define WATCH_BPF_VIEW_H

/*
 * What the programs have counted, read through mappings, at no cost for the server. The arrays
 * change while they are read; running totals never go backwards.
 */

#include "run/run.h"
#include "watch/bpf/load.h"

#define BPF_VIEW_MAPS 7

/* What threads have counted themselves. */
struct bpf_view_counts {
	uint64_t calls;
	struct afs_compat compat;
};

/* Sums over processes that have ended and whose slots were cleared (watch/bpf/slots.c). */
struct bpf_view_ended {
	uint64_t processes[AFS_N_ROLES];
	struct run_ends ends[AFS_N_ROLES];
	struct bpf_view_counts counts[AFS_N_ROLES];
	uint64_t stream_bytes, dropped, overrun, before, refused; /* of clients' connections */
};

struct bpf_view {
	struct bpf_load_array map[BPF_VIEW_MAPS];
	unsigned int n_cpus, n_lanes;
	const struct afs_shared *shared;
	const struct afs_setup *setup;
	/* Only watch/bpf/slots.c writes here. */
	struct afs_thread *thread;
	struct afs_process *process;
	struct afs_stream *stream;
	struct afs_client *client; /* by stream; NULL: not wanted */
	struct afs_inner *inner;
	struct afs_stripe *stripe; /* by CPU */
	struct afs_times *times;   /* by lane */
	uint64_t stopped_ns;       /* when counting was stopped (base/clock.h); 0: it was not */
	struct bpf_view_ended ended;
	/* Of threads whose slots were cleared, by process. */
	struct bpf_view_counts cleared[AFS_N_PROCESSES];
};

int bpf_view_open(struct bpf_view *v, const struct bpf_load *l, struct err *e);
void bpf_view_close(struct bpf_view *v);

/* Slots in use until now: the first n. */
uint32_t bpf_view_threads(const struct bpf_view *v);
uint32_t bpf_view_processes(const struct bpf_view *v);
uint32_t bpf_view_streams(const struct bpf_view *v);

/* The connection that a process read first; NULL: none, or it was collected. */
const struct afs_stream *bpf_view_stream_of(const struct bpf_view *v, const struct afs_process *p);

/*
 * Whether it has read from clients, or was found as one that does. Of a server that answers in any
 * order whether it has a client's connection: none of its other processes uses these.
 */
bool bpf_view_serves(const struct bpf_view *v, const struct afs_process *p);

/*
 * The process that serves a connection, also one of which nothing was read yet. NULL: its slot is
 * not in use; nobody serves it, such as one that was refused.
 */
const struct afs_process *bpf_view_server_of(const struct bpf_view *v, const struct afs_stream *s);

/* The living process with this number; NULL: it is not watched. */
const struct afs_process *bpf_view_find(const struct bpf_view *v, pid_t pid);

/* Calls of all. */
uint64_t bpf_view_all_calls(const struct bpf_view *v);

/* What all threads of one process have counted. */
struct bpf_view_counts bpf_view_process(const struct bpf_view *v, uint32_t process);

/*
 * Adds a connection: its requests, and its bytes that were in no recognized frame; those before the
 * first frame count only if none was found.
 */
void bpf_view_add_stream(struct bpf_view_ended *to, const struct afs_stream *s);

/*
 * Changes whenever a thread of a process (AFS_N_PROCESSES: of any) enters a call, returns or, with
 * "times", gets or leaves a CPU, and with each look while a call is being counted: if it is the
 * same before and after a reading, the reading is consistent. After a stop it changes only until
 * each thread has made its next call.
 */
uint64_t bpf_view_moves(const struct bpf_view *v, uint32_t process, bool times);

/*
 * Returns when each call that is being counted now is in every ledger, at the latest after
 * patience_ns: its thread may have lost its CPU, to us or to others.
 */
void bpf_view_wait_for_counts(const struct bpf_view *v, uint64_t patience_ns);

/*
 * Returns when every program that runs now has ended: then what it wrote is visible, in whatever
 * order the CPU wrote it. Takes some 10 ms. Does nothing on one CPU and where the kernel has no
 * membarrier(2) (nohz_full).
 */
void bpf_view_wait_for_programs(void);

/*
 * Adds the time since a thread's last event, as the programs will count it when the next one comes:
 * blocked until it was woken, then waiting for a CPU.
 */
void bpf_view_add_since(const struct afs_thread *t, uint64_t since, uint64_t now,
			struct afs_part *sum);

/* The time up to which a thread's present state counts: now, or when counting was stopped. */
uint64_t bpf_view_until(const struct bpf_view *v);

/* Time for which the server's threads were stopped by who traces them, so far. */
uint64_t bpf_view_traced_ns(const struct bpf_view *v);

/* Fill the rest of a ledger but its calls; results are not yet joined. 0 or -ENOMEM. */
int bpf_view_read_requests(const struct bpf_view *v, struct ledger *out);
void bpf_view_read_compat(const struct bpf_view *v, struct ledger *out);

/*
 * Fills the rows of a ledger, the calls by class and object, and with "parts" its parts, by
 * request, not yet joined. 0 or -ENOMEM. A row is the sum of its parts. The time since a thread's
 * last event counts in its present state, so that the difference of two readings includes the
 * waiting between them.
 */
int tables_read(const struct bpf_view *v, bool parts, struct ledger *out);

/*
 * Waits until all watched threads are idle, at most patience_ns. plain: as in struct target. false:
 * the server is still at work.
 */
bool settle(const struct bpf_view *v, bool plain, uint64_t patience_ns);

#endif
