/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_GFAPI_PRIV_H
#define STORE_GFAPI_PRIV_H

/*
 * A store that is a directory of a GlusterFS volume, by way of libgfapi. Only for client/store.
 *
 * The library is loaded when the first such store is opened; nothing is linked with it, and its
 * headers are not needed. All stores of a process on one volume share one client of it (one
 * struct glfs): a client is a graph of translators, 10 threads or more and a connection to each
 * brick, and libgfapi may be called by any number of threads at once. So 100 stores load a volume
 * like 100 threads of one program, not like 100 machines; for those, start more processes.
 *
 * A client lives until the process ends. glfs_fini() is not called for it: in GlusterFS 7 to 11 it
 * waits 10 s for itself, and may fail and leave freed memory behind. Nothing is lost without it:
 * CLOSE waits until the bricks have every byte. Only replicas note up to 1 s after a change that
 * all of them have it: the last store of a client that has such waits so long when it is closed.
 */

#include "store/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define GFAPI_LIBRARY "libgfapi.so.0"
#define GFAPI_PREFIX  "gluster://"
#define GFAPI_PORT    24007

struct glfs;      /* a client of a volume */
struct glfs_fd;   /* an open file or directory */
struct glfs_stat; /* what a call may say of a file; always NULL here */

/*
 * What is used of it. X(name without "glfs_", version of its symbol, result, parameters). 6.0:
 * since GlusterFS 6, these take glfs_stat.
 */
#define GFAPI_CALLS(X)                                                                             \
	X(new, "3.4.0", struct glfs *, (const char *volume))                                       \
	X(set_volfile_server, "3.4.0", int,                                                        \
	  (struct glfs *, const char *transport, const char *host, int port))                      \
	X(set_logging, "3.4.0", int, (struct glfs *, const char *file, int level))                 \
	X(init, "3.4.0", int, (struct glfs *))                                                     \
	X(get_volfile, "3.6.0", ssize_t, (struct glfs *, void *text, size_t len))                  \
	X(fini, "3.4.0", int, (struct glfs *))                                                     \
	X(open, "3.4.0", struct glfs_fd *, (struct glfs *, const char *path, int flags))           \
	X(creat, "3.4.0", struct glfs_fd *,                                                        \
	  (struct glfs *, const char *path, int flags, mode_t mode))                               \
	X(close, "3.4.0", int, (struct glfs_fd *))                                                 \
	X(pread, "6.0", ssize_t,                                                                   \
	  (struct glfs_fd *, void *buf, size_t len, off_t offset, int flags, struct glfs_stat *))  \
	X(pwrite, "6.0", ssize_t,                                                                  \
	  (struct glfs_fd *, const void *data, size_t len, off_t offset, int flags,                \
	   struct glfs_stat *, struct glfs_stat *))                                                \
	X(fsync, "6.0", int, (struct glfs_fd *, struct glfs_stat *, struct glfs_stat *))           \
	X(ftruncate, "6.0", int,                                                                   \
	  (struct glfs_fd *, off_t len, struct glfs_stat *, struct glfs_stat *))                   \
	X(fstat, "3.4.0", int, (struct glfs_fd *, struct stat *))                                  \
	X(lstat, "3.4.0", int, (struct glfs *, const char *path, struct stat *))                   \
	X(mkdir, "3.4.0", int, (struct glfs *, const char *path, mode_t mode))                     \
	X(rmdir, "3.4.0", int, (struct glfs *, const char *path))                                  \
	X(unlink, "3.4.0", int, (struct glfs *, const char *path))                                 \
	X(rename, "3.4.0", int, (struct glfs *, const char *path, const char *to))                 \
	X(link, "3.4.0", int, (struct glfs *, const char *path, const char *to))                   \
	X(symlink, "3.4.0", int, (struct glfs *, const char *text, const char *path))              \
	X(chmod, "3.4.0", int, (struct glfs *, const char *path, mode_t mode))                     \
	X(lutimens, "3.4.0", int,                                                                  \
	  (struct glfs *, const char *path, const struct timespec times[2]))                       \
	X(lgetxattr, "3.4.0", ssize_t,                                                             \
	  (struct glfs *, const char *path, const char *name, void *value, size_t len))            \
	X(lsetxattr, "3.4.0", int,                                                                 \
	  (struct glfs *, const char *path, const char *name, const void *value, size_t len,       \
	   int flags))                                                                             \
	X(llistxattr, "3.4.0", ssize_t,                                                            \
	  (struct glfs *, const char *path, void *value, size_t len))                              \
	X(lremovexattr, "3.4.0", int, (struct glfs *, const char *path, const char *name))         \
	X(statvfs, "3.4.0", int, (struct glfs *, const char *path, struct statvfs *))              \
	X(opendir, "3.4.0", struct glfs_fd *, (struct glfs *, const char *path))                   \
	X(closedir, "3.4.0", int, (struct glfs_fd *))                                              \
	X(readdir, "3.5.0", struct dirent *, (struct glfs_fd *))                                   \
	X(readdirplus, "3.5.0", struct dirent *, (struct glfs_fd *, struct stat *))                \
	X(posix_lock, "3.4.0", int, (struct glfs_fd *, int command, struct flock *))               \
	X(fd_set_lkowner, "3.10.7", int, (struct glfs_fd *, void *owner, int len))

struct gfapi_calls {
#define X(name, version, result, parameters) result(*name) parameters;
	GFAPI_CALLS(X)
#undef X
};

/* Loads a library; -ENOENT and a text if it is not there or too old. It is never unloaded. */
int gfapi_load(struct gfapi_calls *out, const char *library, struct err *e);

/* "gluster://HOST[:PORT]/VOLUME[/PATH]" */
struct gfapi_url {
	char host[256], volume[256];
	int port;
	char path[PATH_MAX]; /* "" is the volume's root; else "/dir", with no / at its end */
};

/* where: what is behind the prefix. -EINVAL and a text. */
int gfapi_url_parse(struct gfapi_url *out, const char *where, struct err *e);

/* A process's client of a volume. */
struct gfapi_client {
	struct gfapi_url url;
	struct glfs *fs;
	const struct gfapi_calls *call;
	bool has_replicas;
	unsigned int stores; /* that are open */
	struct gfapi_client *next;
};

/* The client of u's volume, made if there is none. Negative errno and a text. */
int gfapi_find_client(struct gfapi_client **out, const struct gfapi_url *u, struct err *e);

/* A store begins or ends to use it. */
void gfapi_use(struct gfapi_client *c);
void gfapi_leave(struct gfapi_client *c);

/* ---- the store ---- */

struct gfapi {
	struct file_store f;
	struct gfapi_client *client;
	const struct gfapi_calls *call; /* the client's, as is fs */
	struct glfs *fs;
	char root[PATH_MAX];
	struct gfapi_file *files; /* that are open */
};

/* The path of name in a directory, name "": of itself. 0, or an errno: the directory is gone. */
int gfapi_path(const struct gfapi *g, uint64_t dir, const char *name, char out[static PATH_MAX]);

#endif
