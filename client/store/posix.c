/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store that is a directory of this machine: the same work without a server. Its calls are
 * system calls, with descriptors of directories, so no path is ever put together.
 */
#include "store/file_store.h"

#include "base/kernel.h"

#include <dirent.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEFAULT_ALIGN 4096

struct posix {
	struct file_store f; /* a descriptor of each directory is kept until the store is closed */
	int root;
};

/* The directory's descriptor; -1: it is gone. */
static int dir_fd(const struct file_store *f, uint64_t dir)
{
	const struct dirs_entry *d = dirs_of(&f->dirs, dir);

	_Static_assert(offsetof(struct posix, f) == 0, "a store is the head of its kind");
	if (!dir)
		return ((const struct posix *)f)->root;
	return d ? d->fd : -1;
}

/* ---- data ---- */

static ssize_t posix_pread(struct file_store *f, uint64_t file, void *buf, size_t len, off_t at)
{
	ssize_t n;

	(void)f;
	do
		n = pread((int)file, buf, len, at);
	while (n < 0 && errno == EINTR);
	return n;
}

static ssize_t posix_pwrite(struct file_store *f, uint64_t file, const void *data, size_t len,
			    off_t at)
{
	ssize_t n;

	(void)f;
	do
		n = pwrite((int)file, data, len, at);
	while (n < 0 && errno == EINTR);
	return n;
}

/* It goes through the page cache. */
static int posix_begin_tail(struct file_store *f, uint64_t file, uint64_t *tail)
{
	(void)f;
	*tail = file;
	return file_store_code_of(fcntl((int)file, F_SETFL, 0));
}

static int posix_end_tail(struct file_store *f, uint64_t tail)
{
	(void)f;
	return file_store_code_of(fcntl((int)tail, F_SETFL, O_DIRECT));
}

static int posix_lock(struct file_store *f, uint64_t file, struct flock *range)
{
	(void)f;
	return file_store_code_of(fcntl((int)file, F_OFD_SETLK, range));
}

static int posix_on_file(struct file_store *f, struct store_op *op)
{
	int fd = (int)op->file.id, code;
	struct stat st;

	(void)f;
	switch (op->verb) {
	case STORE_CLOSE:
		return file_store_code_of(close(fd));
	case STORE_SET_LEN:
		return file_store_code_of(ftruncate(fd, (off_t)op->len));
	case STORE_FLUSH:
		return file_store_code_of(fsync(fd));
	default: /* STORE_LENGTH */
		code = file_store_code_of(fstat(fd, &st));
		op->done = code ? 0 : (uint64_t)st.st_size;
		return code;
	}
}

/* ---- names ---- */

