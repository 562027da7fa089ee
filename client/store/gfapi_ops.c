/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File operations as calls of libgfapi. Each is waited for. */
#include "base/clock.h"
#include "store/gfapi_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define DIR_MODE  0750
#define FILE_MODE 0640

/* The code of a call that returns less than 0 if it fails; some of its failures have no errno. */
static int gfapi_ops_code_of(ssize_t r)
{
	if (r >= 0)
		return 0;
	return errno ? errno : EIO;
}

struct gfapi_file {
	struct glfs_fd *fd;
	struct gfapi_file *next;
	char path[]; /* by which it was opened */
};

static struct gfapi_file *file_of(const struct store_op *op)
{
	return (struct gfapi_file *)(uintptr_t)op->file.id;
}

static struct glfs_fd *gfapi_ops_fd_of(const struct store_op *op)
{
	return file_of(op)->fd;
}

/* ---- data ---- */

/* Reads whole blocks, where it is direct: the caller's buffer has room for them. */
static void gfapi_ops_do_read(const struct gfapi *g, struct store_op *op)
{
	size_t align = g->b.s.align;
	uint64_t len = (op->len + align - 1) / align * align;
	ssize_t n = 1;

	while (op->done < len && n > 0) {
		n = g->call->pread(gfapi_ops_fd_of(op), (uint8_t *)op->buf + op->done,
				   len - op->done, (off_t)(op->offset + op->done), 0, NULL);
		op->done += n > 0 ? (uint64_t)n : 0;
		if (n > 0 && (uint64_t)n % align)
			break; /* the end of the file */
	}
	if (op->done > op->len)
		op->done = op->len;
	blocking_answer(op, gfapi_ops_code_of(n));
	if (n >= 0 && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "end of file");
}

/* Writes [op->done, to) of op's data: 0, or an errno. */
static int gfapi_ops_write_until(const struct gfapi *g, struct glfs_fd *fd, struct store_op *op,
				 uint64_t to)
{
	ssize_t n = 1;

	while (op->done < to && n > 0) {
		n = g->call->pwrite(fd, (const uint8_t *)op->data + op->done, to - op->done,
				    (off_t)(op->offset + op->done), 0, NULL, NULL);
		op->done += n > 0 ? (uint64_t)n : 0;
	}
	return gfapi_ops_code_of(n);
}

/* A brick refuses less than a block where the file is open directly: another opening takes it. */
static int gfapi_ops_write_tail(const struct gfapi *g, struct store_op *op)
{
	struct glfs_fd *fd = g->call->open(g->fs, file_of(op)->path, O_WRONLY);
	int code, closed;

	if (!fd)
		return gfapi_ops_code_of(-1);
	code = gfapi_ops_write_until(g, fd, op, op->len);
	closed = gfapi_ops_code_of(g->call->close(fd));
	return code ? code : closed;
}

static void gfapi_ops_do_write(const struct gfapi *g, struct store_op *op)
{
	uint64_t whole = op->len - op->len % g->b.s.align;
	int code;

	if (op->offset % g->b.s.align) {
		store_answer(op, STORE_INVALID, EINVAL, "O_DIRECT: the offset is not aligned");
		return;
	}
	code = gfapi_ops_write_until(g, gfapi_ops_fd_of(op), op, whole);
	if (!code && op->done == whole && whole < op->len)
		code = gfapi_ops_write_tail(g, op);
	blocking_answer(op, code);
	if (!code && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "fewer bytes than given were written: no room?");
}

/* Of this opening of the file, so that it conflicts with another in this process, too. */
static int gfapi_ops_lock(const struct gfapi *g, const struct store_op *op)
{
	struct flock range = { .l_type = op->verb == STORE_LOCK ? F_WRLCK : F_UNLCK,
			       .l_whence = SEEK_SET,
			       .l_start = (off_t)op->offset,
			       .l_len = (off_t)op->len };
	uint64_t owner = (uintptr_t)gfapi_ops_fd_of(op);
	int code;

	if (!op->len || op->offset > INT64_MAX || op->len > INT64_MAX - op->offset)
		return EINVAL;
	code = gfapi_ops_code_of(
	    g->call->fd_set_lkowner(gfapi_ops_fd_of(op), &owner, sizeof(owner)));
	return code ? code
		    : gfapi_ops_code_of(g->call->posix_lock(gfapi_ops_fd_of(op), F_SETLK, &range));
}

