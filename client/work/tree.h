/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORK_TREE_H
#define WORK_TREE_H

/*
 * The directories that workloads make in the root of a volume, and how to remove them. Their name
 * identifies the process that made them, so that nothing else is ever removed:
 * "LanTest-HHHHHHHH-PID-SSSSSS", H a hash of host, boot and PID namespace (hex), S of when the
 * process began (hex); it fits the 31 bytes of a long name.
 */

#include "afp/afp.h"

#include <sys/types.h>

#define TREE_NAME_MAX 31

/* A new name for this process on this host. */
void tree_name(char out[static TREE_NAME_MAX + 1]);

/* The name of another process's directory. false: there is no such process on this host. */
bool tree_name_of(char out[static TREE_NAME_MAX + 1], pid_t pid);

/*
 * Whether it is a name of tree_name, and whose. here: made on this host since it was started, and
 * pid is a number in our PID namespace; else it is not known whether its maker lives. mark:
 * tree_mark() of when that process began.
 */
struct tree_owner {
	bool here;
	pid_t pid;
	uint32_t mark;
};
bool tree_owner(const char *name, struct tree_owner *out);

/* 24 bits of when a process began (ticks after boot, field 22 of /proc/PID/stat). */
uint32_t tree_mark(uint64_t started);

/*
 * The directory of the files that a recording needs, which stays for its next replay:
 * "afpscope-replay-HHHHHHHH", H the first digits of the recording's number.
 */
void tree_image_name(char out[static TREE_NAME_MAX + 1], const char *uuid);
bool tree_is_image(const char *name);

/*
 * Removes what is there with all that is in it, or, where name is NULL, what is in parent, by
 * store_remove_tree().
 */
int tree_remove(struct afp *a, uint32_t parent, const char *name, struct err *e);
/* By the commands of netatalk's tools, whose lists have no names of more than some 200 bytes. */
int tree_remove_legacy(struct afp *a, uint32_t parent, const char *name, struct err *e);

#endif
