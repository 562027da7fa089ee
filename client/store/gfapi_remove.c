/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removes a directory of a GlusterFS volume with all that is in it. Each one is held by its handle,
 * and what is in it is named within that: a path would be followed anew for each entry, through a
 * link that somebody has put in the place of a directory meanwhile.
 */
#include "store/gfapi_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int remove_within(const struct gfapi *g, struct glfs_object *parent, const char *name);

/* What is in it: 0 or an errno. */
static int remove_content(const struct gfapi *g, struct glfs_object *dir)
{
	struct glfs_fd *list = g->call->h_opendir(g->fs, dir);
	const struct dirent *entry;
	int code = 0;

	if (!list)
		return file_store_code_of(-1);
	while (!code && (errno = 0, entry = g->call->readdir(list))) {
		if (!file_store_is_dot(entry->d_name))
			code = remove_within(g, dir, entry->d_name);
		code = code == ENOENT ? 0 : code; /* others have removed it */
	}
	code = code ? code : errno;
	g->call->closedir(list);
	return code;
}

/* The entry itself, not what it points to. */
static int remove_within(const struct gfapi *g, struct glfs_object *parent, const char *name)
{
	struct stat st;
	struct glfs_object *o = g->call->h_lookupat(g->fs, parent, name, &st, 0);
	int code = 0;

	if (!o)
		return file_store_code_of(-1);
	if (S_ISDIR(st.st_mode))
		code = remove_content(g, o);
	g->call->h_close(o);
	return code ? code : file_store_code_of(g->call->h_unlink(g->fs, parent, name));
}

int gfapi_remove_all(struct store *s, const char *name)
{
	const struct gfapi *g = (const struct gfapi *)s;
	struct stat st;
	struct glfs_object *root = g->call->h_lookupat(g->fs, NULL, *g->root ? g->root : "/", &st,
						       1);
	int code;

	if (!root)
		return file_store_code_of(-1);
	code = remove_within(g, root, name);
	g->call->h_close(root);
	return code;
}
