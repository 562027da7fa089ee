/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store that is a directory of this machine: the same work without a server. System calls wait:
 * an operation is carried out when its caller waits for it (store_reap), or, for a caller that
 * never does, by a thread of the store. posix_ops.c has the calls.
 */
#include "store/posix_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FILE_MODE     0640
#define DEFAULT_ALIGN 4096

static const char *const calls[N_STORE_VERBS] = {
	[STORE_PROBE] = "fstatat",       [STORE_MKDIR] = "mkdirat",
	[STORE_CREATE] = "openat",       [STORE_DELETE] = "unlinkat",
	[STORE_OPEN] = "openat",         [STORE_CLOSE] = "close",
	[STORE_LENGTH] = "fstat",        [STORE_SET_LEN] = "ftruncate",
	[STORE_READ] = "pread",          [STORE_WRITE] = "pwrite",
	[STORE_FLUSH] = "fsync",         [STORE_COPY] = "copy",
	[STORE_ROOM] = "fstatvfs",       [STORE_LOOKUP] = "openat",
	[STORE_LIST] = "getdents64",     [STORE_RENAME] = "renameat2",
	[STORE_SET_TIME] = "utimensat",  [STORE_GET_XATTR] = "fgetxattr",
	[STORE_SET_XATTR] = "fsetxattr", [STORE_LINK] = "linkat",
	[STORE_LOCK] = "fcntl",          [STORE_UNLOCK] = "fcntl",
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

static int submit(struct store *s, struct store_op *op, struct err *e)
{
	struct posix *x = of(s);

	(void)e;
	op->command = (uint8_t)op->verb;
	op->what = calls[op->verb];
	if (x->pool)
		posix_pool_put(x->pool, op);
	else
		store_queue_put(&x->waiting, op);
	return 0;
}

static struct store_op *take(struct store *s)
{
	struct posix *x = of(s);
	struct store_op *op = store_queue_take(&x->answered);

	return op || !x->pool ? op : posix_pool_take(x->pool);
}

static void wait(struct store *s, struct io_wait *w)
{
	const struct posix *x = of(s);

	store_never_wait(s, w);
	if (x->pool)
		*w = (struct io_wait) { posix_pool_fd(x->pool), POLLIN, UINT64_MAX };
	else if (x->waiting.head)
		w->due_ns = 0;
}

/* Somebody does not want to wait: from now on the thread does the work. */
static int advance(struct store *s, short events, struct err *e)
{
	struct posix *x = of(s);
	struct store_op *op;
	int r;

	(void)events;
	if (!x->waiting.head)
		return 0;
	r = posix_pool_new(&x->pool, x, e);
	while (!r && (op = store_queue_take(&x->waiting)))
		posix_pool_put(x->pool, op);
	return r;
}

static int work(struct store *s, uint64_t ns, struct err *e)
{
	struct posix *x = of(s);
	struct store_op *op = store_queue_take(&x->waiting);
	struct io_wait w;

	if (!op) {
		wait(s, &w);
		io_wait(&w, ns);
		return 0;
	}
	(void)e;
	posix_carry_out(x, op);
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

	posix_pool_free(x->pool);
	posix_forget_dirs(x);
	if (x->root >= 0)
		close(x->root);
	free(x);
}

static const struct store_type store_posix_type = { "POSIX", submit, take,   wait,
						    advance, work,   finish, close_posix };

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
