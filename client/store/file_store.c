/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a store of files does for each verb, with the calls of its kind. Each is waited for. */
#include "store/file_store.h"

#include "base/clock.h"
#include "base/kernel.h"

#include <dirent.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* ---- data ---- */

/*
 * Reads whole blocks: the caller's buffer has room for them. A direct read that ends unaligned has
 * reached the end of the file, and could not be continued anyway.
 */
static void file_store_read(struct file_store *f, struct store_op *op)
{
	size_t align = f->b.s.align;
	uint64_t len = (op->len + align - 1) / align * align;
	ssize_t n = 1;

	while (op->done < len && n > 0) {
		n = f->calls->pread(f, op->file.id, (uint8_t *)op->buf + op->done, len - op->done,
				    (off_t)(op->offset + op->done));
		op->done += n > 0 ? (uint64_t)n : 0;
		if (n > 0 && (uint64_t)n % align)
			break;
	}
	if (op->done > op->len)
		op->done = op->len;
	store_answer_errno(op, file_store_code_of(n));
	if (n >= 0 && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "end of file");
}

/* Writes [op->done, to) of op's data: 0, or an errno. */
static int write_until(struct file_store *f, uint64_t file, struct store_op *op, uint64_t to)
{
	ssize_t n = 1;

	while (op->done < to && n > 0) {
		n = f->calls->pwrite(f, file, (const uint8_t *)op->data + op->done, to - op->done,
				     (off_t)(op->offset + op->done));
		op->done += n > 0 ? (uint64_t)n : 0;
	}
	return file_store_code_of(n);
}

static int write_tail(struct file_store *f, struct store_op *op)
{
	uint64_t tail;
	int code = f->calls->begin_tail(f, op->file.id, &tail), ended;

	if (code)
		return code;
	code = write_until(f, tail, op, op->len);
	ended = f->calls->end_tail(f, tail);
	return code ? code : ended;
}

static void file_store_write(struct file_store *f, struct store_op *op)
{
	uint64_t whole = op->len - op->len % f->b.s.align;
	int code;

	if (op->offset % f->b.s.align) {
		store_answer(op, STORE_INVALID, EINVAL, "O_DIRECT: the offset is not aligned");
		return;
	}
	code = write_until(f, op->file.id, op, whole);
	if (!code && op->done == whole && whole < op->len)
		code = write_tail(f, op);
	store_answer_errno(op, code);
	if (!code && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "fewer bytes than given were written: no room?");
}

static int file_store_lock(struct file_store *f, const struct store_op *op)
{
	struct flock range = { .l_type = op->verb == STORE_LOCK ? F_WRLCK : F_UNLCK,
			       .l_whence = SEEK_SET,
			       .l_start = (off_t)op->offset,
			       .l_len = (off_t)op->len };

	/* no length means the whole rest to the kernel, and less than none what is before */
	if (!op->len || op->offset > INT64_MAX || op->len > INT64_MAX - op->offset)
		return EINVAL;
	return f->calls->lock(f, op->file.id, &range);
}

/* ---- names ---- */

static void end_list(struct file_store *f)
{
	if (f->list)
		f->calls->close_list(f, f->list);
	f->list = NULL;
}

/* The directory is one however often it is asked for. is_new: it has just been made. */
static int look_up(struct file_store *f, uint64_t dir, const char *name, bool is_new, uint64_t *id)
{
	int fd, code = f->calls->open_dir(f, dir, name, is_new, &fd);

	if (code)
		return code;
	*id = dirs_keep(&f->dirs, dir, name, fd);
	return *id ? 0 : ENOMEM;
}

/* Something else was mounted here: what is in it is not ours. */
static bool is_mount(const struct file_store *f, uint64_t id)
{
	const struct dirs_entry *d = dirs_of(&f->dirs, id);

	return d && d->fd >= 0 && kernel_is_mount(d->fd);
}

