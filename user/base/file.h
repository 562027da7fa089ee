/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_FILE_H
#define BASE_FILE_H

/*
 * Files and folders in places where other users may write, too. A symbolic link in a path that the
 * user named is followed if it belongs to root or to this process's user; a link of another user
 * could lead root's output anywhere, and is refused (-ELOOP). Links with names that this program
 * chooses are never followed: file_replace replaces what is there. A folder's descriptor stays
 * valid, even if its path is changed meanwhile.
 *
 * All return 0 (or a descriptor) or a negative errno.
 */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A folder for *at() calls (O_PATH), to be closed. make: missing folders are made with this mode;
 * 0: none are made.
 */
int file_folder(const char *path, unsigned int make, struct err *e);

/*
 * A file to be read, and its length. -EINVAL if it is not a regular file: never waits for a pipe or
 * starts a device. folder: or AT_FDCWD.
 */
int file_open(int folder, const char *name, uint64_t *len);

/* Writes a file beside name, under a name made of id, and renames it: all or nothing. */
int file_replace(int folder, const char *name, const char *id, const void *data, size_t len);

/*
 * The same for a path that the user named. If it is a pipe, a terminal, /dev/stdout or the like,
 * the data is written to it.
 */
int file_save(const char *path, const char *id, const void *data, size_t len, struct err *e);

/* Whether file_save could start; writes nothing. */
int file_check(const char *path, struct err *e);

/*
 * The text of a small file that is the system's own (in /proc, /sys, /etc), read in one piece, cut
 * to fit and ended with '\0'. Returns its length; out is empty after an error.
 */
ssize_t file_text(char *out, size_t len, const char *path);
/* The same of one that is kept open. fd: or the negative errno of its open, which is returned. */
ssize_t file_text_again(char *out, size_t len, int fd);
/* Its first line, without the newline. -ENODATA: it is empty. */
int file_line(char *out, size_t len, const char *path);

#endif
