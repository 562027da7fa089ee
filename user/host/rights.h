/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_RIGHTS_H
#define HOST_RIGHTS_H

#include <sys/types.h>

/* What may be kept besides: CAP_NET_ADMIN, CAP_SYS_NICE, what loads and attaches BPF programs. */
#define RIGHTS_TASKSTATS 0x1u
#define RIGHTS_PRIORITY  0x2u
#define RIGHTS_WATCH     0x4u

/*
 * Drops the rights that attaching needed. Kept are those for reading /proc of other users'
 * processes and for writing files where root may; on kernels before 6.1 also those for reading BPF
 * programs' statistics; and those asked for. 0, or a negative errno when the kernel refuses; then
 * nothing has changed.
 */
int rights_drop(unsigned int extra);

/*
 * Drops all of them; root becomes this user and group. 0, or a negative errno: some are left.
 */
int rights_drop_all(uid_t uid, gid_t gid);

#endif
