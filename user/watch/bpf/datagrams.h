/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_DATAGRAMS_H
#define WATCH_BPF_DATAGRAMS_H

/* What is counted of sockets on which datagrams of many clients come, and of the threads there. */

#include "watch/bpf/view.h"

/* Datagrams that found no room in the socket with this inode; false: it is not known. */
bool datagrams_drops(const struct bpf_view *v, uint64_t ino, uint64_t *out);

/*
 * What a thread has done with clients' datagrams until now: "listener", "worker", "event thread".
 * NULL: nothing. *at: where it is looked for first, and where it was found.
 */
const char *datagrams_role(const struct bpf_view *v, pid_t tid, uint32_t *at);

#endif
