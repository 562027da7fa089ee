/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_PLACE_H
#define WATCH_PLACE_H

/* Notes which processes these are, and their allowed and last CPUs, the main cause of scatter. */

#include "kinds/target.h"
#include "run/run.h"

/* Notes in r->server; 0 or -ENOMEM. */
int place_note(struct run *r, const struct target_process *p);

/* The same about this program, in r->environment. */
int place_note_self(struct run *r);

#endif