static int posix_open_dir(struct file_store *f, uint64_t dir, const char *name, bool is_new,
			  int *fd)
{
	(void)is_new;
	*fd = openat(dir_fd(f, dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return file_store_code_of(*fd);
}

static int posix_remove(struct file_store *f, uint64_t dir, const char *name, bool is_dir)
{
	return file_store_code_of(unlinkat(dir_fd(f, dir), name, is_dir ? AT_REMOVEDIR : 0));
}

static int posix_create(const struct file_store *f, struct store_op *op)
{
	int flags = op->how ? file_store_flags(f, op->how) : O_WRONLY;
	int fd = openat(dir_fd(f, op->dir.id), op->name, flags | O_CLOEXEC | O_CREAT | O_EXCL,
			FILE_STORE_FILE_MODE);

	if (fd < 0)
		return file_store_code_of(fd);
	if (op->how)
		op->opened.id = (uint64_t)fd;
	else
		close(fd);
	return 0;
}

static int posix_open_file(const struct file_store *f, struct store_op *op)
{
	int flags = file_store_flags(f, op->how) | O_CLOEXEC;
	int fd = openat(dir_fd(f, op->dir.id), op->name, flags);

	if (fd >= 0)
		op->opened.id = (uint64_t)fd;
	return file_store_code_of(fd);
}

/* Of quotas, file systems show only that of the directory (a project's) there. */
static int posix_statvfs(struct file_store *f, uint64_t dir, struct statvfs *out)
{
	const int fd = dir_fd(f, dir), code = file_store_code_of(fstatvfs(fd, out));
	const uint64_t left[] = { kernel_quota_left(fd, KERNEL_QUOTA_USER, geteuid()),
				  kernel_quota_left(fd, KERNEL_QUOTA_GROUP, getegid()) };

	for (int i = 0; !code && i < 2; i++)
		if (left[i] / out->f_frsize < out->f_bavail)
			out->f_bavail = left[i] / out->f_frsize;
	return code;
}

static ssize_t posix_xattr(struct file_store *f, const struct store_op *op, const char *attr)
{
	int fd = openat(dir_fd(f, op->dir.id), op->name,
			O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	int code;
	ssize_t n;

	if (fd < 0)
		return -1;
	if (op->verb == STORE_SET_XATTR)
		n = fsetxattr(fd, attr, op->data, op->len, 0);
	else if (op->verb == STORE_DEL_XATTR)
		n = fremovexattr(fd, attr);
	else if (op->verb == STORE_LIST_XATTRS)
		n = flistxattr(fd, op->buf, op->len);
	else
		n = fgetxattr(fd, attr, op->buf, op->len);
	code = errno;
	close(fd);
	errno = code;
	return n;
}

/* File systems that cannot refuse to replace are asked before. */
static int posix_rename(const struct file_store *f, const struct store_op *op)
{
	int from = dir_fd(f, op->dir.id), to = dir_fd(f, op->to_dir.id);
	struct stat st;

	if (!kernel_rename_new(from, op->name, to, op->to_name))
		return 0;
	if (errno != EINVAL)
		return file_store_code_of(-1);
	if (!fstatat(to, op->to_name, &st, AT_SYMLINK_NOFOLLOW))
		return EEXIST;
	return file_store_code_of(renameat(from, op->name, to, op->to_name));
}

static int posix_set_time(const struct file_store *f, const struct store_op *op)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)op->offset } };

	return file_store_code_of(
	    utimensat(dir_fd(f, op->dir.id), op->name, times, AT_SYMLINK_NOFOLLOW));
}

static int posix_on_name(struct file_store *f, struct store_op *op)
{
	int dir = dir_fd(f, op->dir.id), to;
	struct stat st;

	switch (op->verb) {
	case STORE_PROBE:
		return file_store_code_of(
		    fstatat(dir, op->name, &st, *op->name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH));
	case STORE_MKDIR:
		return file_store_code_of(mkdirat(dir, op->name, FILE_STORE_DIR_MODE));
	case STORE_CREATE:
		return posix_create(f, op);
	case STORE_RENAME:
		return posix_rename(f, op);
	case STORE_SET_TIME:
		return posix_set_time(f, op);
	case STORE_SET_MODE:
		return file_store_code_of(fchmodat(dir, op->name, op->how & 07777, 0));
	case STORE_LINK:
		to = dir_fd(f, op->to_dir.id);
		return file_store_code_of(linkat(dir, op->name, to, op->to_name, 0));
	case STORE_SYMLINK:
		return file_store_code_of(symlinkat(op->to_name, dir, op->name));
	default:
		return posix_open_file(f, op);
	}
}

/* ---- entries ---- */

