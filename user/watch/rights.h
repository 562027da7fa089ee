/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_RIGHTS_H
#define WATCH_RIGHTS_H

#include <stdbool.h>

/*
 * Gives up what attaching needed. Kept: what reading /proc of other users' processes takes, and
 * writing files where root may; on kernels before 6.1 also what they want for reading BPF
 * programs' statistics, and what reading taskstats takes (CAP_NET_ADMIN) when it is asked for. 0,
 * or a negative errno when the kernel refuses; then all is as before.
 */
int rights_drop(bool keep_taskstats);

#endif
