/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PATIENT_H
#define HOST_PATIENT_H

/*
 * Work that may never end: a look at a file whose server, or whose FUSE daemon, does not answer. A
 * separate process does it, which is abandoned after the deadline (no signal ends it while it waits
 * in the kernel) and keeps none of our descriptors open.
 */

#include <stddef.h>

/*
 * Calls fn(arg) in that process, and copies back the len bytes at out that it has filled. 0;
 * -ETIMEDOUT: not done after ms; or another negative errno. At most PATIENT_MAX bytes.
 */
#define PATIENT_MAX 4096
int patient_call(void (*fn)(void *arg), void *arg, void *out, size_t len, int ms);

/*
 * The same, to be asked again and again: while a question has no answer no other process is
 * started, and its answer, when it comes, is that to a later one. *pending: -1 at first; to be
 * closed if it is not at the end.
 */
int patient_ask(int *pending, void (*fn)(void *arg), void *arg, void *out, size_t len, int ms);

#endif