static int look_up_made(struct file_store *f, struct store_op *op)
{
	int code = look_up(f, op->dir.id, op->name, op->verb == STORE_MKDIR, &op->made.id);

	op->made.volume = op->dir.volume;
	return !code && op->how & STORE_NO_MOUNT && is_mount(f, op->made.id) ? EBUSY : code;
}

static int delete_dir(struct file_store *f, uint64_t id)
{
	const struct dirs_entry *d = dirs_of(&f->dirs, id);
	int code = d ? f->calls->remove(f, d->parent, d->name, true) : ENOENT;

	if (code)
		return code;
	if (f->list_dir == id)
		end_list(f); /* the next directory may get the same id */
	dirs_forget(&f->dirs, id);
	return 0;
}

static int file_store_delete(struct file_store *f, const struct store_op *op)
{
	uint64_t id = *op->name ? dirs_find(&f->dirs, op->dir.id, op->name) : op->dir.id;
	int code;

	if (!*op->name && !id)
		return EPERM; /* the store's own place */
	if (id)
		return delete_dir(f, id);
	code = f->calls->remove(f, op->dir.id, op->name, op->how & STORE_IS_DIR);
	return code == EISDIR ? f->calls->remove(f, op->dir.id, op->name, true) : code;
}

/* A directory that is known has another name from now on. */
static int file_store_rename(struct file_store *f, struct store_op *op)
{
	uint64_t id = dirs_find(&f->dirs, op->dir.id, op->name);
	int code = f->calls->on_name(f, op);

	if (!code && id && !dirs_move(&f->dirs, id, op->to_dir.id, op->to_name))
		code = ENOMEM;
	return code;
}

/* Free space for ordinary users. A file system without blocks does not report it. */
static int file_store_room(struct file_store *f, struct store_op *op)
{
	struct statvfs fs;
	int code = f->calls->statvfs(f, op->dir.id, &fs);

	if (code)
		return code;
	op->done = (uint64_t)fs.f_bavail * fs.f_frsize;
	return fs.f_blocks ? 0 : EOPNOTSUPP;
}

#define OF_USERS "user."

/* Bytes of the names of users, without what is in front of them. */
static size_t user_names(const char *names, size_t len)
{
	size_t all = 0, n;

	for (size_t at = 0; at < len; at += n + 1) {
		n = strnlen(names + at, len - at);
		if (!strncmp(names + at, OF_USERS, strlen(OF_USERS)))
			all += n + 1 - strlen(OF_USERS);
	}
	return all;
}

/* The attribute's name is as Linux has it: that of users. */
static int file_store_xattr(struct file_store *f, struct store_op *op)
{
	char attr[XATTR_NAME_MAX + 1] = "";
	ssize_t n;

	if (op->verb != STORE_LIST_XATTRS &&
	    snprintf(attr, sizeof(attr), OF_USERS "%s", op->to_name) > XATTR_NAME_MAX)
		return ENAMETOOLONG;
	n = f->calls->xattr(f, op, attr);
	if (n > 0 && op->verb == STORE_LIST_XATTRS)
		n = (ssize_t)user_names(op->buf, (size_t)n);
	if (n > 0 && (uint64_t)n > op->len)
		return ERANGE; /* asked for with no room, its length is the answer */
	op->done = n > 0 ? (uint64_t)n : 0;
	return file_store_code_of(n);
}

/* ---- entries ---- */

/* The directory's entries from the op->offset-th on: 0 or an errno. */
static int begin_list(struct file_store *f, const struct store_op *op)
{
	struct file_store_entry entry;
	int code = 0;

	end_list(f);
	f->list = f->calls->open_list(f, op->dir.id);
	if (!f->list)
		return file_store_code_of(-1);
	f->list_dir = op->dir.id;
	for (f->listed = 0; f->listed < op->offset; f->listed++) {
		code = f->calls->next(f, f->list, f->list_dir, false, &entry);
		if (code || !entry.name)
			return code;
	}
	return 0;
}

