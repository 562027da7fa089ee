/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a look at the kernel's own lists can say is seen by this process, what may need a server's
 * answer by another one (host/patient.h).
 */
#include "host/filesystem.h"

#include "base/file.h"
#include "base/text.h"
#include "host/patient.h"
#include "host/proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Only by names that the kernel has in memory, so that no server is asked: Linux 5.12. */
#define FILESYSTEM_CACHED 0x20 /* RESOLVE_CACHED */

#define DEV_MAJOR(dev)    ((dev) >> 20)
#define DEV_MINOR(dev)    ((dev)&0xfffff)

/* What another process may have to find out, and in whose root. */
struct filesystem_question {
	pid_t pid;
	struct filesystem fs;
};

_Static_assert(sizeof(struct filesystem) <= PATIENT_MAX, "the answer is read in one piece");

struct filesystem_file {
	const char *root, *path;
	int error;
};

/* Links are resolved below root, as for the server; before Linux 5.6 as for us. */
static int filesystem_open_file(const struct filesystem_file *f, uint64_t flags, uint64_t how)
{
	struct open_how to = { .flags = flags | O_CLOEXEC,
			       .resolve = how | (f->root ? RESOLVE_IN_ROOT : 0) };
	const char *root = f->root && *f->root ? f->root : "/";
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, f->path, &to, sizeof(to));
	if (fd < 0 && !how && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, f->path + (f->root ? strspn(f->path, "/") : 0), (int)to.flags);
	fd = fd < 0 ? -errno : fd;
	close(dir);
	return fd;
}

static void filesystem_take_room(struct filesystem *a, int fd)
{
	struct statvfs st;

	if (fstatvfs(fd, &st))
		return;
	a->read_only = st.f_flag & ST_RDONLY;
	if (!st.f_blocks || a->read_only)
		return;
	a->has_room = true;
	a->size_b = (uint64_t)st.f_blocks * st.f_frsize;
	a->room_b = (uint64_t)st.f_bavail * st.f_frsize;
	a->files = st.f_files;
	a->files_free = st.f_favail;
}

/* ---- mounts: a descriptor's fdinfo has the number, mountinfo what that is ---- */

bool filesystem_is_local(const char *type)
{
	return text_has_word("ext4 ext3 ext2 xfs btrfs tmpfs zfs f2fs bcachefs overlay devtmpfs "
			     "devpts rootfs ramfs",
			     ' ', type);
}

/* The mount of that number, as a process sees it. */
static bool filesystem_numbered(struct proctext_mount *out, pid_t pid, uint64_t number)
{
	struct procfs_lines l;
	bool found = false;

	procfs_lines(&l, pid, "mountinfo");
	while (!found && procfs_line(&l))
		found = !proctext_mount(out, l.text) && out->id == number && out->dev;
	procfs_lines_end(&l);
	return found;
}

int filesystem_mount_of(struct proctext_mount *out, pid_t pid, int fd)
{
	uint64_t mount;
	int r = procfs_mount_of(&mount, fd);

	if (r)
		return r;
	/*
	 * A process in a chroot is not shown the mount that its root folder lies on; this process
	 * may see it.
	 */
	return filesystem_numbered(out, pid, mount) || filesystem_numbered(out, 0, mount) ? 0
											  : -ENOENT;
}

int filesystem_mount_named(struct proctext_mount *out, pid_t pid, const char *path)
{
	struct proctext_mount one;
	struct procfs_lines l;
	const char *below;
	ptrdiff_t longest = 0;
	int r = procfs_lines(&l, pid, "mountinfo");

	*out = (struct proctext_mount) { 0 };
	while (procfs_line(&l)) {
		if (proctext_mount(&one, l.text) || !*one.point)
			continue;
		below = text_below(path, one.point);
		/* Of those with the longest name the last: it hides the others. */
		if (!below || below - path < longest)
			continue;
		*out = one;
		longest = below - path;
	}
	return r ? r : out->id ? 0 : -ENOENT;
}

/* ---- devices ---- */

static void below_mount(struct devices_below *out, const struct proctext_mount *m)
{
	struct stat st;

	if (DEV_MAJOR(m->dev)) {
		devices_below(out, "", DEV_MAJOR(m->dev), DEV_MINOR(m->dev));
		return;
	}
	/* It may have several; the mount names one. */
	if (strcmp(m->type, "btrfs") != 0 || strncmp(m->source, "/dev/", 5) != 0 ||
	    stat(m->source, &st) || !S_ISBLK(st.st_mode))
		return;
	devices_below_btrfs(out, "", strrchr(m->source, '/') + 1);
	devices_below(out, "", major(st.st_rdev), minor(st.st_rdev));
}

/* Those of the files that loop devices show as well. */
static void below_loops(struct devices_below *out)
{
	char file[FILESYSTEM_PATH_MAX];
	struct proctext_mount m;

	for (size_t i = 0; i < out->n; i++)
		if (devices_backing(file, sizeof(file), "", out->name[i]) &&
		    !filesystem_mount_named(&m, 0, file))
			below_mount(out, &m);
}

/* ---- all of it ---- */

static void filesystem_take_mount(struct filesystem *f, const struct proctext_mount *m)
{
	snprintf(f->type, sizeof(f->type), "%s", m->type);
	f->dev = m->dev;
	f->mount = m->id;
	f->below.n = 0;
	below_mount(&f->below, m);
	below_loops(&f->below);
}

