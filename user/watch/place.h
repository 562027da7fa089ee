/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_PLACE_H
#define WATCH_PLACE_H

/* Who the processes are and on which CPUs they may and did run: the largest cause of scatter. */

#include "base/run.h"

#include <sys/types.h>

/* Notes in r->server; 0 or -ENOMEM. */
int place_note(struct run *r, pid_t pid, enum afs_role role);

/* The same about this program, in r->environment. */
int place_note_self(struct run *r);

#endif
