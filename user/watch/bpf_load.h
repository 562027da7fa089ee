/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_LOAD_H
#define WATCH_BPF_LOAD_H

/*
 * Gets the programs of bpf/calls.bpf.c into the kernel, in the best way it allows. Everything
 * hangs on descriptors of this process: nothing stays attached when it ends, however it ends.
 */

#include "base/err.h"
#include "bpf/calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct calls_bpf;
struct bpf_link;

#define BPF_LOAD_PROGRAMS 4

struct bpf_load {
	struct calls_bpf *skel;
	const char *how; /* static: which tracepoints */
	bool objects;    /* descriptors are told apart */
	char objects_why[ERR_TEXT_MAX];
	char how_why[ERR_TEXT_MAX]; /* why not the tracepoints preferred; empty: they are */
	unsigned int n_cpus;
	struct bpf_link *link[BPF_LOAD_PROGRAMS], *marker;
	const char *program[BPF_LOAD_PROGRAMS];
	uint64_t missed[BPF_LOAD_PROGRAMS]; /* recursion_misses at the start */
};

/* How the programs shall be attached; tests ask for ways that this kernel does not need. */
struct bpf_load_wish {
	bool classic;    /* raw_syscalls tracepoints before BTF tracepoints */
	bool no_objects; /* do without bpf_probe_read_kernel */
};

struct bpf_load_wish bpf_load_best(void);

/* 0, or a negative errno and the reason in words for the user. */
int bpf_load_open(struct bpf_load *out, const struct bpf_load_wish *wish, struct err *e);
void bpf_load_close(struct bpf_load *l);

/* Watches all threads of a process; -ESRCH: it has none that can be seen from here. */
int bpf_load_mark(struct bpf_load *l, pid_t pid, enum afs_role role, struct err *e);

/* Runs of program i that the kernel skipped since the start. */
uint64_t bpf_load_missed(const struct bpf_load *l, unsigned int i);

#endif
