/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_MOUNTS_H
#define HOST_MOUNTS_H

/* On which file systems files lie, by the mounts that a process sees. */

#include "host/proc/proctext.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether this type of file system is a local one. */
bool mounts_is_local_type(const char *type);

/*
 * The mount on which the file of a descriptor of this process is. pid: the process in whose mounts
 * it was found. Involves no server. 0 or a negative errno.
 */
int mounts_of(struct proctext_mount *out, pid_t pid, int fd);

/* The mount that a path is on by its name: links in it are not followed, so nothing is asked. */
int mounts_by_name(struct proctext_mount *out, pid_t pid, const char *path);

#endif
