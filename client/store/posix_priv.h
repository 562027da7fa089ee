/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_POSIX_PRIV_H
#define STORE_POSIX_PRIV_H

/* A store that is a local directory. Only for client/store. */

#include "store/store_priv.h"

#include <dirent.h>

/* A directory whose descriptor is kept until the store is closed. */
struct posix_dir {
	int fd, parent;
	char name[256];
	struct posix_dir *next;
};

struct posix_pool;

struct posix {
	struct store s;
	bool direct;
	int root;
	struct posix_dir *dirs;
	DIR *listing; /* of the directory that was listed last; NULL: none */
	uint64_t listing_dir, listed;
	struct store_queue waiting, answered;
	struct posix_pool *pool; /* NULL: the caller has always waited until now */
};

/* Carries op out in this thread, and waits for it. One thread at a time. */
void posix_carry_out(struct posix *x, struct store_op *op);

/* Closes all directories but the root. */
void posix_forget_dirs(struct posix *x);

/*
 * A thread that carries operations out one after the other, for a caller that never waits.
 * posix_pool_take(): one that is complete, NULL: none. fd: readable while there is one.
 */
int posix_pool_new(struct posix_pool **out, struct posix *x, struct err *e);
void posix_pool_put(struct posix_pool *p, struct store_op *op);
struct store_op *posix_pool_take(struct posix_pool *p);
int posix_pool_fd(const struct posix_pool *p);
/* Waits for the operation under way; those after it are not carried out. NULL is allowed. */
void posix_pool_free(struct posix_pool *p);

#endif
