/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/fanotify.h"

#include "base/vec.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>

#define NAME "anon_inode:[fanotify]"

/* The hexadecimal number in " name:1f". */
static bool mark_number(uint64_t *out, const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at && sscanf(at + strlen(name), "%" SCNx64, out) == 1;
}

/*
 * "fanotify mnt_id:12 mflags:0 mask:10000 ignored_mask:0", with " sdev:800001" in place of the
 * mount, or "ino:2 sdev:800001".
 */
bool fanotify_watches(const char *line, const struct filesystem *fs)
{
	uint64_t mask, mount, dev, ino;

	if (!mark_number(&mask, line, " mask:") || !(mask & FAN_OPEN_PERM))
		return false;
	if (mark_number(&mount, line, " mnt_id:"))
		return fs->mount && mount == fs->mount;
	if (!mark_number(&dev, line, " sdev:") || !fs->dev || dev != fs->dev)
		return false;
	return !mark_number(&ino, line, " ino:") || (fs->ino && ino == fs->ino);
}

/* Whether a descriptor has a mark on one of the file systems. */
static bool has_mark(pid_t pid, int fd, const struct filesystem *fs, size_t n)
{
	struct procfs_lines mark;
	bool found = false;
	char text[32];

	if (procfs_fd_name(text, sizeof(text), pid, fd) || strcmp(text, NAME) != 0)
		return false;
	snprintf(text, sizeof(text), "fdinfo/%d", fd);
	procfs_lines(&mark, pid, text);
	while (!found && procfs_line(&mark))
		found = VEC_FIND(one, fs, n, fanotify_watches(mark.text, one));
	procfs_lines_end(&mark);
	return found;
}

int fanotify_find(struct fanotify_watcher *out, const struct filesystem *fs, size_t n,
		  const pid_t *own, size_t n_own)
{
	struct procfs_numbers process, fd;
	int r = procfs_others(&process, own, n_own), one;
	bool denied = false;

	*out = (struct fanotify_watcher) { 0 };
	while (procfs_next(&process)) {
		one = procfs_fds(&fd, process.number);
		denied |= one == -EACCES || one == -EPERM;
		while (procfs_next(&fd))
			if (has_mark(process.number, fd.number, fs, n) && !out->n++)
				out->pid = process.number;
	}
	if (out->n)
		procfs_thread_name(out->comm, sizeof(out->comm), out->pid, out->pid);
	return r ? r : denied && !out->n ? -EPERM : 0;
}
