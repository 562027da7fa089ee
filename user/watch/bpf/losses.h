/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_LOSSES_H
#define WATCH_BPF_LOSSES_H

#include "run/run.h"
#include "watch/bpf/load.h"
#include "watch/bpf/view.h"

/*
 * Adds what the programs could not count to the run's losses, and notes what is in no ledger.
 * records: a trace is made. 0 or -ENOMEM.
 */
int losses_note(const struct bpf_load *l, const struct bpf_view *v, bool records, struct run *r);

/* So many threads and processes were found, now, that cannot be watched: most at once is the loss.
 */
void losses_found(struct bpf_load *l, uint64_t n);

#endif
