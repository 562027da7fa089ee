/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store that is a directory of this machine: the same work without a server. How it is opened;
 * posix_ops.c has the system calls.
 */
#include "store/posix_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FILE_MODE     0640
#define DIR_MODE      0750
#define DEFAULT_ALIGN 4096
#define TREE_DEPTH    16 /* descriptors at a time */

static const char *const calls[N_STORE_VERBS] = {
	[STORE_PROBE] = "fstatat",       [STORE_MKDIR] = "mkdirat",
	[STORE_CREATE] = "openat",       [STORE_DELETE] = "unlinkat",
	[STORE_OPEN] = "openat",         [STORE_CLOSE] = "close",
	[STORE_LENGTH] = "fstat",        [STORE_SET_LEN] = "ftruncate",
	[STORE_READ] = "pread",          [STORE_WRITE] = "pwrite",
	[STORE_FLUSH] = "fsync",         [STORE_COPY] = "copy",
	[STORE_ROOM] = "fstatvfs",       [STORE_LOOKUP] = "openat",
	[STORE_LIST] = "getdents64",     [STORE_RENAME] = "renameat2",
	[STORE_SET_MODE] = "fchmodat",   [STORE_SET_TIME] = "utimensat",
	[STORE_GET_XATTR] = "fgetxattr", [STORE_SET_XATTR] = "fsetxattr",
	[STORE_LINK] = "linkat",         [STORE_LOCK] = "fcntl",
	[STORE_UNLOCK] = "fcntl",        [STORE_SYMLINK] = "symlinkat",
};

const char *store_posix_call(enum store_verb v)
{
	return calls[v];
}

static void close_posix(struct store *s)
{
	struct posix *x = (struct posix *)s;

	blocking_fini(&x->b);
	posix_forget_dirs(x);
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
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	snprintf(name, sizeof(name), ".afpscope-%d", (int)getpid());
	fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd >= 0)
		unlinkat(dir, name, 0);
	return fd;
}

/* Alignment of O_DIRECT that the file system reports; 0: none. */
static size_t told_align(int fd)
{
#ifdef STATX_DIOALIGN
	struct statx sx;

	if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) && sx.stx_mask & STATX_DIOALIGN)
		return sx.stx_dio_offset_align;
#else
	(void)fd;
#endif
	return DEFAULT_ALIGN;
}

/*
 * Finds the alignment; false: no O_DIRECT here. tmpfs accepts the flag since Linux 6.6 but uses the
 * page cache nevertheless.
 */
static bool find_align(struct posix *x)
{
	struct statfs fs;
	int fd;

	x->b.s.align = DEFAULT_ALIGN;
	if (!fstatfs(x->root, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
		return false;
	fd = scratch_file(x->root);
	if (fd < 0)
		return true; /* not writable for us: opening a file will show it */
	x->b.s.align = fcntl(fd, F_SETFL, O_DIRECT) < 0 ? 0 : told_align(fd);
	close(fd);
	return x->b.s.align;
}

static int make_directory(const char *path, struct err *e)
{
	if (mkdir(path, DIR_MODE) && errno != EEXIST)
		return err_set(e, -errno, "cannot make directory %s: %s", path, strerror(errno));
	return 0;
}

static int list_names(const char *path, store_found *found, void *user, struct err *e)
{
	const struct dirent *entry;
	DIR *d = opendir(path);
	int code;

	if (!d)
		return err_set(e, -errno, "cannot list directory %s: %s", path, strerror(errno));
	while ((errno = 0, entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			found(user, entry->d_name);
	code = errno;
	closedir(d);
	if (!code)
		return 0;
	return err_set(e, -code, "cannot list directory %s: %s", path, strerror(code));
}

static int posix_remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int remove_tree(const char *path, const char *name, struct err *e)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	if (!nftw(whole, posix_remove_entry, TREE_DEPTH, FTW_DEPTH | FTW_PHYS))
		return 0;
	return err_set(e, -errno, "cannot remove %s: %s", whole, strerror(errno));
}

int store_open_posix(struct store **out, const char *path, bool direct, struct err *e)
{
	struct posix *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	blocking_init(&x->b, &store_posix_type, calls, posix_carry_out);
	x->direct = direct;
	x->b.s.creates_open = true;
	x->b.s.has_links = true;
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
	x->b.s.root[0] = x->b.s.root[1] = (struct store_dir) { 0, (uint64_t)x->root };
	*out = &x->b.s;
	return 0;
fail:
	store_close(&x->b.s);
	return r;
}

const struct store_kind store_posix_kind = {
	.prefix = "",
	.open = store_open_posix,
	.make = make_directory,
	.list = list_names,
	.remove = remove_tree,
};