static int close_file(struct gfapi *g, struct gfapi_file *f)
{
	struct gfapi_file **at = &g->files;
	int code = gfapi_ops_code_of(g->call->close(f->fd));

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	free(f);
	return code;
}

void gfapi_close_files(struct gfapi *g)
{
	while (g->files)
		close_file(g, g->files);
}

static int gfapi_ops_execute_open(struct gfapi *g, struct store_op *op)
{
	struct glfs_fd *fd = gfapi_ops_fd_of(op);
	struct stat st;
	int code;

	switch (op->verb) {
	case STORE_CLOSE:
		return close_file(g, file_of(op));
	case STORE_SET_LEN:
		return gfapi_ops_code_of(g->call->ftruncate(fd, (off_t)op->len, NULL, NULL));
	case STORE_FLUSH:
		return gfapi_ops_code_of(g->call->fsync(fd, NULL, NULL));
	case STORE_LOCK:
	case STORE_UNLOCK:
		return gfapi_ops_lock(g, op);
	default: /* STORE_LENGTH */
		code = gfapi_ops_code_of(g->call->fstat(fd, &st));
		op->done = code ? 0 : (uint64_t)st.st_size;
		return code;
	}
}

/* ---- names ---- */

void gfapi_end_listing(struct gfapi *g)
{
	if (g->listing)
		g->call->closedir(g->listing);
	g->listing = NULL;
}

static int gfapi_ops_keep_dir(struct gfapi *g, struct store_op *op)
{
	uint64_t id = gfapi_keep_dir(g, op->dir.id, op->name);

	op->made = (struct store_dir) { op->dir.volume, id };
	return id ? 0 : ENOMEM;
}

static int gfapi_ops_look_up(struct gfapi *g, struct store_op *op, const char *path)
{
	struct stat st;
	int code = gfapi_ops_code_of(g->call->lstat(g->fs, path, &st));

	if (!code && !S_ISDIR(st.st_mode))
		code = ENOTDIR;
	return code ? code : gfapi_ops_keep_dir(g, op);
}

static int delete_dir(struct gfapi *g, uint64_t id, const char *path)
{
	int code = gfapi_ops_code_of(g->call->rmdir(g->fs, path));

	if (code || !id)
		return code;
	if (g->listing_dir == id)
		gfapi_end_listing(g); /* the next directory may get the same id */
	gfapi_forget_dir(g, id);
	return 0;
}

static int delete_one(struct gfapi *g, const struct store_op *op, const char *path)
{
	uint64_t id = *op->name ? gfapi_find_dir(g, op->dir.id, op->name) : op->dir.id;
	int code;

	if (!*op->name && !id)
		return EPERM; /* the store's own place */
	if (id)
		return delete_dir(g, id, path);
	code = gfapi_ops_code_of(g->call->unlink(g->fs, path));
	return code == EISDIR ? delete_dir(g, 0, path) : code;
}

static int gfapi_ops_create(const struct gfapi *g, const char *path)
{
	struct glfs_fd *fd = g->call->creat(g->fs, path, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);

	return fd ? gfapi_ops_code_of(g->call->close(fd)) : gfapi_ops_code_of(-1);
}

static int gfapi_ops_open_file(struct gfapi *g, struct store_op *op, const char *path)
{
	struct gfapi_file *f = malloc(sizeof(*f) + strlen(path) + 1);
	int flags = g->direct ? O_DIRECT : 0, code;

	if (!f)
		return ENOMEM;
	if (op->how & STORE_FOR_WRITE)
		flags |= op->how & STORE_FOR_READ ? O_RDWR : O_WRONLY;
	f->fd = g->call->open(g->fs, path, flags);
	if (!f->fd) {
		code = gfapi_ops_code_of(-1);
		free(f);
		return code;
	}
	strcpy(f->path, path);
	f->next = g->files;
	g->files = f;
	op->opened.id = (uintptr_t)f;
	return 0;
}

