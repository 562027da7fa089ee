/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_SETTLE_H
#define WATCH_BPF_SETTLE_H

#include "watch/bpf/view.h"

#include <stdbool.h>

/*
 * Waits until all watched threads are idle, at most patience_ns. plain: as in struct target. false:
 * the server is still at work.
 */
bool settle(const struct bpf_view *v, bool plain, uint64_t patience_ns);

#endif
