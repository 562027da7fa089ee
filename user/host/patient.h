/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_PATIENT_H
#define HOST_PATIENT_H

/*
 * Work that may never end: a look at a file whose server, or whose FUSE daemon, does not answer; a
 * name service that waits for its own. Another process does it, which keeps none of our descriptors
 * open and is killed with this one (while the kernel lets no signal in, it stays).
 *
 * What is stuck is remembered for the whole program: it is asked once, by one process, and waited
 * for once. So all questions together delay a command by less than a second, and leave at most
 * PATIENT_STUCK_MAX processes. For one thread.
 */

#include <stddef.h>

#define PATIENT_MAX       4096 /* bytes of an answer */
#define PATIENT_STUCK_MAX 16

/*
 * What is asked. What has the same mount (not 0) is stuck together: while one of them has no
 * answer, no other is asked.
 */
struct patient_what {
	const char *name;
	unsigned int mount;
};

/*
 * Calls fn(arg) in that process, and copies back the len bytes at out that it has filled. While a
 * question has no answer no other process is begun for it, and its answer, when it comes, is that
 * to a later one of the same name and fn. 0; -ETIMEDOUT: no answer yet; or another negative errno.
 */
int patient_ask(struct patient_what what, void (*fn)(void *arg), void *arg, void *out, size_t len);

#endif
