/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_STARVED_H
#define DRIVE_STARVED_H

#include "load/rate.h"
#include "run/load.h"

/*
 * Clients of a closed loop without pauses that had a session to the end and completed no action,
 * although they had the time: all of the measured time, or, where a profile wanted them only from
 * some moment on, more than the longest action that was completed took. How long they waited is in
 * no figure. crowd: the profile of clients; NULL: all are wanted from the begin. Client i of l is
 * the i-th of all processes.
 */
unsigned int starved_clients(const struct run_load *l, const struct rate *crowd);

#endif
