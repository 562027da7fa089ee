/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store that is a directory of a GlusterFS volume: its calls are those of libgfapi, which takes
 * paths. */
#include "store/gfapi_priv.h"

#include <stdlib.h>

#define DIRECT_ALIGN 4096

struct gfapi_file {
	struct glfs_fd *fd;
	struct gfapi_file *next;
	char path[]; /* by which it was opened */
};

static struct gfapi *gfapi_of(struct file_store *f)
{
	_Static_assert(offsetof(struct gfapi, f) == 0, "a store is the head of its kind");
	return (struct gfapi *)f;
}

static struct gfapi_file *file_of(uint64_t file)
{
	return (struct gfapi_file *)(uintptr_t)file;
}

/* ---- paths ---- */

int gfapi_path(const struct gfapi *g, uint64_t dir, const char *name, char out[static PATH_MAX])
{
	return dirs_path(&g->f.dirs, g->root, dir, name, out);
}

/* ---- data ---- */

static ssize_t gfapi_pread(struct file_store *f, uint64_t file, void *buf, size_t len, off_t at)
{
	return gfapi_of(f)->call->pread(file_of(file)->fd, buf, len, at, 0, NULL);
}

static ssize_t gfapi_pwrite(struct file_store *f, uint64_t file, const void *data, size_t len,
			    off_t at)
{
	return gfapi_of(f)->call->pwrite(file_of(file)->fd, data, len, at, 0, NULL, NULL);
}

/* O_CREAT among the flags: it is made, and opened as it is. */
static int gfapi_open(struct gfapi *g, const char *path, int flags, uint64_t *file)
{
	struct gfapi_file *made = malloc(sizeof(*made) + strlen(path) + 1);
	int code;

	if (!made)
		return ENOMEM;
	made->fd = flags & O_CREAT ? g->call->creat(g->fs, path, flags, FILE_STORE_FILE_MODE)
				   : g->call->open(g->fs, path, flags);
	if (!made->fd) {
		code = file_store_code_of(-1);
		free(made);
		return code;
	}
	strcpy(made->path, path);
	made->next = g->files;
	g->files = made;
	*file = (uintptr_t)made;
	return 0;
}

static int gfapi_close(struct file_store *f, uint64_t file)
{
	struct gfapi *g = gfapi_of(f);
	struct gfapi_file *old = file_of(file), **at = &g->files;
	int code = file_store_code_of(g->call->close(old->fd));

	while (*at != old)
		at = &(*at)->next;
	*at = old->next;
	free(old);
	return code;
}

/* A brick refuses it where the file is open directly: another opening takes it. */
static int gfapi_begin_tail(struct file_store *f, uint64_t file, uint64_t *tail)
{
	return gfapi_open(gfapi_of(f), file_of(file)->path, O_WRONLY, tail);
}

static int gfapi_lock(struct file_store *f, uint64_t file, struct flock *range)
{
	const struct gfapi_calls *call = gfapi_of(f)->call;
	struct glfs_fd *fd = file_of(file)->fd;
	uint64_t owner = (uintptr_t)fd;
	int code = file_store_code_of(call->fd_set_lkowner(fd, &owner, sizeof(owner)));

	return code ? code : file_store_code_of(call->posix_lock(fd, F_SETLK, range));
}

static int gfapi_on_file(struct file_store *f, struct store_op *op)
{
	const struct gfapi_calls *call = gfapi_of(f)->call;
	struct glfs_fd *fd = file_of(op->file.id)->fd;
	struct stat st;
	int code;

	switch (op->verb) {
	case STORE_CLOSE:
		return gfapi_close(f, op->file.id);
	case STORE_SET_LEN:
		return file_store_code_of(call->ftruncate(fd, (off_t)op->len, NULL, NULL));
	case STORE_FLUSH:
		return file_store_code_of(call->fsync(fd, NULL, NULL));
	default: /* STORE_LENGTH */
		code = file_store_code_of(call->fstat(fd, &st));
		op->done = code ? 0 : (uint64_t)st.st_size;
		return code;
	}
}

/* ---- names ---- */

static int gfapi_open_dir(struct file_store *f, uint64_t dir, const char *name, bool is_new,
			  int *fd)
{
	struct gfapi *g = gfapi_of(f);
	char path[PATH_MAX];
	struct stat st;
	int code;

	*fd = -1;
	if (is_new)
		return 0;
	code = gfapi_path(g, dir, name, path);
	code = code ? code : file_store_code_of(g->call->lstat(g->fs, path, &st));
	return code || S_ISDIR(st.st_mode) ? code : ENOTDIR;
}

static int gfapi_remove(struct file_store *f, uint64_t dir, const char *name, bool is_dir)
{
	struct gfapi *g = gfapi_of(f);
	char path[PATH_MAX];
	int code = gfapi_path(g, dir, name, path);

	if (code)
		return code;
	return file_store_code_of(is_dir ? g->call->rmdir(g->fs, path)
					 : g->call->unlink(g->fs, path));
}

