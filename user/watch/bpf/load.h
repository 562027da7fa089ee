/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_LOAD_H
#define WATCH_BPF_LOAD_H

/*
 * Loads the programs of bpf/calls.bpf.c into the kernel, in the best way it allows. Everything is
 * held by descriptors of this process: nothing stays attached when it ends, however it ends.
 */

#include "base/err.h"
#include "bpf/calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_link;
struct calls_bpf;
struct bpf_object;
struct bpf_program;
struct watch_sink;

#define BPF_LOAD_PROGRAMS 7

/* What the kernel said about one program since it was attached. */
struct bpf_load_program {
	const char *name; /* static */
	struct bpf_program *program;
	struct bpf_link *link;
	uint64_t missed; /* recursion_misses at the start */
};

struct bpf_load {
	struct calls_bpf *skel;
	struct bpf_object *object;
	struct afs_shared *shared;      /* mapped */
	const struct afs_setup *setup;  /* mapped; what they were loaded with */
	const char *how;                /* which tracepoints; static */
	char objects_why[ERR_TEXT_MAX]; /* why objects and requests are not distinguished */
	char how_why[ERR_TEXT_MAX];     /* why not the preferred way; empty: it is used */
	unsigned int n_cpus, n_lanes;
	struct bpf_load_program program[BPF_LOAD_PROGRAMS];
	struct bpf_link *marker;
	struct bpf_link *drops; /* NULL: they are not observed, or no datagrams are expected */
};

enum bpf_load_way {
	BPF_LOAD_BEST,    /* or else the other one */
	BPF_LOAD_BTF,     /* BTF tracepoints */
	BPF_LOAD_CLASSIC, /* raw_syscalls tracepoints */
};

/* How the programs shall be attached; tests ask for ways that this kernel does not need. */
struct bpf_load_wish {
	enum bpf_load_way way;
	bool no_objects; /* do without bpf_probe_read_kernel: no objects, no requests */
	/* Room for them; 0: all that the tables have. */
	unsigned int n_processes, n_threads, n_streams, n_parts;
	enum afs_decoder decoder;             /* for clients' bytes */
	bool any_order;                       /* the server answers in any order, in any thread */
	bool parks;                           /* as setup.parks of bpf/calls.h */
	enum afs_files files;                 /* how regular files are distinguished */
	const struct account_names *accounts; /* those named get a histogram; NULL: the default's */
	const struct watch_sink *sink;        /* for records; NULL: make none */
};

/*
 * Whether this kernel may preempt a BPF program in the middle (full or lazy preemption), so that
 * programs on functions, and from Linux 7.0 on those on BTF tracepoints, are skipped meanwhile.
 * Decided by what the kernel reports of itself, not by its version; true if it is not known.
 */
bool bpf_load_preempted(void);

/*
 * The same from texts: uname -v, the mode ("none (voluntary) full"; empty: not readable), the
 * kernel's command line, and the default it was built with.
 */
bool bpf_load_preempts(const char *version, const char *mode, const char *cmdline, bool built);

/* One more than the highest CPU number in the kernel's list of those possible; it may have gaps. */
unsigned int bpf_load_cpus(const char *possible);

/* 0, or a negative errno and the reason as text for the user. */
int bpf_load_open(struct bpf_load *out, const struct bpf_load_wish *wish, struct err *e);
void bpf_load_close(struct bpf_load *l);

/*
 * Watches all threads of n processes, at most AFS_N_WANTS, which are put in ascending order; each
 * "slot" has to be -1, and stays so if the process has no thread that is visible here.
 */
int bpf_load_mark(struct bpf_load *l, struct afs_want *want, size_t n, struct err *e);

/* Makes a cleared slot available again. */
void bpf_load_give(struct bpf_load *l, enum afs_slots of, uint32_t slot);

/* Runs that the kernel skipped since "missed" was noted. */
uint64_t bpf_load_missed(const struct bpf_load_program *p);

/* An array of an object, mapped into memory. */
struct bpf_load_array {
	void *at; /* NULL: not possible */
	size_t len;
};

/* value: bytes of each element. */
struct bpf_load_array bpf_load_map(const struct bpf_object *object, const char *name, size_t value);

#endif