static void *posix_open_list(struct file_store *f, uint64_t dir)
{
	int fd = openat(dir_fd(f, dir), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

/* One whose stat() finds it removed meanwhile was there. */
static int posix_next(struct file_store *f, void *list, uint64_t dir, bool with_attrs,
		      struct file_store_entry *out)
{
	const struct dirent *entry;
	struct stat st;

	errno = 0;
	do
		entry = readdir(list);
	while (entry && file_store_is_dot(entry->d_name));
	*out = (struct file_store_entry) { 0 };
	if (!entry)
		return errno;
	*out = (struct file_store_entry) { entry->d_name, entry->d_reclen,
					   file_store_is_file(entry) };
	if (with_attrs && fstatat(dir_fd(f, dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
	    errno != ENOENT)
		return errno;
	return 0;
}

static void posix_close_list(struct file_store *f, void *list)
{
	(void)f;
	closedir(list);
}

/* ---- the store ---- */

const char *const store_posix_what[N_STORE_VERBS] = {
	[STORE_PROBE] = "fstatat",
	[STORE_MKDIR] = "mkdirat",
	[STORE_CREATE] = "openat",
	[STORE_DELETE] = "unlinkat",
	[STORE_OPEN] = "openat",
	[STORE_LENGTH] = "fstat",
	[STORE_SET_LEN] = "ftruncate",
	[STORE_READ] = "pread",
	[STORE_WRITE] = "pwrite",
	[STORE_FLUSH] = "fsync",
	[STORE_ROOM] = "fstatvfs",
	[STORE_LOOKUP] = "openat",
	[STORE_LIST] = "getdents64",
	[STORE_RENAME] = "renameat2",
	[STORE_SET_MODE] = "fchmodat",
	[STORE_SET_TIME] = "utimensat",
	[STORE_GET_XATTR] = "fgetxattr",
	[STORE_SET_XATTR] = "fsetxattr",
	[STORE_LINK] = "linkat",
	[STORE_LOCK] = "fcntl",
	[STORE_UNLOCK] = "fcntl",
	[STORE_SYMLINK] = "symlinkat",
	[STORE_DEL_XATTR] = "fremovexattr",
	[STORE_LIST_XATTRS] = "flistxattr",
};

static const struct file_store_calls posix_calls = {
	.what = store_posix_what,
	.no_copy = STORE_POSIX_NO_COPY,
	.pread = posix_pread,
	.pwrite = posix_pwrite,
	.begin_tail = posix_begin_tail,
	.end_tail = posix_end_tail,
	.lock = posix_lock,
	.on_file = posix_on_file,
	.open_dir = posix_open_dir,
	.remove = posix_remove,
	.statvfs = posix_statvfs,
	.xattr = posix_xattr,
	.on_name = posix_on_name,
	.open_list = posix_open_list,
	.next = posix_next,
	.close_list = posix_close_list,
};

static void close_posix(struct store *s)
{
	struct posix *x = (struct posix *)s;

	file_store_fini(&x->f);
	if (x->root >= 0)
		close(x->root);
	free(x);
}

static const struct store_type store_posix_type = BLOCKING_TYPE("POSIX", close_posix);

/* ---- opening ---- */

/* A file without a name, or one whose name is removed again at once. */
static int scratch_file(int dir)
{
	char name[64];
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_STORE_FILE_MODE);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	snprintf(name, sizeof(name), ".afpscope-%d", (int)getpid());
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_STORE_FILE_MODE);
	if (fd >= 0)
		unlinkat(dir, name, 0);
	return fd;
}

/* Alignment of O_DIRECT that the file system reports; 0: none. */
static size_t told_align(int fd)
{
	size_t align;

	return kernel_direct_align(fd, &align) ? align : DEFAULT_ALIGN;
}

/*
 * Finds the alignment; false: no O_DIRECT here. tmpfs accepts the flag since Linux 6.6 but uses the
 * page cache nevertheless.
 */
static bool find_align(struct posix *x)
{
	struct statfs fs;
	int fd;

	x->f.b.s.align = DEFAULT_ALIGN;
	if (!fstatfs(x->root, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
		return false;
	fd = scratch_file(x->root);
	if (fd < 0)
		return true; /* not writable for us: opening a file will show it */
	x->f.b.s.align = fcntl(fd, F_SETFL, O_DIRECT) < 0 ? 0 : told_align(fd);
	close(fd);
	return x->f.b.s.align;
}

static int make_directory(const char *path, struct err *e)
{
	if (mkdir(path, FILE_STORE_DIR_MODE) && errno != EEXIST)
		return err_set(e, -errno, "cannot make directory %s: %s", path, strerror(errno));
	return 0;
}

int store_open_posix(struct store **out, const char *path, bool direct, struct err *e)
{
	struct posix *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	file_store_init(&x->f, &store_posix_type, &posix_calls, direct);
	x->f.b.s.creates_open = true;
	x->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->root < 0) {
		r = err_set(e, -errno, "cannot open directory %s: %s", path, strerror(errno));
		goto fail;
	}
	if (direct && !find_align(x)) {
		r = err_set(e, -EINVAL,
			    "%s: its file system cannot bypass the page cache (O_DIRECT); "
			    "use -D (through the page cache)",
			    path);
		goto fail;
	}
	*out = &x->f.b.s;
	return 0;
fail:
	store_close(&x->f.b.s);
	return r;
}

const struct store_kind store_posix_kind = {
	.prefix = "",
	.open = store_open_posix,
	.make = make_directory,
};
