/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each verb is on an NFS server: the calls of libnfs, one after the other. */
#include "store/nfs_priv.h"

#include "store/file_store.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A client of NFSv4 that opens, reads and writes nothing for its lease, mostly 60 or 90 s, is
 * forgotten with its open files; Linux closes a connection on which nothing comes for 6 minutes. */
#define KEEP_4_NS 20000000000u
#define KEEP_3_NS 120000000000u

#define NO_XATTR  "NFSv3 and NFSv4.0 have no extended attributes"
#define NO_LOCKS                                                                                   \
	"libnfs has no locks of NFSv3, and with NFSv4 locks only the first file of a connection"

const char *const nfs_what[N_STORE_VERBS] = {
	[STORE_PROBE] = "nfs_lstat64",   [STORE_MKDIR] = "nfs_mkdir2",
	[STORE_CREATE] = "nfs_create",   [STORE_DELETE] = "nfs_unlink",
	[STORE_OPEN] = "nfs_open",       [STORE_CLOSE] = "nfs_close",
	[STORE_LENGTH] = "nfs_fstat64",  [STORE_SET_LEN] = "nfs_ftruncate",
	[STORE_READ] = "nfs_pread",      [STORE_WRITE] = "nfs_pwrite",
	[STORE_FLUSH] = "nfs_fsync",     [STORE_ROOM] = "nfs_statvfs64",
	[STORE_LOOKUP] = "nfs_lstat64",  [STORE_LIST] = "nfs_opendir",
	[STORE_RENAME] = "nfs_rename",   [STORE_SET_TIME] = "nfs_lutimes",
	[STORE_SET_MODE] = "nfs_chmod",  [STORE_LINK] = "nfs_link",
	[STORE_SYMLINK] = "nfs_symlink",
};

const char *const nfs_lacks[N_STORE_VERBS] = {
	[STORE_COPY] = "libnfs has no copy by the server",
	[STORE_GET_XATTR] = NO_XATTR,
	[STORE_SET_XATTR] = NO_XATTR,
	[STORE_LOCK] = NO_LOCKS,
	[STORE_UNLOCK] = NO_LOCKS,
	[STORE_DEL_XATTR] = NO_XATTR,
	[STORE_LIST_XATTRS] = NO_XATTR,
	REMOTE_LACKS,
};

/* ---- errors ---- */

/*
 * The statuses of NFS for which libnfs gives no errno, or that of something else: all of a READ or
 * WRITE of NFSv3 are EFAULT, those that only NFSv4 has ERANGE. Its text has the name.
 */
static const struct {
	const char *name;
	int code;
} nfs_statuses[] = {
	{ "DQUOT", EDQUOT },         { "JUKEBOX", EBUSY },
	{ "DELAY", EBUSY },          { "GRACE", EBUSY },
	{ "FILE_OPEN", EBUSY },      { "SHARE_DENIED", EACCES },
	{ "OPENMODE", EACCES },      { "WRONGSEC", EACCES },
	{ "LOCKED", EAGAIN },        { "DENIED", EAGAIN },
	{ "NOTSUPP", EOPNOTSUPP },   { "ATTRNOTSUPP", EOPNOTSUPP },
	{ "STALE", ESTALE },         { "EXPIRED", ESTALE },
	{ "FHEXPIRED", ESTALE },     { "STALE_CLIENTID", ESTALE },
	{ "STALE_STATEID", ESTALE }, { "BAD_STATEID", ESTALE },
	{ "OLD_STATEID", ESTALE },   { "NOSPC", ENOSPC },
	{ "FBIG", EFBIG },           { "ROFS", EROFS },
	{ "ACCES", EACCES },         { "ACCESS", EACCES },
	{ "PERM", EPERM },           { "ISDIR", EISDIR },
	{ "INVAL", EINVAL },         { "BADNAME", EINVAL },
	{ "BADCHAR", EINVAL },       { "SYMLINK", ELOOP },
};

/* "NFS3ERR_NOSPC" and "NFS4ERR_NOSPC" in a text; NULL: there is none. */
static const char *nfs_status(const char *said)
{
	const char *at = strstr(said, "NFS3ERR_");

	at = at ? at : strstr(said, "NFS4ERR_");
	return at ? at + strlen("NFS3ERR_") : NULL;
}

int nfs_errno(int status, const char *said)
{
	const char *name = nfs_status(said);
	int code = -status;
	size_t len;

	if (code == EINVAL && strstr(said, "Insufficient ACCESS"))
		return EACCES;
	if (!name)
		return code != EFAULT && code != EINTR ? code
		       : !strncmp(said, "NFS", 3)      ? EIO
						       : ECONNRESET;
	len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	for (size_t i = 0; i < sizeof(nfs_statuses) / sizeof(nfs_statuses[0]); i++)
		if (strlen(nfs_statuses[i].name) == len &&
		    !strncmp(nfs_statuses[i].name, name, len))
			return nfs_statuses[i].code;
	return code == EFAULT || code == ERANGE ? EIO : code;
}

