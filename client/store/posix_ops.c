/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations as system calls. Everything uses descriptors of directories, so no path is ever
 * put together.
 */
#include "base/clock.h"
#include "store/posix_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DIR_MODE  0750
#define FILE_MODE 0640

/* ---- answers ---- */

/* The code of a system call that returns 0 or a descriptor. */
static int posix_ops_code_of(int r)
{
	return r < 0 ? errno : 0;
}

/* ---- data ---- */

/*
 * Reads until len bytes or the end of the file: 0, or an errno, with *done less than len. A direct
 * read that ends unaligned has reached the end of the file, and could not be continued anyway.
 */
static int posix_ops_read_all(const struct posix *x, const struct store_op *op, size_t len,
			      uint64_t *done)
{
	int fd = (int)op->file.id;
	ssize_t n;

	while (*done < len) {
		n = pread(fd, (uint8_t *)op->buf + *done, len - *done, (off_t)(op->offset + *done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		*done += (size_t)n;
		if (!n || (x->direct && (size_t)n % x->b.s.align))
			break;
	}
	return 0;
}

/* Reads whole blocks: the caller's buffer has room for them. */
static void posix_ops_do_read(const struct posix *x, struct store_op *op)
{
	size_t align = x->b.s.align;
	int code = posix_ops_read_all(x, op, (op->len + align - 1) / align * align, &op->done);

	if (op->done > op->len)
		op->done = op->len;
	blocking_answer(op, code);
	if (!code && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "end of file");
}

/* Writes [*done, to) of op's data: 0, or an errno. */
static int posix_ops_write_until(const struct store_op *op, uint64_t to, uint64_t *done)
{
	int fd = (int)op->file.id;
	ssize_t n;

	while (*done < to) {
		n = pwrite(fd, (const uint8_t *)op->data + *done, to - *done,
			   (off_t)(op->offset + *done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (!n)
			break;
		*done += (size_t)n;
	}
	return 0;
}

/* Less than a block at the end cannot be written directly: it goes through the page cache. */
static int posix_ops_write_tail(const struct store_op *op, uint64_t *done)
{
	int fd = (int)op->file.id, code;

	if (fcntl(fd, F_SETFL, 0) < 0)
		return errno;
	code = posix_ops_write_until(op, op->len, done);
	if (fcntl(fd, F_SETFL, O_DIRECT) < 0 && !code)
		code = errno;
	return code;
}

static void posix_ops_do_write(const struct posix *x, struct store_op *op)
{
	uint64_t whole = op->len - op->len % x->b.s.align;
	int code;

	if (x->direct && op->offset % x->b.s.align) {
		store_answer(op, STORE_INVALID, EINVAL, "O_DIRECT: the offset is not aligned");
		return;
	}
	code = posix_ops_write_until(op, whole, &op->done);
	if (!code && op->done == whole && whole < op->len)
		code = posix_ops_write_tail(op, &op->done);
	blocking_answer(op, code);
	if (!code && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "fewer bytes than given were written: no room?");
}

/* ---- names ---- */

static struct posix_dir **posix_ops_find_dir(struct posix *x, uint64_t parent, const char *name)
{
	struct posix_dir **at = &x->dirs;

	while (*at && ((*at)->parent != (int)parent || strcmp((*at)->name, name)))
		at = &(*at)->next;
	return at;
}

static struct posix_dir **find_fd(struct posix *x, uint64_t fd)
{
	struct posix_dir **at = &x->dirs;

	while (*at && (*at)->fd != (int)fd)
		at = &(*at)->next;
	return at;
}

static bool posix_ops_is_same(int fd, int other)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Keeps a descriptor of the directory that op names, one however often it is asked for: op->made.
 */
static int posix_ops_keep_dir(struct posix *x, struct store_op *op)
{
	int fd = openat((int)op->dir.id, op->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct posix_dir *m;

	if (fd < 0)
		return errno;
	m = *posix_ops_find_dir(x, op->dir.id, op->name);
	if (m && posix_ops_is_same(m->fd, fd)) {
		close(fd);
		op->made = (struct store_dir) { op->dir.volume, (uint64_t)m->fd };
		return 0;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		close(fd);
		return ENOMEM;
	}
	m->fd = fd;
	m->parent = (int)op->dir.id;
	snprintf(m->name, sizeof(m->name), "%s", op->name);
	m->next = x->dirs;
	x->dirs = m;
	op->made = (struct store_dir) { op->dir.volume, (uint64_t)fd };
	return 0;
}

static void end_listing(struct posix *x)
{
	if (x->listing)
		closedir(x->listing);
	x->listing = NULL;
}

/* The next directory may get the same descriptor. */
static void posix_ops_forget(struct posix *x, struct posix_dir **at)
{
	struct posix_dir *m = *at;

	if (x->listing_dir == (uint64_t)m->fd)
		end_listing(x);
	*at = m->next;
	close(m->fd);
	free(m);
}

static int delete (struct posix *x, const struct store_op *op)
{
	struct posix_dir **m = *op->name ? posix_ops_find_dir(x, op->dir.id, op->name)
					 : find_fd(x, op->dir.id);
	int code;

	if (!*op->name && !*m)
		return EPERM; /* its name is not known here */
	if (*m) {
		code = posix_ops_code_of(unlinkat((*m)->parent, (*m)->name, AT_REMOVEDIR));
		if (!code)
			posix_ops_forget(x, m);
		return code;
	}
	code = posix_ops_code_of(unlinkat((int)op->dir.id, op->name, 0));
	if (code == EISDIR)
		code = posix_ops_code_of(unlinkat((int)op->dir.id, op->name, AT_REMOVEDIR));
	return code;
}

static int open_flags(const struct posix *x, unsigned int how)
{
	int flags = O_CLOEXEC | (x->direct ? O_DIRECT : 0);

	if (how & STORE_FOR_WRITE)
		flags |= how & STORE_FOR_READ ? O_RDWR : O_WRONLY;
	return flags;
}

static int posix_ops_create(const struct posix *x, struct store_op *op)
{
	int flags = op->how ? open_flags(x, op->how) : O_WRONLY | O_CLOEXEC;
	int fd = openat((int)op->dir.id, op->name, flags | O_CREAT | O_EXCL, FILE_MODE);

	if (fd < 0)
		return errno;
	if (op->how)
		op->opened.id = (uint64_t)fd;
	else
		close(fd);
	return 0;
}

static int posix_ops_open_file(const struct posix *x, struct store_op *op)
{
	int fd = openat((int)op->dir.id, op->name, open_flags(x, op->how));

	if (fd < 0)
		return errno;
	op->opened.id = (uint64_t)fd;
	return 0;
}

/* Free space for ordinary users. A file system without blocks does not report it. */
static int posix_ops_room(struct store_op *op)
{
	struct statvfs fs;

	if (fstatvfs((int)op->dir.id, &fs))
		return errno;
	op->done = (uint64_t)fs.f_bavail * fs.f_frsize;
	return fs.f_blocks ? 0 : EOPNOTSUPP;
}

/* The attribute's name as Linux has it: that of users. */
static bool name_attr(char out[static XATTR_NAME_MAX + 1], const struct store_op *op)
{
	return snprintf(out, XATTR_NAME_MAX + 1, "user.%s", op->to_name) <= XATTR_NAME_MAX;
}

static int posix_ops_use_xattr(struct store_op *op)
{
	char attr[XATTR_NAME_MAX + 1];
	int fd, code;
	ssize_t n;

	if (!name_attr(attr, op))
		return ENAMETOOLONG;
	fd = openat((int)op->dir.id, op->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (op->verb == STORE_SET_XATTR)
		n = fsetxattr(fd, attr, op->data, op->len, 0);
	else
		n = fgetxattr(fd, attr, op->buf, op->len);
	code = n < 0 ? errno : 0;
	if (!code && op->verb == STORE_GET_XATTR && (uint64_t)n > op->len)
		code = ERANGE; /* asked for with no room, its length is the answer */
	if (!code && op->verb == STORE_GET_XATTR)
		op->done = (uint64_t)n;
	close(fd);
	return code;
}

/* File systems that cannot refuse to replace are asked before. */
static int rename_one(const struct store_op *op)
{
	int from = (int)op->dir.id, to = (int)op->to_dir.id;
	struct stat st;

	if (!renameat2(from, op->name, to, op->to_name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL)
		return errno;
	if (!fstatat(to, op->to_name, &st, AT_SYMLINK_NOFOLLOW))
		return EEXIST;
	return posix_ops_code_of(renameat(from, op->name, to, op->to_name));
}

/* A directory that is kept has another name from now on. */
static int posix_ops_rename_to(struct posix *x, const struct store_op *op)
{
	struct posix_dir *m;
	int code = rename_one(op);

	while (!code && (m = *posix_ops_find_dir(x, op->dir.id, op->name))) {
		m->parent = (int)op->to_dir.id;
		snprintf(m->name, sizeof(m->name), "%s", op->to_name);
	}
	return code;
}

static int posix_ops_set_time(const struct store_op *op)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)op->offset } };

	return posix_ops_code_of(utimensat((int)op->dir.id, op->name, times, AT_SYMLINK_NOFOLLOW));
}

/* ---- entries ---- */

/* The next entry that is not the directory itself or its parent; NULL: no more, errno 0. */
static const struct dirent *posix_ops_next_entry(DIR *d)
{
	const struct dirent *entry;

	errno = 0;
	do
		entry = readdir(d);
	while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	return entry;
}

/* The directory's entries from the op->offset-th on: 0 or an errno. */
static int posix_ops_begin_listing(struct posix *x, const struct store_op *op)
{
	int fd;

	end_listing(x);
	fd = openat((int)op->dir.id, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	x->listing = fdopendir(fd);
	if (!x->listing) {
		close(fd);
		return ENOMEM;
	}
	x->listing_dir = op->dir.id;
	for (x->listed = 0; x->listed < op->offset; x->listed++)
		if (!posix_ops_next_entry(x->listing))
			return errno;
	return 0;
}

/* The entry itself; one that was removed meanwhile was there. */
static int posix_ops_look_at(const struct store_op *op, const struct dirent *entry)
{
	struct stat st;

	if (op->with_attrs && fstatat((int)op->dir.id, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
	    errno != ENOENT)
		return errno;
	return 0;
}

/* A listing that goes on where the last one ended does not begin again. */
static int posix_ops_list(struct posix *x, struct store_op *op)
{
	const struct dirent *entry;
	uint64_t len = 0;
	int code = 0;

	if (op->len < STORE_LIST_LEN)
		return EINVAL;
	if (!op->offset || !x->listing || x->listing_dir != op->dir.id || x->listed != op->offset)
		code = posix_ops_begin_listing(x, op);
	while (!code && len + sizeof(*entry) <= op->len) {
		entry = posix_ops_next_entry(x->listing);
		code = entry ? posix_ops_look_at(op, entry) : errno;
		if (!entry)
			break;
		len += entry->d_reclen;
		x->listed++;
		op->done++;
	}
	if (code || !op->done)
		end_listing(x);
	return code || op->done ? code : ENOENT;
}

/* ---- the store ---- */

static int posix_ops_execute_named(struct posix *x, struct store_op *op)
{
	int dir = (int)op->dir.id;
	struct stat st;

	switch (op->verb) {
	case STORE_PROBE:
		return posix_ops_code_of(
		    fstatat(dir, op->name, &st, *op->name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH));
	case STORE_MKDIR:
		return posix_ops_code_of(mkdirat(dir, op->name, DIR_MODE));
	case STORE_CREATE:
		return posix_ops_create(x, op);
	case STORE_DELETE:
		return delete (x, op);
	case STORE_ROOM:
		return posix_ops_room(op);
	case STORE_LOOKUP:
		return posix_ops_keep_dir(x, op);
	case STORE_LIST:
		return posix_ops_list(x, op);
	case STORE_RENAME:
		return posix_ops_rename_to(x, op);
	case STORE_SET_TIME:
		return posix_ops_set_time(op);
	case STORE_SET_MODE:
		return posix_ops_code_of(fchmodat(dir, op->name, op->how & 07777, 0));
	case STORE_GET_XATTR:
	case STORE_SET_XATTR:
		return posix_ops_use_xattr(op);
	case STORE_LINK:
		return posix_ops_code_of(linkat(dir, op->name, (int)op->to_dir.id, op->to_name, 0));
	case STORE_SYMLINK:
		return posix_ops_code_of(symlinkat(op->to_name, dir, op->name));
	default:
		return posix_ops_open_file(x, op);
	}
}

/* Of this opening of the file, so that it conflicts with another in this process, too. */
static int posix_ops_lock(const struct store_op *op)
{
	struct flock range = { .l_type = op->verb == STORE_LOCK ? F_WRLCK : F_UNLCK,
			       .l_whence = SEEK_SET,
			       .l_start = (off_t)op->offset,
			       .l_len = (off_t)op->len };

	/* no length means the whole rest to the kernel, and less than none what is before */
	if (!op->len || op->offset > INT64_MAX || op->len > INT64_MAX - op->offset)
		return EINVAL;
	return posix_ops_code_of(fcntl((int)op->file.id, F_OFD_SETLK, &range));
}

static int posix_ops_execute_open(struct store_op *op)
{
	int fd = (int)op->file.id, code;
	struct stat st;

	switch (op->verb) {
	case STORE_CLOSE:
		return posix_ops_code_of(close(fd));
	case STORE_SET_LEN:
		return posix_ops_code_of(ftruncate(fd, (off_t)op->len));
	case STORE_FLUSH:
		return posix_ops_code_of(fsync(fd));
	case STORE_LOCK:
	case STORE_UNLOCK:
		return posix_ops_lock(op);
	default: /* STORE_LENGTH */
		code = posix_ops_code_of(fstat(fd, &st));
		op->done = code ? 0 : (uint64_t)st.st_size;
		return code;
	}
}

static void posix_ops_execute(struct posix *x, struct store_op *op)
{
	switch (op->verb) {
	case STORE_READ:
		posix_ops_do_read(x, op);
		break;
	case STORE_WRITE:
		posix_ops_do_write(x, op);
		break;
	case STORE_COPY:
		store_answer(op, STORE_UNKNOWN, ENOSYS, STORE_POSIX_NO_COPY);
		break;
	case STORE_CLOSE:
	case STORE_LENGTH:
	case STORE_SET_LEN:
	case STORE_FLUSH:
	case STORE_LOCK:
	case STORE_UNLOCK:
		blocking_answer(op, posix_ops_execute_open(op));
		break;
	default:
		blocking_answer(op, posix_ops_execute_named(x, op));
	}
}

void posix_carry_out(struct blocking *b, struct store_op *op)
{
	struct posix *x = (struct posix *)b;
	int code;

	_Static_assert(offsetof(struct posix, b) == 0, "a store is the head of its kind");

	op->t.begun_ns = clock_now_ns();
	posix_ops_execute(x, op);
	op->t.last_ns = clock_now_ns();
	if (op->verb == STORE_MKDIR && op->result == STORE_OK) {
		code = posix_ops_keep_dir(x, op);
		if (code)
			blocking_answer(op, code);
	}
}

void posix_forget_dirs(struct posix *x)
{
	end_listing(x);
	while (x->dirs)
		posix_ops_forget(x, &x->dirs);
}
