/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REALTIME_H
#define BASE_REALTIME_H

#include <stdbool.h>

/*
 * This thread goes before all other programs of its CPU from now on (SCHED_RR), and, if inherited,
 * what it starts does so, too. Needs CAP_SYS_NICE. 0 or a negative errno: nothing has changed.
 */
int realtime_begin(bool inherited);

#endif
