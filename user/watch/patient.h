/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WATCH_PATIENT_H
#define WATCH_PATIENT_H

/*
 * Work that may never come to an end: a look at a file whose server, or whose FUSE daemon, does not
 * answer. It is done by a process of its own, which is left to itself when its time is over (no
 * signal ends it while the kernel waits), and which holds nothing open of this one.
 */

#include <stddef.h>

/*
 * Calls fn(arg), and copies the len bytes at out, which it has filled, back. 0; -ETIMEDOUT: it is
 * not done after ms; or another negative errno. At most PATIENT_MAX bytes.
 */
#define PATIENT_MAX 4096
int patient_call(void (*fn)(void *arg), void *arg, void *out, size_t len, int ms);

#endif