/* cached: only what can be known at once. false: that is not all. */
static bool filesystem_look_at(struct filesystem *fs, pid_t pid, bool cached)
{
	struct proctext_mount m = { .id = 0 };
	char root[64];
	struct filesystem_file f = { .root = root, .path = fs->path };
	bool done = true;
	struct statx st;
	int fd, hidden;

	procfs_inside(root, sizeof(root), pid, "");
	fd = filesystem_open_file(&f, O_PATH, cached ? FILESYSTEM_CACHED : 0);
	fs->error = fd < 0 ? fd : 0;
	/* Not what the kernel has in memory, or a kernel that cannot be asked for that. */
	if (fd < 0)
		return !cached || (fd != -EAGAIN && fd != -EINVAL && fd != -ENOSYS);
	/* In a chroot that is no mount point nobody is shown the mount: the folder is there. */
	hidden = filesystem_mount_of(&m, pid, fd);
	if (cached && (hidden || !filesystem_is_local(m.type))) {
		done = false;
	} else {
		if (!statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
			fs->ino = st.stx_ino;
		filesystem_take_room(fs, fd);
		if (!hidden)
			filesystem_take_mount(fs, &m);
	}
	close(fd);
	return done;
}

int filesystem_ask(pid_t pid, const char *path, void (*fn)(void *arg), void *arg, void *out,
		   size_t len)
{
	char name[2 * PATH_MAX];
	struct patient_what what = { .name = name };
	struct proctext_mount m;

	snprintf(name, sizeof(name), "%d %s", pid, path);
	/* A link on a local one may lead to another. */
	if (!filesystem_mount_named(&m, pid, path) && !filesystem_is_local(m.type))
		what.mount = m.dev;
	return patient_ask(what, fn, arg, out, len);
}

static void ask_patiently(void *arg)
{
	struct filesystem_question *q = arg;

	filesystem_look_at(&q->fs, q->pid, false);
}

void filesystem_init(struct filesystem *f, const char *path)
{
	*f = (struct filesystem) { 0 };
	snprintf(f->path, sizeof(f->path), "%s", path);
}

void filesystem_look(struct filesystem *fs, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++) {
		struct filesystem_question q = { .pid = pid };
		struct proctext_mount m;

		filesystem_init(&q.fs, fs[i].path);
		if (!filesystem_look_at(&q.fs, pid, true) &&
		    filesystem_ask(pid, fs[i].path, ask_patiently, &q, &q.fs, sizeof(q.fs)) ==
			-ETIMEDOUT) {
			/* What the names of folders and mounts say. */
			filesystem_init(&q.fs, fs[i].path);
			q.fs.silent = true;
			if (!filesystem_mount_named(&m, pid, fs[i].path))
				filesystem_take_mount(&q.fs, &m);
		}
		fs[i] = q.fs;
	}
}

/* ---- files ---- */

/* Whether it can be found, and read, without asking a server. */
static bool is_at_hand(const struct filesystem_file *f, pid_t pid)
{
	int fd = filesystem_open_file(f, O_PATH, FILESYSTEM_CACHED);
	struct proctext_mount mount;
	bool is;

	is = fd >= 0 && !filesystem_mount_of(&mount, pid, fd) && filesystem_is_local(mount.type);
	if (fd >= 0)
		close(fd);
	return is;
}

static int open_regular(const struct filesystem_file *f)
{
	int at = filesystem_open_file(f, O_PATH, 0), fd;
	char path[32];
	uint64_t len;

	if (at < 0)
		return at;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = file_open(AT_FDCWD, path, &len);
	close(at);
	return fd;
}

static void read_begin(void *arg)
{
	struct filesystem_file *f = arg;
	int fd = open_regular(f);
	char byte;

	f->error = fd < 0 ? fd : read(fd, &byte, 1) < 0 ? -errno : 0;
}

static void find_begin(void *arg)
{
	struct filesystem_file *f = arg;
	int fd = filesystem_open_file(f, O_PATH, 0);
	struct stat st;

	f->error = fd < 0 ? fd : fstat(fd, &st) ? -errno : 0;
}

/* Lets another process find it first, where a server has to be asked. */
static int ask_first(struct filesystem_file *f, void (*begin)(void *arg))
{
	pid_t pid = 0;
	int r = 0;

	if (f->root && sscanf(f->root, "/proc/%d/root", &pid) != 1)
		pid = 0;
	if (!is_at_hand(f, pid))
		r = filesystem_ask(pid, f->path, begin, f, &f->error, sizeof(f->error));
	return r ? r : f->error;
}

int filesystem_open(const char *root, const char *path)
{
	struct filesystem_file f = { .root = root, .path = path };
	int r = ask_first(&f, read_begin);

	return r ? r : open_regular(&f);
}

int filesystem_stat(struct stat *out, const char *root, const char *path)
{
	struct filesystem_file f = { .root = root, .path = path };
	int r = ask_first(&f, find_begin), fd = r ? r : filesystem_open_file(&f, O_PATH, 0);

	if (fd < 0)
		return fd;
	r = fstat(fd, out) ? -errno : 0;
	close(fd);
	return r;
}

int filesystem_open_exe(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return filesystem_open(NULL, path);
}

bool filesystem_is_remote(const struct filesystem *f)
{
	return !strncmp(f->type, "fuse.", 5) ||
	       text_has_word(
		   "nfs nfs4 cifs smb3 ceph glusterfs 9p afs fuse fuseblk virtiofs lustre", ' ',
		   f->type);
}
