/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File operations as system calls in a directory of this machine: the same work without a server.
 * Each is carried out when it is submitted. Everything uses descriptors of directories, so no path
 * is ever put together.
 */
#include "base/clock.h"
#include "store/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define DIR_MODE      0750
#define FILE_MODE     0640
#define DEFAULT_ALIGN 4096

/* A directory that this store made: how to remove it again. */
struct made {
	int fd, parent;
	char name[256];
	struct made *next;
};

struct posix {
	struct store s;
	bool direct;
	int root;
	struct made *made;
	struct store_queue waiting, answered;
};

static const char *const calls[N_STORE_VERBS] = {
	[STORE_PROBE] = "fstatat",   [STORE_MKDIR] = "mkdirat",     [STORE_CREATE] = "openat",
	[STORE_DELETE] = "unlinkat", [STORE_OPEN] = "openat",       [STORE_CLOSE] = "close",
	[STORE_LENGTH] = "fstat",    [STORE_SET_LEN] = "ftruncate", [STORE_READ] = "pread",
	[STORE_WRITE] = "pwrite",    [STORE_FLUSH] = "fsync",       [STORE_COPY] = "copy",
	[STORE_ROOM] = "fstatvfs",
};

const char *store_posix_call(enum store_verb v)
{
	return calls[v];
}

static struct posix *of(struct store *s)
{
	_Static_assert(offsetof(struct posix, s) == 0, "a store is the head of its kind");
	return (struct posix *)s;
}

/* ---- answers ---- */

static enum store_result result_of(int code)
{
	switch (code) {
	case 0:
		return STORE_OK;
	case ENOENT:
		return STORE_NONE;
	case EEXIST:
		return STORE_EXISTS;
	case EACCES:
	case EPERM:
	case EROFS:
		return STORE_DENIED;
	case ENOSPC:
	case EDQUOT:
		return STORE_FULL;
	case EINVAL:
	case EFBIG:
	case EOVERFLOW:
	case ENAMETOOLONG:
		return STORE_INVALID;
	case EOPNOTSUPP:
	case ENOSYS:
		return STORE_UNKNOWN;
	default:
		return STORE_FAILED;
	}
}

static void answer(struct store_op *op, int code)
{
	const char *why = strerrordesc_np(code);

	store_answer(op, result_of(code), code, why ? why : "unknown error");
}

/* The code of a system call that returns 0 or a descriptor. */
static int code_of(int r)
{
	return r < 0 ? errno : 0;
}

/* ---- data ---- */

/*
 * Reads until len bytes or the end of the file: 0, or an errno, with *done less than len. A direct
 * read that ends unaligned has reached the end of the file, and could not be continued anyway.
 */
static int read_all(const struct posix *x, const struct store_op *op, size_t len, uint64_t *done)
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
		if (!n || (x->direct && (size_t)n % x->s.align))
			break;
	}
	return 0;
}

/* Reads whole blocks: the caller's buffer has room for them. */
static void do_read(const struct posix *x, struct store_op *op)
{
	size_t align = x->s.align;
	int code = read_all(x, op, (op->len + align - 1) / align * align, &op->done);

	if (op->done > op->len)
		op->done = op->len;
	answer(op, code);
	if (!code && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "end of file");
}

/* Writes [*done, to) of op's data: 0, or an errno. */
static int write_until(const struct store_op *op, uint64_t to, uint64_t *done)
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
static int write_tail(const struct store_op *op, uint64_t *done)
{
	int fd = (int)op->file.id, code;

	if (fcntl(fd, F_SETFL, 0) < 0)
		return errno;
	code = write_until(op, op->len, done);
	if (fcntl(fd, F_SETFL, O_DIRECT) < 0 && !code)
		code = errno;
	return code;
}

static void do_write(const struct posix *x, struct store_op *op)
{
	uint64_t whole = op->len - op->len % x->s.align;
	int code;

	if (x->direct && op->offset % x->s.align) {
		store_answer(op, STORE_INVALID, EINVAL, "O_DIRECT: the offset is not aligned");
		return;
	}
	code = write_until(op, whole, &op->done);
	if (!code && op->done == whole && whole < op->len)
		code = write_tail(op, &op->done);
	answer(op, code);
	if (!code && op->done < op->len)
		store_answer(op, STORE_SHORT, 0, "fewer bytes than given were written: no room?");
}

/* ---- names ---- */

/* Keeps a descriptor of the directory just made: op->made. */
static int keep_dir(struct posix *x, struct store_op *op)
{
	struct made *m = calloc(1, sizeof(*m));
	int code;

	if (!m)
		return ENOMEM;
	m->parent = (int)op->dir.id;
	m->fd = openat(m->parent, op->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->fd < 0) {
		code = errno;
		free(m);
		return code;
	}
	snprintf(m->name, sizeof(m->name), "%s", op->name);
	m->next = x->made;
	x->made = m;
	op->made = (struct store_dir) { op->dir.volume, (uint64_t)m->fd };
	return 0;
}

static void forget(struct made **at)
{
	struct made *m = *at;

	*at = m->next;
	close(m->fd);
	free(m);
}

/* The directory to DELETE, among those that were made here; *at is NULL: none. */
static struct made **find_made(struct posix *x, const struct store_op *op)
{
	struct made **at = &x->made;

	while (*at && (*op->name ? (*at)->parent != (int)op->dir.id || strcmp((*at)->name, op->name)
				 : (*at)->fd != (int)op->dir.id))
		at = &(*at)->next;
	return at;
}

