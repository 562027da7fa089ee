/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_NFS_PRIV_H
#define STORE_NFS_PRIV_H

/*
 * A store that is a directory of an NFS server, by way of libnfs 4 or 5, which is loaded when the
 * first such store is opened. Only for client/store. Its headers are not needed: what is used of
 * them is here, and a test compares.
 */

#include "store/remote.h"

#include <sys/time.h>

#define NFS_PREFIX "nfs://"

/* Where libnfs has no text for it. */
#define NFS_CLOSED "the server has closed it"

/* ---- the URL ---- */

struct nfs_place {
	struct place_url at; /* its path is what is mounted, "" is "/" */
	int version;         /* 3 or 4 */
	int mountport;       /* of the mount service of NFSv3; 0: the portmapper is asked */
	int uid, gid;        /* as whom the server is asked; -1: as this process */
};

/* where: what is behind the prefix. -EINVAL and a text. */
int nfs_place_parse(struct nfs_place *out, const char *where, struct err *e);

/* ---- the library ---- */

struct nfs_context;
struct rpc_context;
struct nfsfh;
struct nfsdir;
struct nfs_url;

/* status: less than 0: -errno. data: what was asked for. */
typedef void (*nfs_callback)(int status, struct nfs_context *, void *data, void *user);

struct nfs_stat {
	uint64_t dev, ino, mode, nlink, uid, gid, rdev, size;
	uint64_t rest[9];
};

struct nfs_statvfs {
	uint64_t bsize, frsize, blocks, bfree, bavail;
	uint64_t rest[6];
};

struct nfs_dirent {
	struct nfs_dirent *next;
	char *name;
	uint64_t inode;
	uint32_t type; /* 0: the server has not said it */
};

#define NFS_TYPE_DIRECTORY 2

/* What is used of it. X(name without "nfs_", result, parameters) */
#define NFS_CALLS(X)                                                                               \
	X(init_context, struct nfs_context *, (void))                                              \
	X(destroy_context, void, (struct nfs_context *))                                           \
	X(parse_url_dir, struct nfs_url *, (struct nfs_context *, const char *))                   \
	X(destroy_url, void, (struct nfs_url *))                                                   \
	X(mount_async, int,                                                                        \
	  (struct nfs_context *, const char *server, const char *path, nfs_callback, void *))      \
	X(get_fd, int, (struct nfs_context *))                                                     \
	X(which_events, int, (struct nfs_context *))                                               \
	X(service, int, (struct nfs_context *, int))                                               \
	X(get_error, char *, (struct nfs_context *))                                               \
	X(get_rpc_context, struct rpc_context *, (struct nfs_context *))                           \
	X(get_readmax, uint64_t, (struct nfs_context *))                                           \
	X(get_writemax, uint64_t, (struct nfs_context *))                                          \
	X(open_async, int, (struct nfs_context *, const char *, int, nfs_callback, void *))        \
	X(create_async, int,                                                                       \
	  (struct nfs_context *, const char *, int flags, int mode, nfs_callback, void *))         \
	X(close_async, int, (struct nfs_context *, struct nfsfh *, nfs_callback, void *))          \
	X(pread_async, int,                                                                        \
	  (struct nfs_context *, struct nfsfh *, uint64_t at, uint64_t len, nfs_callback, void *)) \
	X(pwrite_async, int,                                                                       \
	  (struct nfs_context *, struct nfsfh *, uint64_t at, uint64_t len, const void *,          \
	   nfs_callback, void *))                                                                  \
	X(fsync_async, int, (struct nfs_context *, struct nfsfh *, nfs_callback, void *))          \
	X(ftruncate_async, int,                                                                    \
	  (struct nfs_context *, struct nfsfh *, uint64_t, nfs_callback, void *))                  \
	X(fstat64_async, int, (struct nfs_context *, struct nfsfh *, nfs_callback, void *))        \
	X(lstat64_async, int, (struct nfs_context *, const char *, nfs_callback, void *))          \
	X(statvfs64_async, int, (struct nfs_context *, const char *, nfs_callback, void *))        \
	X(mkdir2_async, int, (struct nfs_context *, const char *, int, nfs_callback, void *))      \
	X(rmdir_async, int, (struct nfs_context *, const char *, nfs_callback, void *))            \
	X(unlink_async, int, (struct nfs_context *, const char *, nfs_callback, void *))           \
	X(rename_async, int,                                                                       \
	  (struct nfs_context *, const char *, const char *, nfs_callback, void *))                \
	X(link_async, int,                                                                         \
	  (struct nfs_context *, const char *, const char *, nfs_callback, void *))                \
	X(symlink_async, int,                                                                      \
	  (struct nfs_context *, const char *target, const char *, nfs_callback, void *))          \
	X(chmod_async, int, (struct nfs_context *, const char *, int, nfs_callback, void *))       \
	X(lutimes_async, int,                                                                      \
	  (struct nfs_context *, const char *, struct timeval *, nfs_callback, void *))            \
	X(opendir_async, int, (struct nfs_context *, const char *, nfs_callback, void *))          \
	X(readdir, struct nfs_dirent *, (struct nfs_context *, struct nfsdir *))                   \
	X(closedir, void, (struct nfs_context *, struct nfsdir *))

struct nfs_calls {
#define X(name, result, parameters) result(*name) parameters;
	NFS_CALLS(X)
#undef X
	void (*set_client_name)(struct nfs_context *, const char *); /* nfs4_set_client_name */
	char *(*get_rpc_error)(struct rpc_context *);                /* rpc_get_error */
	const char *file;                                            /* that it was loaded from */
};

/*
 * Loads the first of files that is there; -ENOENT and a text if none is, or it lacks a function.
 * newer: files whose calls take their arguments in another order, to be named where they are there.
 * The last of both is followed by NULL.
 */
int nfs_load(struct nfs_calls *out, const char *const *files, const char *const *newer,
	     struct err *e);

/* What an operation that failed is, as an errno: status is the library's, said what it says of it.
 * ECONNRESET: the connection is lost. */
int nfs_errno(int status, const char *said);

/* ---- the store ---- */

struct nfs {
	struct remote r;
	const struct nfs_calls *call;
	struct nfs_context *context;
	bool is_v4;
	bool asks_where; /* the portmapper, for the mount service */
	bool has_dev;
	uint64_t dev;     /* the file system of the store's directory, as the server calls it */
	uint64_t kept_ns; /* when the server was last asked for what keeps the client known to it */
};

/* Begins an operation, as struct remote_calls says. */
int nfs_move(struct remote_job *j);
int nfs_on_file(struct remote_job *j);
int nfs_on_name(struct remote_job *j, const char *path);
uint64_t nfs_keep_ns(struct remote *r);
void nfs_keep(struct remote *r);
/* What the library says of the last failure, which may be "". nfs_errno() of it; the library's text
 * is gone then. */
char *nfs_text(const struct nfs *n);
int nfs_take_errno(const struct nfs *n, int status, char said[static ERR_TEXT_MAX]);
extern const char *const nfs_what[N_STORE_VERBS], *const nfs_lacks[N_STORE_VERBS];
/* Held where the library is loaded, or uses what its contexts share. */
void nfs_lock(void);
void nfs_unlock(void);

#endif
