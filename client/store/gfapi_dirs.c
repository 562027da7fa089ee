/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libgfapi takes paths: the directories that a store knows, and what their paths are. */
#include "store/gfapi_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t gfapi_find_dir(const struct gfapi *g, uint64_t parent, const char *name)
{
	const struct gfapi_dir *d;

	for (uint64_t i = 1; i < g->n_dirs; i++) {
		d = &g->dir[i];
		if (d->name && d->parent == parent && !strcmp(d->name, name))
			return i;
	}
	return 0;
}

/* The id of one that is free; 0: no memory. */
static uint64_t free_dir(struct gfapi *g)
{
	uint64_t i;

	for (i = 1; i < g->n_dirs; i++)
		if (!g->dir[i].name)
			return i;
	do {
		if (!VEC_ADD(g->dir, g->n_dirs))
			return 0;
	} while (g->n_dirs <= i); /* [0], too */
	return i;
}

uint64_t gfapi_keep_dir(struct gfapi *g, uint64_t parent, const char *name)
{
	uint64_t i = gfapi_find_dir(g, parent, name);

	if (i)
		return i;
	i = free_dir(g);
	return i && gfapi_move_dir(g, i, parent, name) ? i : 0;
}

void gfapi_forget_dir(struct gfapi *g, uint64_t dir)
{
	free(g->dir[dir].name);
	g->dir[dir].name = NULL;
}

bool gfapi_move_dir(struct gfapi *g, uint64_t dir, uint64_t parent, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return false;
	free(g->dir[dir].name);
	g->dir[dir] = (struct gfapi_dir) { parent, copy };
	return true;
}

void gfapi_free_dirs(struct gfapi *g)
{
	for (uint64_t i = 1; i < g->n_dirs; i++)
		free(g->dir[i].name);
	free(g->dir);
}

/* Puts text in front of what begins at *at. */
static bool prepend(char *out, size_t *at, const char *text)
{
	size_t len = strlen(text);

	if (len > *at)
		return false;
	*at -= len;
	memcpy(out + *at, text, len);
	return true;
}

int gfapi_path(const struct gfapi *g, uint64_t dir, const char *name, char out[static PATH_MAX])
{
	size_t at = PATH_MAX - 1;
	bool fits = true;

	out[at] = '\0';
	if (*name)
		fits = prepend(out, &at, name) && prepend(out, &at, "/");
	for (; fits && dir; dir = g->dir[dir].parent) {
		if (dir >= g->n_dirs || !g->dir[dir].name)
			return ENOENT;
		fits = prepend(out, &at, g->dir[dir].name) && prepend(out, &at, "/");
	}
	fits = fits && prepend(out, &at, g->root);
	if (fits && !out[at])
		fits = prepend(out, &at, "/");
	if (!fits)
		return ENAMETOOLONG;
	memmove(out, out + at, PATH_MAX - at);
	return 0;
}
