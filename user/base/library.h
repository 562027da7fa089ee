/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

/*
 * Shared libraries that are loaded when they are needed: nothing is linked with them. They stay
 * loaded until the process ends.
 */

#include <stdbool.h>
#include <stddef.h>

/* A function of a library, and where its address goes in a struct of such pointers. */
struct library_row {
	const char *name;
	const char *version; /* of its symbol; NULL: any */
	size_t at;
};

/* Why a library cannot be used. */
struct library_failure {
	const char *file;                /* that was tried last */
	const struct library_row *lacks; /* the first that it does not have; NULL: not loaded */
	char why[256];                   /* what the loader says */
};

/*
 * Loads the first of files (the last is followed by NULL) that is there, and fills *out. 0; -ENOENT
 * and *failure: none is there, or the first that is there lacks a function.
 */
int library_load(void *out, const char *const *files, const struct library_row *rows, size_t n_rows,
		 struct library_failure *failure);

/* Whether this C library tells versions of functions apart; musl does not. */
bool library_has_versions(void);

#endif
