/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_CONNECTIONS_H
#define WATCH_BPF_CONNECTIONS_H

/* How the requests of each client's connection went, with AFS_TRACE_LIVE; how many there are. */

#include "watch/bpf/view.h"
#include "watch/watch.h"

/* How many are served now; without AFS_TRACE_LIVE, too. */
uint64_t connections_now(const struct bpf_view *v);

/* The one at this slot, which has ended, before it is cleared; not one that nobody served. */
void connections_end(const struct bpf_view *v, uint32_t stream, watch_connection_fn *put,
		     void *user);

#endif
