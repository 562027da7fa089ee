/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PROC_SYSCALLS_H
#define HOST_PROC_SYSCALLS_H

/*
 * Class and descriptor of every system call of this architecture, and how it counts in the
 * compatible ledger. The only table; the programs in the kernel use a copy.
 */

#include "bpf/calls.h"

/* What the table says of a call; AFS_CLASS_OTHER: it is not in it. */
struct afs_call syscalls_call(int nr);

/* Name of a call in the table; NULL: not in it. Static. */
const char *syscalls_name(int nr);

#endif
