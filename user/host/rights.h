/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_RIGHTS_H
#define HOST_RIGHTS_H

#include <stdbool.h>

/*
 * Drops the rights that attaching needed. Kept are those for reading /proc of other users'
 * processes and for writing files where root may; on kernels before 6.1 also those for reading BPF
 * programs' statistics; and CAP_NET_ADMIN for taskstats if asked for. 0, or a negative errno when
 * the kernel refuses; then nothing has changed.
 */
int rights_drop(bool keep_taskstats);

#endif
