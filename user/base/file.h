/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_FILE_H
#define BASE_FILE_H

/*
 * Files and folders in places where other users may write, too. A symbolic link in a path that the
 * user named is followed when it belongs to root or to this process's user; one of anybody else
 * could lead root's output anywhere, and is refused (-ELOOP). Names that this program chooses
 * itself are never followed: file_replace puts its file in place of what is there. Who holds a
 * folder's descriptor keeps that folder, whatever becomes of its path meanwhile.
 *
 * All return 0 (or a descriptor) or a negative errno.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A folder for *at() calls (O_PATH), to be closed. make: folders that are missing are made with
 * this mode; 0: none is.
 */
int file_folder(const char *path, unsigned int make, struct err *e);

/*
 * A file to be read, and its length. Never waits for a pipe or starts a device: -EINVAL where it is
 * no regular file. folder: or AT_FDCWD.
 */
int file_open(int folder, const char *name, uint64_t *len);

/* Writes a file beside name, under a name made of id, and renames it: all or nothing. */
int file_replace(int folder, const char *name, const char *id, const void *data, size_t len);

/*
 * The same for a path that the user named. What is there and is no regular file (a pipe, a
 * terminal, /dev/stdout) is written to.
 */
int file_save(const char *path, const char *id, const void *data, size_t len, struct err *e);

/* Whether file_save could begin: nothing is written. */
int file_check(const char *path, struct err *e);

#endif
