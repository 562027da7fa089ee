/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOST_CGROUP_FOLDER_H
#define HOST_CGROUP_FOLDER_H

/*
 * Where the cgroup of a process is: of version 1 a folder for each controller, of version 2 one for
 * all; a machine may have both. In a container the groups above its own are not shown.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_PATH_MAX 512

struct cgroup_folder {
	unsigned int version; /* 1 or 2; 0: it is not known where the group is */
	bool whole;           /* all groups that contain it are shown */
	size_t top_len;       /* length of the path of the topmost that is shown */
	char path[CGROUP_PATH_MAX];
};

/*
 * The group that a controller ("cpu") rules the process by; NULL: that of version 2. root: "", or
 * where another /proc and the path are. 0; -ENODATA: not known, and out->version is 0.
 */
int cgroup_folder(struct cgroup_folder *out, const char *root, pid_t pid, const char *controller);

/* Goes to the group that contains it. false: there is none, or it is not shown. */
bool cgroup_folder_up(struct cgroup_folder *f);

/* Whether it is the topmost of all, to which the whole machine belongs. */
bool cgroup_folder_is_all(const struct cgroup_folder *f);

/* The text of a file of it; as file_text(). */
ssize_t cgroup_folder_text(char *out, size_t len, const char *root, const struct cgroup_folder *f,
			   const char *file);

#endif