static int delete (struct posix *x, const struct store_op *op)
{
	struct made **m = find_made(x, op);
	int code;

	if (!*op->name && !*m)
		return EPERM; /* its name is not known here */
	if (*m) {
		code = code_of(unlinkat((*m)->parent, (*m)->name, AT_REMOVEDIR));
		if (!code)
			forget(m);
		return code;
	}
	code = code_of(unlinkat((int)op->dir.id, op->name, 0));
	if (code == EISDIR)
		code = code_of(unlinkat((int)op->dir.id, op->name, AT_REMOVEDIR));
	return code;
}

static int create(const struct store_op *op)
{
	int fd = openat((int)op->dir.id, op->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			FILE_MODE);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int open_file(const struct posix *x, struct store_op *op)
{
	int flags = O_CLOEXEC | (x->direct ? O_DIRECT : 0), fd;

	if (op->how & STORE_FOR_WRITE)
		flags |= op->how & STORE_FOR_READ ? O_RDWR : O_WRONLY;
	fd = openat((int)op->dir.id, op->name, flags);
	if (fd < 0)
		return errno;
	op->opened.id = (uint64_t)fd;
	return 0;
}

/* Free space for ordinary users. A file system without blocks does not report it. */
static int room(struct store_op *op)
{
	struct statvfs fs;

	if (fstatvfs((int)op->dir.id, &fs))
		return errno;
	op->done = (uint64_t)fs.f_bavail * fs.f_frsize;
	return fs.f_blocks ? 0 : EOPNOTSUPP;
}

/* ---- the store ---- */

static int execute_named(struct posix *x, struct store_op *op)
{
	int dir = (int)op->dir.id;
	struct stat st;

	switch (op->verb) {
	case STORE_PROBE:
		return code_of(
		    fstatat(dir, op->name, &st, *op->name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH));
	case STORE_MKDIR:
		return code_of(mkdirat(dir, op->name, DIR_MODE));
	case STORE_CREATE:
		return create(op);
	case STORE_DELETE:
		return delete (x, op);
	case STORE_ROOM:
		return room(op);
	default:
		return open_file(x, op);
	}
}

static int execute_open(struct store_op *op)
{
	int fd = (int)op->file.id, code;
	struct stat st;

	switch (op->verb) {
	case STORE_CLOSE:
		return code_of(close(fd));
	case STORE_SET_LEN:
		return code_of(ftruncate(fd, (off_t)op->len));
	case STORE_FLUSH:
		return code_of(fsync(fd));
	default: /* STORE_LENGTH */
		code = code_of(fstat(fd, &st));
		op->done = code ? 0 : (uint64_t)st.st_size;
		return code;
	}
}

static void execute(struct posix *x, struct store_op *op)
{
	switch (op->verb) {
	case STORE_READ:
		do_read(x, op);
		break;
	case STORE_WRITE:
		do_write(x, op);
		break;
	case STORE_COPY:
		store_answer(op, STORE_UNKNOWN, ENOSYS, STORE_POSIX_NO_COPY);
		break;
	case STORE_CLOSE:
	case STORE_LENGTH:
	case STORE_SET_LEN:
	case STORE_FLUSH:
		answer(op, execute_open(op));
		break;
	default:
		answer(op, execute_named(x, op));
	}
}

/* Carries op out in this thread, and waits for it. */
static void carry_out(struct posix *x, struct store_op *op)
{
	int code;

	op->t.begun_ns = clock_now_ns();
	execute(x, op);
	op->t.last_ns = clock_now_ns();
	if (op->verb == STORE_MKDIR && op->result == STORE_OK) {
		code = keep_dir(x, op);
		if (code)
			answer(op, code);
	}
}

static int submit(struct store *s, struct store_op *op, struct err *e)
{
	(void)e;
	op->command = (uint8_t)op->verb;
	op->what = calls[op->verb];
	store_queue_put(&of(s)->waiting, op);
	return 0;
}

static struct store_op *take(struct store *s)
{
	return store_queue_take(&of(s)->answered);
}

static int work(struct store *s, uint64_t ns, struct err *e)
{
	struct posix *x = of(s);
	struct store_op *op = store_queue_take(&x->waiting);

	if (!op)
		return store_only_sleep(s, ns, e);
	carry_out(x, op);
	store_queue_put(&x->answered, op);
	return 0;
}

static void finish(struct store *s)
{
	s->state = STORE_ENDED;
}

static void close_posix(struct store *s)
{
	struct posix *x = of(s);

	while (x->made)
		forget(&x->made);
	if (x->root >= 0)
		close(x->root);
	free(x);
}

static const struct store_type store_posix_type = {
	"POSIX", submit, take, store_never_wait, store_nothing_to_advance, work, finish, close_posix
};

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

	x->s.align = DEFAULT_ALIGN;
	if (!fstatfs(x->root, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
		return false;
	fd = scratch_file(x->root);
	if (fd < 0)
		return true; /* not writable for us: opening a file will show it */
	x->s.align = fcntl(fd, F_SETFL, O_DIRECT) < 0 ? 0 : told_align(fd);
	close(fd);
	return x->s.align;
}

int store_open_posix(struct store **out, const char *path, bool direct, struct err *e)
{
	struct posix *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	x->s.type = &store_posix_type;
	x->s.chunk_read = x->s.chunk_write = STORE_POSIX_CHUNK;
	x->s.align = 1;
	x->s.len_max = INT64_MAX;
	x->direct = direct;
	x->s.state = STORE_IS_OPEN;
	store_queue_init(&x->waiting);
	store_queue_init(&x->answered);
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
	x->s.root[0] = x->s.root[1] = (struct store_dir) { 0, (uint64_t)x->root };
	*out = &x->s;
	return 0;
fail:
	store_close(&x->s);
	return r;
}
