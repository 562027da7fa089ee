/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/fdinfo has the number of a descriptor's mount, /proc/PID/mountinfo what that is. */

#include "host/mounts.h"

#include "base/text.h"
#include "host/proc/procfs.h"
#include "host/proc/proctext.h"

#include <errno.h>
#include <string.h>

/* 1: this line is the mount's that is looked for. */
static int mounts_take_mount(void *arg, const char *line)
{
	struct proctext_mount *wanted = arg, one;

	if (proctext_mount(&one, line) || one.id != wanted->id || !one.dev)
		return 0;
	*wanted = one;
	return 1;
}

/*
 * false: not found. A process in a chroot is not shown the mount that its root folder lies on; this
 * process may see it.
 */
static bool mounts_find(struct proctext_mount *out, pid_t pid, unsigned int id)
{
	*out = (struct proctext_mount) { .id = id };
	return procfs_each_line(pid, "mountinfo", mounts_take_mount, out) == 1 ||
	       procfs_each_line(0, "mountinfo", mounts_take_mount, out) == 1;
}

bool mounts_is_local_type(const char *type)
{
	return text_has_word("ext4 ext3 ext2 xfs btrfs tmpfs zfs f2fs bcachefs overlay devtmpfs "
			     "devpts rootfs ramfs",
			     ' ', type);
}

int mounts_of(struct proctext_mount *out, pid_t pid, int fd)
{
	uint64_t mount;
	int r = procfs_mount_of(&mount, fd);

	if (r)
		return r;
	return mounts_find(out, pid, (unsigned int)mount) ? 0 : -ENOENT;
}

struct mounts_named {
	const char *path;
	struct proctext_mount found;
	size_t len;
};

/* Of those with the longest name the last: it hides the others. */
static int take_named(void *arg, const char *line)
{
	struct mounts_named *n = arg;
	struct proctext_mount one;
	size_t len;

	if (proctext_mount(&one, line))
		return 0;
	len = strlen(one.point);
	while (len && one.point[len - 1] == '/')
		len--;
	if (!*one.point || len < n->len || strncmp(n->path, one.point, len) != 0 ||
	    (n->path[len] && n->path[len] != '/'))
		return 0;
	n->found = one;
	n->len = len;
	return 0;
}

int mounts_by_name(struct proctext_mount *out, pid_t pid, const char *path)
{
	struct mounts_named n = { .path = path };
	int r = procfs_each_line(pid, "mountinfo", take_named, &n);

	*out = n.found;
	return r ? r : n.found.id ? 0 : -ENOENT;
}