/* libnfs 5 keeps texts of NFS and those of the connection apart. */
char *nfs_text(const struct nfs *n)
{
	static char none[1];
	char *text = n->call->get_error(n->context);

	if (!text || !*text)
		text = n->call->get_rpc_error(n->call->get_rpc_context(n->context));
	return text ? text : none;
}

/* A text that stayed would be that of a later failure that has none. */
int nfs_take_errno(const struct nfs *n, int status, char said[static ERR_TEXT_MAX])
{
	char *text = nfs_text(n);

	snprintf(said, ERR_TEXT_MAX, "%s", text);
	if (*said && said[strlen(said) - 1] == '.')
		said[strlen(said) - 1] = '\0';
	for (; *text; text = nfs_text(n))
		*text = '\0';
	return nfs_errno(status, said);
}

/* ---- what all share ---- */

/* Of what libnfs remembers for all its contexts nothing has a lock. */
static struct {
	pthread_mutex_t lock;
} nfs_shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

void nfs_lock(void)
{
	pthread_mutex_lock(&nfs_shared.lock);
}

void nfs_unlock(void)
{
	pthread_mutex_unlock(&nfs_shared.lock);
}

/* ---- jobs ---- */

static struct nfs *nfs_of(const struct remote_job *j)
{
	return (struct nfs *)j->r;
}

/* What a call returned that begins a request. */
static int nfs_begun(int r)
{
	return r < 0 ? EIO : 0;
}

static struct nfsfh *nfs_file(const struct remote_job *j)
{
	return (struct nfsfh *)(uintptr_t)j->op->file.id;
}

/* false: nobody waits for it any more, or the connection is lost. *code: an errno, or 0. */
static bool nfs_heard(struct remote_job *j, int status, int *code)
{
	char said[ERR_TEXT_MAX];

	if (!remote_heard(j))
		return false;
	*code = status < 0 ? nfs_take_errno(nfs_of(j), status, said) : 0;
	if (*code != ECONNRESET)
		return true;
	remote_lose(j->r, *said ? said : NFS_CLOSED);
	return false;
}

/* Of NFSv4 only what has to do with open files renews a lease. */
static void nfs_note_asked(const struct remote_job *j, bool about_file)
{
	struct nfs *n = nfs_of(j);

	if (about_file || !n->is_v4 || !n->kept_ns)
		n->kept_ns = clock_now_ns();
}

/* ---- data ---- */

static void nfs_moved(int status, struct nfs_context *context, void *data, void *user);

int nfs_move(struct remote_job *j)
{
	const struct nfs_calls *call = nfs_of(j)->call;
	struct nfs_context *c = nfs_of(j)->context;
	struct store_op *op = j->op;
	uint64_t len = op->len - op->done, at = op->offset + op->done;

	nfs_note_asked(j, true);
	if (op->len > INT32_MAX)
		return EINVAL;
	if (op->verb == STORE_READ)
		return nfs_begun(call->pread_async(c, nfs_file(j), at, len, nfs_moved, j));
	return nfs_begun(call->pwrite_async(c, nfs_file(j), at, len,
					    (const uint8_t *)op->data + op->done, nfs_moved, j));
}

/* With NFSv4 an answer may be short before the end of the file, which is not told. */
static void nfs_moved(int status, struct nfs_context *context, void *data, void *user)
{
	struct remote_job *j = user;
	struct store_op *op;
	uint64_t n = status > 0 ? (uint64_t)status : 0;
	int code;

	(void)context;
	if (!nfs_heard(j, status, &code))
		return;
	op = j->op;
	if (n > op->len - op->done) {
		n = 0;
		code = EIO;
	}
	if (n && op->verb == STORE_READ && !op->discard)
		memcpy((uint8_t *)op->buf + op->done, data, n);
	op->done += n;
	if (n && op->done < op->len && nfs_of(j)->is_v4) {
		code = nfs_move(j);
		if (!code)
			return;
	}
	remote_end(j, code);
}

/* ---- one call each ---- */

/* An errno. */
static int nfs_look(const struct remote_job *j, const struct nfs_stat *st)
{
	struct nfs *n = nfs_of(j);

	if (!S_ISDIR(st->mode))
		return ENOTDIR;
	if (!n->has_dev) /* the first that is asked for is the store's own */
		n->dev = st->dev;
	n->has_dev = true;
	return j->op->how & STORE_NO_MOUNT && st->dev != n->dev ? EBUSY : 0;
}

