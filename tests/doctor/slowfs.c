/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slowfs FOLDER MOUNT [WORD=N]...: a FUSE file system that shows FOLDER at MOUNT and is slow while
 * there is a file "slow" beside FOLDER. In the foreground, until it is unmounted or killed. Needs
 * root and libfuse3. The words:
 *
 * xattr, stat, double, list, open, read, write   microseconds that are added to these calls;
 *                                                double: reads and writes of AppleDouble files
 * quota     a user, by number, who can make and write no files: EDQUOT
 * full      statfs says that so many of 100,000 parts of 100 TB are free
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum word { XATTR, STAT, DOUBLE, LIST, OPEN, READ, WRITE, QUOTA, FULL, N_WORDS };

#define PARTS 100000
#define TB    1000000000000

struct slowfs {
	const char *folder;
	char flag[PATH_MAX]; /* the file that makes it slow */
	long n[N_WORDS];
};

struct place {
	char path[PATH_MAX];
};

static const struct slowfs *self(void)
{
	return fuse_get_context()->private_data;
}

static struct place at(const char *path)
{
	struct place p;

	snprintf(p.path, sizeof(p.path), "%s%s", self()->folder, path);
	return p;
}

/* Its number; 0: nothing is slow now. */
static long number_of(enum word which)
{
	return self()->n[which] && !access(self()->flag, F_OK) ? self()->n[which] : 0;
}

static void delay(enum word which)
{
	long us = number_of(which);
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	if (us)
		nanosleep(&t, NULL);
}

static bool over_quota(void)
{
	long user = number_of(QUOTA);

	return user && fuse_get_context()->uid == (uid_t)user;
}

static bool is_double(const char *path)
{
	return strstr(path, "/._") || strstr(path, "/.AppleDouble/");
}

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	delay(STAT);
	return result(fi ? fstat((int)fi->fh, st) : lstat(at(path).path, st));
}

static int slow_mkdir(const char *path, mode_t mode)
{
	if (over_quota())
		return -EDQUOT;
	if (mkdir(at(path).path, mode))
		return -errno;
	return result(lchown(at(path).path, fuse_get_context()->uid, fuse_get_context()->gid));
}

static int slow_unlink(const char *path)
{
	return result(unlink(at(path).path));
}

static int slow_rmdir(const char *path)
{
	return result(rmdir(at(path).path));
}

static int slow_rename(const char *from, const char *to, unsigned int flags)
{
	return result(renameat2(AT_FDCWD, at(from).path, AT_FDCWD, at(to).path, flags));
}

static int slow_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	return result(chmod(at(path).path, mode));
}

static int slow_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	(void)fi;
	return result(lchown(at(path).path, uid, gid));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	return result(fi ? ftruncate((int)fi->fh, size) : truncate(at(path).path, size));
}

static int slow_utimens(const char *path, const struct timespec t[2], struct fuse_file_info *fi)
{
	(void)fi;
	return result(utimensat(AT_FDCWD, at(path).path, t, AT_SYMLINK_NOFOLLOW));
}

static int slow_open(const char *path, struct fuse_file_info *fi)
{
	int fd;

	delay(OPEN);
	fd = open(at(path).path, fi->flags & ~(O_CREAT | O_EXCL));

	fi->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	int fd;

	if (over_quota())
		return -EDQUOT;
	delay(OPEN);
	fd = open(at(path).path, fi->flags | O_CREAT, mode);

	fi->fh = (uint64_t)fd;
	if (fd < 0)
		return -errno;
	return result(fchown(fd, fuse_get_context()->uid, fuse_get_context()->gid));
}

static int slow_read(const char *path, char *buf, size_t size, off_t off, struct fuse_file_info *fi)
{
	delay(is_double(path) ? DOUBLE : READ);
	return result(pread((int)fi->fh, buf, size, off));
}

static int slow_write(const char *path, const char *buf, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	if (over_quota())
		return -EDQUOT;
	delay(is_double(path) ? DOUBLE : WRITE);
	return result(pwrite((int)fi->fh, buf, size, off));
}

static int slow_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return result(close((int)fi->fh));
}

static int slow_fsync(const char *path, int data, struct fuse_file_info *fi)
{
	(void)path;
	return result(data ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static int slow_statfs(const char *path, struct statvfs *st)
{
	int r = statvfs(at(path).path, st);
	long parts = number_of(FULL);

	if (!r && parts) {
		st->f_blocks = 100 * TB / st->f_frsize;
		st->f_bfree = st->f_bavail = st->f_blocks / PARTS * (unsigned long)parts;
	}
	return result(r);
}

static int slow_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
			struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	DIR *d = opendir(at(path).path);
	struct dirent *e;

	delay(LIST);
	(void)off;
	(void)fi;
	(void)flags;
	while (d && (e = readdir(d)))
		fill(buf, e->d_name, NULL, 0, 0);
	return d ? result(closedir(d)) : -errno;
}

static int slow_getxattr(const char *path, const char *name, char *value, size_t size)
{
	delay(XATTR);
	return result(lgetxattr(at(path).path, name, value, size));
}

static int slow_setxattr(const char *path, const char *name, const char *value, size_t size,
			 int flags)
{
	delay(XATTR);
	return result(lsetxattr(at(path).path, name, value, size, flags));
}

static int slow_listxattr(const char *path, char *list, size_t size)
{
	delay(XATTR);
	return result(llistxattr(at(path).path, list, size));
}

static int slow_removexattr(const char *path, const char *name)
{
	delay(XATTR);
	return result(lremovexattr(at(path).path, name));
}

static const struct fuse_operations operations = {
	.getattr = slow_getattr,
	.mkdir = slow_mkdir,
	.unlink = slow_unlink,
	.rmdir = slow_rmdir,
	.rename = slow_rename,
	.chmod = slow_chmod,
	.chown = slow_chown,
	.truncate = slow_truncate,
	.utimens = slow_utimens,
	.open = slow_open,
	.create = slow_create,
	.read = slow_read,
	.write = slow_write,
	.release = slow_release,
	.fsync = slow_fsync,
	.statfs = slow_statfs,
	.readdir = slow_readdir,
	.getxattr = slow_getxattr,
	.setxattr = slow_setxattr,
	.listxattr = slow_listxattr,
	.removexattr = slow_removexattr,
};

int main(int argc, char **argv)
{
	static const char *const names[N_WORDS] = { "xattr=", "stat=",  "double=", "list=", "open=",
						    "read=",  "write=", "quota=",  "full=" };
	char *options[] = { argv[0],
			    "-f",
			    "-o",
			    "allow_other,default_permissions,attr_timeout=0,entry_timeout=1",
			    argc > 2 ? argv[2] : NULL,
			    NULL };
	struct slowfs fs = { .folder = argc > 2 ? argv[1] : NULL };

	if (!fs.folder) {
		fprintf(stderr, "usage: slowfs FOLDER MOUNT [WORD=N]...\n");
		return 2;
	}
	snprintf(fs.flag, sizeof(fs.flag), "%s/../slow", fs.folder);
	for (int i = 3; i < argc; i++)
		for (int k = 0; k < N_WORDS; k++)
			if (!strncmp(argv[i], names[k], strlen(names[k])))
				fs.n[k] = strtol(argv[i] + strlen(names[k]), NULL, 10);
	umask(0);
	return fuse_main(5, options, &operations, &fs);
}