static int gfapi_ops_room(const struct gfapi *g, struct store_op *op, const char *path)
{
	struct statvfs fs;
	int code = gfapi_ops_code_of(g->call->statvfs(g->fs, path, &fs));

	op->done = code ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
	return code;
}

/* GlusterFS has no rename that refuses to replace: the name is asked for before. */
static int gfapi_ops_rename_to(struct gfapi *g, const struct store_op *op, const char *path,
			       const char *to)
{
	uint64_t id = gfapi_find_dir(g, op->dir.id, op->name);
	struct stat st;
	int code;

	if (!g->call->lstat(g->fs, to, &st))
		return EEXIST;
	if (errno != ENOENT)
		return gfapi_ops_code_of(-1);
	code = gfapi_ops_code_of(g->call->rename(g->fs, path, to));
	if (!code && id && !gfapi_move_dir(g, id, op->to_dir.id, op->to_name))
		code = ENOMEM;
	return code;
}

/* lutimens() cannot leave out the time of the last access: it gets the same. */
static int gfapi_ops_set_time(const struct gfapi *g, const struct store_op *op, const char *path)
{
	const struct timespec at = { .tv_sec = (time_t)op->offset };
	const struct timespec times[2] = { at, at };

	return gfapi_ops_code_of(g->call->lutimens(g->fs, path, times));
}

static int gfapi_ops_use_xattr(const struct gfapi *g, struct store_op *op, const char *path)
{
	char attr[XATTR_NAME_MAX + 1];
	ssize_t n;

	if (snprintf(attr, sizeof(attr), "user.%s", op->to_name) > XATTR_NAME_MAX)
		return ENAMETOOLONG;
	if (op->verb == STORE_SET_XATTR)
		return gfapi_ops_code_of(
		    g->call->lsetxattr(g->fs, path, attr, op->data, op->len, 0));
	n = g->call->lgetxattr(g->fs, path, attr, op->buf, op->len);
	if (n > 0 && (uint64_t)n > op->len)
		return ERANGE; /* asked for with no room, its length is the answer */
	op->done = n > 0 ? (uint64_t)n : 0;
	return gfapi_ops_code_of(n);
}

/* ---- entries ---- */

/*
 * The next entry that is not the directory itself or its parent: 0, or an errno; NULL: no more.
 * With st what stat() shows of it, which comes with the entry, or else is asked for.
 */
