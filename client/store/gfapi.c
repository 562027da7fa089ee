/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store that is a directory of a GlusterFS volume: how it is opened; gfapi_ops.c has the calls.
 */
#include "store/gfapi_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIR_MODE     0750
#define DIRECT_ALIGN 4096

static const char *const calls[N_STORE_VERBS] = {
	[STORE_PROBE] = "glfs_lstat",         [STORE_MKDIR] = "glfs_mkdir",
	[STORE_CREATE] = "glfs_creat",        [STORE_DELETE] = "glfs_unlink",
	[STORE_OPEN] = "glfs_open",           [STORE_CLOSE] = "glfs_close",
	[STORE_LENGTH] = "glfs_fstat",        [STORE_SET_LEN] = "glfs_ftruncate",
	[STORE_READ] = "glfs_pread",          [STORE_WRITE] = "glfs_pwrite",
	[STORE_FLUSH] = "glfs_fsync",         [STORE_COPY] = "copy",
	[STORE_ROOM] = "glfs_statvfs",        [STORE_LOOKUP] = "glfs_lstat",
	[STORE_LIST] = "glfs_readdir",        [STORE_RENAME] = "glfs_rename",
	[STORE_SET_MODE] = "glfs_chmod",      [STORE_SET_TIME] = "glfs_lutimens",
	[STORE_GET_XATTR] = "glfs_lgetxattr", [STORE_SET_XATTR] = "glfs_lsetxattr",
	[STORE_LINK] = "glfs_link",           [STORE_LOCK] = "glfs_posix_lock",
	[STORE_UNLOCK] = "glfs_posix_lock",   [STORE_SYMLINK] = "glfs_symlink",
};

static void close_gfapi(struct store *s)
{
	struct gfapi *g = (struct gfapi *)s;

	blocking_fini(&g->b);
	gfapi_end_listing(g);
	gfapi_close_files(g);
	gfapi_free_dirs(g);
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
	blocking_init(&g->b, &store_gfapi_type, calls, gfapi_carry_out);
	g->b.s.align = direct ? DIRECT_ALIGN : 1;
	g->b.s.has_links = true;
	g->client = at.client;
	g->call = at.call;
	g->fs = at.fs;
	g->direct = direct;
	memcpy(g->root, at.url.path, sizeof(g->root));
	gfapi_use(g->client);
	*out = &g->b.s;
	return 0;
}

static int make_gfapi(const char *where, struct err *e)
{
	struct gfapi_place at;
	int r = find_place(&at, where, e);

	if (!r && *at.url.path && at.call->mkdir(at.fs, at.url.path, DIR_MODE) && errno != EEXIST)
		r = store_gfapi_failed("make directory", where, errno ? errno : EIO, e);
	return r;
}

static int list_gfapi(const char *where, store_found *found, void *user, struct err *e)
{
	const struct dirent *entry;
	struct gfapi_place at;
	struct glfs_fd *fd;
	int r = find_place(&at, where, e), code;

	if (r)
		return r;
	fd = at.call->opendir(at.fs, *at.url.path ? at.url.path : "/");
	if (!fd)
		return store_gfapi_failed("list directory", where, errno ? errno : EIO, e);
	while ((errno = 0, entry = at.call->readdir(fd)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			found(user, entry->d_name);
	code = errno;
	at.call->closedir(fd);
	return code ? store_gfapi_failed("list directory", where, code, e) : 0;
}

/* ---- removing ---- */

static int remove_dir(const struct gfapi_place *at, char path[static PATH_MAX]);

/* Removes the entry name of path, whatever it is; path is unchanged afterwards. 0 or an errno. */
static int store_gfapi_remove_entry(const struct gfapi_place *at, char path[static PATH_MAX],
				    const char *name)
{
	size_t len = strlen(path);
	int code = 0;

	if ((size_t)snprintf(path + len, PATH_MAX - len, "/%s", name) >= PATH_MAX - len)
		code = ENAMETOOLONG;
	else if (at->call->unlink(at->fs, path))
		code = errno == EISDIR ? remove_dir(at, path) : errno ? errno : EIO;
	path[len] = '\0';
	return code == ENOENT ? 0 : code;
}

static int remove_dir(const struct gfapi_place *at, char path[static PATH_MAX])
{
	struct glfs_fd *fd = at->call->opendir(at->fs, path);
	const struct dirent *entry;
	int code = 0;

	if (!fd)
		return errno ? errno : EIO;
	while (!code && (errno = 0, entry = at->call->readdir(fd)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			code = store_gfapi_remove_entry(at, path, entry->d_name);
	code = code ? code : errno;
	at->call->closedir(fd);
	if (!code && at->call->rmdir(at->fs, path))
		code = errno ? errno : EIO;
	return code;
}

static int remove_gfapi(const char *where, const char *name, struct err *e)
{
	char path[PATH_MAX];
	struct gfapi_place at;
	int r = find_place(&at, where, e), code;

	if (r)
		return r;
	memcpy(path, at.url.path, sizeof(path));
	code = store_gfapi_remove_entry(&at, path, name);
	if (!code)
		return 0;
	return err_set(e, -code, "cannot remove " GFAPI_PREFIX "%s/%s: %s", where, name,
		       strerror(code));
}

const struct store_kind store_gfapi_kind = {
	.prefix = GFAPI_PREFIX,
	.open = open_gfapi,
	.make = make_gfapi,
	.list = list_gfapi,
	.remove = remove_gfapi,
};
