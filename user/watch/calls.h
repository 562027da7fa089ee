/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_CALLS_H
#define WATCH_CALLS_H

/*
 * What every system call of this architecture is: its class, its descriptor, how it counts in
 * the compatible ledger. The one table; the programs in the kernel work on a copy.
 */

#include "bpf/calls.h"

#include <stdbool.h>

/* Fills out[nr] for every number; those not in the table are AFS_CLASS_OTHER. */
void calls_table(struct afs_call out[AFS_N_CALLS]);

/* Name of a call in the table; NULL: not there. Static. */
const char *calls_name(int nr);

/* The thread in this call sleeps for a time and for nothing else. */
bool calls_is_sleep(int nr);

#endif
