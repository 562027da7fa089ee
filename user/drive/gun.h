/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRIVE_GUN_H
#define DRIVE_GUN_H

/*
 * The starting gun of gfapi-perf-tool, by which processes on many hosts begin together. Each makes
 * a file HOST.PID.THREAD.ready for each of its threads in the gun's directory; when all are there,
 * somebody makes the gun. It is looked for once a second, and 3 s after it was seen, when all
 * others have seen it too, the threads begin.
 */

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct gun_opts {
	/*
	 * file: a path, or, with the prefix of a kind of store, a place in it
	 * ("gluster://HOST/VOLUME/gun"). root: such a place in which the path file is; NULL: none.
	 */
	const char *file, *root;
	unsigned int threads, timeout_s;
	FILE *out;  /* what is waited for */
	bool lists; /* out: each ready file, too */
	/* Once a second meanwhile, to keep what else is open alive; NULL: nothing. */
	void (*tick)(void *user);
	void *user;
};

struct gun;

/*
 * Makes the ready files and returns when the threads are to begin. 0; -ETIME: no gun came in time;
 * -EINTR: stopped; -EINVAL: file is no name of a file, or its directory cannot be opened; another
 * negative errno, or LOAD_REFUSED. gun_close() in every case.
 */
int gun_wait(struct gun **out, const struct gun_opts *o, struct err *e);

/* Removes the ready files. NULL is allowed. */
void gun_close(struct gun *g);

#endif