static int gfapi_ops_next_entry(const struct gfapi *g, const struct dirent **out, struct stat *st)
{
	const struct dirent *entry;
	char path[PATH_MAX];
	int code = 0;

	errno = 0;
	do {
		if (st)
			st->st_nlink = 0;
		entry = st ? g->call->readdirplus(g->listing, st) : g->call->readdir(g->listing);
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	*out = entry;
	if (!entry)
		return errno;
	if (!st || st->st_nlink)
		return 0;
	code = gfapi_path(g, g->listing_dir, entry->d_name, path);
	code = code ? code : gfapi_ops_code_of(g->call->lstat(g->fs, path, st));
	return code == ENOENT ? 0 : code; /* removed meanwhile */
}

/* The directory's entries from the op->offset-th on: 0 or an errno. */
static int gfapi_ops_begin_listing(struct gfapi *g, const struct store_op *op, const char *path)
{
	const struct dirent *entry;
	int code = 0;

	gfapi_end_listing(g);
	g->listing = g->call->opendir(g->fs, path);
	if (!g->listing)
		return gfapi_ops_code_of(-1);
	g->listing_dir = op->dir.id;
	for (g->listed = 0; g->listed < op->offset; g->listed++) {
		code = gfapi_ops_next_entry(g, &entry, NULL);
		if (code || !entry)
			return code;
	}
	return 0;
}

/* A listing that goes on where the last one ended does not begin again. */
static int gfapi_ops_list(struct gfapi *g, struct store_op *op, const char *path)
{
	const struct dirent *entry;
	struct stat st;
	uint64_t len = 0;
	int code = 0;

	if (op->len < STORE_LIST_LEN)
		return EINVAL;
	if (!op->offset || !g->listing || g->listing_dir != op->dir.id || g->listed != op->offset)
		code = gfapi_ops_begin_listing(g, op, path);
	while (!code && len + sizeof(*entry) <= op->len) {
		code = gfapi_ops_next_entry(g, &entry, op->with_attrs ? &st : NULL);
		if (code || !entry)
			break;
		len += offsetof(struct dirent, d_name) + strlen(entry->d_name) + 1;
		g->listed++;
		op->done++;
	}
	if (code || !op->done)
		gfapi_end_listing(g);
	return code || op->done ? code : ENOENT;
}

/* ---- the store ---- */

static int execute_two(struct gfapi *g, const struct store_op *op, const char *path)
{
	char to[PATH_MAX];
	int code = gfapi_path(g, op->to_dir.id, op->to_name, to);

	if (code)
		return code;
	return op->verb == STORE_LINK ? gfapi_ops_code_of(g->call->link(g->fs, path, to))
				      : gfapi_ops_rename_to(g, op, path, to);
}

static int execute_path(struct gfapi *g, struct store_op *op, const char *path)
{
	struct stat st;
	int code;

	switch (op->verb) {
	case STORE_PROBE:
		return gfapi_ops_code_of(g->call->lstat(g->fs, path, &st));
	case STORE_MKDIR:
		code = gfapi_ops_code_of(g->call->mkdir(g->fs, path, DIR_MODE));
		return code ? code : gfapi_ops_keep_dir(g, op);
	case STORE_CREATE:
		return gfapi_ops_create(g, path);
	case STORE_DELETE:
		return delete_one(g, op, path);
	case STORE_ROOM:
		return gfapi_ops_room(g, op, path);
	case STORE_LOOKUP:
		return gfapi_ops_look_up(g, op, path);
	case STORE_LIST:
		return gfapi_ops_list(g, op, path);
	case STORE_RENAME:
	case STORE_LINK:
		return execute_two(g, op, path);
	case STORE_SYMLINK:
		return gfapi_ops_code_of(g->call->symlink(g->fs, op->to_name, path));
	case STORE_SET_TIME:
		return gfapi_ops_set_time(g, op, path);
	case STORE_SET_MODE:
		return gfapi_ops_code_of(g->call->chmod(g->fs, path, op->how & 07777));
	case STORE_GET_XATTR:
	case STORE_SET_XATTR:
		return gfapi_ops_use_xattr(g, op, path);
	default:
		return gfapi_ops_open_file(g, op, path);
	}
}

static int gfapi_ops_execute_named(struct gfapi *g, struct store_op *op)
{
	const char *name = op->verb == STORE_ROOM || op->verb == STORE_LIST ? "" : op->name;
	char path[PATH_MAX];
	int code = gfapi_path(g, op->dir.id, name, path);

	return code ? code : execute_path(g, op, path);
}

static void gfapi_ops_execute(struct gfapi *g, struct store_op *op)
{
	switch (op->verb) {
	case STORE_READ:
		gfapi_ops_do_read(g, op);
		break;
	case STORE_WRITE:
		gfapi_ops_do_write(g, op);
		break;
	case STORE_COPY:
		store_answer(op, STORE_UNKNOWN, ENOSYS,
			     "GlusterFS has no copy by the server for all kinds of volumes");
		break;
	case STORE_CLOSE:
	case STORE_LENGTH:
	case STORE_SET_LEN:
	case STORE_FLUSH:
	case STORE_LOCK:
	case STORE_UNLOCK:
		blocking_answer(op, gfapi_ops_execute_open(g, op));
		break;
	default:
		blocking_answer(op, gfapi_ops_execute_named(g, op));
	}
}

void gfapi_carry_out(struct blocking *b, struct store_op *op)
{
	struct gfapi *g = (struct gfapi *)b;

	_Static_assert(offsetof(struct gfapi, b) == 0, "a store is the head of its kind");

	errno = 0;
	op->t.begun_ns = clock_now_ns();
	gfapi_ops_execute(g, op);
	op->t.last_ns = clock_now_ns();
}
