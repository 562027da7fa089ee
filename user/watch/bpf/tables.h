/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_TABLES_H
#define WATCH_BPF_TABLES_H

/* The calls, by class and object, and by request. */

#include "watch/bpf/view.h"

/*
 * Fills the rows of a ledger, and with "parts" its parts, not yet joined; 0 or -ENOMEM. A row is
 * the sum of its parts. The time since a thread's last event counts in its present state, so that
 * the difference of two readings includes the waiting between them.
 */
int tables_read(const struct bpf_view *v, bool parts, struct ledger *out);

#endif
