/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/dirs.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dirs_entry *dirs_of(const struct dirs *t, uint64_t dir)
{
	return dir && dir < t->n && t->entry[dir].name ? &t->entry[dir] : NULL;
}

/* ---- by name ---- */

static uint64_t *dir_bucket(const struct dirs *t, uint64_t parent, const char *name)
{
	return &t->hash[hash_number(hash_text(parent, name)) & (t->n - 1)];
}

static void hash_dir(struct dirs *t, uint64_t dir)
{
	uint64_t *at = dir_bucket(t, t->entry[dir].parent, t->entry[dir].name);

	t->entry[dir].next = *at;
	*at = dir;
}

static void unhash_dir(struct dirs *t, uint64_t dir)
{
	uint64_t *at = dir_bucket(t, t->entry[dir].parent, t->entry[dir].name);

	while (*at != dir)
		at = &t->entry[*at].next;
	*at = t->entry[dir].next;
}

uint64_t dirs_find(const struct dirs *t, uint64_t parent, const char *name)
{
	const struct dirs_entry *d;

	for (uint64_t i = t->n ? *dir_bucket(t, parent, name) : 0; i; i = d->next) {
		d = &t->entry[i];
		if (d->parent == parent && !strcmp(d->name, name))
			return i;
	}
	return 0;
}

/* ---- which are free ---- */

/* Twice as many. false: no memory. */
static bool more_dirs(struct dirs *t)
{
	size_t had = t->n, n = had ? 2 * had : 16;
	struct dirs_entry *dir = realloc(t->entry, n * sizeof(*dir));
	uint64_t *hash;

	t->entry = dir ? dir : t->entry;
	hash = dir ? calloc(n, sizeof(*hash)) : NULL;
	if (!hash)
		return false;
	free(t->hash);
	t->hash = hash;
	t->n = n;
	for (uint64_t i = 1; i < had; i++)
		hash_dir(t, i);
	for (uint64_t i = n - 1; i >= (had ? had : 1); i--) {
		t->entry[i] = (struct dirs_entry) { .next = t->first_free };
		t->first_free = i;
	}
	return true;
}

/* One more, with a copy of the name; 0: no memory. */
static uint64_t new_dir(struct dirs *t, uint64_t parent, const char *name, int fd)
{
	char *copy = strdup(name);
	uint64_t i;

	if (!copy || (!t->first_free && !more_dirs(t))) {
		free(copy);
		return 0;
	}
	i = t->first_free;
	t->first_free = t->entry[i].next;
	t->entry[i] = (struct dirs_entry) { parent, copy, fd, 0 };
	hash_dir(t, i);
	return i;
}

static bool is_same_dir(int fd, int other)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void dirs_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

uint64_t dirs_keep(struct dirs *t, uint64_t parent, const char *name, int fd)
{
	uint64_t i = dirs_find(t, parent, name);

	if (i && (fd < 0 || is_same_dir(t->entry[i].fd, fd))) {
		dirs_close_fd(fd);
		return i;
	}
	if (i) {
		unhash_dir(t, i);
		*t->entry[i].name = '\0';
		hash_dir(t, i);
	}
	i = new_dir(t, parent, name, fd);
	if (!i)
		dirs_close_fd(fd);
	return i;
}

void dirs_forget(struct dirs *t, uint64_t dir)
{
	struct dirs_entry *d = &t->entry[dir];

	unhash_dir(t, dir);
	dirs_close_fd(d->fd);
	free(d->name);
	*d = (struct dirs_entry) { .next = t->first_free };
	t->first_free = dir;
}

bool dirs_move(struct dirs *t, uint64_t dir, uint64_t parent, const char *name)
{
	struct dirs_entry *d = &t->entry[dir];
	char *copy = strdup(name);

	if (!copy)
		return false;
	unhash_dir(t, dir);
	free(d->name);
	d->name = copy;
	d->parent = parent;
	hash_dir(t, dir);
	return true;
}

void dirs_free(struct dirs *t)
{
	for (uint64_t i = 1; i < t->n; i++)
		if (t->entry[i].name)
			dirs_forget(t, i);
	free(t->entry);
	free(t->hash);
}

/* ---- paths ---- */

/* Puts text in front of what begins at *at. */
static bool dirs_prepend(char *out, size_t *at, const char *text)
{
	size_t len = strlen(text);

	if (len > *at)
		return false;
	*at -= len;
	memcpy(out + *at, text, len);
	return true;
}

int dirs_path(const struct dirs *t, const char *root, uint64_t dir, const char *name,
	      char out[static PATH_MAX])
{
	const struct dirs_entry *d;
	size_t at = PATH_MAX - 1;
	bool fits = true;

	out[at] = '\0';
	if (*name)
		fits = dirs_prepend(out, &at, name) && dirs_prepend(out, &at, "/");
	for (; fits && dir; dir = d->parent) {
		d = dirs_of(t, dir);
		if (!d)
			return ENOENT;
		fits = dirs_prepend(out, &at, d->name) && dirs_prepend(out, &at, "/");
	}
	fits = fits && dirs_prepend(out, &at, root);
	if (fits && !out[at])
		fits = dirs_prepend(out, &at, "/");
	if (!fits)
		return ENAMETOOLONG;
	memmove(out, out + at, PATH_MAX - at);
	return 0;
}
