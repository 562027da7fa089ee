/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_RUNNING_H
#define WATCH_BPF_RUNNING_H

/* Requests that have not ended, read from the programs' state while it changes. */

#include "watch/bpf/view.h"
#include "watch/watch.h"

/*
 * As watch_running: also, as one of account AFS_ACCOUNT_BETWEEN with id 0, the time for which a
 * session has been stopped while no request was in service.
 */
void running_pass(const struct bpf_view *v, uint64_t before_ns, watch_running_fn *put, void *user);

/* Whether bytes of this process's clients were read. */
bool running_follows(const struct bpf_view *v, pid_t pid);

/* For what the process that serves a client sleeps; AFS_N_OBJECTS: it does not, or is not known. */
enum afs_object running_sleeps_on(const struct bpf_view *v, pid_t pid);

#endif
