/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_LOSSES_H
#define WATCH_BPF_LOSSES_H

#include "run/run.h"
#include "watch/bpf/rung.h"

/*
 * Adds what the programs could not count to the run's losses, and notes what is in no ledger. 0 or
 * -ENOMEM.
 */
int losses_note(const struct bpf_rung *b, struct run *r);

/* Adds the runs of these programs that the kernel skipped. 0 or -ENOMEM. */
int losses_skipped(const struct bpf_load_program *p, size_t n, struct run *r);

#endif
