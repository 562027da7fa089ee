/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_MOUNTS_H
#define HOST_MOUNTS_H

/* On which file systems files lie, by the mounts that a process sees. */

#include "bpf/calls.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether a descriptor's file is on a local file system, so that no server and no FUSE daemon can
 * block a look at it. Involves none itself.
 */
bool mounts_is_local(pid_t pid, int fd);

/*
 * The kernel's own numbers of the inode that path leads to, links followed; stat() may give others
 * on btrfs and overlayfs. pid: the process in whose mounts path is. Does not set out->object. 0 or
 * a negative errno.
 */
int mounts_inode(struct afs_inode *out, pid_t pid, const char *path);

#endif