static int gfapi_create(struct gfapi *g, const char *path, struct store_op *op)
{
	int flags = op->how ? file_store_flags(&g->f, op->how) : O_WRONLY;
	int code = gfapi_open(g, path, flags | O_CREAT | O_EXCL, &op->opened.id);

	return code || op->how ? code : gfapi_close(&g->f, op->opened.id);
}

static int gfapi_statvfs(struct file_store *f, uint64_t dir, struct statvfs *out)
{
	struct gfapi *g = gfapi_of(f);
	char path[PATH_MAX];
	int code = gfapi_path(g, dir, "", path);

	return code ? code : file_store_code_of(g->call->statvfs(g->fs, path, out));
}

static ssize_t gfapi_xattr(struct file_store *f, const struct store_op *op, const char *attr)
{
	struct gfapi *g = gfapi_of(f);
	char path[PATH_MAX];

	errno = gfapi_path(g, op->dir.id, op->name, path);
	if (errno)
		return -1;
	if (op->verb == STORE_DEL_XATTR)
		return g->call->lremovexattr(g->fs, path, attr);
	if (op->verb == STORE_LIST_XATTRS)
		return g->call->llistxattr(g->fs, path, op->buf, op->len);
	if (op->verb == STORE_SET_XATTR)
		return g->call->lsetxattr(g->fs, path, attr, op->data, op->len, 0);
	return g->call->lgetxattr(g->fs, path, attr, op->buf, op->len);
}

/* GlusterFS has no rename that refuses to replace: the name is asked for before. */
static int gfapi_rename(const struct gfapi *g, const char *path, const char *to)
{
	struct stat st;

	if (!g->call->lstat(g->fs, to, &st))
		return EEXIST;
	if (errno != ENOENT)
		return file_store_code_of(-1);
	return file_store_code_of(g->call->rename(g->fs, path, to));
}

static int gfapi_on_two(const struct gfapi *g, const struct store_op *op, const char *path)
{
	char to[PATH_MAX];
	int code = gfapi_path(g, op->to_dir.id, op->to_name, to);

	if (code)
		return code;
	return op->verb == STORE_LINK ? file_store_code_of(g->call->link(g->fs, path, to))
				      : gfapi_rename(g, path, to);
}

/* lutimens() cannot leave out the time of the last access: it gets the same. */
static int gfapi_set_time(const struct gfapi *g, const struct store_op *op, const char *path)
{
	const struct timespec at = { .tv_sec = (time_t)op->offset };
	const struct timespec times[2] = { at, at };

	return file_store_code_of(g->call->lutimens(g->fs, path, times));
}

static int gfapi_on_name(struct file_store *f, struct store_op *op)
{
	struct gfapi *g = gfapi_of(f);
	char path[PATH_MAX];
	struct stat st;
	int code = gfapi_path(g, op->dir.id, op->name, path);

	if (code)
		return code;
	switch (op->verb) {
	case STORE_PROBE:
		return file_store_code_of(g->call->lstat(g->fs, path, &st));
	case STORE_MKDIR:
		return file_store_code_of(g->call->mkdir(g->fs, path, FILE_STORE_DIR_MODE));
	case STORE_CREATE:
		return gfapi_create(g, path, op);
	case STORE_RENAME:
	case STORE_LINK:
		return gfapi_on_two(g, op, path);
	case STORE_SYMLINK:
		return file_store_code_of(g->call->symlink(g->fs, op->to_name, path));
	case STORE_SET_TIME:
		return gfapi_set_time(g, op, path);
	case STORE_SET_MODE:
		return file_store_code_of(g->call->chmod(g->fs, path, op->how & 07777));
	default:
		return gfapi_open(g, path, file_store_flags(f, op->how), &op->opened.id);
	}
}

/* ---- entries ---- */

static void *gfapi_open_list(struct file_store *f, uint64_t dir)
{
	struct gfapi *g = gfapi_of(f);
	char path[PATH_MAX];

	errno = gfapi_path(g, dir, "", path);
	return errno ? NULL : g->call->opendir(g->fs, path);
}

/* What stat() shows of an entry mostly comes with it, or else is asked for. */
static int gfapi_next(struct file_store *f, void *list, uint64_t dir, bool with_attrs,
		      struct file_store_entry *out)
{
	struct gfapi *g = gfapi_of(f);
	const struct dirent *entry;
	char path[PATH_MAX];
	struct stat st;
	int code;

	errno = 0;
	do {
		st.st_nlink = 0;
		entry = with_attrs ? g->call->readdirplus(list, &st) : g->call->readdir(list);
	} while (entry && file_store_is_dot(entry->d_name));
	*out = (struct file_store_entry) { 0 };
	if (!entry)
		return errno;
	out->name = entry->d_name;
	out->len = offsetof(struct dirent, d_name) + strlen(entry->d_name) + 1;
	out->is_file = file_store_is_file(entry);
	if (!with_attrs || st.st_nlink)
		return 0;
	code = gfapi_path(g, dir, entry->d_name, path);
	code = code ? code : file_store_code_of(g->call->lstat(g->fs, path, &st));
	return code == ENOENT ? 0 : code; /* removed meanwhile */
}

static void gfapi_close_list(struct file_store *f, void *list)
{
	gfapi_of(f)->call->closedir(list);
}

