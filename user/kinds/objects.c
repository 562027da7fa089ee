/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the special inodes. The programs classify other files by type and name. */

#include "kinds/objects.h"

#include "host/filesystem.h"
#include "host/mounts.h"
#include "host/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void add(struct target *t, struct afs_inode *list, uint32_t *n,
		const struct afs_inode *inode)
{
	for (uint32_t i = 0; i < *n; i++)
		if (list[i].ino == inode->ino && list[i].dev == inode->dev)
			return;
	if (*n < AFS_N_INODES)
		list[(*n)++] = *inode;
	else
		t->crowded = true;
}

void objects_add_socket(struct target *t, uint64_t ino, enum afs_object object)
{
	const struct afs_inode inode = { .ino = ino, .object = object };

	add(t, t->known.socket, &t->known.n_sockets, &inode);
}

void objects_add_bound(struct target *t, uint64_t ino, uint32_t dev)
{
	const struct afs_inode inode = { .ino = ino, .dev = dev, .object = AFS_OBJECT_BACKEND };

	add(t, t->known.file, &t->known.n_files, &inode);
}

bool objects_is_sqlite(const char *path)
{
	const char *name = strrchr(path, '/');
	const char *dot = name ? strstr(name, ".sqlite") : NULL;

	/* Also NAME.sqlite-wal, -shm, -journal; not a user's file like x.sqlite.txt. */
	return dot && (dot[7] == '\0' || dot[7] == '-');
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * The folder of an open file, from the file's name as the kernel prints it: valid as it is for a
 * server in a chroot, but relative to the server's root if it has its own mounts.
 */
static bool folder_of(struct afs_inode *out, pid_t pid, int fd, const char *name)
{
	char file[PATH_MAX + 64], link[64];
	char *slash;

	procfs_fd_path(link, sizeof(link), pid, fd);
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			snprintf(file, sizeof(file), "%s", name);
		else
			procfs_inside(file, sizeof(file), pid, name);
		if (!same_file(file, link))
			continue;
		slash = strrchr(file, '/');
		if (!slash)
			return false;
		slash[slash == file] = '\0';
		return !mounts_inode(out, pid, file);
	}
	return false;
}

/* An open file, and what was found about it. */
struct objects_found {
	pid_t pid;
	int fd;
	const char *name;
	struct {
		bool regular, has_folder, has_file;
		struct afs_inode folder, file;
	} is;
};

static void look(void *arg)
{
	struct objects_found *f = arg;
	char link[64];
	struct stat st;

	procfs_fd_path(link, sizeof(link), f->pid, f->fd);
	f->is.regular = !stat(link, &st) && S_ISREG(st.st_mode);
	if (!f->is.regular)
		return;
	f->is.has_folder = folder_of(&f->is.folder, f->pid, f->fd, f->name);
	f->is.has_file = !mounts_inode(&f->is.file, f->pid, link);
}

/* Whether it is a regular file. If the file system does not answer, its files are left out. */
static bool find(struct target *t, struct objects_found *f)
{
	int r = 0;

	if (mounts_is_local(f->pid, f->fd))
		look(f);
	else
		r = filesystem_ask(f->pid, f->name, look, f, &f->is, sizeof(f->is));
	if (r == -ETIMEDOUT)
		snprintf(t->note, sizeof(t->note),
			 "process %d has %.200s open, whose file system does not answer: "
			 "whether such files are logs or a CNID database is not known, their calls "
			 "count as those on data",
			 f->pid, f->name);
	return !r && f->is.regular;
}

/* NULL: not a CNID server. */
static const struct target_process *cnid_server(const struct target *t, pid_t pid)
{
	for (size_t i = 0; i < t->n_backends; i++)
		if (t->backend[i].pid == pid && !t->backend[i].ended)
			return &t->backend[i];
	return NULL;
}

/*
 * The databases: what cnid_dbd has open for writing in place, SQLite files in afpd. A database
 * server needs none: all its files are databases, and no other process opens them.
 */
static int add_database(void *arg, pid_t pid, int fd, const char *name)
{
	struct objects_found f = { .pid = pid, .fd = fd, .name = name };
	struct target *t = arg;
	const struct target_process *cnid = cnid_server(t, pid);
	struct procfs_fd is;

	if (name[0] != '/' || (cnid ? cnid->foreign : !objects_is_sqlite(name)))
		return 0;
	if (cnid && (procfs_fd(&is, pid, fd) || (is.flags & O_ACCMODE) != O_RDWR))
		return 0;
	if (!find(t, &f))
		return 0;
	if (!cnid)
		t->inside = true;
	f.is.folder.object = AFS_OBJECT_CNIDDB;
	if (f.is.has_folder)
		add(t, t->known.dir, &t->known.n_dirs, &f.is.folder);
	return 0;
}

static bool is_known_folder(const struct target *t, const struct afs_inode *dir)
{
	for (uint32_t i = 0; i < t->known.n_dirs; i++)
		if (t->known.dir[i].ino == dir->ino && t->known.dir[i].dev == dir->dev)
			return true;
	return false;
}

/* Logs: regular files that are only ever appended to, and standard output and error. */
static int add_log(void *arg, pid_t pid, int fd, const char *name)
{
	struct objects_found f = { .pid = pid, .fd = fd, .name = name };
	struct target *t = arg;
	struct procfs_fd is;

	if (name[0] != '/' || procfs_fd(&is, pid, fd))
		return 0;
	if ((is.flags & O_ACCMODE) != O_WRONLY || (!(is.flags & O_APPEND) && fd != 1 && fd != 2))
		return 0;
	if (!find(t, &f) || (f.is.has_folder && is_known_folder(t, &f.is.folder)))
		return 0;
	f.is.file.object = f.is.folder.object = AFS_OBJECT_LOG;
	/* Many processes, each with a log of its own in the same folders. */
	if (t->files == AFS_FILES_GLUSTER && f.is.has_folder)
		add(t, t->known.dir, &t->known.n_dirs, &f.is.folder);
	else if (f.is.has_file)
		add(t, t->known.file, &t->known.n_files, &f.is.file);
	return 0;
}

/* Sessions whose files are looked at: they share logs, and databases by volume. */
#define SESSIONS_MAX 32

typedef int (*each_fd)(void *arg, pid_t pid, int fd, const char *name);

/* Looks at living processes, at most max, the youngest first. */
static void look_at(struct target *t, const struct target_process *list, size_t n, size_t max,
		    each_fd fn)
{
	for (size_t i = n; i-- && max;) {
		if (list[i].ended)
			continue;
		procfs_each_fd(list[i].pid, fn, t);
		max--;
	}
}

void objects_add_logs(struct target *t)
{
	if (!t->ended)
		procfs_each_fd(t->server, add_log, t);
	look_at(t, t->backend, t->n_backends, TARGET_BACKENDS_MAX, add_log);
	look_at(t, t->other, t->n_others, TARGET_OTHERS_MAX, add_log);
	if (t->files == AFS_FILES_GLUSTER)
		look_at(t, t->session, t->n_sessions, SESSIONS_MAX, add_log);
}

void objects_add_files(struct target *t)
{
	if (!t->ended)
		procfs_each_fd(t->server, add_database, t);
	look_at(t, t->session, t->n_sessions, SESSIONS_MAX, add_database);
	look_at(t, t->backend, t->n_backends, TARGET_BACKENDS_MAX, add_database);
	objects_add_logs(t);
}
