/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_SETTLE_H
#define WATCH_BPF_SETTLE_H

#include "watch/bpf/view.h"

#include <stdbool.h>

/*
 * Waits until all watched threads are idle, at most patience_ns. sleeps: by the number of a call,
 * AFS_N_CALLS long, whether it only sleeps (host/syscalls.h). plain: as in struct target. false:
 * the server is still at work.
 */
bool settle(const struct bpf_view *v, const bool *sleeps, bool plain, uint64_t patience_ns);

#endif
