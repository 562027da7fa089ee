/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/fdinfo has the number of a descriptor's mount, /proc/PID/mountinfo what that is. */

#include "host/mounts.h"

#include "host/procfs.h"
#include "host/proctext.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* 1: this line is the mount's that is looked for. */
static int take_mount(void *arg, const char *line)
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
static bool find(struct proctext_mount *out, pid_t pid, unsigned int id)
{
	*out = (struct proctext_mount) { .id = id };
	return procfs_each_line(pid, "mountinfo", take_mount, out) == 1 ||
	       procfs_each_line(0, "mountinfo", take_mount, out) == 1;
}

bool mounts_is_local(pid_t pid, int fd)
{
	static const char *const local[] = { "ext4",     "ext3",   "ext2",   "xfs",      "btrfs",
					     "tmpfs",    "zfs",    "f2fs",   "bcachefs", "overlay",
					     "devtmpfs", "devpts", "rootfs", "ramfs" };
	struct proctext_mount mount;
	struct procfs_fd is;

	if (procfs_fd(&is, pid, fd) || !find(&mount, pid, is.mount))
		return false;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (!strcmp(mount.type, local[i]))
			return true;
	return false;
}

int mounts_inode(struct afs_inode *out, pid_t pid, const char *path)
{
	struct proctext_mount mount;
	struct procfs_fd is;
	struct stat st;
	int fd, r = 0;

	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		r = -errno;
	if (!r)
		r = procfs_fd(&is, 0, fd);
	close(fd);
	if (r)
		return r;
	out->ino = is.has_ino ? is.ino : st.st_ino;
	out->dev = find(&mount, pid, is.mount) ? mount.dev
					       : major(st.st_dev) << 20 | minor(st.st_dev);
	return 0;
}
