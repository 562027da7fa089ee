/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directories that a store of files knows. */
#include "store/file_store.h"

#include "base/hash.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_store_dir *file_store_dir_of(const struct file_store *f, uint64_t dir)
{
	return dir && dir < f->n_dirs && f->dir[dir].name ? &f->dir[dir] : NULL;
}

/* ---- by name ---- */

static uint64_t *dir_bucket(const struct file_store *f, uint64_t parent, const char *name)
{
	return &f->hash[hash_number(hash_text(parent, name)) & (f->n_dirs - 1)];
}

static void hash_dir(struct file_store *f, uint64_t dir)
{
	uint64_t *at = dir_bucket(f, f->dir[dir].parent, f->dir[dir].name);

	f->dir[dir].next = *at;
	*at = dir;
}

static void unhash_dir(struct file_store *f, uint64_t dir)
{
	uint64_t *at = dir_bucket(f, f->dir[dir].parent, f->dir[dir].name);

	while (*at != dir)
		at = &f->dir[*at].next;
	*at = f->dir[dir].next;
}

uint64_t file_store_find_dir(const struct file_store *f, uint64_t parent, const char *name)
{
	const struct file_store_dir *d;

	for (uint64_t i = f->n_dirs ? *dir_bucket(f, parent, name) : 0; i; i = d->next) {
		d = &f->dir[i];
		if (d->parent == parent && !strcmp(d->name, name))
			return i;
	}
	return 0;
}

/* ---- which are free ---- */

/* Twice as many. false: no memory. */
static bool more_dirs(struct file_store *f)
{
	size_t had = f->n_dirs, n = had ? 2 * had : 16;
	struct file_store_dir *dir = realloc(f->dir, n * sizeof(*dir));
	uint64_t *hash;

	f->dir = dir ? dir : f->dir;
	hash = dir ? calloc(n, sizeof(*hash)) : NULL;
	if (!hash)
		return false;
	free(f->hash);
	f->hash = hash;
	f->n_dirs = n;
	for (uint64_t i = 1; i < had; i++)
		hash_dir(f, i);
	for (uint64_t i = n - 1; i >= (had ? had : 1); i--) {
		f->dir[i] = (struct file_store_dir) { .next = f->free_dir };
		f->free_dir = i;
	}
	return true;
}

/* One more, with a copy of the name; 0: no memory. */
static uint64_t new_dir(struct file_store *f, uint64_t parent, const char *name, int fd)
{
	char *copy = strdup(name);
	uint64_t i;

	if (!copy || (!f->free_dir && !more_dirs(f))) {
		free(copy);
		return 0;
	}
	i = f->free_dir;
	f->free_dir = f->dir[i].next;
	f->dir[i] = (struct file_store_dir) { parent, copy, fd, 0 };
	hash_dir(f, i);
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
	if (i) {
		unhash_dir(f, i);
		*f->dir[i].name = '\0';
		hash_dir(f, i);
	}
	i = new_dir(f, parent, name, fd);
	if (!i)
		close_fd(fd);
	return i;
}

void file_store_forget_dir(struct file_store *f, uint64_t dir)
{
	struct file_store_dir *d = &f->dir[dir];

	unhash_dir(f, dir);
	close_fd(d->fd);
	free(d->name);
	*d = (struct file_store_dir) { .next = f->free_dir };
	f->free_dir = dir;
}

bool file_store_move_dir(struct file_store *f, uint64_t dir, uint64_t parent, const char *name)
{
	struct file_store_dir *d = &f->dir[dir];
	char *copy = strdup(name);

	if (!copy)
		return false;
	unhash_dir(f, dir);
	free(d->name);
	d->name = copy;
	d->parent = parent;
	hash_dir(f, dir);
	return true;
}

void file_store_free_dirs(struct file_store *f)
{
	for (uint64_t i = 1; i < f->n_dirs; i++)
		if (f->dir[i].name)
			file_store_forget_dir(f, i);
	free(f->dir);
	free(f->hash);
}
