/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/fanotify.h"

#include "base/vec.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

struct fanotify_search {
	struct fanotify_watcher *out;
	const struct filesystem *fs;
	size_t n;
	bool denied;
};

static int take_mark(void *arg, const char *line)
{
	const struct fanotify_search *s = arg;

	return VEC_FIND(fs, s->fs, s->n, fanotify_watches(line, fs)) != NULL;
}

static int take_fd(void *arg, pid_t pid, int fd, const char *name)
{
	struct fanotify_search *s = arg;
	struct fanotify_watcher *w = s->out;
	char file[32];

	if (strcmp(name, NAME) != 0)
		return 0;
	snprintf(file, sizeof(file), "fdinfo/%d", fd);
	if (procfs_each_line(pid, file, take_mark, s) != 1)
		return 0;
	if (!w->n++) {
		w->pid = pid;
		procfs_thread_name(w->comm, sizeof(w->comm), pid, pid);
	}
	return 0;
}

static int take_watcher(void *arg, pid_t pid)
{
	struct fanotify_search *s = arg;
	int r = procfs_each_fd(pid, take_fd, s);

	s->denied |= r == -EACCES || r == -EPERM;
	return 0;
}

int fanotify_find(struct fanotify_watcher *out, const struct filesystem *fs, size_t n)
{
	struct fanotify_search s = { .out = out, .fs = fs, .n = n };
	int r;

	*out = (struct fanotify_watcher) { 0 };
	r = procfs_each(take_watcher, &s);
	return r ? r : s.denied && !out->n ? -EPERM : 0;
}