static void nfs_done(int status, struct nfs_context *context, void *data, void *user)
{
	struct remote_job *j = user;
	const struct nfs_statvfs *fs = data;
	int code;

	(void)context;
	if (!nfs_heard(j, status, &code))
		return;
	switch (code ? N_STORE_VERBS : j->op->verb) {
	case STORE_LENGTH:
		j->op->done = ((const struct nfs_stat *)data)->size;
		break;
	case STORE_LOOKUP:
		code = nfs_look(j, data);
		break;
	case STORE_ROOM:
		j->op->done = fs->bavail * fs->frsize;
		code = fs->blocks ? 0 : EOPNOTSUPP;
		break;
	case STORE_LIST:
		remote_take_list(j, data);
		return;
	default:
		break;
	}
	remote_end(j, code);
}

/* ---- files ---- */

static void nfs_opened(int status, struct nfs_context *context, void *data, void *user)
{
	struct remote_job *j = user;
	int code;

	if (!nfs_heard(j, status, &code))
		return;
	if (!code && j->op->verb == STORE_CREATE && !j->op->how) {
		code = nfs_begun(nfs_of(j)->call->close_async(context, data, nfs_done, j));
		if (!code)
			return;
	}
	j->op->opened.id = code ? 0 : (uintptr_t)data;
	remote_end(j, code);
}

static int nfs_flags(unsigned int how)
{
	if (how & STORE_FOR_WRITE)
		return how & STORE_FOR_READ ? O_RDWR : O_WRONLY;
	return O_RDONLY;
}

/*
 * With NFSv4 the server takes a second CREATE with the same number for the first one again, and
 * libnfs draws these numbers for all its contexts without a lock.
 */
static int nfs_make_file(struct remote_job *j, const char *path)
{
	int flags = j->op->how ? nfs_flags(j->op->how) : O_WRONLY, r;

	nfs_lock();
	r = nfs_of(j)->call->create_async(nfs_of(j)->context, path, flags | O_EXCL,
					  FILE_STORE_FILE_MODE, nfs_opened, j);
	nfs_unlock();
	return nfs_begun(r);
}

int nfs_on_file(struct remote_job *j)
{
	const struct nfs_calls *call = nfs_of(j)->call;
	struct nfs_context *c = nfs_of(j)->context;

	nfs_note_asked(j, j->op->verb == STORE_CLOSE);
	switch (j->op->verb) {
	case STORE_CLOSE:
		return nfs_begun(call->close_async(c, nfs_file(j), nfs_done, j));
	case STORE_LENGTH:
		return nfs_begun(call->fstat64_async(c, nfs_file(j), nfs_done, j));
	case STORE_SET_LEN:
		return nfs_begun(call->ftruncate_async(c, nfs_file(j), j->op->len, nfs_done, j));
	default: /* STORE_FLUSH */
		return nfs_begun(call->fsync_async(c, nfs_file(j), nfs_done, j));
	}
}

/* ---- names ---- */

static void nfs_not_there(int status, struct nfs_context *context, void *data, void *user)
{
	char path[PATH_MAX], to[PATH_MAX];
	struct remote_job *j = user;
	const struct store_op *op;
	int code;

	(void)data;
	if (!nfs_heard(j, status, &code))
		return;
	op = j->op;
	if (code == ENOENT)
		code = remote_path(j->r, op->dir, op->name, path);
	else
		code = code ? code : EEXIST;
	code = code ? code : remote_path(j->r, op->to_dir, op->to_name, to);
	code = code ? code
		    : nfs_begun(nfs_of(j)->call->rename_async(context, path, to, nfs_done, j));
	if (code)
		remote_end(j, code);
}

/* NFS has no rename that refuses to replace: the name is asked for before. */
static int nfs_on_two(struct remote_job *j, const char *path)
{
	const struct nfs_calls *call = nfs_of(j)->call;
	struct nfs_context *c = nfs_of(j)->context;
	char to[PATH_MAX];
	int code = remote_path(j->r, j->op->to_dir, j->op->to_name, to);

	if (code)
		return code;
	if (j->op->verb == STORE_LINK)
		return nfs_begun(call->link_async(c, path, to, nfs_done, j));
	return nfs_begun(call->lstat64_async(c, to, nfs_not_there, j));
}

static void nfs_dir_removed(int status, struct nfs_context *context, void *data, void *user)
{
	struct remote_job *j = user;
	int code;

	(void)context, (void)data;
	if (nfs_heard(j, status, &code))
		remote_end(j, code == EEXIST ? ENOTEMPTY : code); /* as some servers say it */
}

