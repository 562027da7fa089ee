/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_RIGHTS_H
#define HOST_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * What may be kept besides: CAP_NET_ADMIN, CAP_SYS_NICE, what loads and attaches BPF programs,
 * CAP_NET_BIND_SERVICE.
 */
#define RIGHTS_TASKSTATS 0x1u
#define RIGHTS_PRIORITY  0x2u
#define RIGHTS_WATCH     0x4u
#define RIGHTS_PORTS     0x8u

/* What to do where other users' processes cannot be looked at. */
#define RIGHTS_TO_LOOK "run as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

/*
 * Drops the rights that attaching needed. Kept are those for reading /proc of other users'
 * processes and for writing files where root may; on kernels before 6.1 also those for reading BPF
 * programs' statistics; and those asked for. 0, or a negative errno when the kernel refuses; then
 * nothing has changed.
 */
int rights_drop(unsigned int extra);

/*
 * Calls work(user) in a thread of its own, which has done rights_drop(extra), as have the threads
 * that begin there; this thread keeps its rights, and waits. Signals come to the other meanwhile.
 * What work returned, or a negative errno: no thread could be started.
 */
int rights_without(unsigned int extra, int (*work)(void *user), void *user);

/* Drops all of them; root becomes this user and group. 0, or a negative errno: some are left. */
int rights_drop_all(uid_t uid, gid_t gid);

/* What root had before it became another user for some time. All 0: it did not. */
#define RIGHTS_GROUPS 64
struct rights_own {
	bool became;
	int n_groups;
	gid_t group[RIGHTS_GROUPS];
};

/*
 * Root works as the owner of a directory from now on, in this thread and those that it starts: with
 * the files of others it can do no more than that user. Rights for reading /proc are kept, and
 * those asked for. For anybody else, a directory of root's, and where there is no such directory,
 * nothing changes. 0, or a negative errno: nothing has changed.
 */
int rights_become_owner(struct rights_own *out, const char *directory, unsigned int extra);

/* It is root again; in other threads as well. */
void rights_return(struct rights_own *own);

#endif