/* ---- the store ---- */

static const char *const gfapi_what[N_STORE_VERBS] = {
	[STORE_PROBE] = "glfs_lstat",
	[STORE_MKDIR] = "glfs_mkdir",
	[STORE_CREATE] = "glfs_creat",
	[STORE_DELETE] = "glfs_unlink",
	[STORE_OPEN] = "glfs_open",
	[STORE_CLOSE] = "glfs_close",
	[STORE_LENGTH] = "glfs_fstat",
	[STORE_SET_LEN] = "glfs_ftruncate",
	[STORE_READ] = "glfs_pread",
	[STORE_WRITE] = "glfs_pwrite",
	[STORE_FLUSH] = "glfs_fsync",
	[STORE_ROOM] = "glfs_statvfs",
	[STORE_LOOKUP] = "glfs_lstat",
	[STORE_LIST] = "glfs_readdir",
	[STORE_RENAME] = "glfs_rename",
	[STORE_SET_MODE] = "glfs_chmod",
	[STORE_SET_TIME] = "glfs_lutimens",
	[STORE_GET_XATTR] = "glfs_lgetxattr",
	[STORE_SET_XATTR] = "glfs_lsetxattr",
	[STORE_LINK] = "glfs_link",
	[STORE_LOCK] = "glfs_posix_lock",
	[STORE_DEL_XATTR] = "glfs_lremovexattr",
	[STORE_LIST_XATTRS] = "glfs_llistxattr",
	[STORE_UNLOCK] = "glfs_posix_lock",
	[STORE_SYMLINK] = "glfs_symlink",
};

static const struct file_store_calls gfapi_file_calls = {
	.what = gfapi_what,
	.no_copy = "GlusterFS has no copy by the server for all kinds of volumes",
	.pread = gfapi_pread,
	.pwrite = gfapi_pwrite,
	.begin_tail = gfapi_begin_tail,
	.end_tail = gfapi_close,
	.lock = gfapi_lock,
	.on_file = gfapi_on_file,
	.open_dir = gfapi_open_dir,
	.remove = gfapi_remove,
	.statvfs = gfapi_statvfs,
	.xattr = gfapi_xattr,
	.on_name = gfapi_on_name,
	.open_list = gfapi_open_list,
	.next = gfapi_next,
	.close_list = gfapi_close_list,
};

static void close_gfapi(struct store *s)
{
	struct gfapi *g = (struct gfapi *)s;

	file_store_fini(&g->f);
	while (g->files)
		gfapi_close(&g->f, (uintptr_t)g->files);
	gfapi_leave(g->client);
	free(g);
}

static const struct store_type store_gfapi_type = BLOCKING_TYPE("gfapi", close_gfapi);

/* What a user has written, and the client of its volume. */
struct gfapi_place {
	struct gfapi_url url;
	struct gfapi_client *client;
	const struct gfapi_calls *call;
	struct glfs *fs;
};

static int find_place(struct gfapi_place *out, const char *where, struct err *e)
{
	int r = gfapi_url_parse(&out->url, where, e);

	r = r ? r : gfapi_find_client(&out->client, &out->url, e);
	if (r)
		return r;
	out->call = out->client->call;
	out->fs = out->client->fs;
	return 0;
}

static int store_gfapi_failed(const char *what, const char *where, int code, struct err *e)
{
	return err_set(e, -code, "cannot %s " GFAPI_PREFIX "%s: %s", what, where, strerror(code));
}

static int open_gfapi(struct store **out, const char *where, bool direct, struct err *e)
{
	struct gfapi_place at;
	struct stat st;
	struct gfapi *g;
	int r = find_place(&at, where, e);

	if (r)
		return r;
	if (at.call->lstat(at.fs, *at.url.path ? at.url.path : "/", &st))
		return store_gfapi_failed("open directory", where, errno ? errno : EIO, e);
	if (!S_ISDIR(st.st_mode))
		return store_gfapi_failed("open directory", where, ENOTDIR, e);
	g = calloc(1, sizeof(*g));
	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	file_store_init(&g->f, &store_gfapi_type, &gfapi_file_calls, direct);
	g->f.b.s.align = direct ? DIRECT_ALIGN : 1;
	g->f.b.s.creates_open = true;
	g->client = at.client;
	g->call = at.call;
	g->fs = at.fs;
	memcpy(g->root, at.url.path, sizeof(g->root));
	gfapi_use(g->client);
	*out = &g->f.b.s;
	return 0;
}

static int make_gfapi(const char *where, struct err *e)
{
	struct gfapi_place at;
	int r = find_place(&at, where, e);

	if (!r && *at.url.path && at.call->mkdir(at.fs, at.url.path, FILE_STORE_DIR_MODE) &&
	    errno != EEXIST)
		r = store_gfapi_failed("make directory", where, errno ? errno : EIO, e);
	return r;
}

const struct store_kind store_gfapi_kind = {
	.prefix = GFAPI_PREFIX,
	.open = open_gfapi,
	.make = make_gfapi,
	.usage = "DIRECTORY|" GFAPI_PREFIX "HOST/VOLUME/PATH",
};
