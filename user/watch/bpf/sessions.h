/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_BPF_SESSIONS_H
#define WATCH_BPF_SESSIONS_H

/*
 * Users, addresses and volumes of the watched sessions. The programs keep what they saw (the
 * client's address, the effective user id); what only /proc shows is read while the process lives.
 */

#include "run/run.h"
#include "watch/bpf/view.h"

struct sessions;

struct sessions *sessions_new(void); /* NULL: no memory */
void sessions_free(struct sessions *s);

/* Reads living sessions. Cheap enough for ten times a second. */
void sessions_look(struct sessions *s, const struct bpf_view *v);

/*
 * Save what is known of a connection, or of a process, that has ended, before its slot is cleared.
 * Of very many sessions only those that kept the server busiest are saved, and the sum of the
 * others. 0 or -ENOMEM.
 */
int sessions_end(struct sessions *s, const struct bpf_view *v, uint32_t stream);
int sessions_end_process(struct sessions *s, const struct bpf_view *v, uint32_t process);

/*
 * One run_session for every connection of a client, and for every process that serves one of which
 * nothing was read yet; and r->rest. 0 or -ENOMEM.
 */
int sessions_note(const struct sessions *s, const struct bpf_view *v, struct run *r);

#endif
