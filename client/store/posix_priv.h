/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STORE_POSIX_PRIV_H
#define STORE_POSIX_PRIV_H

/* A store that is a local directory. Only for client/store. */

#include "store/blocking.h"

#include <dirent.h>

/* A directory whose descriptor is kept until the store is closed. */
struct posix_dir {
	int fd, parent;
	char name[256];
	struct posix_dir *next;
};

struct posix {
	struct blocking b;
	bool direct;
	int root;
	struct posix_dir *dirs;
	DIR *listing; /* of the directory that was listed last; NULL: none */
	uint64_t listing_dir, listed;
};

/* Carries op out in this thread, and waits for it. One thread at a time. */
void posix_carry_out(struct blocking *b, struct store_op *op);

/* Closes all directories but the root. */
void posix_forget_dirs(struct posix *x);

#endif