static int nfs_remove_dir(struct remote_job *j)
{
	char path[PATH_MAX];
	int code = remote_path(j->r, j->op->dir, j->op->name, path);

	if (code)
		return code;
	return nfs_begun(
	    nfs_of(j)->call->rmdir_async(nfs_of(j)->context, path, nfs_dir_removed, j));
}

static void nfs_removed(int status, struct nfs_context *context, void *data, void *user)
{
	struct remote_job *j = user;
	int code;

	(void)context, (void)data;
	if (!nfs_heard(j, status, &code))
		return;
	if (code == EISDIR) {
		code = nfs_remove_dir(j);
		if (!code)
			return;
	}
	remote_end(j, code);
}

static int nfs_delete(struct remote_job *j, const char *path)
{
	const struct store_op *op = j->op;

	if (op->how & STORE_IS_DIR || !*op->name || dirs_find(&j->r->dirs, op->dir.id, op->name))
		return nfs_remove_dir(j);
	return nfs_begun(nfs_of(j)->call->unlink_async(nfs_of(j)->context, path, nfs_removed, j));
}

/*
 * The time of the last access cannot be left out: it gets the same. Times of NFSv3 have 32 bits, of
 * which libnfs would take the lower ones.
 */
static int nfs_set_time(struct remote_job *j, const char *path)
{
	struct timeval times[2] = { 0 };

	if (j->op->offset > (nfs_of(j)->is_v4 ? (uint64_t)INT64_MAX : UINT32_MAX))
		return EINVAL;
	times[0].tv_sec = times[1].tv_sec = (time_t)j->op->offset;
	return nfs_begun(
	    nfs_of(j)->call->lutimes_async(nfs_of(j)->context, path, times, nfs_done, j));
}

int nfs_on_name(struct remote_job *j, const char *path)
{
	const struct nfs_calls *call = nfs_of(j)->call;
	struct nfs_context *c = nfs_of(j)->context;
	const struct store_op *op = j->op;

	nfs_note_asked(j, op->verb == STORE_OPEN || op->verb == STORE_CREATE);
	switch (op->verb) {
	case STORE_PROBE:
	case STORE_LOOKUP:
		return nfs_begun(call->lstat64_async(c, path, nfs_done, j));
	case STORE_MKDIR:
		return nfs_begun(call->mkdir2_async(c, path, FILE_STORE_DIR_MODE, nfs_done, j));
	case STORE_CREATE:
		return nfs_make_file(j, path);
	case STORE_OPEN:
		return nfs_begun(
		    call->open_async(c, path, nfs_flags(op->how) | O_NOFOLLOW, nfs_opened, j));
	case STORE_DELETE:
		return nfs_delete(j, path);
	case STORE_RENAME:
	case STORE_LINK:
		return nfs_on_two(j, path);
	case STORE_SYMLINK:
		return nfs_begun(call->symlink_async(c, op->to_name, path, nfs_done, j));
	case STORE_SET_TIME:
		return nfs_set_time(j, path);
	case STORE_SET_MODE:
		return nfs_begun(call->chmod_async(c, path, op->how & 07777, nfs_done, j));
	case STORE_ROOM:
		return nfs_begun(call->statvfs64_async(c, path, nfs_done, j));
	default: /* STORE_LIST */
		return nfs_begun(call->opendir_async(c, path, nfs_done, j));
	}
}

/* ---- clients that say nothing ---- */

uint64_t nfs_keep_ns(struct remote *r)
{
	const struct nfs *n = (struct nfs *)r;

	return n->kept_ns + (n->is_v4 ? KEEP_4_NS : KEEP_3_NS);
}

static void nfs_kept_closed(int status, struct nfs_context *context, void *data, void *user)
{
	struct nfs *n = user;

	(void)status, (void)context, (void)data;
	n->r.keeping = false;
}

static void nfs_kept(int status, struct nfs_context *context, void *data, void *user)
{
	char said[ERR_TEXT_MAX];
	struct nfs *n = user;

	if (n->r.is_gone)
		return;
	n->r.keeping = status >= 0; /* before: the library may call back at once */
	if (status >= 0 && n->call->close_async(context, data, nfs_kept_closed, n))
		n->r.keeping = false;
	if (status < 0 && nfs_take_errno(n, status, said) == ECONNRESET)
		remote_lose(&n->r, *said ? said : NFS_CLOSED);
}

/* Opens what is not there. */
void nfs_keep(struct remote *r)
{
	struct nfs *n = (struct nfs *)r;

	n->kept_ns = clock_now_ns();
	n->r.keeping = true;
	if (n->call->open_async(n->context, "/afpscope-still-here", O_RDONLY | O_NOFOLLOW, nfs_kept,
				n))
		n->r.keeping = false;
}
