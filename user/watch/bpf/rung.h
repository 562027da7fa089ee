/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_RUNG_H
#define WATCH_BPF_RUNG_H

/*
 * The rung that counts every call: the programs of bpf/calls.bpf.c and their maps, read through
 * mappings at no cost for the server.
 */

#include "kinds/target.h"
#include "watch/bpf/load.h"
#include "watch/bpf/view.h"
#include "watch/watch.h"

/*
 * What watching costs, by the kernel's own statistics of the programs' run time. These cost time
 * themselves, so they are on for the first calls only, from which all others are estimated.
 */
struct price {
	int fd; /* while it is open the kernel keeps statistics; -1: closed */
	struct {
		uint64_t runs, ns;
	} program[BPF_LOAD_PROGRAMS];
};

/*
 * The slots of processes, threads and clients' connections that have ended, which are returned to
 * the programs, so that a watch can go on for any number of them. Their counts stay in the view's
 * sums.
 */
struct slots {
	uint32_t n[AFS_N_SLOTS], slot[AFS_N_SLOTS][AFS_N_THREADS]; /* collected, not free yet */
	bool ended[AFS_N_PROCESSES];                               /* at the last look */
};

/*
 * Cross-checks. Against the kernel: the compatible ledger of each watched process and its account
 * in /proc, thread by thread, from each thread's first counted call to its last; for threads that
 * have ended, the kernel's account at their end. Among our counts: calls by account, calls by class
 * and object, and what each thread counted for itself.
 *
 * Each process that has ended is compared separately. Those that agree are summed up in one book
 * for each role; those that do not agree are kept.
 */
struct books_process {
	pid_t pid;
	uint32_t role; /* enum afs_role */
	struct afs_compat ours, theirs;
};

/* All 0 at first. */
struct books {
	uint64_t n_agree[AFS_N_ROLES];
	struct afs_compat agree[AFS_N_ROLES];
	struct books_process *process; /* owned */
	size_t n;
	uint64_t n_more;
};

struct bpf_rung {
	struct bpf_load load;
	struct bpf_view view;
	struct sessions *sessions;
	struct slots slots;
	struct books books;
	struct price price;
	struct watch_sink sink;
	struct ring_buffer *records; /* NULL: none are wanted */
	int epoll;                   /* of these; -1: none */
	struct storage *storage;     /* NULL: nothing can be observed */
	struct err storage_why;      /* why it is NULL */
	uint32_t n_begun;            /* processes, at the last tick, and ... */
	uint32_t n_unserved;         /* ... connections to backends that are not watched */
	/* Processes that were found while others were watched already. */
	uint64_t late_calls;  /* reads and writes before, of those that began meanwhile */
	unsigned int n_older; /* that had begun before: what they did meanwhile is not known */
	pid_t older;          /* one of these */
	bool crowded, plain;  /* as in struct target */
	bool settled;         /* when it was last waited for */
};

/* Does everything that can be refused; nothing is watched yet. 0, or a negative errno and why. */
int bpf_rung_open(struct bpf_rung **out, const struct bpf_load_wish *wish, struct err *e);

/*
 * Watches the processes of t, which was looked at, that are not watched yet, and copies t->known.
 * begun_ns: since when the watch goes on; 0: it does not yet, or no phase is open.
 */
int bpf_rung_look(struct bpf_rung *b, const struct target *t, uint64_t begun_ns, struct err *e);

/* Like the functions of watch.h. */
bool bpf_rung_settle(struct bpf_rung *b, uint64_t patience_ns);
/* once: like watch_glance. */
int bpf_rung_read(struct bpf_rung *b, bool once, struct ledger *out);
uint64_t bpf_rung_stop(struct bpf_rung *b);

/* What a tick has found. */
#define BPF_RUNG_PROCESSES 1 /* new ones */
#define BPF_RUNG_BACKENDS  2 /* somebody is asked who is not watched */

/* Reads what only living processes show. What is new: bits BPF_RUNG_. */
unsigned int bpf_rung_tick(struct bpf_rung *b);

/* Whether somebody is asked who was not watched when this was called last. */
bool bpf_rung_unserved(struct bpf_rung *b);

/* The living processes of the server, at most AFS_N_PROCESSES. */
size_t bpf_rung_processes(const struct bpf_rung *b, pid_t *out);

/* Books, losses, rung notes, sessions. */
int bpf_rung_finish(struct bpf_rung *b, struct run *r);

void bpf_rung_free(struct bpf_rung *b); /* NULL is allowed */

/* Of the files here. */

/* Takes the programs' records from the kernel's ring buffer, and passes them to the sink. */
int ring_open(struct bpf_rung *b, struct err *e);
void ring_close(struct bpf_rung *b);

/* Whether any records are wanted. */
bool ring_wanted(const struct watch_sink *sink);

/* Default size of the ring buffer, in bytes. */
#define RING_LEN (16u << 20)

/* A length that the kernel accepts: a power of two, whole pages. */
size_t ring_len_for(size_t wish);

/*
 * After this many bytes of a CPU's records the reader is woken; a power of two. Fewer wake-ups cost
 * less, but meanwhile the records of all CPUs must fit.
 */
size_t ring_wake_len(size_t ring_len, unsigned int n_cpus);

/* Users, addresses and volumes of sessions. NULL: no memory. */
struct sessions *sessions_new(void);
void sessions_free(struct sessions *s); /* NULL is allowed */

/* Reads living sessions. Cheap enough for ten times a second. */
void sessions_look(struct bpf_rung *b);

/*
 * Save what is known of a connection, or of a process, that has ended, before its slot is cleared.
 * Of very many sessions only those that kept the server busiest are saved, and the sum of the
 * others. 0 or -ENOMEM.
 */
int sessions_end(struct bpf_rung *b, uint32_t stream);
int sessions_end_process(struct bpf_rung *b, uint32_t process);

/*
 * One run_session for every connection of a client, and for every process that serves one of which
 * nothing was read yet; and r->rest. 0 or -ENOMEM.
 */
int sessions_note(const struct bpf_rung *b, struct run *r);

void price_begin(struct price *p);
void price_end(struct price *p);

/* Ends the statistics once there are enough. */
void price_look(struct bpf_rung *b);

/* Ends the statistics, and a note: the price of each call. 0 or -ENOMEM. */
int price_note(struct bpf_rung *b, struct run *r);

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

/* Clients' connections that are served now. */
uint64_t connections_now(const struct bpf_view *v);

/* As watch_has_asking(). */
bool bpf_rung_has_asking(const struct bpf_rung *b);

/* The one at this slot, which has ended, before it is cleared; not one that nobody served. */
void connections_end(const struct bpf_rung *b, uint32_t stream);

/* Takes over a process that has ended. 0 or -ENOMEM. */
int books_end(struct books *b, const struct bpf_view *v, uint32_t process);

/* How many of these agree with the kernel, and how many do not. */
void books_sum(const struct books *b, uint64_t *agree, uint64_t *disagree);

/* Compares, and writes books and warnings. The watch was stopped. 0 or -ENOMEM. */
int books_close(const struct books *b, const struct bpf_view *v, struct run *r);

void books_fini(struct books *b);

/*
 * Adds what the programs could not count to the run's losses, and notes what is in no ledger. 0 or
 * -ENOMEM.
 */
int losses_note(const struct bpf_rung *b, struct run *r);

/* Adds the runs of these programs that the kernel skipped. 0 or -ENOMEM. */
int losses_skipped(const struct bpf_load_program *p, size_t n, struct run *r);

#endif