/* A listing that goes on where the last one ended does not begin again. */
static int file_store_list(struct file_store *f, struct store_op *op)
{
	struct file_store_entry entry;
	uint64_t len = 0;
	int code = 0;

	if (op->len < STORE_LIST_LEN)
		return EINVAL;
	if (!op->offset || !f->list || f->list_dir != op->dir.id || f->listed != op->offset)
		code = begin_list(f, op);
	while (!code && len + sizeof(struct dirent) <= op->len) {
		code = f->calls->next(f, f->list, f->list_dir, op->with_attrs, &entry);
		if (code || !entry.name)
			break;
		op->is_file = entry.is_file;
		if (op->found)
			op->found(op, entry.name);
		len += entry.len;
		f->listed++;
		op->done++;
	}
	if (code || !op->done)
		end_list(f);
	return code || op->done ? code : ENOENT;
}

/* ---- the store ---- */

int file_store_flags(const struct file_store *f, unsigned int how)
{
	int flags = f->direct ? O_DIRECT : 0;

	if (how & STORE_FOR_WRITE)
		flags |= how & STORE_FOR_READ ? O_RDWR : O_WRONLY;
	return flags;
}

static int do_verb(struct file_store *f, struct store_op *op)
{
	switch (op->verb) {
	case STORE_LOCK:
	case STORE_UNLOCK:
		return file_store_lock(f, op);
	case STORE_CLOSE:
	case STORE_LENGTH:
	case STORE_SET_LEN:
	case STORE_FLUSH:
		return f->calls->on_file(f, op);
	case STORE_DELETE:
		return file_store_delete(f, op);
	case STORE_ROOM:
		return file_store_room(f, op);
	case STORE_LOOKUP:
		return look_up_made(f, op);
	case STORE_LIST:
		return file_store_list(f, op);
	case STORE_RENAME:
		return file_store_rename(f, op);
	case STORE_GET_XATTR:
	case STORE_SET_XATTR:
	case STORE_DEL_XATTR:
	case STORE_LIST_XATTRS:
		return file_store_xattr(f, op);
	default:
		return f->calls->on_name(f, op);
	}
}

static void file_store_execute(struct file_store *f, struct store_op *op)
{
	switch (op->verb) {
	case STORE_READ:
		file_store_read(f, op);
		break;
	case STORE_WRITE:
		file_store_write(f, op);
		break;
	case STORE_COPY:
		store_answer(op, STORE_UNKNOWN, ENOSYS, f->calls->no_copy);
		break;
	case STORE_SWAP:
	case STORE_SET_FINDER:
	case STORE_SEARCH:
	case STORE_LOGIN:
	case STORE_LOGOUT:
	case STORE_OTHER:
		store_answer(op, STORE_UNKNOWN, ENOSYS, STORE_ONLY_AFP);
		break;
	case STORE_EXCHANGE:
		store_answer(op, STORE_UNKNOWN, ENOSYS, STORE_NO_CALLS);
		break;
	default:
		store_answer_errno(op, do_verb(f, op));
	}
}

static void file_store_carry_out(struct blocking *b, struct store_op *op)
{
	struct file_store *f = (struct file_store *)b;
	int code;

	_Static_assert(offsetof(struct file_store, b) == 0, "a store is the head of its kind");

	errno = 0;
	op->t.begun_ns = clock_now_ns();
	file_store_execute(f, op);
	op->t.last_ns = clock_now_ns();
	if (op->verb == STORE_MKDIR && op->how != STORE_UNUSED && op->result == STORE_OK) {
		code = look_up_made(f, op); /* no part of what making it takes */
		if (code)
			store_answer_errno(op, code);
	}
}

void file_store_init(struct file_store *f, const struct store_type *type,
		     const struct file_store_calls *calls, bool direct)
{
	blocking_init(&f->b, type, calls->what, file_store_carry_out);
	f->b.s.has_links = true;
	f->calls = calls;
	f->direct = direct;
}

void file_store_fini(struct file_store *f)
{
	blocking_fini(&f->b);
	end_list(f);
	dirs_free(&f->dirs);
}
