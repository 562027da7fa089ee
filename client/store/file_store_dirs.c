/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directories that a store of files knows. */
#include "store/file_store.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_store_dir *file_store_dir_of(const struct file_store *f, uint64_t dir)
{
	return dir && dir < f->n_dirs && f->dir[dir].name ? &f->dir[dir] : NULL;
}

uint64_t file_store_find_dir(const struct file_store *f, uint64_t parent, const char *name)
{
	const struct file_store_dir *d;

	for (uint64_t i = 1; i < f->n_dirs; i++) {
		d = &f->dir[i];
		if (d->name && d->parent == parent && !strcmp(d->name, name))
			return i;
	}
	return 0;
}

/* The id of one that is free; 0: no memory. */
static uint64_t free_dir(struct file_store *f)
{
	size_t n = f->n_dirs ? 2 * f->n_dirs : 16;
	struct file_store_dir *more;
	uint64_t i;

	for (i = 1; i < f->n_dirs; i++)
		if (!f->dir[i].name)
			return i;
	more = realloc(f->dir, n * sizeof(*more));
	if (!more)
		return 0;
	memset(more + f->n_dirs, 0, (n - f->n_dirs) * sizeof(*more));
	f->dir = more;
	f->n_dirs = n;
	return i;
}

static bool is_same_dir(int fd, int other)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

uint64_t file_store_keep_dir(struct file_store *f, uint64_t parent, const char *name, int fd)
{
	uint64_t i = file_store_find_dir(f, parent, name);

	if (i && (fd < 0 || is_same_dir(f->dir[i].fd, fd))) {
		close_fd(fd);
		return i;
	}
	if (i)
		*f->dir[i].name = '\0';
	i = free_dir(f);
	if (!i || !file_store_move_dir(f, i, parent, name)) {
		close_fd(fd);
		return 0;
	}
	f->dir[i].fd = fd;
	return i;
}

void file_store_forget_dir(struct file_store *f, uint64_t dir)
{
	struct file_store_dir *d = &f->dir[dir];

	close_fd(d->fd);
	free(d->name);
	d->name = NULL;
}

bool file_store_move_dir(struct file_store *f, uint64_t dir, uint64_t parent, const char *name)
{
	struct file_store_dir *d = &f->dir[dir];
	char *copy = strdup(name);

	if (!copy)
		return false;
	free(d->name);
	d->name = copy;
	d->parent = parent;
	return true;
}

void file_store_free_dirs(struct file_store *f)
{
	for (uint64_t i = 1; i < f->n_dirs; i++)
		if (f->dir[i].name)
			file_store_forget_dir(f, i);
	free(f->dir);
}
