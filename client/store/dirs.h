/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_DIRS_H
#define STORE_DIRS_H

/*
 * The directories that a store knows: those that it has made or looked up, each a name in another
 * one. Their ids are small numbers; 0 is the store's own directory, which is not in the table. Only
 * for client/store.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dirs_entry {
	uint64_t parent;
	char *name;    /* NULL: it is free; "": others have given its name to another directory */
	int fd;        /* its descriptor; -1: none */
	uint64_t next; /* with the same hash, or free; 0: none */
};

/* All 0: none is known. */
struct dirs {
	struct dirs_entry *entry; /* by id; [0] is not used */
	uint64_t *hash;           /* ids, by what names them */
	size_t n;                 /* of both, 0 or a power of 2 */
	uint64_t first_free;      /* 0: none */
};

/* NULL: it is not known. */
struct dirs_entry *dirs_of(const struct dirs *t, uint64_t dir);
/* The directory's id; 0: it is not known. */
uint64_t dirs_find(const struct dirs *t, uint64_t parent, const char *name);
/* Its id, in any case, and fd is the table's; 0: no memory. */
uint64_t dirs_keep(struct dirs *t, uint64_t parent, const char *name, int fd);
void dirs_forget(struct dirs *t, uint64_t dir);
/* It has another name from now on. false: no memory. */
bool dirs_move(struct dirs *t, uint64_t dir, uint64_t parent, const char *name);
void dirs_free(struct dirs *t);

/*
 * The path of name in a directory, name "": of itself; root is in front of it. 0, or an errno:
 * ENOENT: the directory is gone.
 */
int dirs_path(const struct dirs *t, const char *root, uint64_t dir, const char *name,
	      char out[static PATH_MAX]);

#endif
